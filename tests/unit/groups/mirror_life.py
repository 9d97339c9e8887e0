"""The life of one mirrored partition for tests: what stands in the source, what the copy and people's decisions make of the ledger record,
and every copy on the target with the source offset that it is one of. The record goes through the code that a lane runs, and through its
bytes after every step; the target's log is a plain list.

    source   records, and offsets without one (markers, aborted records); retention takes the oldest, an unclean leader election the newest,
             and the topic may be deleted and created anew
    target   copies, and offsets without one; retention takes the oldest, an unclean leader election the newest, and so with the topic

Each record has a number of its own, for one offset may be that of several records, one after the other. Of groups the life keeps the
checkpoints, and which records each group had not read when its checkpoint was written.
"""

from bisect import bisect_left
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from kafka_mirror.copy.history import merge_history, view_as_history
from kafka_mirror.copy.ledger_updates import advance_record, mark_blocked
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.mm2 import Checkpoint, OffsetSync
from kafka_mirror.formats.offsets.holes import EXACT_PLACE
from kafka_mirror.formats.offsets.map import runs_of
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, SeenLog, SeenLogs, due, key_of, target_epoch
from kafka_mirror.groups.offset_sync_store import OffsetSyncStore
from kafka_mirror.groups.offset_syncs import due_pairs
from kafka_mirror.groups.translation import EXACT, SourceState, generation, translate
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.apply_decisions import PartitionFacts, act_on_decisions
from kafka_mirror.ledger.codec import decode, encode
from kafka_mirror.ledger.record import LedgerRecord, Skipped
from tests.unit.decision_records import DECIDED_AT, decision
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

TP = TopicPartition("orders", 0)
SOURCE_ID, TARGET_ID, REMOTE = "source-topic-id", "target-topic-id", "east.orders"


class LeaderEpochs:
    """The leader epochs of one log: where each of them begins."""

    def __init__(self) -> None:
        self.starts = {0: 0}

    @property
    def newest(self) -> int:
        return max(self.starts)

    def elect(self, end: int) -> None:
        """Another replica becomes leader, and has what lies in front of `end`."""
        newest = self.newest + 1
        self.starts = {epoch: start for epoch, start in self.starts.items() if start <= end} | {newest: end}

    def end_of(self, epoch: int, log_end: int) -> int:
        """Where the log departs from one that was read in this epoch."""
        return min((start for later, start in self.starts.items() if later > epoch), default=log_end)


class Known(NamedTuple):
    """A checkpoint, and which records its group had read by then, and had not: of these numbers, and all from `born` on. Those that the
    source had lost before are neither."""

    checkpoint: NotedCheckpoint
    read: frozenset[int]
    unread: frozenset[int]
    born: int

    def has_not_read(self, number: int) -> bool:
        return number >= self.born or number in self.unread


