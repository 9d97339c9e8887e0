"""The status of a flow from what was seen: states, lag, age, who wrote last; and the words of the command."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.cli.status import summary
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.errors import ErrorReport, LedgerDamaged, RemoteTopicRefused, SourceGap, TargetMissing, UnexplainedTarget
from kafka_mirror.errors.base import CLASSES
from kafka_mirror.errors.words import duration
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.kafka.model import Partition, Topic
from kafka_mirror.ledger.record import Blocked, Decided, Writer
from kafka_mirror.status.observation import work_of
from kafka_mirror.status.status import PROGRESSING, Observation, status_of
from tests.unit.ledger_records import ledger_record

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
TP = TopicPartition("orders", 0)
FOUND = SourceOffsets(TP, "source-topic-id", log_start=10, readable_end=100, end=100)
SEEN = Observation(
    "east->west",
    NOW,
    lanes=16,
    topics={"orders": Topic("orders", "source-topic-id", (Partition(0, 1, (1,), (1,)),))},
    source={TP: FOUND},
    ledger={TP: ledger_record(watermark=100)},
    comparable=True,
)

NOT_CREATED = RemoteTopicRefused("orders", "east.orders", "Topic 'east.orders' collides with 'east_orders'.", "Choose another.").report()


def one(seen: Observation):
    (partition,) = status_of(seen).partitions
    return partition


def at(watermark, **fields):
    return {TP: ledger_record(watermark=watermark, **fields)}


def source(**fields):
    return {TP: replace(FOUND, **fields)}


def stuck(offset=50):
    return at(50, blocked=Blocked(offset, "RecordRefused", "orders-0@50 is too large.", NOW - timedelta(hours=1), 3))


@pytest.mark.parametrize(
    ("changes", "state", "lag"),
    [
        ({}, "up to date", 0),
        ({"ledger": at(60)}, "behind", 40),
        ({"ledger": at(100), "source": source(end=130)}, "open transaction", 30),
        ({"ledger": at(60), "source": source(end=130)}, "behind", 70),
        ({"ledger": {}, "starts": {TP: 10}}, "first sight", 90),
        ({"ledger": {}}, "first sight", None),
        ({"ledger": stuck()}, "blocked", 50),
        ({"ledger": stuck(offset=40)}, "behind", 50),
        ({"ledger": at(5), "errors": (SourceGap("orders", 0, 5, 10).report(),)}, "gap", 95),
        ({"errors": (TargetMissing("orders", 0, "east.orders").report(),)}, "no remote partition", 0),
        ({"errors": (UnexplainedTarget("orders", 0, "east.orders", 7, 9, True).report(),)}, "unexplained target", 0),
        ({"errors": (ErrorReport("AuthorizationRefused", "no", "orders"),)}, "not allowed", 0),
        ({"errors": (ErrorReport("SomethingNew", "no", "orders", 0),)}, "failed", 0),
        ({"errors": (ErrorReport("SomethingNew", "of another one", "orders", 1), ErrorReport("Flow", "all"))}, "up to date", 0),
        ({"ledger": at(60), "paused": {TP: "by hand"}}, "paused", 40),
        ({"ledger": stuck(), "decided": {TP: "skip-record by me"}, "starts": {TP: 51}}, "decided", 49),
        ({"ledger": at(100), "decided": {TP: "restart by me"}, "starts": {TP: 10}}, "decided", 90),
        ({"ledger": at(100, source_topic_id="another"), "decided": {TP: "restart by me"}, "starts": {TP: 10}}, "decided", 90),
        ({"ledger": at(60, source_topic_id="another")}, "behind", None),
        ({"source": {}}, "no leader", None),
        ({"source": {}, "ledger": {}}, "no leader", None),
        ({"ledger": {}, "waiting": frozenset({TP}), "starts": {TP: 10}}, "no remote partition", 90),
        ({"ledger": {}, "waiting": frozenset({TP}), "starts": {TP: 10}, "errors": (NOT_CREATED,)}, "no remote partition", 90),
        ({"ledger": {}, "waiting": frozenset({TP}), "starts": {TP: 10}, "paused": {TP: "by hand"}}, "paused", 90),
        ({"source": {}, "topics": {}}, "gone from the source", None),
        ({"unreadable": {lane_of("orders", 0, 16): ErrorReport("LedgerDamaged", "no")}, "ledger": {}}, "ledger unreadable", None),
        ({"source": None, "topics": {}, "comparable": False}, "unknown", None),
        ({"ledger": None, "comparable": False}, "unknown", None),
        ({"source": None, "topics": {}, "comparable": False, "ledger": stuck()}, "blocked", None),
    ],
)
def test_state_and_lag_of_a_partition(changes, state, lag):
    seen = replace(SEEN, **changes)
    partition = next(each for each in status_of(seen).partitions if each.topic_partition == TP)
    assert (partition.state, partition.lag) == (state, lag)


def test_what_one_side_knows_is_said_when_the_other_is_silent():
    no_source = one(replace(SEEN, source=None, topics={}, comparable=False))
    assert (no_source.watermark, no_source.end, no_source.written.host) == (100, None, "host")
    no_target = one(replace(SEEN, ledger=None, comparable=False))
    assert (no_target.watermark, no_target.end, no_target.written) == (None, 100, None)


def test_a_stuck_partition_says_since_when_and_what_to_do_and_makes_the_flow_red():
    status = status_of(replace(SEEN, ledger=stuck()))
    (partition,) = status.partitions
    assert partition.since == NOW - timedelta(hours=1)
    assert (partition.error.code, partition.error.offset) == ("RecordRefused", 50)
    assert partition.error.next
    assert status.errors == (partition.error,)


def test_a_decision_that_the_next_run_acts_on_is_no_alarm_and_its_words_are_kept():
    status = status_of(replace(SEEN, ledger=stuck(), decided={TP: "skip-record by me"}))
    assert (status.errors, status.partitions[0].error, status.partitions[0].note) == ((), None, "skip-record by me")


def test_the_next_step_names_the_flow():
    status = status_of(replace(SEEN, ledger=at(5), errors=(SourceGap("orders", 0, 5, 10).report(),)))
    assert "--flow 'east->west'" in status.errors[0].next
    assert status.partitions[0].error == status.errors[0]


def test_an_unreadable_lane_is_one_error_for_all_its_partitions():
    lane = lane_of("orders", 0, 16)
    damaged = LedgerDamaged("mm2-ledger.east.internal-1@7", "it is no JSON").report()
    status = status_of(replace(SEEN, ledger={}, unreadable={lane: damaged}))
    assert status.errors == (damaged,)
    assert status.partitions[0].error == damaged


def test_the_age_is_that_of_the_oldest_record_that_is_missing():
    stamp = int(NOW.timestamp() * 1000) - 42_000
    assert one(replace(SEEN, ledger=at(60), oldest={TP: stamp})).oldest_seconds == pytest.approx(42)
    assert one(replace(SEEN, ledger=at(60), oldest={TP: stamp + 90_000})).oldest_seconds == 0, "a clock of the future is no negative age"


def test_the_flow_adds_up_its_partitions_and_knows_the_last_writer():
    other = TopicPartition("orders", 1)
    early, late = Writer("", "one", "", NOW - timedelta(minutes=9)), Writer("", "two", "run", NOW - timedelta(minutes=3))
    status = status_of(
        replace(
            SEEN,
            source={TP: FOUND, other: replace(FOUND, tp=other)},
            ledger={TP: ledger_record(watermark=60, writer=early), other: ledger_record(watermark=95, writer=late)},
            oldest={TP: int(NOW.timestamp() * 1000) - 5_000, other: int(NOW.timestamp() * 1000) - 61_000},
        )
    )
    assert (len(status.behind), status.lag, status.oldest_seconds, status.written) == (2, 45, pytest.approx(61), late)
    assert summary(status) == ("2 of 2 partitions behind by at most 45 records, oldest 1 min 1 s; last written 07:57:00 UTC by two (run)")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "1 partition, none behind; last written 07:59:00 UTC by host (run)"),
        ({"ledger": {}, "starts": {TP: 10}}, "1 of 1 partition behind by at most 90 records; nothing written yet"),
        ({"ledger": stuck()}, "1 of 1 partition behind by at most 50 records; 1 blocked; last written 07:59:00 UTC by host (run)"),
        (
            {"source": None, "topics": {}, "comparable": False},
            "1 partition; how far they are behind is unknown; last written 07:59:00 UTC by host (run)",
        ),
        ({"source": {}, "topics": {}, "ledger": {}}, "No partition is mirrored yet."),
        ({"ledger": {}}, "1 partition; how far they are behind is unknown; nothing written yet"),
        ({"source": {}, "topics": {}, "ledger": {}, "errors": (ErrorReport("Down", "down"),)}, "Nothing is known of any partition."),
    ],
)
def test_the_summary_is_one_line(changes, says):
    assert summary(status_of(replace(SEEN, **changes))) == says


def test_of_one_topic_neither_partitions_nor_errors_of_others_are_told():
    clicks, silent = TopicPartition("clicks", 3), ErrorReport("ClusterUnreachable", "silent")
    seen = replace(
        SEEN,
        source={TP: FOUND, clicks: FOUND},
        ledger={TP: at(90)[TP], clicks: at(50)[TP]},
        errors=(SourceGap("clicks", 3, 1, 2).report(), SourceGap("orders", 0, 1, 2).report(), silent),
    )
    found = status_of(seen).select_topic("orders")
    assert [partition.topic_partition for partition in found.partitions] == [TP]
    assert [error.topic for error in found.errors] == ["orders", None]
    assert found.lag == 10


def test_a_partition_of_which_nobody_knows_how_far_it_is_behind_is_said_beside_those_that_are_copied():
    other = TopicPartition("orders", 1)
    status = status_of(replace(SEEN, source={TP: FOUND, other: replace(FOUND, tp=other)}))
    assert (status.lag, [each.topic_partition for each in status.unknown]) == (0, [other])
    assert summary(status).startswith("2 partitions, none behind; of 1 it is unknown; last written ")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (200, "3 min 20 s"), (3600, "1 h"), (7500, "2 h 5 min"), (349200, "4 d 1 h")],
)
def test_a_duration_has_the_two_largest_units(seconds, text):
    assert duration(seconds) == text


def test_no_state_of_an_error_is_one_that_needs_nobody():
    assert not PROGRESSING & {error.partition_state for error in CLASSES.values()}


@given(
    watermark=st.integers(0, 200),
    log_start=st.integers(0, 100),
    readable=st.integers(0, 100),
    open_offsets=st.integers(0, 50),
)
def test_lag_and_state_never_contradict_each_other(watermark, log_start, readable, open_offsets):
    found = replace(FOUND, log_start=min(log_start, readable), readable_end=readable, end=readable + open_offsets)
    partition = one(replace(SEEN, source={TP: found}, ledger=at(watermark)))
    assert partition.lag == max(found.end - watermark, 0)
    assert (partition.state == "up to date") == (partition.lag == 0)
    assert (partition.state == "open transaction") == (readable <= watermark < found.end)


@pytest.mark.parametrize(
    "changes",
    [
        {"moved": {"orders": "moved by somebody"}, "topics": {}, "source": {}},
        {"ledger": at(60, moved=Decided("moved", "somebody", NOW, "a wave"))},
    ],
)
def test_a_moved_partition_is_not_behind_and_nothing_is_unknown_of_the_flow(changes):
    status = status_of(replace(SEEN, **changes))
    assert status.states == {"moved": 1}
    assert not status.unknown
    assert work_of(status.partitions[0]) is None
    assert status_of(replace(SEEN, moved={"orders": "x"}, topics={}, source={})).lag == 0
