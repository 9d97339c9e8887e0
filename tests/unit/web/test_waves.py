"""What a flow's page shows of its cutovers: a track of steps with times for each wave."""

from dataclasses import replace

from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, RUNNING, StepNote, WaveRecord, encode_wave
from kafka_mirror.cutover.wave.step import DONE, FENCE, PREFLIGHT, STOPPED, stop
from kafka_mirror.errors import NotCopiedYet
from kafka_mirror.web.waves import MAX_WAVES, wave_tracks
from tests.unit.web.made_up import BUSY, HOSTILE, NOW, made_up

BEGAN = round(NOW.timestamp() * 1000) - 90_000
WAVE = WaveRecord("orders-1a2b3c", ("orders.*",), (), "planned", "ana", "the new cluster", BEGAN)
MOVING = replace(
    WAVE,
    steps={
        PREFLIGHT: StepNote(DONE, "ana", BEGAN, BEGAN + 2_500, ("Nothing stops the wave.",)),
        FENCE: StepNote(RUNNING, "ana", BEGAN + 30_000),
    },
)


def tracks(*records: WaveRecord):
    return wave_tracks({record.name: encode_wave(record) for record in records})


def test_a_wave_shows_all_its_steps_those_that_ran_with_their_times():
    (track,) = tracks(MOVING)
    steps = {step.name: (step.state, step.level, step.seconds) for step in track.steps}
    assert steps[PREFLIGHT] == (DONE, "fine", 2.5)
    assert steps[FENCE] == (RUNNING, "behind", None)
    assert steps["open"] == ("not begun", "unknown", None)


def test_a_wave_with_a_step_that_is_stopped_is_stuck_and_an_open_one_is_fine():
    stopped = MOVING.with_step(FENCE, StepNote(STOPPED, "ana", BEGAN, BEGAN + 1))
    assert [track.level for track in tracks(stopped)] == ["stuck"]
    assert [track.level for track in tracks(replace(stopped, state=OPENED))] == ["fine"]


def test_waves_under_way_come_first_then_the_newest():
    older, newer = replace(WAVE, name="older", began=1, state=OPENED), replace(WAVE, name="newer", began=2, state=ROLLED_BACK)
    assert [track.name for track in tracks(older, newer, replace(WAVE, name="moving", began=0))] == ["moving", "newer", "older"]


def test_a_page_shows_only_so_many_waves():
    many = [replace(WAVE, name=f"wave-{number}", began=number) for number in range(MAX_WAVES + 5)]
    assert len(tracks(*many)) == MAX_WAVES


def test_a_record_of_another_version_is_said_beside_the_others():
    unreadable, readable = wave_tracks({"strange": '{"v":9}', WAVE.name: encode_wave(WAVE)}), tracks(WAVE)[0]
    assert readable in unreadable
    assert [track.state for track in unreadable if track.name == "strange"] == ["unreadable"]


def test_a_stop_of_a_step_leads_to_its_section_of_the_runbook():
    line = str(stop(NotCopiedYet("orders-0")))
    stopped = MOVING.with_step(FENCE, StepNote(STOPPED, "ana", BEGAN, BEGAN + 1, (line, "stop it: now")))
    text = made_up(replace(BUSY, waves={stopped.name: encode_wave(stopped)})).page()
    assert '/runbook#notcopiedyet" title="What it means and what to do">NotCopiedYet</a>: Nothing of orders-0' in text
    assert "<li>stop it: now</li>" in text


def test_the_page_has_the_track_and_escapes_what_people_wrote():
    record = replace(MOVING, why=HOSTILE)
    text = made_up(replace(BUSY, waves={record.name: encode_wave(record)})).page()
    assert "orders-1a2b3c" in text
    assert "last-copy" in text
    assert "2 s" in text or "2.5 s" in text or "3 s" in text
    assert HOSTILE not in text


def test_a_flow_without_waves_has_no_section_of_them():
    assert 'id="waves"' not in made_up(BUSY).page()
