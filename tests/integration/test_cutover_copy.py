"""Catching up and the last copy of a wave, on real brokers."""

import os

import pytest

from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.cutover.steps import copies, fence
from kafka_mirror.cutover.wave.move import open_move
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import DONE, FENCE, STOPPED, WAITING
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.oracle import Record
from tests.wave_notes import NotesInMemory
from tests.wave_notes import waiting_options as options


@pytest.fixture
def notes():
    return NotesInMemory()


@pytest.fixture
def other(mirroring, oracle):
    """A topic of the flow that no wave of these tests moves."""
    name = mirroring.pair.topic("payments")
    oracle.create_topic(mirroring.source, name, 1)
    oracle.produce(mirroring.source, name, 10, seed=2)
    return name


def watermarks(mirroring, *topics):
    return {tp: record.watermark for tp, record in mirroring.ledger().items() if tp.topic in topics}


def refused_by_target(mirroring, topic):
    """Lets the target refuse what comes next to one partition of a topic that is copied."""
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(topic), {"max.message.bytes": "200"})
    mirroring.oracle.produce_records(mirroring.source, topic, [Record(b"k", os.urandom(2000), partition=0)])


def test_a_wave_catches_up_by_copies_of_its_own_topics_alone(mirroring, topic, other, notes):
    said = []
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = copies.catch_up(move, notes, options(max_lag=0, progress=said.append))
        assert (outcome.state, outcome.facts["lag"], outcome.facts["records"], outcome.facts["passes"]) == (DONE, 0, 60, 1), outcome
        again = copies.catch_up(move, notes, options(max_lag=0))
    assert (again.state, again.facts["passes"]) == (DONE, 0)
    assert said[0] == "The wave lags by 60 records, by 35 in one partition at most."
    assert said[1].startswith("The wave lags by 0 records, by 0 in one partition at most; ")
    assert said[1].endswith("records/s are written: at this rate it has caught up in 0 s.")
    assert set(watermarks(mirroring, topic, other)) == {(topic, 0), (topic, 1)}
    mirroring.assert_mirrored(topic)


def test_a_wave_within_its_lag_is_not_copied(mirroring, topic, notes):
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = copies.catch_up(move, notes, options(max_lag=35))
    assert (outcome.state, outcome.facts["passes"], outcome.facts["most_lag"]) == (DONE, 0, 35)


def test_at_the_end_of_its_time_the_step_waits_and_names_who_is_behind(mirroring, topic, notes):
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = copies.catch_up(move, notes, options(max_lag=24, timeout=0.0))
    assert (outcome.state, [each.code for each in outcome.findings]) == (WAITING, ["WaveBehind"])
    assert f"2 partitions are more than 24 records behind: {topic}-0 (25), {topic}-1 (35)." in outcome.findings[0].message


def test_a_copy_that_is_red_for_the_wave_stops_it_and_one_of_another_topic_does_not(mirroring, topic, other, notes):
    assert mirroring.copy().state == "done"
    refused_by_target(mirroring, topic)
    with open_move(mirroring.flow, Wave((other,))) as move:
        assert copies.catch_up(move, notes, options(max_lag=0)).state == DONE
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = copies.catch_up(move, notes, options(max_lag=0))
    assert (outcome.state, {each.topic for each in outcome.findings[1:]}) == (STOPPED, {topic}), outcome
    assert "max.message.bytes" in outcome.findings[1].message


def test_a_dry_run_copies_nothing(mirroring, topic, notes):
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = copies.catch_up(move, notes, options(max_lag=0, dry_run=True))
    assert (outcome.state, outcome.lines[-1]) == (DONE, "It would be copied until no partition lags by more than 0 records.")
    assert topic not in {name.partition(".")[2] for name in mirroring.oracle.topics(mirroring.target)}


def test_the_last_copy_ends_at_the_exact_ends_behind_the_fence_and_proves_it(mirroring, topic, other, oracle, notes):
    assert mirroring.copy().state == "done"
    oracle.produce(mirroring.source, topic, 40, seed=3, transactions=7, abort_percent=30)
    with open_move(mirroring.flow, Wave((topic,))) as move:
        notes.record(fence.step(move, notes, options()))
        dry = copies.last_copy(move, notes, options(dry_run=True))
        assert (dry.state, dry.lines) == (DONE, ("2 partitions would be copied to the end that the write fence noted.",))
        outcome = notes.record(copies.last_copy(move, notes, options()))
        again = copies.last_copy(move, notes, options())
    ends = notes.read_step(FENCE)["ends"]
    assert (outcome.state, outcome.facts["watermarks"]) == (DONE, ends), outcome
    assert (again.state, again.facts["watermarks"], again.facts["records"]) == (DONE, ends, 0)
    assert watermarks(mirroring, topic) == {TopicPartition(topic, number): end for number, end in enumerate(ends[topic])}
    compared = mirroring.assert_mirrored(topic)
    assert outcome.facts["target_next"][topic] == [mirroring.ledger()[TopicPartition(topic, n)].target_next for n in (0, 1)], compared


