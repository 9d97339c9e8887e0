"""Batches of both sides of an audit in memory, and sides that read the same records one by one."""

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from kafka_mirror.audit.batch_comparison import BatchComparison, NotComparable
from kafka_mirror.audit.copied_ranges import AuditRange
from kafka_mirror.audit.digest import Digest, Digester
from kafka_mirror.formats.batches.record_batch import RecordBatch, batches_in
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import Record
from kafka_mirror.kafka.broker_pool import Leader
from kafka_mirror.kafka.fetch_response import PartitionData
from kafka_mirror.kafka.fetched_partition import FetchedPartition
from kafka_mirror.kafka.reader import Part
from tests.unit.audit.memory import MemoryMessage, MemorySide

SOURCE, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)


def built(records: Sequence[Record], codec: int = 0) -> bytes:
    """A batch of these records as kafka-python's producer makes it."""
    builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 1 << 24)
    for number, each in enumerate(records):
        builder.append(number, each.timestamp, each.key, each.value, list(each.headers))
    return bytes(builder.build())


def one(data: bytes) -> RecordBatch:
    (batch,) = batches_in(data)
    return batch


def carried(batch: bytes, producer_id: int = 7) -> bytes:
    """The batch as a copy forwards it."""
    return b"".join(one(batch).stamp_producer(producer_id, 1, 5))


@dataclass
class MemoryLog:
    """A partition: its batches at their offsets, and where it ends. `skip` leaves offsets free, as a marker does."""

    batches: list[bytes] = field(default_factory=list)
    end: int = 0

    def append(self, batch: bytes) -> int:
        stored = bytearray(batch)
        struct.pack_into(">q", stored, 0, self.end)
        self.batches.append(bytes(stored))
        first, self.end = self.end, one(bytes(stored)).next_offset
        return first

    def skip(self, offsets: int = 1) -> None:
        self.end += offsets

    def records(self) -> list[Record]:
        return [
            Record(each.offset, 1, each.timestamp, each.key, each.value, tuple(each.headers))
            for batch in self.batches
            for each in DefaultRecordBatch(batch)
        ]


@dataclass
class DigestingSide(MemorySide):
    """A side whose digests have short blocks. `read` are the parts that were read."""

    read: list[Part] = field(default_factory=list)

    def read_digests(self, parts: dict[TopicPartition, Part], _errors: Any) -> dict[TopicPartition, Digest]:
        answer = {}
        for tp, part in parts.items():
            self.read.append(part)
            digester = Digester(timed=part.timed, skip=part.skip, mean_records=8)
            digester.take([MemoryMessage(each) for each in self.read_records(tp, part)])
            answer[tp] = digester.digest()
        return answer

    def count_records(self, parts: dict[TopicPartition, Part], _errors: Any) -> dict[TopicPartition, int]:
        return {tp: sum(1 for _ in self.read_records(tp, part)) for tp, part in parts.items()}


class MemoryReading:
    """Stands for PairedReading: hands so many batches of each side over at a time."""

    def __init__(self, source: MemoryLog, target: MemoryLog, portion: int) -> None:
        self._logs = source, target
        self._portion = portion
        self.pairings: list[BatchComparison] = []

    def __call__(self, _context: Any, stretches: Sequence[AuditRange], on_read: Callable[[int], None]) -> "MemoryReading":
        self._stretches, self._on_read = stretches, on_read
        return self

    def run(self) -> list[BatchComparison]:
        for stretch in self._stretches:
            pairing = BatchComparison(stretch, _fetched(stretch.start), _fetched(stretch.target_start))
            try:
                while not pairing.is_done:
                    self._feed(pairing)
                    pairing.pair()
                    if (at := pairing.jumps_to) is not None:
                        pairing.go_on(_fetched(at.source), _fetched(at.target))
            except NotComparable:
                continue
            self._on_read(pairing.offsets)
            self.pairings.append(pairing)
        return self.pairings

    def _feed(self, pairing: BatchComparison) -> None:
        for side, log in zip((pairing.source, pairing.target), self._logs, strict=True):
            if not side.has_ended:
                ahead = [each for each in log.batches if one(each).next_offset > side.fetched.position]
                side.fetched.add(_answer(ahead[: self._portion]))
                if not ahead:
                    side.fetched.position = log.end


def _fetched(start: int) -> FetchedPartition:
    return FetchedPartition(start, None, Leader(0, 0))


def _answer(batches: Iterable[bytes]) -> PartitionData:
    return PartitionData("orders", 0, 0, 1 << 62, (), memoryview(b"".join(batches)), None)