class CommittedOnce(NamedTuple):
    """What a group committed on the source at some time, and which of its records it had not read then: of these numbers, and all from
    `born` on."""

    offset: int
    leader_epoch: int
    source_id: str
    unread: frozenset[int]
    born: int


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
        self.syncs = OffsetSyncStore()
        self.synced = False  # whether the newest event wrote offset syncs
        self.record = record or ledger_record(watermark=start, target_next=0, records=0, start=start)
        self.numbers = {source: number for number, source in enumerate(self.sources)}  # of the source's records, by their offsets
        self.born = len(self.sources)
        self.numbered: list[tuple[int, int]] = []  # position, number; of every copy of every record there ever was
        self.source_id, self.target_id = SOURCE_ID, TARGET_ID
        self.source_epochs, self.target_epochs = LeaderEpochs(), LeaderEpochs()
        self.lost: int | None = None  # where the remote log ends that lost records, until somebody decides
        self.cut: int | None = None  # where the source's log was cut off below the watermark, until somebody decides
        self.checkpoints: dict[str, Known] = {}
        self.commits: list[CommittedOnce] = []

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
        offsets = range(self.source_end, self.source_end + records)
        self.sources += offsets
        self.numbers |= {offset: self.born + number for number, offset in enumerate(offsets)}
        self.source_end += records + gap
        self.born += records

    def copy(self, most: int, broken: int) -> None:
        """One transaction; every `broken` records a position of the target holds none."""
        if self.record.watermark < self.log_start or self.waits:
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
            self.numbered.append((self.end, self.numbers[source]))
            self.end += 1
        epoch = self._epoch_of(batch[-1]) if batch else None
        progress = PartitionProgress(
            TP, next_offset, epoch, runs_of(batch, positions), len(batch), 1, positions[-1] + 1 if positions else None
        )
        begun = self.record.watermark
        self._set(advance_record(self.record, progress, None))
        self.end += bool(positions)
        if positions:
            newest = (*self.syncs.pairs(*TP), None)[0]
            for pair in due_pairs(self.record, newest, 5, begun):
                self.syncs.sync(OffsetSync(*TP, *pair))
            self.synced = True

    def refuse(self) -> None:
        """The next record is passed over (errors.tolerance=all)."""
        if self.log_start <= self.record.watermark < self.source_end and not self.waits:
            offset = self.record.watermark
            self._set(advance_record(self.record, PartitionProgress(TP, offset + 1, skipped=(Skipped(offset, offset + 1, "refused"),)), 0))

    def abort(self, positions: int) -> None:
        """An aborted transaction on the target."""
        if self.lost is not None:
            return
        self.end += positions

    def expire_source(self, records: int) -> None:
        """Retention takes the source's oldest records."""
        self.sources = self.sources[records:]
        self.log_start = self.sources[0] if self.sources else self.source_end
        self._decide("accept-gap", watermark=self.record.watermark)

    def skip_record(self) -> None:
        """A person passes over the record at which the partition is stuck."""
        if self.record.watermark < self.source_end and not self.waits:
            self._set(mark_blocked(self.record, self.record.watermark, ErrorReport("RecordRefused", "x"), WRITTEN_AT))
            self._decide("skip-record", offset=self.record.watermark)

    def restart(self, offset: int) -> None:
        """A person lets the copy go on at another offset."""
        lost, self.lost = self.lost, None
        self._restart(max(self.log_start, min(offset, self.source_end)), lost)

    def accept_records(self, foreign: int) -> None:
        """Somebody else wrote to the remote partition, and a person lets it stay."""
        if self.waits:
            return
        self.end += foreign
        self._decide("accept-records", target_end=self.end)

    def lose(self, positions: int, aborted: int, further_on: int) -> None:
        """The target loses its newest records; the person goes on at the first lost one, or elsewhere."""
        self.lose_unseen(positions)
        end, self.lost = self.lost, None
        if end is None:
            return
        lost = self.record.offset_map.source_of(end)
        start = self.record.watermark if lost is None else lost
        self.end = end + aborted
        if self.old_end is not None:
            self.old_end = min(self.old_end, end)
        self._restart(max(self.log_start, min(start + further_on, self.source_end)), end)

    def lose_unseen(self, positions: int) -> None:
        """The target loses its newest records; the copy waits for a person."""
        end = max(self.head, min(self.end, self.record.target_next) - positions)
        if end >= self.record.target_next or positions == 0:
            return
        self.copies = [copy for copy in self.copies if copy[0] < end]
        self.numbered = [copy for copy in self.numbered if copy[0] < end]
        self.history = {position for position in self.history if position < end}
        self.target_epochs.elect(end)
        self.end = self.lost = end

    def expire_target(self, positions: int) -> None:
        """Retention takes the target's oldest records."""
        self.head = min(self.head + positions, self.end)

    def backfill(self, start: int, length: int) -> None:
        """History goes into the remote topic, behind what stands there."""
        live = self.record.live_start
        planned = Range(*TP, self.source_id, min(start, live), min(start + length, live), "history")
        seen, part = view_as_history(self.record, planned, Topic(REMOTE, self.target_id, ()))
        batch = [source for source in self.sources if part.start <= source < part.end]
        if part.start >= part.end or self.waits:
            return
        positions = list(range(self.end, self.end + len(batch)))
        self.copies += zip(positions, batch, strict=True)
        self.numbered += [(position, self.numbers[source]) for position, source in zip(positions, batch, strict=True)]
        self.history |= set(positions)
        self.end += len(batch) + bool(batch)
        runs = runs_of(batch, positions)
        progress = PartitionProgress(TP, part.end, 0, runs, len(batch), 1, positions[-1] + 1 if positions else None)
        self._set(merge_history(self.record, advance_record(seen, progress, 0)))

    def cut_source(self, offset: int) -> None:
        """Source cut off: a replica without the newest records becomes leader. Below the watermark the copy waits for a person."""
        end = max(self.log_start, min(offset, self.source_end))
        self.sources = [source for source in self.sources if source < end]
        self.numbers = {source: number for source, number in self.numbers.items() if source < end}
        self.source_end = end
        self.source_epochs.elect(end)
        if end < self.record.watermark and self.source_id == self.record.source_topic_id:
            self.cut = end if self.cut is None else min(self.cut, end)

    def elect(self) -> None:
        """A replica that has everything becomes leader, on both sides."""
        self.source_epochs.elect(self.source_end)
        self.target_epochs.elect(self.end)

    def create_source_anew(self, records: int) -> None:
        """Source created anew: the topic is deleted, and another one of its name has so many records. The copy waits for a person."""
        self.source_id = f"{self.source_id} anew"
        self.sources, self.numbers, self.source_end, self.log_start = [], {}, 0, 0
        self.source_epochs = LeaderEpochs()
        self.produce(records, 0)

    def create_remote_anew(self, offset: int) -> None:
        """The remote topic is deleted and created anew, and a person lets the copy go on there."""
        self.target_id = f"{self.target_id} anew"
        self.copies, self.numbered, self.history = [], [], set()
        self.end = self.head = self.reach = 0
        self.old_end = self.lost = None
        self.target_epochs = LeaderEpochs()
        self._restart(max(self.log_start, min(offset, self.source_end)), None)

    def commit(self, read: int) -> None:
        """A group commits the offset up to which it has read, with the leader epoch of the last record in front of it."""
        offset = max(self.log_start, min(read, self.source_end))
        if offset > 0:
            unread = frozenset(number for source, number in self.numbers.items() if source >= offset)
            self.commits.append(CommittedOnce(offset, self._epoch_of(offset - 1), self.source_id, unread, self.born))

    def checkpoint(self, group: str, read: int) -> None:
        """The group has read the source up to an offset, and its checkpoint is due or not."""
        offset = max(self.log_start, min(read, self.source_end))
        source = SourceState(self.source_id, self.source_end, self.source_epochs.newest)
        answer = translate(offset, self.record, source, self.target_id)
        if answer.target is None:
            return
        written = Checkpoint(group, REMOTE, TP.partition, offset, answer.target)
        place = "" if answer.place == EXACT_PLACE and answer.kind != EXACT else answer.place
        epoch = target_epoch(self.record, self.end, self.target_epochs.newest)
        logs = SeenLogs(SeenLog(self.source_id, source.leader_epoch), SeenLog(self.target_id, epoch))
        candidate = NotedCheckpoint(written, generation(self.record), place, None, logs, answer.at_most)
        stored = {key_of(known.checkpoint.checkpoint): known.checkpoint for known in self.checkpoints.values()}
        for due_now in due([candidate], stored):
            read = frozenset(number for source, number in self.numbers.items() if source < offset)
            unread = frozenset(self.numbers.values()) - read
            self.checkpoints[group] = Known(due_now, read, unread, self.born)

    # ------------------------------------------------------------ their parts

    @property
    def waits(self) -> bool:
        """Whether the copy is red until a person decides: one of the logs is another than the one that was copied."""
        return self.cut is not None or self.lost is not None or self.source_id != self.record.source_topic_id

    def _epoch_of(self, offset: int) -> int:
        return max(epoch for epoch, start in self.source_epochs.starts.items() if start <= offset)

    def _restart(self, offset: int, target_end: int | None) -> None:
        if self.source_id != self.record.source_topic_id:
            self.copies, self.history, self.reach, self.old_end = [], set(), 0, None
        elif self.cut is not None:
            cut = self.cut
            self.history = {position for position, source in self.copies if position in self.history and source < cut}
            self.copies = [copy for copy in self.copies if copy[1] < cut]
        self.cut = None
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
        standing = PartitionFacts(self.source_id, self.log_start, REMOTE, self.target_id, self.source_epochs.newest)
        bound = {"source_topic_id": self.source_id, "target_topic_id": self.target_id, **facts}
        changed, _ = act_on_decisions(self.record, [decision(word, when=self.decided, **bound)], standing)
        self._set(changed)

    def _set(self, record: LedgerRecord) -> None:
        self.synced = False
        self.record = decode(encode(replace(record, writer=self.record.writer)), "here")
        if self.record.watermark >= self.reach:
            self.old_end = None
