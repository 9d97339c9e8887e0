"""Which translated offsets become checkpoints: MirrorMaker 2's rules within a generation, everything where a new one begins. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.holes import EXACT_PLACE, UNPLACED
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import LedgerRecord, loss_note


class SeenLog(NamedTuple):
    """Which log an offset belongs to: the id of its topic, and the leader epoch in force when it was looked at (None: unknown)."""

    topic_id: str
    leader_epoch: int | None

    def is_of(self, topic_id: str, leader_epoch: int | None) -> bool:
        """Whether a later look, in `leader_epoch`, saw the same log: no leader without its newest records took over in between."""
        if self.topic_id != topic_id or self.leader_epoch is None or leader_epoch is None:
            return False
        return leader_epoch <= self.leader_epoch


class SeenLogs(NamedTuple):
    """The logs of a checkpoint's two offsets."""

    source: SeenLog
    target: SeenLog


class NotedCheckpoint(NamedTuple):
    """A checkpoint, with the generation that it was made in (None: unknown, as with MirrorMaker 2's own), what is noted of its place
    (`offsets.holes`), and of which logs it is (None as with the generation)."""

    checkpoint: Checkpoint
    generation: str | None = None
    place: str = ""
    time: int | None = None
    """When the group was looked at (Unix milliseconds); None: unknown, or not written yet."""
    logs: SeenLogs | None = None
    at_most: int | None = None
    """Of one that could be written: the position that no right one lies after; None where that is unknown."""


def target_epoch(record: LedgerRecord, end: int, leader_epoch: int | None) -> int | None:
    """The leader epoch that a checkpoint notes of its remote partition, which ends at `end`; None where that has lost records of ours."""
    return leader_epoch if record.target_next <= end and loss_note(record) is None else None


StoredCheckpoints = Mapping[tuple[str, TopicPartition], NotedCheckpoint]


def due(candidates: Iterable[NotedCheckpoint], stored: StoredCheckpoints) -> list[NotedCheckpoint]:
    """Those that say something new, or note something of their place that is not known yet.

    A note goes with the position that is there where that one is held: positions do not go back for it.
    """
    candidates_due = []
    for candidate in candidates:
        there = stored.get(key_of(candidate.checkpoint))
        if is_due(candidate, there):
            candidates_due.append(candidate)
        elif there is not None and notes_more(candidate, there):
            downstream = max(candidate.checkpoint.downstream, there.checkpoint.downstream)
            candidates_due.append(candidate._replace(checkpoint=candidate.checkpoint._replace(downstream=downstream)))
    return candidates_due


def notes_more(candidate: NotedCheckpoint, stored: NotedCheckpoint) -> bool:
    """Whether a checkpoint that is not due says of its place what the one that is there does not: then it is not counted again."""
    if not candidate.place or candidate.generation is None:
        return False
    same_position = candidate.checkpoint.downstream == stored.checkpoint.downstream
    same_generation = candidate.generation == stored.generation
    is_known = same_generation and candidate.place == stored.place
    if candidate.place in (EXACT_PLACE, UNPLACED):  # said of one offset of the source; the rest is said of a hole
        is_known = is_known and candidate.checkpoint.upstream == stored.checkpoint.upstream
    may_stay = same_generation and candidate.place != EXACT_PLACE
    return (same_position or may_stay) and not is_known


def is_due(candidate: NotedCheckpoint, stored: NotedCheckpoint | None) -> bool:
    """Whether a checkpoint is written over the one that is there.

    As MirrorMaker 2 does (checkpointIsMoreRecent): when the group went back, or its position on the target moved on. A translation that
    went back by itself, for the offset map was thinned, is held back. Beyond that, one is always written when either topic is another than
    before, or the copy began again, and when the one that is there is late.
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
