"""What a time comes to where parts of the flow cannot be had: which of it is an error, and which a person wants so."""

from collections.abc import Iterator, Mapping, MutableMapping
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.backfill import resolve
from kafka_mirror.backfill.model import BackfillRequest, OffsetInterval, Resolution, TimeInterval
from kafka_mirror.backfill.resolve import SAMPLE, TimestampedOffset, find_jump
from kafka_mirror.copy.plan.run import PlanContext
from kafka_mirror.errors import (
    AuthorizationRefused,
    ErrorReport,
    KafkaFailure,
    LedgerDamaged,
    MirrorError,
    SourceGap,
    TargetMissing,
    UsageError,
)
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import PAUSE, Decision
from tests.unit.backfill.surveys import OTHER, RECORD, TIMES, TP, flow, found, topic

HIDDEN = AuthorizationRefused("east", "DESCRIBE", "topic hidden", topic="hidden").report().with_flow("east->west")


class Reader:
    """Reads nothing, and may be refused to read what stands behind an interval."""

    def __init__(self, refused: bool = False) -> None:
        self._refused = refused

    def first_visible(self, *_: Any, **__: Any) -> dict[TopicPartition, Any]:
        return {}

    def read(self, ranges: Mapping[TopicPartition, tuple[int, int]], _: float, errors: MutableMapping[str, MirrorError]) -> Iterator[Any]:
        if self._refused and ranges:
            assert {end - start for start, end in ranges.values()} <= {SAMPLE}
            errors["orders"] = AuthorizationRefused("east", "READ", "topic orders", topic="orders")
        return iter(())


def resolved(survey: PlanContext, *topics: str, offsets: Any = lambda tp, time: 40 if time == 0 else 90) -> Resolution:
    """What the times come to where the source has these offsets for them."""

    def offsets_for_time(wanted: Any, time: int, _: Any) -> dict[TopicPartition, int | None]:
        return {tp: offset for tp in wanted if (offset := offsets(tp, time)) is not None}

    return resolve._resolve_one(flow(), BackfillRequest(TIMES, topics), SimpleNamespace(offsets_for_time=offsets_for_time), survey)  # type: ignore[arg-type]


def codes(found: Resolution) -> list[tuple[str, str | None, int | None]]:
    return [(each.code, each.topic, each.partition) for each in found.errors]


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "_open_reader", lambda _: Reader())


BOTH = {TP: RECORD, OTHER: RECORD}


def test_partitions_whose_remote_partitions_are_gone_are_errors() -> None:
    errors = [TargetMissing(*tp, "east.orders").report() for tp in (TP, OTHER)]
    answer = resolved(found(records=BOTH, errors=errors, remote_partitions=0))
    assert (codes(answer), answer.not_had) == ([("TargetMissing", *TP), ("TargetMissing", *OTHER)], ())


def test_partition_without_a_leader_is_an_error_wherever_that_is_noticed() -> None:
    answer = resolved(found(TP, records=BOTH, source_topic=topic("orders", (True, False))))
    assert (codes(answer), answer.not_had) == ([("SourceUnreadable", *OTHER)], ())
    assert codes(resolved(found(TP, records=BOTH))) == [("SourceUnreadable", *OTHER)], "its offsets were asked for in vain"
    answer = resolved(found(TP, OTHER), offsets=lambda tp, time: time if tp == TP else None)
    assert (codes(answer), len(answer.intervals)) == ([("SourceUnreadable", *OTHER)], 1)
    assert codes(resolved(found(records={}, remote_partitions=0))) == [("SourceUnreadable", *TP), ("SourceUnreadable", *OTHER)]


def test_what_is_paused_or_waits_for_refresh_topics_is_no_error() -> None:
    pause = Decision(PAUSE, "somebody", datetime(2026, 11, 21, tzinfo=UTC), "a move", "orders", 0)
    answer = resolved(found(source_topic=topic("orders", (False, True)), decisions=[pause], remote_partitions=1))
    assert (answer.errors, answer.intervals) == ((), ())
    assert answer.not_had == ("orders: 1 of 2 partitions are paused", "orders: 1 of 2 partitions wait for refresh-topics")


