"""Makes early answers exact by counting, where the offset map has forgotten the place and both clusters still hold its records."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from mirror.errors import MirrorError
from mirror.offsets.holes import EXACT_PLACE, UNPLACED, CountedHole, Uncounted
from mirror.offsets.partition import TopicPartition
from mirror.offsets.translation import BY_CHECKPOINT, BY_COUNT, EXACT, TranslatedOffset
from mirror.sync.counting import GONE, OVER_BUDGET, SEEN_BEFORE, Answers, Failed, PartitionHole
from mirror.sync.known_places import KnownPlaces


@dataclass(frozen=True)
class EarlyOffset:
    """An early answer that may be counted. `remote` is the partition where the group would go on, `generation` as in its checkpoint."""

    offset: int
    translated: TranslatedOffset
    remote: TopicPartition
    generation: str
    hole: PartitionHole

    @property
    def bounds(self) -> tuple[int, int]:
        """Between which positions the right one lies."""
        hole = self.hole.hole
        return (hole.source, hole.source_end) if self.hole.is_back else (hole.target, hole.target_end)


Count = Callable[[Collection[PartitionHole]], Answers]


def count_early(asked: Iterable[EarlyOffset], known: KnownPlaces, count: Count, limit: int) -> Mapping[EarlyOffset, TranslatedOffset]:
    """What becomes of each early answer: exact, or early with the reason. `limit`: how many bytes `count` may read.

    What is known is not counted, and all offsets in one hole are answered by one reading of it.
    """
    answers: dict[EarlyOffset, TranslatedOffset] = {}
    left: list[EarlyOffset] = []
    for each in asked:
        try:
            answer = _known(each, known, limit)
        except MirrorError as error:
            answer = replace(
                each.translated, reason=f"its place was not counted, for the checkpoints cannot be read: {error.code}: {error.message}"
            )
        if answer is None:
            left.append(each)
        else:
            answers[each] = answer
    holes = count(list(dict.fromkeys(each.hole for each in left))) if left else {}
    for each in left:
        answers[each] = _answer(each, holes[each.hole], known)
    return answers


def _known(each: EarlyOffset, known: KnownPlaces, limit: int) -> TranslatedOffset | None:
    """The answer that needs no counting, if there is one. Raises what keeps the checkpoints from being read."""
    position = known.place(each.remote, each.generation, each.offset, each.bounds)
    if position is not None:
        return _exact(each.translated, position, BY_CHECKPOINT)
    if known.is_unplaced(each.remote, each.generation, each.offset):
        return replace(each.translated, reason=GONE, place=UNPLACED)
    tried = known.was_read_in_vain(each.remote, each.generation, each.hole.hole, limit)
    if tried is None:
        return None
    return _early(each, OVER_BUDGET if tried else SEEN_BEFORE, tried, is_over_budget=bool(tried))


def _answer(each: EarlyOffset, found: CountedHole | Failed, known: KnownPlaces) -> TranslatedOffset:
    hole = each.hole.hole
    if isinstance(found, Failed):
        if found.bytes is not None:
            known.learn_in_vain(each.remote, each.generation, hole, found.bytes)
        return _early(each, found.reason, found.bytes, is_over_budget=found.is_over_budget)
    position = found.source_of(each.offset) if each.hole.is_back else found.target_of(each.offset)
    if position is None:
        known.learn_unplaced(each.remote, each.generation, each.offset)
        return replace(each.translated, reason=GONE, place=UNPLACED)
    known.learn(each.remote, each.generation, each.offset, position)
    return _exact(each.translated, position, BY_COUNT)


def _exact(translated: TranslatedOffset, position: int, by: str) -> TranslatedOffset:
    return replace(translated, kind=EXACT, target=position, at_most=position, reread=0, by=by, place=EXACT_PLACE)


def _early(each: EarlyOffset, reason: str, tried: int | None, *, is_over_budget: bool) -> TranslatedOffset:
    place = "" if tried is None else Uncounted(each.hole.hole, tried).text
    return replace(each.translated, reason=reason, is_over_budget=is_over_budget, place=place)
