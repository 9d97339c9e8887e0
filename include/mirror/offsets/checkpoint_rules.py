"""Which translated offsets become checkpoints: MirrorMaker 2's rules within a generation, everything where a new one begins. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mirror.formats.checkpoint import Checkpoint
from mirror.offsets.holes import EXACT_PLACE, UNPLACED
from mirror.offsets.partition import TopicPartition


class Stored(NamedTuple):
    """A checkpoint with the generation that it was made in (None: nobody says, as with MirrorMaker 2's own), and what is noted of its
    place (`offsets.holes`)."""

    checkpoint: Checkpoint
    generation: str | None
    place: str = ""


class Candidate(NamedTuple):
    """A checkpoint that could be written, its generation, and the position that no right one lies behind; None where nobody knows. `place`:
    what is to be noted of it."""

    checkpoint: Checkpoint
    generation: str | None = None
    at_most: int | None = None
    place: str = ""


StoredCheckpoints = Mapping[tuple[str, TopicPartition], Stored]


def due(candidates: Iterable[Candidate], stored: StoredCheckpoints) -> list[Candidate]:
    """Those that say something new, or note something of their place that is not known yet.

    A note goes with the position that is there where that one is held: positions do not go back for it.
    """
    found = []
    for each in candidates:
        there = stored.get(key_of(each.checkpoint))
        if is_due(each, there):
            found.append(each)
        elif there is not None and notes_more(each, there):
            downstream = max(each.checkpoint.downstream, there.checkpoint.downstream)
            found.append(each._replace(checkpoint=each.checkpoint._replace(downstream=downstream)))
    return found


def notes_more(candidate: Candidate, stored: Stored) -> bool:
    """Whether a checkpoint that is not due says of its place what the one that is there does not: then nobody counts it again."""
    if not candidate.place or candidate.generation is None:
        return False
    same_position = candidate.checkpoint.downstream == stored.checkpoint.downstream
    same_generation = candidate.generation == stored.generation
    is_known = same_generation and candidate.place == stored.place
    if candidate.place in (EXACT_PLACE, UNPLACED):  # said of one offset of the source; the rest is said of a hole
        is_known = is_known and candidate.checkpoint.upstream == stored.checkpoint.upstream
    may_stay = same_generation and candidate.place != EXACT_PLACE
    return (same_position or may_stay) and not is_known


def is_due(candidate: Candidate, stored: Stored | None) -> bool:
    """Whether a checkpoint is written over the one that is there.

    As MirrorMaker 2 does (checkpointIsMoreRecent): when the group went back, or its position on the target moved on. A translation that
    went back by itself, for the offset map was thinned, is held back. Beyond that, one is always written when either topic is another than
    before, or the copy began anew, and when the one that is there is late.
    """
    if stored is None:
        return True
    new, old = candidate.checkpoint, stored.checkpoint
    if None not in (candidate.generation, stored.generation) and candidate.generation != stored.generation:
        return True
    late = candidate.at_most is not None and old.downstream > candidate.at_most
    return new.upstream < old.upstream or new.downstream > old.downstream or late


def key_of(checkpoint: Checkpoint) -> tuple[str, TopicPartition]:
    """What one checkpoint replaces another by."""
    return checkpoint.group, TopicPartition(checkpoint.topic, checkpoint.partition)
