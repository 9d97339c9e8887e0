"""The offset map of a partition that is taken over: as much as offset syncs and the tail tell. Early where they are silent, never late.

Pure.
"""

from collections.abc import Sequence

from mirror.offsets.map import OffsetMap, Run, runs_of
from mirror.offsets.sync_store import Pair


def taken_map(known: OffsetMap, syncs: Sequence[Pair], pairs: Sequence[Pair], end: Pair) -> OffsetMap:
    """The map from what our own ledger had (empty on the first take-over), the syncs in the order in which they were written, and the pairs
    of the tail; `end` is where the copy goes on, on both sides.

    MirrorMaker 2 may have mirrored a range twice. The newest copy of it counts: whoever reads on there misses nothing. What lies between
    two syncs is not known, so every run of a sync is marked as one that others were dropped in front of, and the map is thinned behind
    where the end of the remote partition lies behind all that is known.
    """
    runs = [run._replace(thinned=True) if number == 0 else run for number, run in enumerate(_runs(pairs))]
    first = Pair(runs[0].source, runs[0].target) if runs else end
    kept: list[Run] = []
    for sync in reversed([sync for sync in syncs if not known.runs or _behind(sync, known.runs[-1])]):
        if sync.upstream < first.upstream and sync.downstream < first.downstream:
            kept.append(Run(sync.upstream, sync.downstream, 1, True))
            first = sync
    made = known.before(first.upstream).before_target(first.downstream).extended([*reversed(kept), *runs])
    return made.with_mark(end.downstream > made.target_end)


def _runs(pairs: Sequence[Pair]) -> tuple[Run, ...]:
    return runs_of([pair.upstream for pair in pairs], [pair.downstream for pair in pairs])


def _behind(sync: Pair, last: Run) -> bool:
    return sync.upstream >= last.source + last.length and sync.downstream >= last.target + last.length
