"""What there is to compare of what the copy wrote: which source offsets became which target offsets, as far as both sides still hold them.

The ledger's offset map ties pairs of offsets together (`Pair`). A stretch begins and ends at such pairs, so an interval that was asked for
may be widened to the next ones. Where a log now starts between two pairs, nobody knows which record of the other side is the first that
both have. Such a head is counted back from the pair behind it:

    source          log start ├─── n records ───┤ pair            n < m: the first m − n records of the target
    target   pair ├──────────── m records ──────┤ pair            are copies of what the source no longer has
"""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from mirror.audit.model import LeftOut
from mirror.audit.pairs import Pair, pair_at, pair_before, pair_behind
from mirror.audit.stretch import Held, Stretch
from mirror.audit.stretches import SOURCE_GONE, TARGET_GONE, without_all, without_skipped
from mirror.formats.ledger import MAX_INTERVALS, LedgerRecord
from mirror.offsets.intervals import Interval, merged, within
from mirror.offsets.map import Run
from mirror.offsets.partition import TopicPartition

SOURCE_LOST = "the source's log ends at {} now"
PASSED_OVER = "passed over and not copied: {}"
NOT_COPIED = "not copied yet: the watermark is {}"
NEVER_COPIED = "never copied: neither the copy nor a backfill covers them"
BEFORE_LEDGER = "copied by MirrorMaker 2, so the ledger does not vouch for them"
FORGOTTEN = "copied so long ago, with so many gaps since, that the ledger no longer lists it"


def live_stretches(
    tp: TopicPartition, record: LedgerRecord, wanted: Interval | None, held: Held, pairs: Mapping[int, Pair] = MappingProxyType({})
) -> tuple[list[Stretch], list[LeftOut]]:
    """What the live copy wrote: at most a head and the rest. `wanted` None: all of it. `pairs`: those of source offsets that the map has
    forgotten, as far as they were found."""
    return _Live(tp, record, wanted, held, pairs).run()


def nothing_copied(tp: TopicPartition, record: LedgerRecord, held: Held) -> Stretch:
    """An empty stretch at the end of the copy: for a partition of which there is nothing to compare but what may stand behind it."""
    ends = (record.watermark, record.watermark, record.target_next, record.target_next, held.source_end, held.target_end)
    return Stretch(tp, TopicPartition(record.target_topic, tp.partition), *ends, watermark=record.watermark)


