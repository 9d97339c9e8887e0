"""Which source offsets of the copy and of backfills became which target offsets, as far as both sides still hold them.

An `AuditRange`, or stretch, is such offsets of both sides, which are compared with each other; an `Outcome` what came of it.

The ledger's offset map ties pairs of offsets together (`Pair`). A stretch begins and ends at such pairs, so an interval that was asked for
may be widened to the next ones. Where a log now starts between two pairs, it is unknown which record of the other side is the first that
both have. Such a head is counted back from the pair after it:

    source          log start ├─── n records ───┤ pair            n < m: the first m − n records of the target
    target   pair ├──────────── m records ──────┤ pair            are copies of what the source no longer has
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kafka_mirror.audit.digest import Digest
from kafka_mirror.audit.model import AuditFigures, LeftOut
from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.offsets.intervals import Interval, cut_out, cut_within, merge_intervals
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import RETURNED
from kafka_mirror.ledger.record import MAX_INTERVALS, History, HistoryTopic, LedgerRecord

SOURCE_GONE = "the source no longer has these records: its log starts at {}"
TARGET_GONE = "the target no longer has their copies: the log of {} starts at {}"
PLACE_UNKNOWN = "written by a backfill so long ago that the ledger no longer knows where they stand"
HISTORY_GONE = "written by a backfill into {}, which {}"
HISTORY_LOST = "written by a backfill, and no topic that the ledger knows holds their copies any more"
UNCOUNTABLE = "the log of {} starts at {}, between two known offsets, and what is no copy keeps its records from being counted back"


@dataclass(frozen=True)
class LogBounds:
    """What a partition holds on both sides. `source_end` and `target_end` are the ends of what can be read."""

    source_start: int
    source_end: int
    target_start: int
    target_end: int


@dataclass(frozen=True)
class AuditRange:
    """Source offsets and the target offsets that hold their copies.

    `source_left` and `target_left` are offsets in between that are no part of it. `source_ahead` and `target_ahead`: that side may have
    records in front of the first one that both have; both end with the stretch. The log ends are those of what can be read. `unsure`:
    source offsets of which some were skipped, it is unknown which. `runs` tie offsets together.
    """

    source: TopicPartition
    remote: TopicPartition
    start: int
    end: int
    target_start: int
    target_end: int
    source_log_end: int
    target_log_end: int
    source_left: tuple[Interval, ...] = ()
    target_left: tuple[Interval, ...] = ()
    source_ahead: bool = False
    target_ahead: bool = False
    unsure: tuple[Interval, ...] = ()
    most_unsure: int = 0
    """How many of the offsets in `unsure` were skipped at most."""
    runs: tuple[Run, ...] = ()
    watermark: int = 0
    """Up to which source offset copies were written, after the stretch too."""
    lenient: bool = False
    """Whether records may stand on the target that are no copies: a merge, or a person's decision."""
    compacted: bool = False
    """Whether one of the two topics drops records that have a newer one of the same key."""
    timed: bool = True
    """Whether timestamps are compared: not where the target stamps its records itself."""

    @property
    def is_head(self) -> bool:
        """Whether it is unknown which records both sides have first."""
        return self.source_ahead or self.target_ahead

    @property
    def target_read_end(self) -> int:
        """Where reading the target ends: a log that was cut off ends early."""
        return min(self.target_end, self.target_log_end)

    @property
    def remote_goes_on(self) -> bool:
        """Whether more than the marker of our own transaction stands after it on the target."""
        return self.target_log_end > self.target_end + 1

    def source_of(self, target: int) -> int | None:
        """The source offset of a target offset, where the offset map knows it."""
        index = bisect_right(self.runs, target, key=lambda run: run.target) - 1
        if index < 0 or target >= self.runs[index].target + self.runs[index].length:
            return None
        return self.runs[index].source + target - self.runs[index].target

    @property
    def offsets(self) -> int:
        """How many offsets are to be read on the source: an upper bound of its records."""
        return self.end - self.start


@dataclass(frozen=True)
class Outcome(AuditFigures):
    """What was found of one stretch. `error`: it was not compared."""

    stretch: AuditRange
    error: ErrorReport | None = None

    @staticmethod
    def of(stretch: AuditRange, source: Digest, target: Digest) -> "Outcome":
        """What is found by the digests of both sides alone."""
        return Outcome(
            stretch,
            source_records=source.records,
            target_records=target.records,
            source_digest=source.text,
            target_digest=target.text,
        )


