"""Reading partitions in turns, with a consumer that fetches ahead, forgets what is paused, and may see an end too early."""

import pytest
from confluent_kafka import KafkaError

from mirror.copy.confluent import source as confluent_source
from mirror.copy.confluent.source import SourceConsumer
from mirror.copy.engine import PartitionAssignment, RecordLimits
from mirror.offsets.partition import TopicPartition
from tests.unit.copy.memory_cluster import TakingTarget

LONG, SHORT = TopicPartition("long", 0), TopicPartition("short", 0)


class FakeMessage:
    """A record, or the end-of-partition event at an offset."""

    def __init__(self, tp, offset, end=False):
        self._tp, self._offset, self._end = tp, offset, end

    def topic(self):
        return self._tp.topic

    def partition(self):
        return self._tp.partition

    def offset(self):
        return self._offset

    def error(self):
        return KafkaError(KafkaError._PARTITION_EOF) if self._end else None

    def timestamp(self):
        return (1, 1_790_000_000_000)

    def headers(self):
        return None

    def key(self):
        return b"k"

    def value(self):
        return b"v"

    def leader_epoch(self):
        return 0


class FakeConsumer:
    """Gives four records at a time of each partition that is assigned and not paused; `early_ends` are batches that come first."""

    def __init__(self, logs):
        self.logs = logs
        self.positions, self.paused, self.early_ends = {}, set(), []

    def incremental_assign(self, partitions):
        for each in partitions:
            tp = TopicPartition(each.topic, each.partition)
            assert tp not in self.positions, "it is assigned already"
            self.positions[tp] = each.offset

    def incremental_unassign(self, partitions):
        for each in partitions:
            del self.positions[TopicPartition(each.topic, each.partition)]

    def pause(self, partitions):
        self.paused |= {TopicPartition(each.topic, each.partition) for each in partitions}

    def resume(self, partitions):
        self.paused -= {TopicPartition(each.topic, each.partition) for each in partitions}

    def consume(self, number, seconds):
        if self.early_ends:
            return self.early_ends.pop(0)
        messages = []
        for tp in sorted(self.positions.keys() - self.paused):
            start, log_end = self.positions[tp], self.logs[tp]
            self.positions[tp] = min(log_end, start + 4)
            messages += [FakeMessage(tp, offset) for offset in range(start, self.positions[tp])]
            if self.positions[tp] == log_end:
                messages.append(FakeMessage(tp, log_end, end=True))
        return messages

    def close(self):
        pass


def sent(target, tp):
    return [offset for *at, offset in target.sent if tuple(at) == tp]


@pytest.fixture
def source(monkeypatch, lane_task):
    """A source over two partitions with 40 and 3 records, and its consumer."""
    consumer = FakeConsumer({LONG: 40, SHORT: 3})
    monkeypatch.setattr(confluent_source, "Consumer", lambda settings: consumer)
    return SourceConsumer(lane_task), consumer


def work(tp, start, end):
    return PartitionAssignment(tp, f"east.{tp.topic}", start, end, None, RecordLimits())


def transaction(source, target, max_bytes, *parts):
    """One transaction of at most so many records; gives where each partition goes on."""
    target.bytes = 0
    flows = source.assign(parts, target)
    while source.has_work() and target.bytes < max_bytes:
        source.consume(10_000, 0, target, max_bytes)
    return {flow.work.source: flow.next_offset for flow in flows}


def test_an_end_of_partition_in_front_of_the_ranges_end_does_not_end_it(source):
    reader, consumer = source
    target = TakingTarget()
    consumer.early_ends = [[FakeMessage(SHORT, 0, end=True)], [FakeMessage(SHORT, 2, end=True)]]
    assert transaction(reader, target, 100, work(SHORT, 0, 3)) == {SHORT: 3}
    assert sent(target, SHORT) == [0, 1, 2]


def test_partitions_that_take_turns_lose_and_double_nothing(source):
    reader, _ = source
    target = TakingTarget()
    assert transaction(reader, target, 6, work(LONG, 0, 40)) == {LONG: 6}
    assert transaction(reader, target, 2, work(SHORT, 0, 3)) == {SHORT: 2}
    assert transaction(reader, target, 5, work(LONG, 6, 40)) == {LONG: 11}
    assert transaction(reader, target, 1, work(SHORT, 2, 3)) == {SHORT: 3}
    assert transaction(reader, target, 99, work(LONG, 11, 40)) == {LONG: 40}
    assert sent(target, LONG) == list(range(40))
    assert sent(target, SHORT) == [0, 1, 2]


def test_what_was_read_of_a_partition_whose_turn_is_over_does_not_come_twice(source):
    reader, _ = source
    target = TakingTarget()
    transaction(reader, target, 1, work(LONG, 0, 40))
    at = transaction(reader, target, 2, work(SHORT, 0, 3))
    at |= transaction(reader, target, 3, work(LONG, 1, 40), work(SHORT, at[SHORT], 3))
    transaction(reader, target, 99, work(LONG, at[LONG], 40), work(SHORT, at[SHORT], 3))
    assert sent(target, LONG) == list(range(40))
    assert sent(target, SHORT) == [0, 1, 2]
