"""Which pairs of a partition's offset map are written as offset syncs.

Of the many records of a run only some are worth a pair, MirrorMaker 2's own choice (OffsetSyncWriter.PartitionState): the first of a map,
the one after a gap in the source, then one every `offset.lag.max` + 1 target offsets, and the end. All pairs of a map are true, and a
reader never goes further than one after the pair before a group, so whatever is left out makes a translation earlier, never late:

    map      10 … 400 → 5 … 395        offset.lag.max = 100
    written  10→5, 111→106, 212→207, 313→308, 400→395
    a reader translates 300 to 208, which is early: the record itself is at 295.

What may not happen is that a pair of another life of the topics (one of them was recreated, or copying was restarted) stays beside ours.
MirrorMaker 2's store forgets all it knows of a partition when a pair comes whose upstream offset is smaller than the newest one's; so if
what the syncs topic has does not agree with the map, the map's pairs are written from the first on, after such a step back.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.groups.offset_sync_store import SyncPair

MOST = 64
"""How many pairs of a partition are written at once, at most; a reader keeps no more."""

BEGINNING = SyncPair(-1, -1)
"""Readers forget all before it, and lead every group to the beginning of the remote partition."""

_SMALLEST = -(2**63)


class _Row(NamedTuple):
    """Evenly spaced pairs: the first one, the distance to the next on both sides, and how many there are."""

    first: SyncPair
    step: int
    number: int


def choose_pairs(
    offset_map: OffsetMap, newest: SyncPair | None, lag_max: int, copied_from: int, *, may_be_lost: bool = False
) -> tuple[SyncPair, ...]:
    """The pairs to write after `newest`, the last that the syncs topic has of the partition (None: it has none), in their order.

    `copied_from` is the source offset at which the run began to copy: of a record after it no run of this life can have written a pair.
    `may_be_lost`: the copy may have been restarted, so the pair of a record that the map does not know may be that of a lost copy.
    Never more than MOST: of more, the newest half stays, the older half gets thinner with age. Upstream offsets rise, but for a step back
    in front of the first pair that makes readers forget what does not agree with the map.
    """
    runs = offset_map.runs
    if not runs:
        return () if newest in (None, BEGINNING) else (BEGINNING,)
    if newest is None or (newest.upstream < copied_from and agrees(offset_map, newest, may_be_lost=may_be_lost)):
        return _thin(list(_lay_rows(runs, newest, lag_max)), MOST)
    back = _step_back(runs[0], newest)
    return back + _thin(list(_lay_rows(runs, None, lag_max)), MOST - len(back))


def agrees(offset_map: OffsetMap, pair: SyncPair, *, may_be_lost: bool = False) -> bool:
    """Whether a reader that has this pair beside the map's is never late: it is a pair of the map, as far as the map can tell, or one from
    before it that leads to no position after the map's first record. Where it may be lost, the map has to know the very pair, unless
    nothing that it does not know stands in front of its first record."""
    first, last = offset_map.runs[0], offset_map.runs[-1]
    if pair.upstream < first.source:
        return pair.downstream < (0 if may_be_lost and first.thinned else first.target)
    if pair.upstream >= last.source + last.length:
        return False
    index = bisect_right(offset_map.runs, pair.upstream, key=lambda run: run.source) - 1
    run = offset_map.runs[index]
    inside = pair.upstream - run.source
    if inside < run.length:
        return pair.downstream == run.target + inside
    following = offset_map.runs[index + 1]
    return not may_be_lost and following.thinned and run.target + run.length <= pair.downstream < following.target


def _step_back(first: Run, newest: SyncPair) -> tuple[SyncPair, ...]:
    """A pair in front of the map's first one, if that is not a step back by itself. It leads to the map's first record at most; or, where
    others stand in front of that, to the beginning."""
    if first.source < newest.upstream:
        return ()
    return (SyncPair(max(newest.upstream - 1, _SMALLEST), -1 if first.thinned else first.target - 1),)


def _lay_rows(runs: Sequence[Run], newest: SyncPair | None, lag_max: int) -> Iterator[_Row]:
    """What PartitionState would emit of the records after `newest`, and the end."""
    before = synced = None if newest is None or newest.upstream < runs[0].source else newest
    for run in runs:
        skipped = 0 if before is None else max(0, before.upstream + 1 - run.source)
        if skipped >= run.length:
            continue
        source, target, length = run.source + skipped, run.target + skipped, run.length - skipped
        contiguous = before is not None and source == before.upstream + 1
        to_next = max(0, synced.downstream + 1 + lag_max - target) if synced is not None and contiguous else 0
        before = SyncPair(source + length - 1, target + length - 1)
        if to_next < length:
            row = _Row(SyncPair(source + to_next, target + to_next), lag_max + 1, (length - to_next - 1) // (lag_max + 1) + 1)
            synced = _build_pair(row, row.number - 1)
            yield row
    if before is not None and before != synced and before != newest:
        yield _Row(before, 1, 1)


def _thin(rows: Sequence[_Row], most: int) -> tuple[SyncPair, ...]:
    ends = list(accumulate(row.number for row in rows))
    pairs = []
    for place in _choose_places(ends[-1] if ends else 0, most):
        index = bisect_right(ends, place)
        pairs.append(_build_pair(rows[index], place - (ends[index - 1] if index else 0)))
    return tuple(pairs)


def _choose_places(count: int, most: int) -> Sequence[int]:
    """Which of `count` places are kept, at most `most`: all, or the newest half, and of the older ones the first and some whose distances
    from the end grow evenly, as factors."""
    if count <= most:
        return range(count)
    recent = most // 2
    steps = most - recent - 1
    factor = ((count - 1) / recent) ** (1 / steps)
    distances = {*range(recent), *(min(count - 1, round(recent * factor**step)) for step in range(steps)), count - 1}
    return sorted(count - 1 - distance for distance in distances)


def _build_pair(row: _Row, place: int) -> SyncPair:
    return SyncPair(row.first.upstream + place * row.step, row.first.downstream + place * row.step)
