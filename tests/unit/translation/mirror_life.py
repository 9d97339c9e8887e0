"""The life of one mirrored partition for tests: what stands in the source, what the copy and people's decisions make of the ledger record,
and every copy on the target with the source offset that it is one of. The record goes through the code that a lane runs, and through its
bytes after every step; the target's log is a plain list.

    source   records, and offsets without one (markers, aborted records); retention takes the oldest
    target   copies, and offsets without one; retention takes the oldest, an unclean leader election the newest
"""

from bisect import bisect_left
from dataclasses import replace
from datetime import timedelta

from mirror.copy.engine import PartitionProgress
from mirror.copy.history import stored, view
from mirror.copy.ledger_updates import after, stuck
from mirror.decisions.apply import PartitionFacts, acted_on
from mirror.errors import ErrorReport
from mirror.formats.ledger import LedgerRecord
from mirror.formats.ledger_codec import decode, encode
from mirror.formats.mm2 import OffsetSync
from mirror.formats.skips import Skipped
from mirror.kafka.model import Topic
from mirror.offsets.map import runs_of
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Range
from mirror.sync.offset_syncs import due_pairs
from mirror.translation.offset_sync_store import OffsetSyncStore
from tests.unit.decision_records import DECIDED_AT, decision
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

TP = TopicPartition("orders", 0)
SOURCE_ID, TARGET_ID, REMOTE = "source-topic-id", "target-topic-id", "east.orders"


