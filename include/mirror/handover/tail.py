"""How far MirrorMaker 2 came with a partition, by what stands at the end of the remote one. Pure.

Kafka Connect's offset says which record was certainly mirrored. After a crash more of them are on the target than it knows of, and some may
be there twice, for a worker that starts again goes back to the record behind that offset:

    source   … N │ N+1 N+2 N+3 N+4 N+5 …             N: the offset that Connect kept
    target   … N   N+1 N+2 N+3 │ N+1 N+2             a second start, behind N; stopped for good behind N+2
               └ a place that is known ┘ the tail: read, and followed record by record on the source

The tail is followed from a place that is known on both sides: the newest offset sync, or the record N itself. Every record of the tail
has to be the next one of the source, or the one behind N where a worker started again. What the last one of them is says where to go on. If
a record is none of these, or if two readings are possible, nothing is guessed.
"""

from collections.abc import Sequence

from mirror.handover.model import LONGEST, Doubt, Evidence, MoreSource, MoreTail, Position, index_of, record_at
from mirror.handover.readings import Readings
from mirror.offsets.sync_store import Pair


def position(evidence: Evidence) -> Position | Doubt:
    """Where to go on with the partition. Raises MoreSource or MoreTail when what was read is not enough to say it."""
    restart = evidence.source_start if evidence.stored is None else evidence.stored + 1
    if not evidence.tail and evidence.tail_start <= evidence.target_start:
        # Nothing that can be read would be copied a second time; nor is what we copied, where Connect was not told of it.
        return Position(max(restart, evidence.known.upstream if evidence.known else 0))
    contradiction = _contradiction(evidence)
    if contradiction is not None:
        return contradiction
    found = _from_sync(evidence, restart)
    if found is None or isinstance(found, Doubt):
        other = _from_stored(evidence, restart)
        found = other if found is None or isinstance(other, Position) else found
    if isinstance(found, Doubt) and evidence.compacted:
        last = _last_record(evidence)
        return last if isinstance(last, Position) else found
    return found


def tail_begin(places: Sequence[int], target_start: int, target_end: int, records: int) -> int:
    """From where on to read the remote partition: the last of the places that are known if it is near enough, else so many offsets in front
    of the end."""
    place = max(places, default=-1)
    if target_start <= place and target_end - place <= LONGEST:
        return place
    return max(target_start, target_end - records)


# ------------------------------------------------------------ from a known place on


def _from_sync(evidence: Evidence, restart: int) -> Position | Doubt | None:
    """Follows the tail from the last place that syncs or our own ledger tell of. None if there is none in what was read."""
    sync, known, tail = evidence.sync, evidence.known, evidence.tail
    if known is not None and (sync is None or sync.downstream < known.downstream):
        if known.downstream < evidence.tail_start or known.upstream < evidence.source_start:
            return None
        readings = Readings(evidence, restart, None)
        readings.begin(index_of(evidence.source, known.upstream), ())
        return readings.follow(tail[index_of(tail, known.downstream) :], known.upstream)
    if sync is None or sync.downstream < evidence.tail_start or sync.upstream < evidence.source_start - 1:
        return None
    if record_at(tail, sync.downstream) is None:
        return None  # it is gone from the target
    readings = Readings(evidence, restart, None)
    readings.begin(index_of(evidence.source, sync.upstream + 1), (sync,))
    return readings.follow(tail[index_of(tail, sync.downstream + 1) :], sync.upstream + 1)


def _contradiction(evidence: Evidence) -> Doubt | None:
    """Whether the newest sync pairs two records that are not alike: then no sync is worth anything, and a topic may be another one."""
    sync = evidence.sync
    if sync is None:
        return None
    source, target = record_at(evidence.source, sync.upstream), record_at(evidence.tail, sync.downstream)
    if source is None or target is None or source.is_like(target):
        return None
    return Doubt(sync.downstream, f"the newest offset sync calls its record {sync.downstream} a copy of {sync.upstream}, which it is not.")


def _from_stored(evidence: Evidence, restart: int) -> Position | Doubt:
    """Follows the tail from where the record stands whose offset Connect kept; from the source's beginning if it kept none."""
    tail = evidence.tail
    if evidence.stored is None:
        if evidence.tail_start > evidence.target_start:
            return _further(evidence, "too much stands in it, and nothing says where it begins.")
        readings = Readings(evidence, restart, None)
        readings.begin(0, ())
        return readings.follow(tail, restart)
    stored = record_at(evidence.source, evidence.stored)
    if stored is None:
        if evidence.source_read < min(restart, evidence.source_end):
            raise MoreSource
        if evidence.source_end <= restart:
            return Position(restart)  # the source has nothing behind it, so nothing else can have been mirrored
        return Doubt(evidence.tail_start, f"the source does not have the record {evidence.stored} any more.")
    if not any(stored.is_like(record) for record in tail):
        return _further(evidence, f"the source's record {evidence.stored} is not in it.")
    return Readings(evidence, restart, stored).follow(tail, restart)


def _further(evidence: Evidence, otherwise: str) -> Doubt:
    """Asks for more of the tail, as long as there is more that may be asked for."""
    if evidence.tail_start > evidence.target_start and len(evidence.tail) < LONGEST:
        raise MoreTail
    return Doubt(evidence.tail_start, otherwise)


def _last_record(evidence: Evidence) -> Position | Doubt:
    """Where records are dropped in between, the last one alone tells; a log keeps its last record."""
    last, stored = evidence.tail[-1], -1 if evidence.stored is None else evidence.stored
    if evidence.sync is not None and evidence.sync.downstream == last.offset:
        return Position(max(evidence.sync.upstream, stored) + 1, (evidence.sync,))
    if evidence.source_read < evidence.source_end:
        if len(evidence.source) >= LONGEST:
            return Doubt(last.offset, "too much stands on the source behind the offset that was kept.")
        raise MoreSource
    found = [record for record in evidence.source if record.offset >= stored and record.is_like(last)]
    if len(found) != 1:
        return Doubt(last.offset, f"{len(found)} records of the source are like its last one.")
    return Position(found[0].offset + 1, (Pair(found[0].offset, last.offset),))
