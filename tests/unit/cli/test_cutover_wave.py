"""`cutover run`, `status`, `rollback` and `report` on the command line: what they take, their exit codes, and what they print."""

import dataclasses
import json

import pytest

from kafka_mirror.cli import cutover_parts as module
from kafka_mirror.cutover.wave.control_notes import StoredWaves
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, TAKING_BACK, GroupNote, StepNote, WaveRecord, name_wave
from kafka_mirror.cutover.wave.run import WaveRun
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import BY_ACL, BY_HAND, CATCH_UP, DONE, FENCE, OPEN, PREFLIGHT, STOPPED, WAITING, StepOutcome, stop
from kafka_mirror.errors import ErrorReport
from kafka_mirror.ledger.decisions import NO_DECISIONS

FLOW = ("--flow", "east->west")
WAVE = Wave(("orders.*", "pay"), ())
NAME = name_wave("east->west", WAVE)
RUN = ("cutover", "run", *FLOW, "--topics", "orders.*, pay")
NOTED = {
    PREFLIGHT: StepNote(DONE, "ann", 1_000, 2_000),
    FENCE: StepNote(STOPPED, "ann", 2_000, 3_500, ("stop: Ben writes.",), {"by": BY_ACL}),
}
RECORD = WaveRecord(NAME, WAVE.topics, (), "planned", "ann", "we move", 1_000, steps=NOTED)
OPEN_RECORD = dataclasses.replace(RECORD, state=OPENED, ended=9_000, steps={OPEN: StepNote(DONE, "ann", 8_000, 9_000)})
BROKEN = StepOutcome(FENCE, STOPPED, ("Two partitions.",), (stop(ErrorReport("StillWritten", "Ben writes.", next="Stop him.")),))


@pytest.fixture
def stored(monkeypatch):
    """Makes the control topic hold these waves."""

    def hold(*records):
        groups = {record.name: {"billing": GroupNote(1, {"after": {"orders": {"0": 7}}}), "old": GroupNote(0, {})} for record in records}
        waves = StoredWaves({record.name: record for record in records}, groups, NO_DECISIONS)
        monkeypatch.setattr(module, "read_waves", lambda _flow: waves)

    hold()
    return hold


@pytest.fixture
def answers(monkeypatch, stored):
    """Makes a run or a roll back end like this; gives what it was asked for."""
    calls = []

    def end(record, *outcomes):
        def answer(_flow, *given):
            calls.append(given)
            given[-3 if len(given) > 1 else 0].progress("fence begins.")
            return WaveRun(record, outcomes)

        monkeypatch.setattr(module, "run_wave", answer)
        monkeypatch.setattr(module, "roll_back", answer)
        return calls

    return end


@pytest.mark.parametrize(("state", "word", "code"), [(DONE, "done", 0), (STOPPED, "failed", 1), (WAITING, "waiting", 3)])
def test_the_exit_code_says_how_the_run_ended(run, answers, state, word, code):
    answers(RECORD, StepOutcome(PREFLIGHT, DONE), StepOutcome(CATCH_UP, state))
    given, output, _ = run(*RUN)
    assert (given, output.splitlines()[0]) == (code, f"east->west: {word}")


def test_steps_are_said_with_their_findings_and_what_to_do_next(run, answers):
    answers(RECORD, StepOutcome(PREFLIGHT, DONE), BROKEN)
    _, output, words = run(*RUN)
    assert "preflight: done\nfence: stopped\n  Two partitions.\n  stop StillWritten: Ben writes. Next: Stop him.\n" in output
    assert f"cutover run --flow 'east->west' --wave {NAME}; or " in output
    assert f"cutover rollback --flow 'east->west' --wave {NAME}\n" in output
    assert words.endswith(" fence begins.\n")


def test_a_run_has_its_defaults_and_a_name_of_its_own(run, answers):
    calls = answers(RECORD)
    run(*RUN)
    ((wave, options, until, only),) = calls
    assert (wave, options.wave, until, only) == (WAVE, NAME, None, None)
    assert (options.dry_run, options.mode, options.by, options.max_lag, options.quiet_seconds) == (False, "planned", BY_HAND, 1000, 5.0)
    assert (options.timeout, options.full_audit) == (600.0, False)
    assert "@" in options.who


def test_a_run_takes_what_it_is_told(run, answers):
    calls = answers(RECORD)
    more = ("--by", "acl", "--max-lag", "5", "--quiet-seconds", "0.5", "--wait", "3", "--reason", "because", "--who", "bob")
    run(*RUN, *more, "--wave", "mine", "--groups", "bill.*", "--full-audit", "--until", FENCE, "--dry-run")
    ((wave, options, until, only),) = calls
    assert (wave.groups, options.wave, until, only) == (("bill.*",), "mine", FENCE, None)
    assert (options.by, options.max_lag, options.quiet_seconds, options.timeout) == (BY_ACL, 5, 0.5, 3.0)
    assert (options.reason, options.who, options.full_audit, options.dry_run) == ("because", "bob", True, True)


def test_a_dry_run_says_of_each_step_what_it_would_do(run, answers):
    answers(RECORD, StepOutcome(PREFLIGHT, DONE), StepOutcome(FENCE, WAITING), BROKEN)
    _, output, _ = run(*RUN, "--dry-run")
    assert [line for line in output.splitlines() if ": would" in line] == [
        "preflight: would do",
        "fence: would wait",
        "fence: would stop",
    ]


def test_dry_run_counts_in_front_of_the_part_too(run, answers):
    calls = answers(RECORD)
    run("cutover", "--dry-run", *RUN[1:])
    assert calls[0][1].dry_run is True