class MirrorLife:
    """Every method but the first ones is something that may happen; one that cannot happen now does nothing."""

    def __init__(self, start: int, record: LedgerRecord | None = None) -> None:
        self.sources = list(range(0, start, 2))
        self.source_end = self.start = start
        self.log_start = 0
        self.copies: list[tuple[int, int]] = []  # position, source offset; in the order of the positions
        self.history: set[int] = set()  # positions of copies that a backfill wrote
        self.end = self.head = 0
        self.old_end: int | None = None  # where the older copies ended when the restart began that now copies again
        self.reach = 0  # right behind the last source offset of which the target has a copy, when it is copied once more
        self.decided = DECIDED_AT
        self.syncs = OffsetSyncStore(must_read_to_end=False)
        self.syncs.read_to_end()
        self.synced = False  # whether the newest event wrote offset syncs
        self.record = record or ledger_record(watermark=start, target_next=0, records=0, start=start)

    # ------------------------------------------------------------ what tests ask

    def ever(self) -> dict[int, list[int]]:
        """The positions of all copies, by source offset: those that retention took included, and those that were lost not."""
        found: dict[int, list[int]] = {}
        for position, source in self.copies:
            found.setdefault(source, []).append(position)
        return found

    def held(self) -> dict[int, list[int]]:
        """The positions of the copies that the target still has, by source offset."""
        kept = {source: [position for position in positions if position >= self.head] for source, positions in self.ever().items()}
        return {source: positions for source, positions in kept.items() if positions}

    # ------------------------------------------------------------ what may happen

    def produce(self, records: int, gap: int) -> None:
        """New records on the source, and offsets without one behind them."""
        self.sources += range(self.source_end, self.source_end + records)
        self.source_end += records + gap

    def copy(self, most: int, broken: int) -> None:
        """One transaction; every `broken` records a position of the target holds none."""
        if self.record.watermark < self.log_start:
            return
        first = bisect_left(self.sources, self.record.watermark)
        batch = self.sources[first : first + most]
        following = self.sources[first + most : first + most + 1]
        next_offset = batch[-1] + 1 if following else self.source_end
        positions = []
        for number, source in enumerate(batch):
            if broken and number and number % broken == 0:
                self.end += 1
            positions.append(self.end)
            self.copies.append((self.end, source))
            self.end += 1
        progress = PartitionProgress(TP, next_offset, 0, runs_of(batch, positions), len(batch), 1, positions[-1] + 1 if positions else None)
        begun = self.record.watermark
        self._set(after(self.record, progress, 0))
        self.end += bool(positions)
        if positions:
            newest = (*self.syncs.pairs(*TP), None)[0]
            for pair in due_pairs(self.record, newest, 5, begun):
                self.syncs.sync(OffsetSync(*TP, *pair))
            self.synced = True

    def refuse(self) -> None:
        """The next record is passed over (errors.tolerance=all)."""
        if self.log_start <= self.record.watermark < self.source_end:
            offset = self.record.watermark
            self._set(after(self.record, PartitionProgress(TP, offset + 1, skipped=(Skipped(offset, offset + 1, "refused"),)), 0))

    def abort(self, positions: int) -> None:
        """An aborted transaction on the target."""
        self.end += positions

    def expire_source(self, records: int) -> None:
        """Retention takes the source's oldest records."""
        self.sources = self.sources[records:]
        self.log_start = self.sources[0] if self.sources else self.source_end
        self._decide("accept-gap", watermark=self.record.watermark)

    def skip_record(self) -> None:
        """A person passes over the record at which the partition is stuck."""
        if self.record.watermark < self.source_end:
            self._set(stuck(self.record, self.record.watermark, ErrorReport("RecordRefused", "x"), WRITTEN_AT))
            self._decide("skip-record", offset=self.record.watermark)

    def restart(self, offset: int) -> None:
        """A person lets the copy go on at another offset."""
        self._restart(max(self.log_start, min(offset, self.source_end)), None)

    def accept_records(self, foreign: int) -> None:
        """Somebody else wrote to the remote partition, and a person lets it stay."""
        self.end += foreign
        self._decide("accept-records", target_end=self.end)

    def lose(self, positions: int, aborted: int, further_on: int) -> None:
        """The target loses its newest records; the person goes on at the first lost one, or elsewhere."""
        end = max(self.head, self.record.target_next - positions)
        if end >= self.record.target_next:
            return
        self.copies = [copy for copy in self.copies if copy[0] < end]
        self.history = {position for position in self.history if position < end}
        lost = self.record.offset_map.source_of(end)
        start = self.record.watermark if lost is None else lost
        self.end = end + aborted
        if self.old_end is not None:
            self.old_end = min(self.old_end, end)
        self._restart(max(self.log_start, min(start + further_on, self.source_end)), end)

    def expire_target(self, positions: int) -> None:
        """Retention takes the target's oldest records."""
        self.head = min(self.head + positions, self.end)

    def backfill(self, start: int, length: int) -> None:
        """History goes into the remote topic, behind what stands there."""
        live = self.record.live_start
        planned = Range(*TP, SOURCE_ID, min(start, live), min(start + length, live), "history")
        seen, part = view(self.record, planned, Topic(REMOTE, TARGET_ID, ()))
        batch = [source for source in self.sources if part.start <= source < part.end]
        if part.start >= part.end:
            return
        positions = list(range(self.end, self.end + len(batch)))
        self.copies += zip(positions, batch, strict=True)
        self.history |= set(positions)
        self.end += len(batch) + bool(batch)
        runs = runs_of(batch, positions)
        progress = PartitionProgress(TP, part.end, 0, runs, len(batch), 1, positions[-1] + 1 if positions else None)
        self._set(stored(self.record, after(seen, progress, 0)))

    # ------------------------------------------------------------ their parts

    def _restart(self, offset: int, target_end: int | None) -> None:
        reach = max((source + 1 for position, source in self.copies if position not in self.history), default=0)
        end = self.record.target_next
        self._decide("restart", watermark=self.record.watermark, offset=offset, target_end=target_end)
        if self.record.watermark < reach:
            self.reach = reach
            self.old_end = end if self.old_end is None else self.old_end
            if target_end is not None:
                self.old_end = min(self.old_end, target_end)

    def _decide(self, word: str, **facts: object) -> None:
        self.decided += timedelta(seconds=1)
        standing = PartitionFacts(SOURCE_ID, self.log_start, REMOTE, TARGET_ID, 0)
        changed, _ = acted_on(self.record, [decision(word, when=self.decided, **facts)], standing)
        self._set(changed)

    def _set(self, record: LedgerRecord) -> None:
        self.synced = False
        self.record = decode(encode(replace(record, writer=self.record.writer)), "here")
        if self.record.watermark >= self.reach:
            self.old_end = None