def history_range(tp: TopicPartition, place: History, held: LogBounds, record: LedgerRecord) -> tuple[list[AuditRange], list[LeftOut]]:
    """What a backfill wrote into one place, without what it passed over; all of it, for where a part of it stands is not known."""
    remote = TopicPartition(place.topic, tp.partition)
    start, target_start = max(place.start, held.source_start), max(place.target_start, held.target_start)
    if start >= place.end:
        return [], [LeftOut(place.start, place.end, SOURCE_GONE.format(held.source_start))]
    if target_start >= place.target_end and place.target_end > place.target_start:
        return [], [LeftOut(start, place.end, TARGET_GONE.format(remote, held.target_start))]
    left_out = [LeftOut(place.start, start, SOURCE_GONE.format(start))] if start > place.start else []
    source_ahead, target_ahead = target_start > place.target_start, start > place.start
    offsets = (start, place.end, target_start, place.target_end, held.source_end, held.target_end)
    stretch = AuditRange(tp, remote, *offsets, watermark=place.end, source_ahead=source_ahead, target_ahead=target_ahead)
    return [cut_skipped(stretch, record)], left_out


def forgotten(topic: HistoryTopic) -> tuple[Interval, ...]:
    """Offsets that a backfill wrote there; where they stand is no longer known."""
    return subtract_intervals(topic.intervals, [(place.start, place.end) for place in topic.places])


def countable(stretch: AuditRange) -> AuditRange | LeftOut:
    """The stretch as it can be compared; or, where it cannot be, what is left out.

    A head is counted back, so it must have nothing but records and their copies. Of one with something else in it, what the target has
    in front can be taken for records that are no copies, and what the source has in front for nothing.
    """
    if not stretch.is_head or stretch.compacted or not (stretch.lenient or stretch.unsure):
        return stretch
    if stretch.source_ahead:
        return LeftOut(stretch.start, stretch.end, UNCOUNTABLE.format(stretch.remote, stretch.target_start))
    return replace(stretch, target_ahead=False, lenient=True)


def cut_skipped(stretch: AuditRange, record: LedgerRecord) -> AuditRange:
    """Returns the range without its skipped offsets; where those are not known exactly, they become `unsure`."""
    certain = [(skip.start, skip.end) for skip in record.skipped if skip.count is None]
    drawn_together = [skip for skip in record.skipped if skip.count is not None and skip.start < stretch.end and skip.end > stretch.start]
    return replace(
        stretch,
        source_left=merge_intervals((*stretch.source_left, *cut_within(certain, stretch.start, stretch.end))),
        unsure=cut_within([(skip.start, skip.end) for skip in drawn_together], stretch.start, stretch.end),
        most_unsure=sum(skip.offsets for skip in drawn_together),
    )


def subtract_intervals(intervals: Sequence[Interval], taken: Sequence[Interval]) -> tuple[Interval, ...]:
    """Returns the intervals without the offsets of `taken`."""
    remaining = merge_intervals(intervals)
    for interval in taken:
        remaining = cut_out(remaining, interval)
    return remaining


SOURCE_LOST = "the source's log ends at {} now"
PASSED_OVER = "passed over and not copied: {}"
NOT_COPIED = "not copied yet: the watermark is {}"
NEVER_COPIED = "never copied: neither the copy nor a backfill covers them"
BEFORE_LEDGER = "copied by MirrorMaker 2, so the ledger does not vouch for them"
BEFORE_RETURN = "on both sides before a cutover turned the direction, so this ledger does not vouch for them"
FORGOTTEN = "copied long ago, with many gaps since, so that the ledger no longer lists it"


class OffsetPair(NamedTuple):
    """A source offset and a target offset: what lies in front of one was written in front of the other."""

    source: int
    target: int


def _find_vouched(record: LedgerRecord) -> str:
    """Who brought what stands in front of the ledger's own copies: the opposite flow where a cutover turned it, or MirrorMaker 2."""
    is_way_back = record.decided is not None and record.decided.decision == RETURNED
    return BEFORE_RETURN if is_way_back else BEFORE_LEDGER


