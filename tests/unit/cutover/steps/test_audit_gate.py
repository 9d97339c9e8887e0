"""What an audit says against moving a wave, up to where it was audited, and for which ends that counts."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from kafka_mirror.audit.model import DIFFERENT, EQUAL, MISSING, UNREAD, AuditResult, Difference, LeftOut, PartitionAudit
from kafka_mirror.cutover.steps import audit_gate
from kafka_mirror.cutover.steps.audit_gate import (
    AUDITED,
    PartitionEnds,
    find_audit_starts,
    find_not_copied,
    find_outdated,
    judge_audit,
    make_evidence,
    read_evidence,
    write_evidence,
)
from kafka_mirror.cutover.wave.step import STOP, WARNING
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.next_step import wave_command
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.wave_notes import NotesInMemory, step_options

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
COPIED = PartitionEnds(0, 10, 10, 12, "g")
LATER = PartitionEnds(0, 20, 20, 25, "g")


def audited(*partitions, errors=()):
    result = AuditResult("east->west", datetime(2026, 1, 1, tzinfo=UTC), partitions, errors)
    return [(finding.kind, finding.code, finding) for finding in judge_audit(result, ["orders"], wave_command("rollback", "first"))]


def partition(state=EQUAL, **facts):
    return PartitionAudit(topic="orders", partition=0, remote="east.orders", state=state, **facts)


def test_an_equal_partition_says_nothing():
    assert audited(partition()) == []


def test_a_difference_stops_the_wave_at_its_offset_and_offers_to_take_it_back():
    ((kind, code, finding),) = audited(partition(DIFFERENT, difference=Difference(MISSING, "orders", 0, "east.orders", 7, 8)))
    assert (kind, code) == (STOP, "AuditDifferent")
    assert finding.message == "orders-0: missing record at source offset 7, east.orders-0@8. The audit changed nothing."
    assert any("cutover rollback" in command and "--wave first" in command for command in finding.error.commands)


def test_what_could_not_be_read_stops_the_wave_and_errors_of_other_topics_do_not():
    error = ErrorReport("TargetMissing", "gone", topic="orders")
    other = ErrorReport("TargetMissing", "gone", topic="payments")
    assert [found[:2] for found in audited(errors=(error, other))] == [(STOP, "TargetMissing")]
    ((kind, code, _),) = audited(partition(notes=(UNREAD,)))
    assert (kind, code) == (STOP, "AuditOpen")


def test_records_that_may_stand_on_the_target_are_a_warning():
    ((kind, code, finding),) = audited(partition(tolerated=1200))
    assert (kind, code) == (WARNING, "AuditTolerated")
    assert finding.message.startswith("east.orders-0: 1,200 records")


def test_what_was_left_out_is_said_once_a_reason():
    gaps = tuple(LeftOut(start, start + 1, "passed over") for start in (1, 5))
    ((kind, code, finding),) = audited(partition(left_out=gaps))
    assert (kind, code) == (WARNING, "AuditLeftOut")
    assert "0 [1, 2), 0 [5, 6): passed over" in finding.message


def test_every_partition_has_to_be_copied_to_its_end_or_be_empty():
    assert list(find_not_copied({ZERO: COPIED, ONE: PartitionEnds(4, 4)}, [ZERO, ONE], "east")) == []
    (late,) = find_not_copied({ZERO: COPIED, ONE: PartitionEnds(0, 10, 9, 12)}, [ZERO, ONE], "east")
    assert (late.code, "1 of 2 partitions are not copied to the source's end: orders-1 is at 9 of 10" in late.message) == (
        "NotCopiedToTheEnd",
        True,
    )
    (silent,) = find_not_copied({ZERO: COPIED}, [ZERO, ONE], "east")
    assert (silent.code, "orders-1" in silent.message) == ("LeaderMissing", True)


@pytest.mark.parametrize("change", [None, {"source_end": 11}, {"target_end": 13}, {"generation": "h"}])
def test_what_came_since_on_either_side_and_what_a_decision_or_a_new_topic_changed_is_named(change):
    (finding,) = find_outdated({ZERO: COPIED, ONE: COPIED}, {ZERO: COPIED} | ({ONE: replace(COPIED, **change)} if change else {}))
    assert (finding.kind, finding.code, finding.topic) == (STOP, "AuditOutdated", "orders")
    assert "orders-1" in finding.message
    assert "orders-0" not in finding.message


def test_a_partition_that_the_audit_does_not_know_is_named_unless_it_is_empty():
    assert list(find_outdated({ZERO: COPIED}, {ZERO: COPIED})) == []
    (finding,) = find_outdated({ZERO: COPIED}, {ZERO: COPIED, ONE: COPIED})
    assert (finding.code, "orders-1" in finding.message) == ("AuditOutdated", True)
    assert list(find_outdated({ZERO: COPIED}, {ZERO: COPIED, ONE: PartitionEnds(4, 4)})) == []


def test_an_audit_from_some_offset_on_is_no_whole_one():
    assert list(find_outdated({ZERO: replace(COPIED, start=3)}, {ZERO: COPIED})) == []
    (finding,) = find_outdated({ZERO: replace(COPIED, start=3)}, {ZERO: COPIED}, whole=True)
    assert "--full-audit asks for all" in finding.message


def test_the_next_audit_begins_where_the_last_good_one_ended():
    assert find_audit_starts({ZERO: COPIED}, {ZERO: LATER, ONE: COPIED}) == {ZERO: 10}


@pytest.mark.parametrize("change", [{"source_end": 9}, {"target_end": 11}, {"target_end": None}, {"generation": "h"}])
def test_a_log_that_lost_its_end_or_is_another_one_is_audited_whole(change):
    assert find_audit_starts({ZERO: COPIED}, {ZERO: replace(COPIED, **change)}) == {}


def test_evidence_grows_from_its_beginning_and_begins_anew_where_the_whole_was_read():
    before = replace(COPIED, start=3)
    assert make_evidence({ZERO: before, ONE: before}, {ZERO: 10}, {ZERO: LATER, ONE: LATER}) == {ZERO: replace(LATER, start=3), ONE: LATER}


def test_evidence_is_what_was_copied_when_the_audit_began():
    assert make_evidence({}, {}, {ZERO: replace(COPIED, source_end=30), ONE: PartitionEnds(0, 10)}) == {ZERO: COPIED}


def test_evidence_comes_back_from_the_control_topic_as_it_was():
    evidence = {ZERO: COPIED, ONE: replace(COPIED, start=3)}
    written = json.loads(json.dumps({AUDITED: write_evidence(evidence)}))
    assert written == {AUDITED: {"orders": {"0": [0, 10, 12, "g"], "1": [3, 10, 12, "g"]}}}
    assert read_evidence(written) == evidence
    assert read_evidence({}) == {}


@pytest.mark.parametrize(
    ("now", "full_audit", "codes"),
    [
        (COPIED, False, []),
        (replace(COPIED, generation="h"), False, ["AuditOutdated"]),
        (LATER, False, ["AuditOutdated"]),
        (replace(COPIED, source_end=11), False, ["NotCopiedToTheEnd", "AuditOutdated"]),
        (COPIED, True, ["AuditOutdated"]),
    ],
)
def test_whatever_makes_the_evidence_count_no_more_is_named_so_that_the_gate_runs_once_more(monkeypatch, now, full_audit, codes):
    notes = NotesInMemory()
    notes.keep("audit-gate", {AUDITED: write_evidence({ONE: replace(COPIED, start=3)})})
    monkeypatch.setattr(audit_gate, "_read_ends", lambda *_: ({ONE: now}, []))
    move = SimpleNamespace(list_partitions=lambda: [ONE], flow=SimpleNamespace(name="east->west", source="east"))
    assert [finding.code for finding in audit_gate.find_audit_breaks(move, notes, step_options(full_audit=full_audit))] == codes
