"""One side of an audit: how far its digests are is told as they are read."""

from kafka_mirror.audit.reader import Side
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.reader import Part
from tests.unit.audit.memory import MemoryMessage, at_offsets, numbered, record

ONE, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


class BatchesSide(Side):
    """Reads batches that are in memory."""

    def __init__(self, batches, on_read):
        super().__init__("east", {"bootstrap.servers": "127.0.0.1:1"}, True, 1.0, {}, on_read=on_read)
        self._read = batches

    def read_batches(self, parts, errors):
        yield from self._read


def messages(records):
    return [MemoryMessage(each) for each in records]


def test_offsets_are_told_batch_by_batch_with_the_holes_between_them():
    first, second = messages(at_offsets(numbered(3), 10)), messages([record(20), record(25)])
    told = []
    side = BatchesSide([(ONE, first), (OTHER, messages([record(0)])), (ONE, second)], told.append)
    side.read_digests({ONE: Part(5, 30), OTHER: Part(0, 10)}, {})
    assert told == [8, 1, 13]
    assert sum(told) == (26 - 5) + 1