def test_a_wave_goes_on_by_its_name_as_it_was_begun(run, answers, stored):
    calls = answers(RECORD)
    stored(RECORD)
    run("cutover", "run", *FLOW, "--wave", NAME, "--step", FENCE)
    ((wave, options, until, only),) = calls
    assert (wave, options.by, options.reason, until, only) == (WAVE, BY_ACL, "we move", None, FENCE)


def test_a_name_that_is_not_there_is_refused(run, answers):
    answers(RECORD)
    code, _, words = run("cutover", "run", *FLOW, "--wave", "x")
    assert code == 1
    assert "WaveUnknown" in words
    assert "cutover status --flow 'east->west'" in words


def test_behind_open_a_run_prints_the_report_and_writes_it(run, answers, stored, tmp_path):
    answers(OPEN_RECORD, StepOutcome(OPEN, DONE))
    stored(OPEN_RECORD)
    page, data = tmp_path / "report.md", tmp_path / "report.json"
    _, output, _ = run(*RUN, "--output", str(page))
    assert f"# Wave {NAME} of east->west: open" in output
    assert page.read_text() in output
    run(*RUN, "--output", str(data))
    assert json.loads(data.read_text())["positions"] == [
        {"group": "billing", "topic": "orders", "partition": 0, "before": None, "after": 7, "reread": 0}
    ]


def test_a_report_that_cannot_be_written_says_so(run, stored, tmp_path):
    stored(OPEN_RECORD)
    code, _, words = run("cutover", "report", *FLOW, "--wave", NAME, "--output", str(tmp_path / "no" / "report.md"))
    assert code == 2
    assert "The report cannot be written" in words


def test_the_document_of_a_run_has_outcomes_the_wave_and_the_report(run, answers, stored):
    answers(OPEN_RECORD, BROKEN)
    stored(OPEN_RECORD)
    (flow,) = json.loads(run(*RUN, "--json")[1])["flows"]
    result = flow["result"]
    assert result["outcomes"][0]["findings"][0]["code"] == "StillWritten"
    assert (result["wave"]["state"], result["wave"]["next_step"]) == ("open", PREFLIGHT)
    assert result["report"]["wave"] == NAME


def test_status_lists_waves_and_the_steps_of_those_under_way(run, stored):
    stored(RECORD, dataclasses.replace(OPEN_RECORD, name="first", began=1))
    code, output, _ = run("cutover", "status")
    assert code == 0
    rows = [line.split()[:2] for line in output.splitlines()[2:4]]
    assert rows == [["first", "open"], [NAME, "under"]]
    assert f"{NAME}: topics orders.*, pay." in output
    assert "first: topics" not in output
    (row,) = [line.split() for line in output.splitlines() if line.startswith("fence ")]
    assert row == ["fence", "stopped", "1970-01-01T00:00:02.000Z", "1.5", "ann"]
    assert "fence: stop: Ben writes." in output
    assert f"Next: python -m kafka_mirror cutover run --flow 'east->west' --wave {NAME}" in output


@pytest.mark.parametrize(
    ("state", "parts"), [("under way", ["run", "rollback"]), (OPENED, ["report"]), (TAKING_BACK, ["rollback"]), (ROLLED_BACK, ["run"])]
)
def test_status_names_the_next_commands(run, stored, state, parts):
    stored(dataclasses.replace(RECORD, state=state))
    (flow,) = json.loads(run("cutover", "status", "--wave", NAME, "--json")[1])["flows"]
    (wave,) = flow["result"]["waves"]
    assert [command.split()[4] for command in wave["commands"]] == parts
    assert [step["step"] for step in wave["steps"]] == [PREFLIGHT, FENCE]


def test_a_flow_without_a_wave_says_so(run, stored):
    assert run("cutover", "status")[1] == "east->west:\nNo wave was begun.\n"


def test_a_roll_back_says_what_it_took_back(run, answers):
    calls = answers(dataclasses.replace(RECORD, state=ROLLED_BACK), StepOutcome(FENCE, DONE, ("2 ACLs removed.",)))
    code, output, _ = run("cutover", "rollback", *FLOW, "--wave", NAME)
    assert code == 0
    assert "fence: done\n  2 ACLs removed.\n" in output
    assert calls[0][0].wave == NAME


def test_a_wave_that_is_rolled_back_already_says_so(run, answers):
    answers(dataclasses.replace(RECORD, state=ROLLED_BACK))
    assert f"The wave {NAME} is rolled back." in run("cutover", "rollback", *FLOW, "--wave", NAME)[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("cutover", "run", *FLOW), "cutover run needs --topics, or --wave"),
        (("cutover", "run", "--topics", "a"), "cutover run needs --flow"),
        (("cutover", "rollback", *FLOW), "cutover rollback needs --wave"),
        (("cutover", "report", *FLOW), "cutover report needs --wave"),
        ((*RUN, "--mode", "failover"), "--mode failover needs --reason"),
        ((*RUN, "--until", "dance"), "cannot be 'dance'"),
        ((*RUN, "--until", FENCE, "--step", FENCE), "not allowed with"),
        ((*RUN, "--wave", "a/b"), "'a/b' is no name of a wave"),
        ((*RUN, "--wait", "nan"), "'nan' is no number of seconds"),
        ((*RUN, "--wait", "soon"), "'soon' is no number of seconds"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(run, stored, arguments, words):
    code, _, said = run(*arguments)
    assert code == 2
    assert words in said
    assert "Next:" in said
