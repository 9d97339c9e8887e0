"""The source side of the engine over a consumer that is made of plain values."""

from dataclasses import dataclass, replace

import pytest

from mirror.config.resolved_flow import ClientSettings
from mirror.copy.confluent import source as confluent_source
from mirror.copy.confluent.source import SourceConsumer
from mirror.copy.engine import PartitionAssignment, RecordLimits, RefusedRecord
from mirror.copy.model import LaneTask
from mirror.errors import SourceRepeated
from mirror.offsets.partition import TopicPartition
from tests.unit.copy.memory_cluster import TakingTarget


@dataclass
class FakeMessage:
    """A record as the client hands it out."""

    _topic: str
    _partition: int
    _offset: int
    _timestamp: int = 1_700_000_000_000
    _key: bytes | None = b"key"
    unreadable: bool = False

    def topic(self):
        return self._topic

    def partition(self):
        return self._partition

    def offset(self):
        return self._offset

    def timestamp(self):
        return 1, self._timestamp

    def key(self):
        return self._key

    def headers(self):
        if self.unreadable:
            raise SystemError("returned a result with an exception set")

    def error(self):
        return None


class FakeConsumer:
    """Gives what it was told to give, and remembers what it was asked to read."""

    def __init__(self, *_):
        self.batches = []
        self.assigned = []

    def incremental_assign(self, partitions):
        self.assigned += [(tp.topic, tp.partition, tp.offset) for tp in partitions]

    def incremental_unassign(self, partitions):
        pass

    def resume(self, partitions):
        pass

    def pause(self, partitions):
        pass

    def consume(self, *_):
        return self.batches.pop(0) if self.batches else []


@pytest.fixture
def consumer(monkeypatch):
    made = FakeConsumer()
    monkeypatch.setattr(confluent_source, "Consumer", lambda *_: made)
    return made


@pytest.fixture
def source(consumer):
    clients = ClientSettings({}, {}, {}, {}, {})
    return SourceConsumer(LaneTask("east", "west", 4, clients, 0, "ledger", "id", (), {}, frozenset(), "e", "w"))


def work(partition, start=0, end=10):
    return PartitionAssignment(TopicPartition("orders", partition), "east.orders", start, end, None, RecordLimits())


def records(partition, *offsets):
    return [FakeMessage("orders", partition, offset) for offset in offsets]


def test_records_of_several_partitions_in_one_batch_go_to_their_own(source, consumer):
    target = TakingTarget()
    flows = source.assign([work(0), work(1)], target)
    consumer.batches = [[*records(0, 0, 1), *records(1, 0), *records(0, 2), *records(2, 0)]]
    source.consume(100, 0, target, 1000)
    assert [flow.sources for flow in flows] == [[0, 1, 2], [0]]
    assert target.sent == [("orders", 0, 0), ("orders", 0, 1), ("orders", 1, 0), ("orders", 0, 2)]


@pytest.mark.parametrize(("start", "given", "offset", "expected"), [(0, (0, 1, 1), 1, 2), (0, (0, 1, 2, 1), 1, 3), (5, (4,), 4, 5)])
def test_a_record_below_the_next_one_ends_the_attempt_and_is_not_written_twice(source, consumer, start, given, offset, expected):
    target = TakingTarget()
    source.assign([work(0, start)], target)
    consumer.batches = [records(0, *given)]
    with pytest.raises(SourceRepeated) as raised:
        source.consume(100, 0, target, 1000)
    assert (raised.value.topic, raised.value.partition, raised.value.offset, raised.value.expected) == ("orders", 0, offset, expected)
    assert raised.value.retriable
    assert [sent for _, _, sent in target.sent] == list(given[:-1])


def test_a_partition_that_goes_on_where_it_was_is_not_assigned_anew(source, consumer):
    target = TakingTarget()
    source.assign([work(0)], target)
    consumer.batches = [records(0, 0, 1)]
    source.consume(100, 0, target, 1000)
    source.assign([work(0, start=2)], target)
    assert consumer.assigned == [("orders", 0, 0)]


