"""Records and messages of the tests' own, and a side of an audit that keeps its partitions in memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kafka_mirror.formats.batches.batch_records import CREATE_TIME
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import Record
from kafka_mirror.kafka.reader import Part


def record(
    offset: int, value: bytes | None = b"v", key: bytes | None = b"k", headers: tuple = (), timestamp: int = 1, kind: int = 1
) -> Record:
    return Record(offset, kind, timestamp, key, value, headers)


def numbered(count: int) -> list[Record]:
    """Records that are all different, at offsets 0, 1, 2 …"""
    return [record(number, b"value %d" % number, b"key %d" % number, timestamp=1000 + number) for number in range(count)]


def at_offsets(records: Sequence[Record], first: int) -> list[Record]:
    """The same as they would stand one behind the other on the target."""
    return [each._replace(offset=first + number) for number, each in enumerate(records)]


class MemoryMessage:
    """A record as a reader hands it out."""

    def __init__(self, record: Record, partition: TopicPartition | None = None) -> None:
        self.partition = partition
        self.offset, self.key, self.value = record.offset, record.key, record.value
        self.timestamp = record.timestamp_type, record.timestamp
        self.headers = list(record.headers) or None


@dataclass
class MemorySide:
    """A cluster in memory. `ends` are the ends of its logs by now."""

    alias: str
    logs: Mapping[TopicPartition, Sequence[Record]] = field(default_factory=dict)
    ends: Mapping[TopicPartition, int] = field(default_factory=dict)

    def end(self, tp: TopicPartition) -> int:
        return self.ends.get(tp, 0)

    def read_records(self, tp: TopicPartition, part: Part) -> Iterator[Record]:
        def visible() -> Iterator[Record]:
            for each in self.logs[tp]:
                if part.start <= each.offset < part.end and not any(start <= each.offset < end for start, end in part.excluded):
                    yield each

        return visible()


__all__ = ["CREATE_TIME", "MemoryMessage", "MemorySide", "at_offsets", "numbered", "record"]
