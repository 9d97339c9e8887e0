"""Makes early answers exact by counting, where the offset map has forgotten the place and both clusters still hold its records."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.holes import EXACT_PLACE, UNPLACED, CountedHole, UncountedHole
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.hole_reader import GONE, OVER_BUDGET, SEEN_BEFORE, Answers, CountFailure, PartitionHole
from kafka_mirror.groups.place_cache import KnownPlaces
from kafka_mirror.groups.translation import BY_CHECKPOINT, BY_COUNT, EXACT, TranslatedOffset


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


def count_early(offsets: Iterable[EarlyOffset], places: KnownPlaces, count: Count, limit: int) -> Mapping[EarlyOffset, TranslatedOffset]:
    """What becomes of each early answer: exact, or early with the reason. `limit`: how many bytes `count` may read.

    What is known is not counted, and all offsets in one hole are answered by one reading of it.
    """
    answers: dict[EarlyOffset, TranslatedOffset] = {}
    uncounted: list[EarlyOffset] = []
    for early in offsets:
        try:
            answer = _remember(early, places, limit)
        except MirrorError as error:
            answer = replace(
                early.translated, reason=f"its place was not counted, for the checkpoints cannot be read: {error.code}: {error.message}"
            )
        if answer is None:
            uncounted.append(early)
        else:
            answers[early] = answer
    holes = count(list(dict.fromkeys(early.hole for early in uncounted))) if uncounted else {}
    for early in uncounted:
        answers[early] = _answer(early, holes[early.hole], places)
    return answers


def _remember(early: EarlyOffset, places: KnownPlaces, limit: int) -> TranslatedOffset | None:
    """The answer that needs no counting, if there is one. Raises what keeps the checkpoints from being read."""
    position = places.place(early.remote, early.generation, early.offset, early.bounds)
    if position is not None:
        return _answer_exactly(early.translated, position, BY_CHECKPOINT)
    if places.is_unplaced(early.remote, early.generation, early.offset):
        return replace(early.translated, reason=GONE, place=UNPLACED)
    tried = places.was_read_in_vain(early.remote, early.generation, early.hole.hole, limit)
    if tried is None:
        return None
    return _answer_early(early, OVER_BUDGET if tried else SEEN_BEFORE, tried, is_over_budget=bool(tried))


def _answer(early: EarlyOffset, counted: CountedHole | CountFailure, places: KnownPlaces) -> TranslatedOffset:
    hole = early.hole.hole
    if isinstance(counted, CountFailure):
        if counted.bytes is not None:
            places.learn_in_vain(early.remote, early.generation, hole, counted.bytes)
        return _answer_early(early, counted.reason, counted.bytes, is_over_budget=counted.is_over_budget)
    position = counted.source_of(early.offset) if early.hole.is_back else counted.target_of(early.offset)
    if position is None:
        places.learn_unplaced(early.remote, early.generation, early.offset)
        return replace(early.translated, reason=GONE, place=UNPLACED)
    places.learn(early.remote, early.generation, early.offset, position)
    return _answer_exactly(early.translated, position, BY_COUNT)


def _answer_exactly(translated: TranslatedOffset, position: int, by: str) -> TranslatedOffset:
    return replace(translated, kind=EXACT, target=position, at_most=position, reread=0, by=by, place=EXACT_PLACE)


def _answer_early(early: EarlyOffset, reason: str, tried: int | None, *, is_over_budget: bool) -> TranslatedOffset:
    place = "" if tried is None else UncountedHole(early.hole.hole, tried).text
    return replace(early.translated, reason=reason, is_over_budget=is_over_budget, place=place)