class _Live:
    def __init__(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None, held: Held, pairs: Mapping[int, Pair]) -> None:
        self._tp = tp
        self._record = record
        self._held = held
        self._pairs = pairs
        self._runs = record.offset_map.runs
        self._by_target = [Run(run.target, run.source, run.length, run.thinned) for run in self._runs]
        self._remote = TopicPartition(record.target_topic, tp.partition)
        self._wanted = wanted or (0, record.watermark)
        self._explicit = wanted is not None
        self._left: list[LeftOut] = []

    def run(self) -> tuple[list[Stretch], list[LeftOut]]:
        """Cuts step by step: to the ledger's intervals, to the source's log, to the target's."""
        covered = within(self._record.covered, *self._wanted)
        self._say_what_is_not_covered()
        covered = self._within_source(covered)
        if not covered:
            return [], self._left
        first, end = covered[0][0], self._end(covered[-1][1])
        begin = pair_at(self._runs, first) or self._pairs.get(first) or self._widened(first)
        stretches: list[Stretch] = []
        if begin is None:
            known, ahead = pair_before(self._runs, first), pair_behind(self._runs, first)
            begin = ahead or end
            target = max(known.target if known else 0, self._held.target_start)
            cut_off = target > (known.target if known else 0)
            stretches += self._head(Pair(first, target), begin, source_ahead=cut_off, target_ahead=True)
        if begin.target < self._held.target_start:
            begin, stretches = self._behind_target_start(first, begin, end)
        if begin.source < end.source:
            stretches.append(self._stretch(begin, end))
        return stretches, self._left

    # ------------------------------------------------------------ the steps

    def _say_what_is_not_covered(self) -> None:
        record, (start, end) = self._record, self._wanted
        for skipped in record.skipped:
            for each in within([(skipped.start, skipped.end)], start, end):
                self._left.append(LeftOut(*each, PASSED_OVER.format(skipped.reason)))
        if end > record.watermark:
            self._leave_out(max(start, record.watermark), end, NOT_COPIED.format(record.watermark))
        first = record.covered[0][0] if record.covered else record.watermark
        mapped = min(self._runs[0].source, first) if self._runs else first
        before, reason = (record.live_start, FORGOTTEN) if len(record.covered) >= MAX_INTERVALS else (mapped, BEFORE_LEDGER)
        self._left += [LeftOut(*each, reason) for each in within([(before, first)], start, end)]
        if self._explicit:
            known = [*record.covered, *((each.start, each.end) for each in record.skipped), (before, first), *record.history]
            known += [each for topic in record.history_topics for each in topic.intervals]
            self._left += [LeftOut(*each, NEVER_COPIED) for each in without_all([(start, min(end, record.watermark))], known)]

    def _within_source(self, covered: tuple[Interval, ...]) -> tuple[Interval, ...]:
        held = self._held
        for start, end in within(covered, 0, held.source_start):
            self._left.append(LeftOut(start, end, SOURCE_GONE.format(held.source_start)))
        for start, end in within(covered, held.source_end, self._record.watermark):
            self._left.append(LeftOut(start, end, SOURCE_LOST.format(held.source_end)))
        return within(covered, held.source_start, held.source_end)

    def _end(self, end: int) -> Pair:
        """The pair behind the last offset. A source that was cut off ends in front of it, at a known pair."""
        record = self._record
        if self._held.source_end < record.watermark:
            known = pair_at(self._runs, end) or pair_before(self._runs, end) or Pair(0, 0)
            self._leave_out(max(known.source, self._wanted[0]), end, SOURCE_LOST.format(self._held.source_end))
            return known
        last = Pair(record.watermark, record.target_next)
        return last if end == record.watermark else self._pairs.get(end) or pair_behind(self._runs, end) or last

    def _widened(self, first: int) -> Pair | None:
        """A known pair in front of the first offset that was asked for, if it may be read from there."""
        before = pair_before(self._runs, first)
        covered = next((start for start, end in self._record.covered if start <= first < end), first)
        return before if before is not None and before.source >= max(covered, self._held.source_start) else None

    def _head(self, begin: Pair, end: Pair, *, source_ahead: bool, target_ahead: bool) -> list[Stretch]:
        if begin.source >= end.source:
            return []
        return [replace(self._stretch(begin, end), source_ahead=source_ahead, target_ahead=target_ahead)]

    def _behind_target_start(self, asked: int, begin: Pair, end: Pair) -> tuple[Pair, list[Stretch]]:
        """The first pair that the target still has, and the head in front of it."""
        first = self._held.target_start
        gone = TARGET_GONE.format(self._remote, first)
        if first >= end.target:
            self._leave_out(asked, end.source, gone)
            return end, []
        exact = pair_at(self._by_target, first)
        if exact is not None:
            found = Pair(min(max(exact.target, begin.source), end.source), first)
            self._leave_out(asked, found.source, gone)
            return found, []
        known, ahead = pair_before(self._by_target, first), pair_behind(self._by_target, first)
        source = max(begin.source, known.target if known else 0)
        self._leave_out(asked, source, gone)
        following = min(Pair(ahead.target, ahead.source) if ahead is not None else end, end)
        return following, self._head(Pair(source, first), following, source_ahead=True, target_ahead=False)

    def _leave_out(self, start: int, end: int, reason: str) -> None:
        if start < end:
            self._left.append(LeftOut(start, end, reason))

    def _stretch(self, begin: Pair, end: Pair) -> Stretch:
        record = self._record
        history = [(place.target_start, place.target_end) for place in record.places_of_history if place.topic == record.target_topic]
        stretch = Stretch(
            self._tp,
            self._remote,
            begin.source,
            end.source,
            begin.target,
            end.target,
            self._held.source_end,
            self._held.target_end,
            source_left=without_all([(begin.source, end.source)], record.covered),
            target_left=within(merged(history), begin.target, end.target),
            watermark=record.watermark,
            runs=tuple(run for run in self._runs if run.source < end.source and run.source + run.length > begin.source),
        )
        return without_skipped(stretch, record)
