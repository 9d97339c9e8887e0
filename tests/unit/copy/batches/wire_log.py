"""One partition as the tests' broker stores it, and who may write in a transaction."""

import struct
from dataclasses import dataclass, field

from kafka.record.default_records import DefaultRecordBatch

from kafka_mirror.formats.offsets.partition import TopicPartition


@dataclass
class Log:
    """One partition: its batches with their offsets in place, and where it ends; a marker takes up an offset without a batch."""

    batches: list[bytes] = field(default_factory=list)
    end: int = 0
    aborted: list[tuple[int, int]] = field(default_factory=list)
    """Producer id and first offset of aborted transactions, as a fetch tells them."""
    epoch: int = 0
    starts: dict[int, int] = field(default_factory=lambda: {0: 0})
    """Where each leader epoch begins."""
    start: int = 0
    """Where the log begins: what stood in front was deleted."""

    def append(self, data: bytes, base_offset: int | None = None, leader_epoch: int | None = None) -> int:
        """Stores a batch as a broker does: its offset and leader epoch are set, which no checksum covers."""
        base = self.end if base_offset is None else base_offset
        if leader_epoch is not None and leader_epoch > self.epoch:
            self.epoch, self.starts[leader_epoch] = leader_epoch, base
        stored = bytearray(data)
        struct.pack_into(">q", stored, 0, base)
        struct.pack_into(">i", stored, 12, self.epoch)
        self.batches.append(bytes(stored))
        self.end = base + DefaultRecordBatch(bytes(stored)).last_offset_delta + 1
        return base

    def elect(self, kept: int, epochs: int = 1) -> None:
        """Makes a replica leader that has the batches in front of this offset alone; it writes in a newer leader epoch."""
        self.batches = [each for each in self.batches if DefaultRecordBatch(each).base_offset < kept]
        self.end = min(self.end, kept)
        self.starts = {epoch: start for epoch, start in self.starts.items() if start <= self.end}
        self.epoch += epochs
        self.starts[self.epoch] = self.end

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        """The newest leader epoch of the log that is not newer than this one, and where it ends, as a leader answers it."""
        known = max((each for each in self.starts if each <= epoch), default=-1)
        later = [start for each, start in self.starts.items() if each > known]
        return known, min(later, default=self.end)

    def diverging(self, offset: int, epoch: int) -> tuple[int, int] | None:
        """Where the log went another way than the one of a reader that stands at this offset, behind a record of this epoch."""
        known, end = self.epoch_end(epoch)
        return (known, end) if known < epoch or end < offset else None


@dataclass
class Owner:
    """Who may write under a transactional id (or none), and which partitions its open transaction has."""

    epoch: int = -1
    begun: set[TopicPartition] = field(default_factory=set)
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
    last: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    """The first sequence number and the offset of the batch that came last."""


def last_offset(data: bytes) -> int:
    """Of a stored batch."""
    if data[16] < 2:  # messages of an old format, which all come
        return 1 << 62
    batch = DefaultRecordBatch(data)
    return int(batch.base_offset + batch.last_offset_delta)
