"""From what was seen to what is shown: topics, lanes, offsets that were passed over, groups, schema ids."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.errors import LedgerDamaged, SourceGap
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.formats.record import VALUE_HEADER
from kafka_mirror.groups.group_translation import GroupOffset
from kafka_mirror.groups.translation import EARLY, EXACT, INCOMPLETE, TranslatedOffset, no_answer
from kafka_mirror.kafka.groups import Committed
from kafka_mirror.kafka.model import Partition, Topic
from kafka_mirror.ledger.record import LastRecord, Skipped, Writer
from kafka_mirror.status.snapshot import FlowSnapshot, SchemaIds, SkippedOffsets
from kafka_mirror.status.snapshot_builder import (
    MAX_SKIPPED,
    bytes_of,
    catch_up_of,
    lanes_of,
    list_skipped,
    partitions_of,
    positions_of,
    sample_of,
    topics_of,
    total,
)
from kafka_mirror.status.snapshot_groups import (
    AGAIN_AFTER_SECONDS,
    EXAMPLES,
    TOPICS_AT_ONCE,
    SchemaIdSampler,
    ids_of,
    limit_groups,
    sum_up_groups,
)
from kafka_mirror.status.status import Observation, status_of
from kafka_mirror.status.throughput import UNKNOWN_LAG, CatchUp, Totals
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
LANES = 4


def found(topic, number, end):
    return SourceOffsets(TopicPartition(topic, number), "source-topic-id", log_start=0, readable_end=end, end=end)


def seen(ends, ledger, **fields):
    topics = {topic for topic, _ in ends}
    return Observation(
        "east->west",
        NOW,
        LANES,
        {
            topic: Topic(topic, "source-topic-id", tuple(Partition(n, 1, (1,), (1,)) for t, n in sorted(ends) if t == topic))
            for topic in topics
        },
        {TopicPartition(*tp): found(*tp, end) for tp, end in ends.items()},
        {TopicPartition(*tp): record for tp, record in ledger.items()},
        comparable=True,
        **fields,
    )


LAST = LastRecord(1, 2, 3)
SEEN = seen(
    {("orders", 0): 150, ("orders", 1): 100, ("orders", 2): 30, ("payments", 0): 40},
    {
        ("orders", 0): ledger_record(watermark=100, records=100, bytes=1000, last=LAST),
        ("orders", 1): ledger_record(
            watermark=100, records=100, bytes=5000, writer=Writer("", "h", "r", WRITTEN_AT + timedelta(seconds=9))
        ),
    },
    starts={TopicPartition("orders", 2): 0, TopicPartition("payments", 0): 10},
)


def partitions(seen=SEEN):
    return partitions_of(status_of(seen), seen, [], lambda topic: f"east.{topic}")


def test_missing_bytes_are_judged_by_the_partition_else_its_topic_else_the_flow():
    assert [(each.topic, each.partition, each.status.lag, each.bytes_behind) for each in partitions()] == [
        ("orders", 0, 50, 500),
        ("orders", 1, 0, 0),
        ("orders", 2, 30, 30 * 30),
        ("payments", 0, 30, 30 * 30),
    ]
    assert [(each.remote, each.lane, each.last) for each in partitions()][:2] == [
        ("east.orders", lane_of("orders", 0, LANES), LAST),
        ("east.orders", lane_of("orders", 1, LANES), None),
    ]


def test_topics_add_up_what_their_partitions_are_behind():
    orders, payments = topics_of(partitions(), [], {"orders": SchemaIds((7,))})
    assert (orders.lag, orders.bytes_behind, orders.remote, orders.schema_ids) == (80, 500 + 900, "east.orders", SchemaIds((7,)))
    assert orders.states == {"behind": 1, "up to date": 1, "first sight": 1}
    assert orders.written.time == WRITTEN_AT + timedelta(seconds=9)
    assert (payments.lag, payments.written, payments.schema_ids, payments.problems) == (30, None, None, 0)


def test_what_one_partition_is_behind_in_bytes_is_unknown_of_all_if_it_is_of_one():
    nothing_copied = seen({("orders", 0): 10, ("orders", 1): 0}, {}, starts={TopicPartition("orders", n): 0 for n in (0, 1)})
    first, second = partitions(nothing_copied)
    assert (first.bytes_behind, second.bytes_behind) == (None, 0)
    assert bytes_of([first, second]) is None
    assert bytes_of([second]) == 0


def test_lanes_have_their_partitions_and_one_without_any_shows_if_it_cannot_be_read():
    lost = next(lane for lane in range(LANES) if lane not in {each.lane for each in partitions()})
    error = LedgerDamaged("ledger-3@7", "torn").report()
    lanes = {each.lane: each for each in lanes_of(partitions(), replace(SEEN, unreadable={lost: error}))}
    assert sum(each.partitions for each in lanes.values()) == 4
    assert sum(each.lag or 0 for each in lanes.values()) == 110
    assert (lanes[lost].partitions, lanes[lost].error) == (0, error)


def test_the_newest_of_what_was_passed_over_comes_first_and_all_of_it_is_counted():
    skips = tuple(Skipped(10 * n, 10 * n + 2, "gap") for n in range(5))
    counted = (Skipped(0, 100, "refused", 7),)
    records = {TopicPartition("a", 0): ledger_record(skipped=skips), TopicPartition("b", 0): ledger_record(skipped=counted)}
    listed, in_all = list_skipped(records)
    assert listed[:3] == (
        SkippedOffsets("a", 0, 40, 42, 2, "gap"),
        SkippedOffsets("b", 0, 0, 100, 7, "refused"),
        SkippedOffsets("a", 0, 30, 32, 2, "gap"),
    )
    assert in_all == 5 * 2 + 7


def test_so_many_that_no_page_can_show_them_are_counted_and_not_listed():
    records = {TopicPartition("a", n): ledger_record(skipped=(Skipped(0, 1, "gap"),) * 3) for n in range(MAX_SKIPPED)}
    listed, in_all = list_skipped(records)
    assert (len(listed), in_all) == (MAX_SKIPPED, 3 * MAX_SKIPPED)
    assert {each.partition for each in listed} == set(range(MAX_SKIPPED)), "one of each before a second one of any"


def test_a_sample_has_every_partition_of_the_ledger():
    sample = sample_of(SEEN)
    assert sample.time == NOW.timestamp()
    assert sample.totals == {
        TopicPartition("orders", 0): Totals(100, 1000, 100, 150),
        TopicPartition("orders", 1): Totals(100, 5000, 100, 100),
    }


def test_a_decided_partition_stands_where_the_decision_leads_and_not_at_the_watermark_that_it_leaves_behind():
    tp = TopicPartition("orders", 1)
    restarted = replace(SEEN, decided={tp: "restart by ana"}, starts={**SEEN.starts, tp: 0})
    assert sample_of(restarted).totals[tp] == Totals(100, 5000, 0, 100)
    decided = next(each for each in partitions(restarted) if each.status.topic_partition == tp)
    assert (decided.status.lag, decided.bytes_behind) == (100, 5000)


def test_nobody_knows_when_all_will_be_copied_while_one_partition_may_be_behind_by_any_number():
    copied = {("orders", 0): ledger_record(watermark=150), ("orders", 1): ledger_record(watermark=100)}
    found = seen({("orders", 0): 150, ("orders", 1): 100}, copied)
    assert catch_up_of(status_of(found), [], 60).seconds == 0
    unknown = seen({("orders", 0): 150, ("orders", 1): 100}, {("orders", 0): copied["orders", 0]})
    assert catch_up_of(status_of(unknown), [], 60) == CatchUp(None, UNKNOWN_LAG)


def test_partitions_that_wait_for_a_person_are_counted_and_paused_ones_are_not():
    gap, paused = SourceGap("orders", 0, 100, 120).report(), {TopicPartition("orders", 1): "paused by ana"}
    estimate = catch_up_of(status_of(replace(SEEN, errors=(gap,), paused=paused)), [], 60)
    assert estimate.waiting == 1


def test_sums_leave_out_what_is_unknown_unless_all_of_it_is():
    assert (total([]), total([None]), total([None, 3]), total([1, 2])) == (0, None, 3, 3)


# ---------------------------------------------------------------- groups


def position(group, number, answer, offset=5):
    tp = TopicPartition("orders", number)
    return GroupOffset(group, tp, Committed(offset), tp, answer, "generation")


def test_a_group_is_exact_if_it_is_in_every_partition():
    exact = TranslatedOffset(EXACT, 5, 5, 0)
    (group,) = sum_up_groups([position("g", 0, exact), position("g", 1, exact)])
    assert (group.is_exact, group.partitions, group.reread, group.examples) == (True, 2, 0, ())


def test_a_group_says_what_it_would_read_again_and_where_it_has_no_position_the_worst_first():
    answers = [
        TranslatedOffset(EXACT, 5, 5, 0),
        TranslatedOffset(EARLY, 5, 9, 4),
        TranslatedOffset(EARLY, 5),
        TranslatedOffset(INCOMPLETE, 5, 5, 0, "not mirrored"),
        no_answer("there is no remote topic yet"),
    ]
    (group,) = sum_up_groups([position("g", number, answer) for number, answer in enumerate(answers)])
    assert (group.exact, group.early, group.incomplete, group.unanswered) == (1, 2, 1, 1)
    assert (group.reread, group.reread_unknown, group.is_exact) == (4, 1, False)
    assert [(each.partition, each.kind, each.reread, each.reason) for each in group.examples] == [
        (4, "none", None, "there is no remote topic yet"),
        (3, "incomplete", 0, "not mirrored"),
        (1, "early", 4, ""),
        (2, "early", None, ""),
    ]


def test_a_group_says_how_far_it_is_ahead_of_the_copy_and_is_exact_all_the_same():
    answers = [TranslatedOffset(EXACT, 5, 5, 0, ahead=40), TranslatedOffset(EXACT, 9, 9, 0, ahead=6)]
    (group,) = sum_up_groups([position("g", number, answer) for number, answer in enumerate(answers)])
    assert (group.ahead, group.is_exact) == (46, True)


def test_of_a_group_without_any_answer_nobody_knows_how_much_it_would_read_again():
    (group,) = sum_up_groups([position("g", number, no_answer("gone")) for number in range(EXAMPLES + 5)])
    assert (group.reread, group.reread_unknown, len(group.examples)) == (None, 0, EXAMPLES)


def test_groups_stay_apart():
    exact = TranslatedOffset(EXACT, 5, 5, 0)
    assert [each.group for each in sum_up_groups([position("a", 0, exact), position("b", 0, no_answer("gone"))])] == ["a", "b"]


def test_no_more_groups_are_looked_at_than_the_flow_translates_by_itself():
    offsets = {name: dict.fromkeys(range(count)) for name, count in (("a", 3), ("b", 3), ("c", 1))}
    assert list(limit_groups(offsets, 7)) == ["a", "b", "c"]
    assert list(limit_groups(offsets, 6)) == ["a", "b"]
    assert list(limit_groups(offsets, 5)) == ["a"]
    assert list(limit_groups(offsets, 0)) == []


# ---------------------------------------------------------------- schema ids


FRAMED, OTHER = b"\x00\x00\x00\x00\x07payload", b"{}"
IN_HEADER = [(VALUE_HEADER, b"\x01" + bytes(16))]


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([(FRAMED, ())], SchemaIds((7,))),
        ([(FRAMED, ()), (b"\x00\x00\x00\x00\x03payload", ())], SchemaIds((3, 7))),
        ([(FRAMED, ()), (OTHER, ())], None),
        ([(FRAMED, ()), (None, ())], SchemaIds((7,))),
        ([(None, ())], None),
        ([(OTHER, IN_HEADER)], SchemaIds((), in_headers=True)),
        ([(OTHER, IN_HEADER), (OTHER, ())], None),
        ([], None),
    ],
)
def test_a_topic_carries_ids_if_all_its_records_that_were_looked_at_do(records, expected):
    assert ids_of(records) == expected


def test_a_few_topics_are_looked_at_each_time_and_each_of_them_again_much_later():
    topics = {f"t{n:03}": [(TopicPartition("east.t", 0), 5)] for n in range(TOPICS_AT_ONCE + 5)} | {"empty": []}
    sampling = SchemaIdSampler()
    first = sampling.select_due(topics, 1000.0)
    assert first == sorted(topics)[1 : TOPICS_AT_ONCE + 1]
    sampling._looked.update(dict.fromkeys(first, 1000.0))
    second = sampling.select_due(topics, 1015.0)
    assert len(second) == 5
    sampling._looked.update(dict.fromkeys(second, 1015.0))
    assert sampling.select_due(topics, 1030.0) == []
    assert sampling.select_due(topics, 1000.0 + AGAIN_AFTER_SECONDS) == first


def test_the_last_record_of_ours_is_looked_at_in_the_partitions_that_were_written_last():
    records = {
        TopicPartition("orders", n): ledger_record(target_next=10 + n, writer=Writer("", "h", "r", WRITTEN_AT + timedelta(seconds=n)))
        for n in range(3)
    }
    records[TopicPartition("orders", 9)] = ledger_record(records=0, target_next=0)
    records[TopicPartition("heartbeats", 0)] = ledger_record(target_next=10, writer=Writer("", "h", "r", WRITTEN_AT))
    assert positions_of(records, left_out="heartbeats".__eq__) == {"orders": [(TopicPartition("east.orders", n), 9 + n) for n in (2, 1, 0)]}


def test_a_snapshot_that_was_never_taken_has_no_age():
    assert FlowSnapshot("east->west").measure_age() is None