def test_what_a_full_transaction_leaves_of_a_batch_is_the_next_ones(source, consumer):
    target = TakingTarget()
    source.assign([work(0)], target)
    consumer.batches = [records(0, 0, 1, 2)]
    source.consume(100, 0, target, 2)
    target.bytes = 0
    [flow] = source.assign([work(0, start=2)], target)
    source.consume(100, 0, target, 2)
    assert (flow.sources, consumer.assigned) == ([2], [("orders", 0, 0)])


def test_a_partition_whose_records_were_thrown_away_in_between_is_read_again(source, consumer):
    target = TakingTarget()
    source.assign([work(0), work(1)], target)
    consumer.batches = [records(0, 0), records(0, 1)]
    source.consume(100, 0, target, 1000)
    source.assign([work(1)], target)
    source.consume(100, 0, target, 1000)
    source.assign([work(0, start=1), work(1)], target)
    assert consumer.assigned == [("orders", 0, 0), ("orders", 1, 0), ("orders", 0, 1)]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"_timestamp": 0}, "its timestamp is 0"),
        ({"unreadable": True}, "it has a header key that is not UTF-8"),
        ({}, "the broker said so"),
    ],
)
def test_a_record_that_must_not_be_sent_stops_its_partition_in_front_of_it(source, consumer, record, reason):
    target = TakingTarget()
    refused = {1: RefusedRecord(1, 100, True, "the broker said so", True)}
    [flow] = source.assign([replace(work(0), refused=refused)], target)
    consumer.batches = [[FakeMessage("orders", 0, offset, **{"_timestamp": 100, **(record if offset == 1 else {})}) for offset in range(3)]]
    source.consume(100, 0, target, 1000)
    assert (flow.sources, flow.next_offset, source.has_work()) == ([0], 1, False)
    assert reason in flow.poison.reason


@pytest.mark.parametrize(("hands_over", "skipped", "stopped_at"), [(False, [(0, 1), (1, 2)], 3), (True, [(0, 1)], 1)])
def test_what_another_engine_may_carry_is_not_passed_over(source, consumer, hands_over, skipped, stopped_at):
    refused = {0: RefusedRecord(0, 100, True, "the broker said so", True)}
    work_item = replace(work(0, end=3), refused=refused, skip_refused=True, hands_over=hands_over)
    [flow] = source.assign([work_item], TakingTarget())
    consumer.batches = [[FakeMessage("orders", 0, offset, _timestamp=0 if offset == 1 else 100) for offset in range(3)]]
    source.consume(100, 0, TakingTarget(), 1000)
    assert [(each.start, each.end) for each in flow.skipped] == skipped
    assert (flow.next_offset, flow.poison is not None) == (stopped_at, hands_over)


@pytest.mark.parametrize("refused", [RefusedRecord(0, 101, True, "", True), RefusedRecord(0, 100, False, "", True)])
def test_a_record_with_another_timestamp_than_the_refused_one_is_sent(source, consumer, refused):
    target = TakingTarget()
    [flow] = source.assign([replace(work(0), refused={0: refused}, skip_refused=True)], target)
    consumer.batches = [[FakeMessage("orders", 0, 0, _timestamp=100)]]
    source.consume(100, 0, target, 1000)
    assert (flow.sources, flow.skipped) == ([0], [])


@pytest.mark.parametrize("timestamp", [-1, 1, 100, 2**62])
def test_any_other_timestamp_is_carried(source, consumer, timestamp):
    target = TakingTarget()
    [flow] = source.assign([work(0)], target)
    consumer.batches = [[FakeMessage("orders", 0, 0, _timestamp=timestamp)]]
    source.consume(100, 0, target, 1000)
    assert (flow.sources, flow.poison) == ([0], None)
