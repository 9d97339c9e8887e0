"""A lane with many partitions that are stuck: each is an attempt of its own, and together they keep to the run's budget."""

from collections import Counter
from dataclasses import replace

import pytest

from kafka_mirror.copy.model import BatchRefused
from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, Range
from kafka_mirror.copy.plan.run import order_ranges
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import Blocked
from tests.unit.ledger_records import WRITTEN_AT as NOW

STUCK = [f"stuck-{number}" for number in range(10)]


@pytest.fixture
def stuck(world, known, lane_task):
    """`stuck(**changes)`: the task of a lane with a partition to copy and ten that are stuck at their first record, by what the ledger
    says now; writes down in `stuck.tried` which were tried."""

    names = {**lane_task.remote_topics, **{topic: f"east.{topic}" for topic in STUCK}}
    lane_task = replace(lane_task, remote_topics=names)
    tried = []

    def refuses(engine):
        for work in engine.work:
            if work.source.topic in STUCK:
                tried.append(work.source.topic)
                raise BatchRefused(work.source, work.start, work.start, 1, "it is too large")

    def put(topic):
        remote = f"east.{topic}"
        record = replace(
            known("orders", 0, offset_map=OffsetMap(), covered=()),
            source_topic_id=f"id-{topic}",
            target_topic=remote,
            target_topic_id=f"id-{remote}",
        )
        world.ledger[TopicPartition(topic, 0)] = replace(record, blocked=Blocked(0, "RecordRefused", "it is too large", NOW, 1))

    for topic in STUCK:
        put(topic)
    del world.ledger[TopicPartition("orders", 0)]
    world.happenings["copy"] = refuses

    def ranges():
        planned = [Range(topic, 0, f"id-{topic}", 0, 10, BLOCKED) for topic in STUCK]
        if world.ends.get(TopicPartition("east.payments", 0), 0) < 10:
            planned.append(Range("payments", 0, "id-payments", 0, 10, BEHIND))
        return order_ranges(planned, world.ledger, 1, NOW)

    return ranges, tried, names


def test_stuck_partitions_are_all_tried_while_there_is_time(copy, stuck):
    ranges, tried, names = stuck
    result = copy(ranges=ranges(), remote_topics=names)
    assert Counter(tried) == Counter(STUCK)
    assert {error.topic for error in result.errors} == set(STUCK)


def test_behind_the_deadline_one_stuck_partition_is_tried_and_the_others_wait_for_the_next_run(copy, world, stuck):
    ranges, tried, names = stuck
    result = copy(ranges=ranges(), remote_topics=names, max_seconds=0.0)
    assert len(set(tried)) == 1
    assert world.ledger[TopicPartition("payments", 0)].watermark == 10
    assert {error.topic for error in result.errors} == set(tried)


def test_over_the_runs_each_stuck_partition_gets_its_turn_however_short_they_are(copy, stuck):
    ranges, tried, names = stuck
    for _ in range(3 * len(STUCK)):
        copy(ranges=ranges(), remote_topics=names, max_seconds=0.0)
    assert Counter(tried) == dict.fromkeys(STUCK, 3)


def test_a_try_is_noted_as_of_planning_for_the_clock_of_the_host_that_copies_may_be_another(copy, world, stuck):
    ranges, tried, names = stuck
    copy(ranges=ranges(), remote_topics=names, planned=NOW, max_seconds=0.0)
    (topic,) = set(tried)
    assert (world.ledger[TopicPartition(topic, 0)].blocked.tried, world.ledger[TopicPartition(topic, 0)].blocked.tries) == (NOW, 2)


def test_a_spent_budget_of_bytes_ends_the_tries_too(copy, stuck):
    ranges, tried, names = stuck
    copy(ranges=ranges(), remote_topics=names, max_bytes=100)
    assert len(set(tried)) == 1
