"""A large audit as the tasks of a Spark job: shares of stretches, and pieces of the stretches that are too large for one task.

Of a large stretch each side is cut by offsets, without regard to the other side: the records themselves say where blocks end, so the blocks
of the pieces together are those of the whole (`Piece`), and both sides' are held against each other once they are joined. Where they
differ, a second round reads both sides from the first block that does, as ever.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mirror.audit.digest import Digest, Piece
from mirror.audit.locate import parts_of
from mirror.audit.side import Part, Side
from mirror.audit.stretch import Stretch
from mirror.audit.stretch_audit import audit_stretches, compared, sides_of
from mirror.audit.work import AuditWork, Outcome
from mirror.errors import ErrorReport, MirrorError
from mirror.offsets.partition import TopicPartition

MOST_STRETCHES = 500
"""How many stretches one task compares at most; most of a small one's time is waiting for brokers."""


@dataclass(frozen=True)
class PieceTask:
    """A piece of one side of the stretch with this number."""

    stretch: int
    of_source: bool
    tp: TopicPartition
    part: Part
    piece: Piece


@dataclass(frozen=True)
class PieceDigest:
    """The blocks of a piece, or why they could not be read."""

    task: PieceTask
    digest: Digest
    error: ErrorReport | None = None


@dataclass(frozen=True)
class Joined:
    """A stretch whose pieces have been read, and the digests of its sides."""

    stretch: Stretch
    source: Digest
    target: Digest


Task = Sequence[Stretch] | PieceTask | Joined


def tasks_of(stretches: Sequence[Stretch], cores: int, least: int) -> list[Task]:
    """The tasks of a first round for so many cores. A stretch is cut where it has more than a core's share of all, and no piece has fewer
    than `least` offsets unless the stretch has."""
    share = max(least, -(-sum(each.offsets for each in stretches) // max(cores, 1)), 1)
    cut = {number: each for number, each in enumerate(stretches) if each.offsets > share and not each.is_head and not each.compacted}
    pieces = [piece for number, each in cut.items() for piece in _pieces(number, each, -(-each.offsets // share))]
    return [*shares([each for number, each in enumerate(stretches) if number not in cut], cores), *pieces]


def work_on(work: AuditWork, task: Task) -> list[Outcome | PieceDigest]:
    """Does a task, of either round. Never raises an error of ours: one task would end the job for all."""
    if isinstance(task, Joined):
        return [compared(work, task.stretch, task.source, task.target)]
    if isinstance(task, PieceTask):
        return [_digest_of(sides_of(work)[0 if task.of_source else 1], task)]
    return list(audit_stretches(work, task))


def joined(stretches: Sequence[Stretch], answers: Sequence[Outcome | PieceDigest]) -> tuple[list[Outcome], list[Joined]]:
    """The outcomes of a first round, and the stretches that were read in pieces and differ: the tasks of the second one."""
    outcomes = [each for each in answers if isinstance(each, Outcome)]
    read: dict[int, list[PieceDigest]] = {}
    for each in answers:
        if isinstance(each, PieceDigest):
            read.setdefault(each.task.stretch, []).append(each)
    second = []
    for number, found in sorted(read.items()):
        error = next((each.error for each in found if each.error is not None), None)
        if error is not None:
            outcomes.append(Outcome(stretches[number], error=error))
        else:
            source, target = (_together([each for each in found if each.task.of_source == of_source]) for of_source in (True, False))
            if source.differs_at(target) is None:
                outcomes.append(Outcome(stretches[number], source.records, target.records, source.text, target.text))
            else:
                second.append(Joined(stretches[number], source, target))
    return outcomes, second


def shares(stretches: Sequence[Stretch], cores: int) -> list[list[Stretch]]:
    """The stretches in as many shares as there are cores, about equally large; more where a share would have too many."""
    count = min(len(stretches), max(cores, -(-len(stretches) // MOST_STRETCHES)))
    result: list[list[Stretch]] = [[] for _ in range(count)]
    sizes = [0] * count
    for stretch in sorted(stretches, key=lambda each: -each.offsets):
        smallest = min(range(count), key=lambda number: (sizes[number], len(result[number])))
        result[smallest].append(stretch)
        sizes[smallest] += stretch.offsets
    return result


def _pieces(number: int, stretch: Stretch, count: int) -> Iterator[PieceTask]:
    for of_source, tp, part in zip((True, False), (stretch.source, stretch.remote), parts_of(stretch), strict=True):
        size = max(-(-(part.end - part.start) // count), 1)
        starts = [*range(part.start, part.end, size)] or [part.start]
        cuts = (*starts[1:], part.end)
        for start, end in zip(starts, cuts, strict=True):
            yield PieceTask(number, of_source, tp, part._replace(start=start), Piece(start == part.start, end, cuts))


def _digest_of(side: Side, task: PieceTask) -> PieceDigest:
    try:
        return PieceDigest(task, side.piece(task.tp, task.part, task.piece))
    except MirrorError as error:
        return PieceDigest(task, Digest(), error.report())


def _together(pieces: Sequence[PieceDigest]) -> Digest:
    in_order = sorted(pieces, key=lambda each: each.task.part.start)
    return Digest(tuple(block for each in in_order for block in each.digest.blocks))