@pytest.mark.parametrize(
    "lane",
    [KafkaFailure("no leader", topic="mm2-ledger.east.internal", partition=0), LedgerDamaged("ledger-0@7", "torn")],
    ids=["led", "torn"],
)
def test_lane_of_the_ledger_that_cannot_be_read_is_one_error(lane: MirrorError) -> None:
    for topics in ((), ("orders",)):
        answer = resolved(found(records={}, unreadable=[lane]), *topics)
        assert ([each.code for each in answer.errors], answer.not_had) == ([lane.code], ())


def test_topic_that_is_hidden_is_an_error_where_it_is_asked_for() -> None:
    survey = found(TP, OTHER, errors=[HIDDEN])
    for topics, errors, intervals in (
        ((), (HIDDEN,), 2),
        (("hidden", "orders"), (HIDDEN,), 2),
        (("orders",), (), 2),
        (("hidden",), (HIDDEN,), 0),
    ):
        answer = resolved(survey, *topics)
        assert (answer.errors, len(answer.intervals)) == (errors, intervals)
    with pytest.raises(UsageError, match="does not mirror unknown"):
        resolved(survey, "unknown", "hidden")


def test_what_the_plan_says_of_a_partition_with_an_interval_is_told_only_if_the_interval_is_concerned() -> None:
    answer = resolved(found(TP, OTHER, errors=[SourceGap(*TP, 100, 150).report()]))
    assert (answer.errors, len(answer.intervals)) == ((), 2)


def test_topic_that_refuses_to_be_read_behind_its_interval_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "_open_reader", lambda _: Reader(refused=True))
    refused: ErrorReport
    (refused,) = resolved(found(TP, OTHER), offsets=lambda tp, time: 40 if time == 0 or tp == OTHER else 90).errors
    assert (refused.code, refused.topic) == ("AuthorizationRefused", "orders")


def test_wild_timestamp_below_the_start_of_the_copy_matters_only_to_who_asks_for_history() -> None:
    below = OffsetInterval(*TP, 40, 90, 0, 200)
    assert resolve._is_losing_records(below, 100, with_history=True)
    assert not resolve._is_losing_records(below, 100, with_history=False)
    empty = OffsetInterval(*TP, 140, 140, 0, 200)
    assert resolve._is_losing_records(empty, 100, with_history=False), "of the live part it is all that would be audited"
    assert not resolve._is_losing_records(OffsetInterval(*TP, 140, 150, 0, 200), 100, with_history=True)


DAY = 86_400_000
FOURTH = TimeInterval(4 * DAY, 5 * DAY)


def interval(start: int, end: int) -> OffsetInterval:
    return OffsetInterval("orders", 0, start, end, 0, 100)


def stamped(*days: float) -> list[TimestampedOffset]:
    return [TimestampedOffset(42 + number, int(day * DAY)) for number, day in enumerate(days)]


EMPTY, HAS_OTHERS = interval(42, 42), interval(30, 42)


@pytest.mark.parametrize(
    ("asked", "behind", "jump"),
    [
        pytest.param(EMPTY, [5000, 3.5, 4.1, 4.2], 5000, id="empty after a record from the future"),
        pytest.param(EMPTY, [5.001, 4.999], 5.001, id="empty, by however little"),
        pytest.param(EMPTY, [5.1, 5.2, 6], None, id="empty, for nobody stamped its time"),
        pytest.param(EMPTY, [5.1, 4.5, 5.2, 5.3], None, id="empty, few late ones among many of the right time"),
        pytest.param(EMPTY, [4.5, 5.5, 5.6], None, id="empty, the late one in front of the one that is ahead"),
        pytest.param(EMPTY, [], None, id="empty, nothing visible after it"),
        pytest.param(HAS_OTHERS, [5.001, 4.999, 5.002], None, id="a little late where the interval has others"),
        pytest.param(HAS_OTHERS, [9, 4.999], 9, id="far ahead where the interval has others"),
        pytest.param(HAS_OTHERS, [5.1, 1, 1, 5.2, 5.3, 5.4], None, id="few late ones among many of the right time"),
        pytest.param(HAS_OTHERS, [9, 4.1, 9, 4.2, 4.3], 9, id="far ahead among some of the right time"),
    ],
)
def test_a_wild_timestamp_is_one_that_the_records_after_it_contradict(
    asked: OffsetInterval, behind: list[float], jump: float | None
) -> None:
    expected = None if jump is None else TimestampedOffset(42, int(jump * DAY))
    assert find_jump(asked, FOURTH, stamped(*behind)) == expected
