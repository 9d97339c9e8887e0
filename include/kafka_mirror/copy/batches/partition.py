"""One partition on its way through the engine: batches that were read and wait, that are sent, that stand on the target."""

import builtins
import time
from collections import Counter, deque
from collections.abc import Sequence

from kafka_mirror.copy.model import FORWARDED, JOINED, BatchShare, PartitionAssignment, PartitionProgress, PoisonRecord
from kafka_mirror.errors import BatchNotUnpacked
from kafka_mirror.formats.batches.batch_records import NotIntact, Record
from kafka_mirror.formats.batches.batch_rewrite import BatchBuilder, JoinedStretch, OutgoingBatch
from kafka_mirror.formats.batches.compression import UnpacksTooLarge
from kafka_mirror.formats.batches.record_batch import AbortedTransactions, RecordBatch
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import LastRecord, Skipped

_LARGE_BYTES = 1024 * 1024
"""How large batches become where the target refused records: the fewer there are, the more of those one refusal names."""


class InFlightBatches:
    """The share of one partition in the open transaction.

    What is read goes through two queues; the answers come in the order of the requests:

        taken       │ growing            │ waiting │ sent, not acknowledged │ on the target
        next_offset ┘ joined by `flush`  ┘         └ one batch a request    └ runs
    """

    def __init__(self, work: PartitionAssignment) -> None:
        self.work = work
        self.remote = TopicPartition(work.remote, work.source.partition)
        self.next_offset = work.start
        """The source offset after all that was taken, dropped batches and markers included."""
        self.leader_epoch: int | None = None
        most = work.limits.max_message_bytes
        self._growing = BatchBuilder(most, _LARGE_BYTES) if work.start < work.joined_to else BatchBuilder(most)
        self.waiting: deque[OutgoingBatch] = deque()
        self.sent: deque[OutgoingBatch] = deque()
        self.not_before = 0.0
        """When (time.monotonic) the first batch may be sent again, which the target did not take yet."""
        self.is_added = False
        """Whether a batch of it is acknowledged: then the partition belongs to the transaction, and the next batches may follow each other
        without waiting."""
        self.runs: list[Run] = []
        self.records = 0
        self._bytes = 0
        self._ways: dict[str, tuple[int, int]] = {}
        self._rewritten: Counter[str] = Counter()
        self.added = 0
        """How many records it took one by one."""
        self.poison: BatchNotUnpacked | PoisonRecord | None = None
        """The batch at `next_offset` that cannot be opened, or the record that the target refuses."""
        self.skipped: list[Skipped] = []
        self.stopped = work.start >= work.end
        self._max_timestamp = -1
        self._read = 0.0

    @property
    def bytes(self) -> int:
        """How many bytes it took: of batches, and of records that are to become one."""
        return self._bytes + self._growing.bytes

    @property
    def is_growing(self) -> bool:
        """Whether records were added that others may join."""
        return self._growing.bytes > 0

    def take(self, batch: RecordBatch) -> None:
        """Takes a batch that is to be sent as it is."""
        self.flush()
        self._wait(OutgoingBatch.closed(batch))
        self.count(FORWARDED, 1, batch.record_count)
        self._note_read(batch.leader_epoch, batch.next_offset)

    def add(self, records: Sequence[Record], batch: RecordBatch, codec: str, next_offset: int) -> None:
        """Takes records, of which `batch` has the last, to be joined with those before and after them, and packed by `codec`."""
        for full in self._growing.add(records, codec, batch.leader_epoch):
            self._wait(full)
        self.added += len(records)
        self._note_read(batch.leader_epoch, next_offset)

    def join(self, codec: str, room: int, largest: int, data: builtins.bytes, aborted: AbortedTransactions | None) -> JoinedStretch:
        """Takes small batches from the beginning of `data`, up to a record that the target refused; see `BatchBuilder.join`."""
        end = min((offset for offset in self.work.refused if offset >= self.next_offset), default=self.work.end)
        joined = self._growing.join(data, codec, (self.next_offset, min(end, self.work.end)), room, largest, aborted)
        for full in joined.full:
            self._wait(full)
        if joined.bytes:
            self.added += joined.records
            self.count(JOINED, joined.batches, joined.records)
            self.count(FORWARDED, bool(joined.closed), joined.closed)
            self._note_read(joined.leader_epoch, joined.next_offset)
        return joined

    def count(self, way: str, batches: int, records: int, reason: str = "") -> None:
        """Counts batches that went this way, with their records; those that were rewritten with the reason."""
        had = self._ways.get(way, (0, 0))
        self._ways[way] = (had[0] + batches, had[1] + records)
        if reason:
            self._rewritten[reason] += batches

    def flush(self) -> None:
        """Lets nothing more join what was added."""
        for last in self._growing.finish():
            self._wait(last)

    def _wait(self, outgoing: OutgoingBatch) -> None:
        self.waiting.append(outgoing)
        self._bytes += len(outgoing.batch.data)

    def _note_read(self, leader_epoch: int, next_offset: int) -> None:
        self.pass_over(next_offset, leader_epoch)
        self._read = time.time()

    def pass_over(self, offset: int, leader_epoch: int) -> None:
        """Goes on at the offset after batches that are not copied."""
        self.next_offset = min(offset, self.work.end)
        if leader_epoch >= 0:  # messages of old formats have none
            self.leader_epoch = leader_epoch

    def stop(self) -> None:
        """Takes no more in this transaction."""
        self.flush()
        self.stopped = True

    def hold_up(self, end: int, leader_epoch: int, why: ValueError) -> None:
        """A batch that ends at this offset cannot be opened: with errors.tolerance=all it is passed over, else nothing more is taken. One
        that is damaged is passed over only where a person decides so: another replica may have it whole."""
        error = BatchNotUnpacked(*self.work.source, self.next_offset, end, f"{why}", isinstance(why, UnpacksTooLarge))
        if self.work.skip_refused and not isinstance(why, NotIntact):
            self.skipped.append(Skipped(self.next_offset, min(end, self.work.end), error.reason))
            self.pass_over(end, leader_epoch)
        else:
            self.poison = error
            self.stop()

    def refuse(self, poison: PoisonRecord) -> bool:
        """The target refuses the record at this offset, which is the next one: with errors.tolerance=all it is passed over, else nothing
        more is taken. Whether it goes on."""
        if self.work.skip_refused:
            self.skipped.append(Skipped(poison.offset, poison.offset + 1, poison.reason))
        else:
            self.poison = poison
            self.stop()
        return not self.stopped

    def send_next(self) -> RecordBatch:
        """The next batch that waits, which is sent now."""
        outgoing = self.waiting.popleft()
        self.sent.append(outgoing)
        return outgoing.batch

    def take_acknowledgement(self, base_offset: int) -> None:
        """Takes the target offset of the oldest batch that was sent. What lies side by side on both clusters is one run."""
        sent = self.sent.popleft()
        self.is_added = True
        self.records += sent.batch.record_count
        self._max_timestamp = sent.batch.max_timestamp
        for source, length in sent.stretches:
            last = self.runs[-1] if self.runs else None
            if last and (last.source + last.length, last.target + last.length) == (source, base_offset):
                self.runs[-1] = Run(last.source, last.target, last.length + length)
            else:
                self.runs.append(Run(source, base_offset, length))
            base_offset += length

    def send_again(self, not_before: float) -> RecordBatch:
        """The target did not take the first batch yet, and nothing was written: it waits again, until then (time.monotonic)."""
        outgoing = self.sent.popleft()
        self.waiting.appendleft(outgoing)
        self.not_before = not_before
        return outgoing.batch

    def may_send(self, now: float) -> bool:
        """Whether its next batch may go out now (time.monotonic)."""
        return bool(self.waiting) and (self.is_added or not self.sent) and now >= self.not_before

    @property
    def is_done(self) -> bool:
        """Whether all that was taken is acknowledged."""
        return not self.waiting and not self.sent and not self.is_growing

    @property
    def has_moved(self) -> bool:
        """Whether this transaction changed or found anything for the partition."""
        return self.next_offset > self.work.start or self.poison is not None

    def report_progress(self) -> PartitionProgress:
        """What the transaction did to this partition."""
        last = None
        if self.runs and self._max_timestamp >= 0:  # the newest of the last batch, for its last record's own stays closed
            last = LastRecord(self._max_timestamp, int(self._read * 1000), int(time.time() * 1000))
        return PartitionProgress(
            source=self.work.source,
            next_offset=self.next_offset,
            leader_epoch=self.leader_epoch,
            runs=tuple(self.runs),
            records=self.records,
            bytes=self.bytes,
            target_next=self.runs[-1].target + self.runs[-1].length if self.runs else None,
            poison=self.poison,
            skipped=tuple(self.skipped),
            last=last,
            batches=tuple(BatchShare(way, batches, records) for way, (batches, records) in self._ways.items() if batches),
            rewritten=dict(self._rewritten),
        )
