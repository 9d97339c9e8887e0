"""`cutover run` on real brokers, from the preflight to the report: a wave that moves, one that is killed, one that is taken back."""

import os
import signal
import subprocess
import sys

import pytest

from kafka_mirror.cutover.wave.step import MOVE_GROUPS, STEPS
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.consumers import groups_of, read_offsets, set_offsets

MOST_PAUSE_SECONDS = 600
"""A pause is seconds, neither milliseconds nor a time of day."""
FAST = ("--quiet-seconds", "1", "--wait", "30", "--reason", "a test")


@pytest.fixture
def group(pair, topic, mirror):
    """A group that has read most of the wave's topic, which is copied."""
    name = f"billing-{pair.mark}"
    assert mirror("copy", "--without-spark")[0] == 0
    set_offsets(pair.source_bootstrap, name, {(topic, 0): 7, (topic, 1): 11})
    return name


def moved(pair, topic, group):
    """The group's positions on the target, by partition."""
    return {tp.partition: offset for tp, offset in read_offsets(pair.target_bootstrap, group).items() if tp.topic == pair.remote(topic)}


def test_a_wave_moves_and_its_report_has_the_pauses_and_positions(pair, oracle, topic, group, mirror):
    wave = ("--topics", topic, "--groups", group)
    code, drill = mirror("cutover", "run", *wave, *FAST, "--dry-run")
    assert [each["step"] for each in drill["result"]["outcomes"]] == list(STEPS)
    assert moved(pair, topic, group) == {}
    assert mirror("cutover", "status")[1]["result"] == {"waves": []}

    oracle.produce(pair.source_bootstrap, topic, 20, seed=2)
    code, flow = mirror("cutover", "run", *wave, *FAST)
    assert (code, flow["state"]) == (0, "done"), flow
    report = flow["result"]["report"]
    assert [(step["step"], step["state"]) for step in report["steps"]] == [(step, "done") for step in STEPS]
    assert 0 < report["write_pause_seconds"] < MOST_PAUSE_SECONDS
    assert 0 <= report["read_pause_seconds"] < MOST_PAUSE_SECONDS
    assert report["audited_records"] == 80
    assert {place["partition"]: (place["before"], place["after"]) for place in report["positions"]} == {0: (None, 7), 1: (None, 11)}
    assert moved(pair, topic, group) == {0: 7, 1: 11}

    name = report["wave"]
    assert mirror("cutover", "run", "--wave", name)[1]["result"]["outcomes"] == []
    assert mirror("cutover", "report", "--wave", name)[1]["result"] == report
    code, refused = mirror("cutover", "rollback", "--wave", name)
    assert (code, [error["code"] for error in refused["errors"]]) == (1, ["WaveIsOpen"])


def test_a_wave_is_taken_back_and_moves_later(pair, oracle, topic, group, mirror):
    wave = ("--topics", topic, "--groups", group, "--wave", "mine")
    assert mirror("cutover", "run", *wave, *FAST, "--until", MOVE_GROUPS)[0] == 0
    assert moved(pair, topic, group) == {0: 7, 1: 11}
    assert mirror("cutover", "rollback", "--wave", "mine")[0] == 0
    assert moved(pair, topic, group) == {}
    (record,) = mirror("cutover", "status")[1]["result"]["waves"]
    assert record["state"] == "rolled back"
    oracle.produce(pair.source_bootstrap, topic, 20, seed=2)
    code, flow = mirror("cutover", "run", "--wave", "mine", *FAST)
    assert (code, flow["result"]["wave"]["state"], flow["result"]["wave"]["attempt"]) == (0, "open", 2)


def test_positions_that_changed_on_either_side_since_they_were_moved_are_moved_again_before_the_wave_opens(pair, topic, group, mirror):
    """A person mends for an hour what stopped `open`; meanwhile consumers read on on the source, and an undo takes a position back."""
    wave = ("--topics", topic, "--groups", group, "--wave", "mine")
    assert mirror("cutover", "run", *wave, *FAST, "--until", MOVE_GROUPS)[0] == 0
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 9})
    with groups_of(pair.target_bootstrap) as groups:
        assert groups.delete({group: [TopicPartition(pair.remote(topic), 1)]}, {}) == {group: {}}
    code, flow = mirror("cutover", "run", "--wave", "mine", *FAST)
    assert (code, flow["result"]["wave"]["state"]) == (0, "open"), flow
    assert moved(pair, topic, group) == {0: 9, 1: 11}


@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_is_killed_at_a_step_goes_on(pair, topic, group, mirror, step):
    wave = ("--topics", topic, "--groups", group, "--wave", "killed")
    file = str(pair.directory / "mm2.properties")
    command = [sys.executable, "-m", "kafka_mirror", "--config", file, "cutover", "run", "--flow", pair.flow, *wave, *FAST]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=dict(os.environ)) as process:
        for line in process.stderr:
            if f" {step} begins." in line:
                process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    code, flow = mirror("cutover", "run", "--wave", "killed", *FAST)
    assert (code, flow["result"]["wave"]["state"]) == (0, "open"), flow
    assert moved(pair, topic, group) == {0: 7, 1: 11}
