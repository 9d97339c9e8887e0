"""One partition as the tests' broker stores it, and who may write in a transaction."""

import struct
from dataclasses import dataclass, field

from kafka.record.default_records import DefaultRecordBatch

from mirror.offsets.partition import TopicPartition


@dataclass
class Log:
    """One partition: its batches with their offsets in place, and where it ends; a marker takes up an offset without a batch."""

    batches: list[bytes] = field(default_factory=list)
    end: int = 0
    aborted: list[tuple[int, int]] = field(default_factory=list)
    """Producer id and first offset of aborted transactions, as a fetch tells them."""
    epoch: int = 0
    diverged: int | None = None
    """Where the log went another way than the one that a reader has read."""

    def append(self, data: bytes, base_offset: int | None = None, leader_epoch: int = 0) -> int:
        """Stores a batch as a broker does: its offset and leader epoch are set, which no checksum covers."""
        base = self.end if base_offset is None else base_offset
        stored = bytearray(data)
        struct.pack_into(">q", stored, 0, base)
        struct.pack_into(">i", stored, 12, leader_epoch)
        self.batches.append(bytes(stored))
        self.end = base + DefaultRecordBatch(bytes(stored)).last_offset_delta + 1
        return base


@dataclass
class Owner:
    """Who may write under a transactional id, and which partitions its open transaction has."""

    epoch: int = -1
    begun: set[TopicPartition] = field(default_factory=set)
    sequences: dict[TopicPartition, int] = field(default_factory=dict)
