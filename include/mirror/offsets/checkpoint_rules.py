"""Which translated offsets become checkpoints: MirrorMaker 2's rules within a generation, everything where a new one begins. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mirror.formats.checkpoint import Checkpoint
from mirror.offsets.partition import TopicPartition


class Stored(NamedTuple):
    """A checkpoint with the generation that it was made in; None: nobody says, as with MirrorMaker 2's own."""

    checkpoint: Checkpoint
    generation: str | None


class Candidate(NamedTuple):
    """A checkpoint that could be written, its generation, and the position that no right one lies behind; None where nobody knows."""

    checkpoint: Checkpoint
    generation: str | None = None
    at_most: int | None = None


StoredCheckpoints = Mapping[tuple[str, TopicPartition], Stored]


def due(candidates: Iterable[Candidate], stored: StoredCheckpoints) -> list[Candidate]:
    """Those that say something new."""
    return [each for each in candidates if is_due(each, stored.get(key_of(each.checkpoint)))]


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
