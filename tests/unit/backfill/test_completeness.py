"""Which hours and days of a topic are complete on the target."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.audit.model import DIFFERENT, EQUAL, UNPROVEN, AuditResult, LeftOut, PartitionAudit
from kafka_mirror.backfill.completeness import DAYS, HOURS, clip_offsets, completeness, describe_late, list_periods
from kafka_mirror.backfill.model import OffsetInterval, Resolution, TimeInterval
from kafka_mirror.errors import ErrorReport

HOUR = 3_600_000
DAY = 24 * HOUR
FIRST = 1_793_491_200_000  # 2026-11-01
NEVER = 2 * FIRST


def keys(start, end, units, now=NEVER):
    return [period.key for period in list_periods(TimeInterval(start, end), units, now)]


def test_periods_are_named_as_airflows_mappers_name_them():
    assert keys(FIRST, FIRST + 2 * HOUR, [HOURS]) == ["2026-11-01T00", "2026-11-01T01"]
    assert keys(FIRST, FIRST + 2 * DAY, [DAYS]) == ["2026-11-01", "2026-11-02"]
    assert keys(FIRST, FIRST + DAY, [DAYS, HOURS])[:2] == ["2026-11-01", "2026-11-01T00"]


def test_only_whole_periods_count_that_are_over():
    assert keys(FIRST + 1, FIRST + 3 * HOUR - 1, [HOURS]) == ["2026-11-01T01"]
    assert keys(FIRST + 1, FIRST + DAY, [DAYS]) == []
    assert keys(FIRST, FIRST + 3 * HOUR, [HOURS], now=FIRST + 2 * HOUR) == ["2026-11-01T00", "2026-11-01T01"]
    assert keys(FIRST, FIRST + 3 * HOUR, [HOURS], now=FIRST + 2 * HOUR - 1) == ["2026-11-01T00"]


@given(st.integers(0, 10 * DAY), st.lists(st.integers(1, 3 * DAY), min_size=1, max_size=5))
def test_intervals_that_tile_name_each_whole_hour_inside_one_of_them_once(start, lengths):
    ends = [start]
    for length in lengths:
        ends.append(ends[-1] + length)
    pieces = [TimeInterval(*piece) for piece in pairwise(ends)]
    periods = [period for piece in pieces for period in list_periods(piece, [HOURS], NEVER)]
    assert len({period.key for period in periods}) == len(periods)
    expected = [
        TimeInterval(hour, hour + HOUR)
        for hour in range(0, ends[-1], HOUR)
        if any(piece.start <= hour and hour + HOUR <= piece.end for piece in pieces)
    ]
    assert [period.times for period in periods] == expected


def interval(partition, start, end, topic="orders"):
    return OffsetInterval(topic, partition, start, end, 0, 1000)


def audited(partition, start, end, state=EQUAL, topic="orders", remote="east.orders", **fields):
    return PartitionAudit(topic=topic, partition=partition, remote=remote, state=state, source=(start, end), target=(start, end), **fields)


def found(intervals, partitions, errors=(), audit_errors=(), absent=()):
    resolution = Resolution("east->west", TimeInterval(0, DAY), tuple(intervals), errors=tuple(errors), absent=tuple(absent))
    audit = AuditResult("east->west", datetime(2026, 11, 2, tzinfo=UTC), tuple(partitions), errors=tuple(audit_errors))
    return completeness(resolution, audit, lambda topic: f"east.{topic}")


def test_a_topic_is_complete_if_every_partition_was_read_and_equal():
    result = found([interval(0, 10, 20), interval(1, 5, 9)], [audited(0, 10, 20), audited(1, 0, 9)])
    assert result.complete == {"orders": {0: (10, 20), 1: (5, 9)}}
    assert not result.reasons


def test_nothing_has_to_be_read_of_an_empty_interval():
    assert found([interval(0, 10, 20), interval(1, 5, 5)], [audited(0, 10, 20)]).complete == {"orders": {0: (10, 20), 1: (5, 5)}}


def test_parts_that_lie_side_by_side_are_one():
    assert found([interval(0, 10, 20)], [audited(0, 15, 20), audited(0, 10, 15)]).complete


@pytest.mark.parametrize(
    ("partitions", "why"),
    [
        ([audited(0, 10, 20, state=DIFFERENT)], "orders-0: the audit calls it different."),
        ([audited(0, 10, 20, state=UNPROVEN)], "orders-0: the audit calls it could not be had."),
        ([audited(0, 10, 18)], "orders-0: the audit has not read offset 18"),
        ([audited(0, 12, 20)], "orders-0: the audit has not read offset 10"),
        ([audited(0, 10, 12), audited(0, 13, 20)], "orders-0: the audit has not read offset 12"),
        ([], "orders-0: the audit has not read offset 10"),
        ([audited(0, 10, 20, left_out=(LeftOut(12, 14, "a decision passed it over"),))], "12 to 14: a decision passed it over"),
        ([audited(0, 10, 20, remote="history.east.orders")], "a part of it stands in history.east.orders"),
    ],
)
def test_a_partition_that_is_not_proven_keeps_its_topic_back_with_the_reason(partitions, why):
    result = found([interval(0, 10, 20), interval(1, 5, 9), interval(0, 0, 3, "other")], [*partitions, audited(1, 5, 9), other()])
    assert list(result.complete) == ["other"]
    assert why in result.reasons["orders"]


def other():
    return audited(0, 0, 3, topic="other", remote="east.other")


def test_an_error_of_a_topic_keeps_it_back_and_one_of_the_flow_all():
    of_topic = ErrorReport("SourceUnreadable", "orders-1: no leader", topic="orders", partition=1)
    result = found([interval(0, 10, 20), interval(0, 0, 3, "other")], [audited(0, 10, 20), other()], errors=[of_topic])
    assert (list(result.complete), dict(result.reasons)) == (["other"], {"orders": "orders-1: no leader"})
    of_flow = ErrorReport("LedgerUnreadable", "the ledger cannot be read")
    result = found([interval(0, 10, 20)], [audited(0, 10, 20)], audit_errors=[of_flow])
    assert (dict(result.complete), dict(result.reasons)) == ({}, {"orders": "orders-0: the ledger cannot be read"})


def test_a_topic_with_a_paused_partition_is_not_complete():
    result = found([interval(0, 10, 20)], [audited(0, 10, 20)], absent=["orders"])
    assert not result.complete
    assert "orders: partitions are paused" in result.reasons["orders"]


def test_a_period_is_told_as_far_as_it_was_audited():
    assert clip_offsets({0: (5, 30), 1: (0, 4)}, {0: (0, 20), 1: (0, 4)}) == {0: (5, 20), 1: (0, 4)}
    assert clip_offsets({0: (25, 30)}, {0: (0, 20)}) == {0: (20, 20)}
    assert clip_offsets({0: (5, 30)}, {0: (0, 20), 1: (0, 4)}) is None


def test_what_came_late_is_counted_by_partition():
    assert describe_late({0: (5, 20), 1: (0, 4)}, {0: (5, 20), 1: (0, 4)}) == ""
    assert describe_late({0: (5, 20), 1: (0, 4)}, {0: (5, 22), 1: (0, 1004), 2: (0, 3)}) == (
        "partition 0: 2 offsets, partition 1: 1,000 offsets, partition 2: 3 offsets"
    )