def pair_at(runs: Sequence[Run], source: int) -> OffsetPair | None:
    """The pair of a source offset; None where the map is too coarse to know it."""
    index = bisect_right(runs, source, key=lambda run: run.source) - 1
    if index < 0:
        return OffsetPair(source, runs[0].target) if runs and not runs[0].thinned else None
    run = runs[index]
    if source <= run.source + run.length:
        return OffsetPair(source, run.target + source - run.source)
    if index + 1 < len(runs) and runs[index + 1].thinned:
        return None
    return OffsetPair(source, run.target + run.length)


def pair_before(runs: Sequence[Run], source: int) -> OffsetPair | None:
    """The last known pair at or in front of a source offset."""
    pair = pair_at(runs, source)
    index = bisect_right(runs, source, key=lambda run: run.source) - 1
    if pair is not None or index < 0:
        return pair
    return OffsetPair(runs[index].source + runs[index].length, runs[index].target + runs[index].length)


def pair_at_or_after(runs: Sequence[Run], source: int) -> OffsetPair | None:
    """The first known pair at or after a source offset; None after the last run."""
    pair = pair_at(runs, source)
    if pair is not None:
        return pair
    index = bisect_right(runs, source, key=lambda run: run.source)
    return OffsetPair(runs[index].source, runs[index].target) if index < len(runs) else None


def live_ranges(
    tp: TopicPartition, record: LedgerRecord, wanted: Interval | None, held: LogBounds
) -> tuple[list[AuditRange], list[LeftOut]]:
    """What the live copy wrote: at most a head and the rest. `wanted` None: all of it."""
    return _Live(tp, record, wanted, held).run()


def empty_range_at_end(tp: TopicPartition, record: LedgerRecord, held: LogBounds) -> AuditRange:
    """An empty stretch at the end of the copy: for a partition of which there is nothing to compare but what may stand after it."""
    ends = (record.watermark, record.watermark, record.target_next, record.target_next, held.source_end, held.target_end)
    return AuditRange(tp, TopicPartition(record.target_topic, tp.partition), *ends, watermark=record.watermark)


