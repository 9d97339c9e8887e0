"""Which lanes come first in a plan."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, Range
from kafka_mirror.copy.plan.run import order_ranges
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from tests.unit.ledger_records import ledger_record

LANES = 4
NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
ONE_A_LANE = {lane_of("orders", number, LANES): TopicPartition("orders", number) for number in range(LANES)}


def work(tp, offsets):
    return Range(tp.topic, tp.partition, "id", 0, offsets, BEHIND)


def written(minutes_ago):
    record = ledger_record()
    return replace(record, writer=replace(record.writer, time=NOW - timedelta(minutes=minutes_ago)))


def lanes_of(ranges):
    return [lane_of(each.topic, each.partition, LANES) for each in ranges]


def test_the_lane_that_was_served_least_recently_comes_first_and_one_never_served_before_all():
    ranges = [work(tp, 10) for tp in ONE_A_LANE.values()]
    served = {ONE_A_LANE[0]: written(1), ONE_A_LANE[1]: written(3), ONE_A_LANE[3]: written(2)}
    assert lanes_of(order_ranges(ranges, served, LANES, NOW)) == [2, 1, 3, 0]


def test_of_lanes_that_were_served_alike_the_one_with_most_to_do_comes_first():
    ranges = [work(tp, 10 + lane) for lane, tp in ONE_A_LANE.items()]
    assert lanes_of(order_ranges(ranges, {}, LANES, NOW)) == [3, 2, 1, 0]


def test_of_a_lane_stuck_partitions_come_last_and_the_least_recently_tried_of_them_first():
    one, two, three, well = (TopicPartition(name, 0) for name in ("a", "b", "c", "d"))
    records = {each: ledger_record() for each in (two, three, one)}  # the order in which the ledger has them
    ranges = [replace(work(tp, 5), reason=BLOCKED) for tp in (one, two, three)] + [work(well, 5)]
    assert [each.topic_partition for each in order_ranges(ranges, records, 1, NOW)] == [well, two, three, one]


def test_a_lane_that_a_host_stamped_ahead_of_our_clock_comes_first_and_in_its_turn_once_it_is_stamped_anew():
    ranges = [work(tp, 10) for tp in ONE_A_LANE.values()]
    served = {tp: written(1 + lane) for lane, tp in ONE_A_LANE.items()} | {ONE_A_LANE[0]: written(-24 * 60)}
    assert lanes_of(order_ranges(ranges, served, LANES, NOW)) == [0, 3, 2, 1]
    assert lanes_of(order_ranges(ranges, served | {ONE_A_LANE[0]: written(0)}, LANES, NOW)) == [3, 2, 1, 0]


@given(st.permutations([work(TopicPartition(name, number), 5) for name in ("a", "b") for number in range(8)]))
def test_every_range_is_kept_lane_by_lane_and_the_order_of_the_question_does_not_matter(ranges):
    found = order_ranges(ranges, {}, LANES, NOW)
    assert sorted(found, key=lambda each: each.topic_partition) == sorted(ranges, key=lambda each: each.topic_partition)
    by_lane = {lane: list(group) for lane, group in groupby(found, lambda each: lanes_of([each])[0])}
    assert sum(map(len, by_lane.values())) == len(ranges), "a lane stands in one place"
    assert all(group == sorted(group, key=lambda each: each.topic_partition) for group in by_lane.values())
