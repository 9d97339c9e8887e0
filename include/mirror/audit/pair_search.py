"""Finds the pairs of offsets at which an interval that was asked for begins and ends, where the offset map has forgotten them.

Without them a stretch is widened to the next pairs that the map knows, and an audit of a day may read a week. So the copy of the first
record at such an offset is looked for on the target, between these pairs: by timestamps, bisecting, until some records are left to read.

    source           pair ·············· a-1 a a+1 … ······ pair      the records around the offset
    target           pair ··· ? ····· ? ·· ?[·········]···· pair      the probes, and what is read to find them in

Timestamps only say where to look. A pair counts if all records that were read around it are the same on both sides, and stand nowhere else
there, and probes at growing distances see nothing out of its order. Else the stretch is widened as ever, and whatever is amiss there is
found in it.

So an interval is compared with what stands between the places of its ends. A copy that stands beyond them a second time is in another
interval. Of two places where the same records stand, probes from at least one see the other (`_in_order`), so at most one of them counts,
in whichever interval it is looked for: nothing lies between two that touch.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Protocol

from mirror.audit.context import AuditContext
from mirror.audit.copied_ranges import OffsetPair, pair_at
from mirror.audit.range import LogBounds
from mirror.audit.reader import Side
from mirror.errors import MirrorError, RecordUnreadable
from mirror.formats.ledger import LedgerRecord
from mirror.formats.record import Message, UnreadableHeaders, take
from mirror.kafka.consumer_settings import SMALL_FETCHES
from mirror.kafka.reader import BoundedReader, Part
from mirror.offsets.holes import CONTENT_BYTES, Hole, Records
from mirror.offsets.intervals import Interval, merged, within
from mirror.offsets.partition import TopicPartition

Pairs = dict[TopicPartition, dict[int, OffsetPair]]
"""By source partition and the source offset that was asked for."""

_Excluded = Mapping[TopicPartition, Sequence[Interval]]

_WIDENED_SHARE = 50
"""A stretch that is widened at an end by no more than this part of what was asked for is widened."""
_READ_SHARE, _READ_LEAST = 200, 64
"""What is read around an offset on either side at first: this part of what was asked for, and no fewer offsets than these."""
_READ_AGAIN, _READ_MOST = 4, 8
"""So many times as much is read where that does not tell the place, for as long as it is less than this part of the widening that it is
to save: records that share a timestamp, or stand far apart."""
_BEHIND, _LEAST_BEHIND, _IN_FRONT = 32, 8, 8
"""How many records behind the offset and in front of it are looked for."""
_PROBES = 48


class SearchableCluster(Protocol):
    """A cluster, as it is searched."""

    def first(self, ranges: Mapping[TopicPartition, Interval], excluded: _Excluded) -> Mapping[TopicPartition, Message]:
        """The first record of each range that does not lie in the intervals that are left out."""
        ...

    def records(self, parts: Mapping[TopicPartition, Part]) -> Mapping[TopicPartition, Records]:
        """The records of each part; a partition that cannot be read is absent."""
        ...


@dataclass(eq=False)
class Search:
    """For the pair of one source offset, in one hole of the map. `low` and `high`: between which target offsets it is looked for."""

    tp: TopicPartition
    remote: TopicPartition
    offset: int
    hole: Hole
    around: int
    most_around: int
    source_left: tuple[Interval, ...]
    target_left: tuple[Interval, ...]
    low: int
    high: int
    time: int | None = None


def searches(tp: TopicPartition, record: LedgerRecord, wanted: Interval, held: LogBounds) -> tuple[Search | None, Search | None]:
    """What is to be looked for at the beginning and at the end of an interval that was asked for; None where the map knows enough."""
    covered = within(within(record.covered, *wanted), held.source_start, held.source_end)
    if not covered or any(skip.count is not None for skip in record.skipped):
        return None, None
    first, last = covered[0][0], covered[-1][1]
    least = (last - first) // _WIDENED_SHARE
    around = max((last - first) // _READ_SHARE, _READ_LEAST)

    def search(offset: int, widened: Callable[[Hole], int]) -> Search | None:
        """The search for one end; None if the known pair beside it widens the interval little."""
        hole = _hole(record, offset)
        if hole is None or widened(hole) <= least:
            return None
        passed = merged([(skip.start, skip.end) for skip in record.skipped])
        history = merged([(e.target_start, e.target_end) for e in record.places_of_history if e.topic == record.target_topic])
        low, high = max(hole.target, held.target_start), min(hole.target_end, held.target_end)
        remote, most = TopicPartition(record.target_topic, tp.partition), widened(hole) // _READ_MOST
        return Search(tp, remote, offset, hole, around, most, passed, history, low, high)

    whole = held.source_end >= record.watermark
    return search(first, lambda hole: first - hole.source), search(last, lambda hole: hole.source_end - last) if whole else None


def found_pairs(wanted: Sequence[Search], source: SearchableCluster, target: SearchableCluster) -> Pairs:
    """The pairs that could be found, of searches in partitions that are all different."""
    pairs: Pairs = {}
    firsts = source.first(
        {search.tp: (search.offset, search.hole.source_end) for search in wanted}, {search.tp: search.source_left for search in wanted}
    )
    for search in wanted:
        if search.tp in firsts:
            search.time = firsts[search.tp].timestamp()[1]
        else:
            pairs[search.tp] = {search.offset: OffsetPair(search.hole.source_end, search.hole.target_end)}
    timed = [search for search in wanted if search.time is not None]
    _bisect(timed, target)
    places = _places(timed, source, target)
    placed = [search for search in timed if search.tp in places]
    for search in _in_order(placed, places, target):
        pairs[search.tp] = {search.offset: OffsetPair(search.offset, places[search.tp])}
    return pairs


def search_pairs(context: AuditContext, wanted: Sequence[tuple[Search | None, Search | None]]) -> Pairs:
    """The pairs of both ends of many intervals. What cannot be read is not found: the audit reads the same partitions, and says it."""
    pairs: Pairs = {}
    source = _AuditedCluster(context, of_source=True)
    target = _AuditedCluster(context, of_source=False)

    for ends in zip(*wanted, strict=True) if wanted else ():
        searches = [end for end in ends if end is not None]
        if searches:
            try:
                for tp, pairs_of_tp in found_pairs(searches, source, target).items():
                    pairs.setdefault(tp, {}).update(pairs_of_tp)
            except MirrorError:
                continue  # without a pair the interval is widened; the audit itself reads these partitions next, and names the error
    return {tp: pairs_of_tp for tp, pairs_of_tp in pairs.items() if _is_forward(pairs_of_tp)}


# ------------------------------------------------------------ inside


def _hole(record: LedgerRecord, offset: int) -> Hole | None:
    runs = record.offset_map.runs
    if pair_at(runs, offset) is not None:
        return None
    index = bisect_right(runs, offset, key=lambda run: run.source) - 1
    if index < 0 or index + 1 == len(runs):
        return None
    preceding, following = runs[index], runs[index + 1]
    return Hole(preceding.source + preceding.length, preceding.target + preceding.length, following.source, following.target)


def _is_forward(pairs: Mapping[int, OffsetPair]) -> bool:
    """Whether the places follow each other as the offsets do; else something is amiss between them, and all of it is read."""
    targets = [pairs[offset].target for offset in sorted(pairs)]
    return targets == sorted(targets)


def _bisect(wanted: Sequence[Search], target: SearchableCluster) -> None:
    """Narrows each search to about as many target offsets as are read around it."""
    for _ in range(_PROBES):
        wide = [search for search in wanted if search.high - search.low > search.around]
        if not wide:
            return
        middles = {search.remote: (search.low + search.high) // 2 for search in wide}
        probes = target.first(
            {search.remote: (middles[search.remote], search.high) for search in wide}, {e.remote: e.target_left for e in wide}
        )
        for search in wide:
            probe = probes.get(search.remote)
            if probe is not None and search.time is not None and probe.timestamp()[1] < search.time:
                search.low = (probe.offset() or 0) + 1
            else:
                search.high = middles[search.remote]


def _places(wanted: Sequence[Search], source: SearchableCluster, target: SearchableCluster) -> dict[TopicPartition, int]:
    """The places that the records around the offsets tell; of those that they do not tell, more records are read."""
    places: dict[TopicPartition, int] = {}
    open_searches = list(wanted)
    while open_searches:
        ours = source.records({search.tp: _part(search.offset, search.offset, search, of_source=True) for search in open_searches})
        open_searches = [search for search in open_searches if search.tp in ours]
        highs = {search: search.high + _alike(search, ours[search.tp]) for search in open_searches}
        theirs = target.records({search.remote: _part(search.low, highs[search], search, of_source=False) for search in open_searches})
        open_searches = [search for search in open_searches if search.remote in theirs]
        for search in open_searches:
            position = _place(search.offset, ours[search.tp], theirs[search.remote])
            if position is not None:
                places[search.tp] = position
        open_searches = [
            search for search in open_searches if search.tp not in places and search.around * _READ_AGAIN <= search.most_around
        ]
        for search in open_searches:
            search.around *= _READ_AGAIN
    return places


def _alike(search: Search, source: Records) -> int:
    """How many records in front of the offset share the timestamp of the first one behind it: probes find the first of them all."""
    first = bisect_left(source.offsets, search.offset)
    alike = takewhile(lambda time: time == search.time, reversed(source.times[:first]))
    return sum(1 for _ in alike)


def _in_order(wanted: Sequence[Search], places: Mapping[TopicPartition, int], target: SearchableCluster) -> list[Search]:
    """Those around whose places nothing was seen that stands on the wrong side: in front a later record, behind an earlier one.

    What is near was compared already; the probes' distances grow by half. Say the same records stand twice, from `i` in front of the offset
    to `j` behind it. Probes from the first place see the second copies if `i > j / 2`, and those from the second one see the first copies
    if `j > i / 2`: at least one of the two is always refused.

        first copies    ── i ──┤1st├── j ──┐          from the 1st: earlier records stand j … j + i behind
        second copies                      └── i ──┤2nd├── j ──          from the 2nd: later ones stand i … i + j in front
    """
    right = list(wanted)
    for sign in (-1, 1):
        distances = {search.tp: search.around for search in right}
        while True:
            at = {search: places[search.tp] + sign * distances[search.tp] for search in right}
            probed = [search for search, offset in at.items() if search.hole.target <= offset < search.hole.target_end]
            if not probed:
                break
            ranges = {e.remote: (at[e], e.hole.target_end) if sign > 0 else (at[e], places[e.tp]) for e in probed}
            records = target.first(ranges, {search.remote: search.target_left for search in probed})
            wrong = [search for search in probed if search.remote in records and _is_wrong(records[search.remote], search, sign)]
            right = [search for search in right if search not in wrong]
            distances = {tp: distance + distance // 2 for tp, distance in distances.items()}
    return right


def _is_wrong(record: Message, search: Search, sign: int) -> bool:
    time = record.timestamp()[1]
    return search.time is not None and (time > search.time if sign < 0 else time < search.time)


def _part(low: int, high: int, search: Search, *, of_source: bool) -> Part:
    """What is read around the places between two offsets."""
    hole = search.hole
    begin, end = (hole.source, hole.source_end) if of_source else (hole.target, hole.target_end)
    excluded = search.source_left if of_source else search.target_left
    return Part(max(low - search.around, begin), min(high + search.around, end), excluded)


def _place(offset: int, source: Records, target: Records) -> int | None:
    """The target offset of the first source record at or behind an offset; None unless the records around it say so, at one place only, and
    as many more as were read on both sides."""
    first = bisect_left(source.offsets, offset)
    begin, end = max(first - _IN_FRONT, 0), min(first + _BEHIND, len(source))
    if begin == first or end - first < _LEAST_BEHIND or target.is_stamped:
        return None
    places = [at for at in _occurrences(source, begin, end, target) if at + end - begin <= len(target)]
    if len(places) != 1:
        return None
    place = places[0] + first - begin
    before, behind = min(first, place), min(len(source) - first, len(target) - place)
    return target.offsets[place] if _same(source, first - before, target, place - before, before + behind) else None


def _same(source: Records, begin: int, target: Records, at: int, count: int) -> bool:
    """Whether so many records of both, from these on, are the same."""
    ours = source.contents[begin * CONTENT_BYTES : (begin + count) * CONTENT_BYTES]
    theirs = target.contents[at * CONTENT_BYTES : (at + count) * CONTENT_BYTES]
    return ours == theirs and source.times[begin : begin + count] == target.times[at : at + count]


def _occurrences(source: Records, begin: int, end: int, target: Records) -> Iterator[int]:
    """Where these records of the source stand one behind the other on the target."""
    wanted = source.contents[begin * CONTENT_BYTES : end * CONTENT_BYTES]
    place = target.contents.find(wanted)
    while place >= 0:
        at, within_one = divmod(place, CONTENT_BYTES)
        if not within_one and target.times[at : at + end - begin] == source.times[begin:end]:
            yield at
        place = target.contents.find(wanted, place + 1)


class _AuditedCluster:
    """One cluster of an audit."""

    def __init__(self, context: AuditContext, *, of_source: bool) -> None:
        clients = context.clients
        alias, settings, admin = (
            (context.source, clients.source_consumer, clients.source_admin)
            if of_source
            else (context.target, clients.target_consumer, clients.target_admin)
        )
        committed = context.read_committed or not of_source
        self._seconds = context.seconds
        self._few = BoundedReader(alias, {**settings, **SMALL_FETCHES}, committed)
        self._side = Side(alias, settings, committed, context.seconds, admin)

    def first(self, ranges: Mapping[TopicPartition, Interval], excluded: _Excluded) -> Mapping[TopicPartition, Message]:
        """The same; a partition whose topic may not be read is absent."""

        def counts(message: Any) -> bool:
            at = TopicPartition(message.topic(), message.partition())
            return not any(start <= (message.offset() or 0) < end for start, end in excluded[at])

        refused: MutableMapping[str, MirrorError] = {}
        first_records = self._few.first_visible(ranges, self._seconds, refused, accept=counts)
        return {tp: message_found for tp, message_found in first_records.items() if tp.topic not in refused}

    def records(self, parts: Mapping[TopicPartition, Part]) -> Mapping[TopicPartition, Records]:
        """The same; records of which no digest can be made are not found either."""
        errors: dict[TopicPartition, MirrorError] = {}
        records_of = {tp: Records() for tp in parts}
        for tp, messages in self._side.batches(parts, errors):
            if tp not in errors:
                try:
                    take(records_of[tp], messages)
                except UnreadableHeaders as unreadable:
                    errors[tp] = RecordUnreadable(self._side.alias, *tp, unreadable.offset)
        return {tp: records for tp, records in records_of.items() if tp not in errors}
