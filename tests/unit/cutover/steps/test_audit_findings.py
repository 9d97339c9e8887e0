"""What an audit says against moving a wave."""

from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.audit.model import DIFFERENT, EQUAL, MISSING, UNREAD, AuditResult, Difference, LeftOut, PartitionAudit
from kafka_mirror.cutover.steps.audit_gate import PartitionEnds, find_not_copied, find_outdated, judge_audit
from kafka_mirror.cutover.wave.findings import STOP, WARNING
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.next_step import of_the_wave
from kafka_mirror.formats.offsets.partition import TopicPartition

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
COPIED = PartitionEnds(0, 10, 10, 12, "g")


def audited(*partitions, errors=()):
    result = AuditResult("east->west", datetime(2026, 1, 1, tzinfo=UTC), partitions, errors)
    return [(finding.kind, finding.code, finding) for finding in judge_audit(result, ["orders"], of_the_wave("rollback", "first"))]


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
    assert (late.code, "orders-1 (9 of 10)" in late.message) == ("NotCopiedToTheEnd", True)
    (silent,) = find_not_copied({ZERO: COPIED}, [ZERO, ONE], "east")
    assert (silent.code, "orders-1" in silent.message) == ("LeaderMissing", True)


def test_what_a_decision_or_a_new_topic_changed_since_is_named_although_no_end_moved():
    (finding,) = find_outdated({ZERO: COPIED, ONE: COPIED}, {ZERO: COPIED, ONE: replace(COPIED, generation="h")})
    assert (finding.kind, finding.code, finding.topic) == (STOP, "AuditOutdated", "orders")
    assert "orders-1" in finding.message
    assert "orders-0" not in finding.message


def test_a_partition_that_came_since_is_named_unless_it_is_empty():
    (finding,) = find_outdated({ZERO: COPIED}, {ZERO: COPIED, ONE: COPIED})
    assert (finding.code, "orders-1" in finding.message) == ("AuditOutdated", True)
    assert list(find_outdated({ZERO: COPIED}, {ZERO: COPIED, ONE: PartitionEnds(4, 4)})) == []


def test_what_was_written_since_on_either_side_is_named():
    assert list(find_outdated({ZERO: COPIED}, {ZERO: COPIED})) == []
    for now in ({}, {ZERO: replace(COPIED, source_end=11)}, {ZERO: replace(COPIED, target_end=13)}):
        (finding,) = find_outdated({ZERO: COPIED}, now)
        assert (finding.code, "orders-0" in finding.message) == ("AuditOutdated", True)