def test_without_a_fence_or_behind_one_that_was_written_through_nothing_is_copied(mirroring, topic, oracle, notes):
    assert mirroring.copy().state == "done"
    with open_move(mirroring.flow, Wave((topic,))) as move:
        assert copies.last_copy(move, notes, options(dry_run=True)).state == DONE, "a fence comes first"
        outcome = copies.last_copy(move, notes, options())
        assert (outcome.state, [each.code for each in outcome.findings]) == (STOPPED, ["NotFenced"])
        notes.record(fence.step(move, notes, options()))
        before = watermarks(mirroring, topic)
        oracle.produce(mirroring.source, topic, 5, seed=3, partition=1)
        outcome = copies.last_copy(move, notes, options())
    assert (outcome.state, [each.code for each in outcome.findings]) == (STOPPED, ["WrittenSinceFence"])
    assert watermarks(mirroring, topic) == before


def test_what_is_written_while_the_last_copy_runs_stops_it(mirroring, topic, oracle, notes, monkeypatch):
    def copy(flow, plan, run):
        results = copy_in_process(flow, plan, run)
        oracle.produce(mirroring.source, topic, 1, seed=3, partition=0)
        return results

    with open_move(mirroring.flow, Wave((topic,))) as move:
        notes.record(fence.step(move, notes, options()))
        monkeypatch.setattr(copies, "copy_in_process", copy)
        outcome = copies.last_copy(move, notes, options())
    assert (outcome.state, [each.code for each in outcome.findings]) == (STOPPED, ["WrittenSinceFence"])


def test_the_ledger_decides_and_not_what_a_copy_says_of_itself(mirroring, topic, notes, monkeypatch):
    with open_move(mirroring.flow, Wave((topic,))) as move:
        notes.record(fence.step(move, notes, options()))
        monkeypatch.setattr(copies, "copy_in_process", lambda *_: [])
        outcome = copies.last_copy(move, notes, options())
    assert outcome.state == STOPPED
    assert outcome.findings[0].code == "NotCopiedToTheEnd"
    assert f"2 of 2 partitions are not copied to the source's end: {topic}-0 is at nothing of 25" in (outcome.findings[0].message)


def test_a_last_copy_that_is_on_its_way_at_the_end_of_its_time_waits(mirroring, topic, notes):
    with open_move(mirroring.flow, Wave((topic,))) as move:
        notes.record(fence.step(move, notes, options()))
        outcome = copies.last_copy(move, notes, options(timeout=0.0))
        assert (outcome.state, [each.code for each in outcome.findings]) == (WAITING, ["NotCopiedToTheEnd"])
        assert copies.last_copy(move, notes, options()).state == DONE


def test_a_partition_that_the_target_refuses_is_named_with_why(mirroring, topic, notes):
    assert mirroring.copy().state == "done"
    refused_by_target(mirroring, topic)
    with open_move(mirroring.flow, Wave((topic,))) as move:
        notes.record(fence.step(move, notes, options()))
        outcome = copies.last_copy(move, notes, options())
    assert outcome.state == STOPPED
    assert f"1 of 2 partitions are not copied to the source's end: {topic}-0 is at 25 of 26" in outcome.findings[0].message
    assert "max.message.bytes" in outcome.findings[1].message


def test_a_partition_that_somebody_paused_stops_both_steps(mirroring, topic, decide, notes):
    assert mirroring.copy().state == "done"
    assert decide("pause", "--flow", mirroring.pair.flow, "--topic", topic, "--reason", "not now")[0] == 0
    with open_move(mirroring.flow, Wave((topic,))) as move:
        outcome = copies.catch_up(move, notes, options(max_lag=0))
    assert (outcome.state, [each.code for each in outcome.findings]) == (STOPPED, ["NotCopied"])
    assert "is left out: pause by" in outcome.findings[0].message