class _Live:
    def __init__(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None, held: LogBounds) -> None:
        self._tp = tp
        self._record = record
        self._held = held
        self._runs = record.offset_map.runs
        self._by_target = [Run(run.target, run.source, run.length, run.thinned) for run in self._runs]
        self._remote = TopicPartition(record.target_topic, tp.partition)
        self._wanted = wanted or (0, record.watermark)
        self._explicit = wanted is not None
        self._left_out: list[LeftOut] = []

    def run(self) -> tuple[list[AuditRange], list[LeftOut]]:
        """Cuts step by step: to the ledger's intervals, to the source's log, to the target's."""
        covered = cut_within(self._record.covered, *self._wanted)
        self._note_uncovered()
        covered = self._cut_to_source(covered)
        if not covered:
            return [], self._left_out
        first, end = covered[0][0], self._find_end(covered[-1][1])
        begin = pair_at(self._runs, first) or self._widen(first)
        stretches: list[AuditRange] = []
        if begin is None:
            before_pair, ahead = pair_before(self._runs, first), pair_at_or_after(self._runs, first)
            begin = ahead or end
            target = max(before_pair.target if before_pair else 0, self._held.target_start)
            cut_off = target > (before_pair.target if before_pair else 0)
            stretches += self._find_head(OffsetPair(first, target), begin, source_ahead=cut_off, target_ahead=True)
        if begin.target < self._held.target_start:
            begin, stretches = self._cut_to_target(first, begin, end)
        if begin.source < end.source:
            stretches.append(self._build_stretch(begin, end))
        return stretches, self._left_out

    # ------------------------------------------------------------ the steps

    def _note_uncovered(self) -> None:
        record, (start, end) = self._record, self._wanted
        for skipped in record.skipped:
            for part in cut_within([(skipped.start, skipped.end)], start, end):
                self._left_out.append(LeftOut(*part, PASSED_OVER.format(skipped.reason)))
        if end > record.watermark:
            self._leave_out(max(start, record.watermark), end, NOT_COPIED.format(record.watermark))
        first = record.covered[0][0] if record.covered else record.watermark
        mapped = min(self._runs[0].source, first) if self._runs else first
        before, reason = (record.live_start, FORGOTTEN) if len(record.covered) >= MAX_INTERVALS else (mapped, _find_vouched(record))
        self._left_out += [LeftOut(*part, reason) for part in cut_within([(before, first)], start, end)]
        if self._explicit:
            noted = [*record.covered, *((skip.start, skip.end) for skip in record.skipped), (before, first), *record.history]
            noted += [interval for topic in record.history_topics for interval in topic.intervals]
            self._left_out += [
                LeftOut(*interval, NEVER_COPIED) for interval in subtract_intervals([(start, min(end, record.watermark))], noted)
            ]

    def _cut_to_source(self, covered: tuple[Interval, ...]) -> tuple[Interval, ...]:
        held = self._held
        for start, end in cut_within(covered, 0, held.source_start):
            self._left_out.append(LeftOut(start, end, SOURCE_GONE.format(held.source_start)))
        for start, end in cut_within(covered, held.source_end, self._record.watermark):
            self._left_out.append(LeftOut(start, end, SOURCE_LOST.format(held.source_end)))
        return cut_within(covered, held.source_start, held.source_end)

    def _find_end(self, end: int) -> OffsetPair:
        """The pair after the last offset. A source that was cut off ends in front of it, at a known pair."""
        record = self._record
        if self._held.source_end < record.watermark:
            pair = pair_at(self._runs, end) or pair_before(self._runs, end) or OffsetPair(0, 0)
            self._leave_out(max(pair.source, self._wanted[0]), end, SOURCE_LOST.format(self._held.source_end))
            return pair
        last = OffsetPair(record.watermark, record.target_next)
        return last if end == record.watermark else pair_at_or_after(self._runs, end) or last

    def _widen(self, first: int) -> OffsetPair | None:
        """A known pair in front of the first offset that was asked for, if it may be read from there."""
        before = pair_before(self._runs, first)
        covered = next((start for start, end in self._record.covered if start <= first < end), first)
        return before if before is not None and before.source >= max(covered, self._held.source_start) else None

    def _find_head(self, begin: OffsetPair, end: OffsetPair, *, source_ahead: bool, target_ahead: bool) -> list[AuditRange]:
        if begin.source >= end.source:
            return []
        return [replace(self._build_stretch(begin, end), source_ahead=source_ahead, target_ahead=target_ahead)]

    def _cut_to_target(self, requested: int, begin: OffsetPair, end: OffsetPair) -> tuple[OffsetPair, list[AuditRange]]:
        """The first pair that the target still has, and the head in front of it."""
        first = self._held.target_start
        gone = TARGET_GONE.format(self._remote, first)
        if first >= end.target:
            self._leave_out(requested, end.source, gone)
            return end, []
        exact = pair_at(self._by_target, first)
        if exact is not None:
            begin_pair = OffsetPair(min(max(exact.target, begin.source), end.source), first)
            self._leave_out(requested, begin_pair.source, gone)
            return begin_pair, []
        before_pair, ahead = pair_before(self._by_target, first), pair_at_or_after(self._by_target, first)
        source = max(begin.source, before_pair.target if before_pair else 0)
        self._leave_out(requested, source, gone)
        following = min(OffsetPair(ahead.target, ahead.source) if ahead is not None else end, end)
        return following, self._find_head(OffsetPair(source, first), following, source_ahead=True, target_ahead=False)

    def _leave_out(self, start: int, end: int, reason: str) -> None:
        if start < end:
            self._left_out.append(LeftOut(start, end, reason))

    def _build_stretch(self, begin: OffsetPair, end: OffsetPair) -> AuditRange:
        record = self._record
        history = [(place.target_start, place.target_end) for place in record.places_of_history if place.topic == record.target_topic]
        stretch = AuditRange(
            self._tp,
            self._remote,
            begin.source,
            end.source,
            begin.target,
            end.target,
            self._held.source_end,
            self._held.target_end,
            source_left=subtract_intervals([(begin.source, end.source)], record.covered),
            target_left=cut_within(merge_intervals(history), begin.target, end.target),
            watermark=record.watermark,
            runs=tuple(run for run in self._runs if run.source < end.source and run.source + run.length > begin.source),
        )
        return cut_skipped(stretch, record)
