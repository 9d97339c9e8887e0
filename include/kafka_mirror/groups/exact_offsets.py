"""Makes early answers exact by counting, where the offset map has forgotten the place and both clusters still hold its records.

No process could remember what was counted, so the checkpoints do, and an idle group is not counted again every minute. A checkpoint whose
position was exact says so in a header, with the generation that it was made in. Within a generation no record of the remote partition
moves, and neither does the copy of a source offset that has one. So the position is that of every group with the same offset, for as long
as the generation lasts. A hole that was read in vain is noted too.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.holes import EXACT_PLACE, UNPLACED, CountedHole, Hole, UncountedHole, read_uncounted
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, StoredCheckpoints
from kafka_mirror.groups.hole_reader import GONE, OVER_BUDGET, SEEN_BEFORE, Answers, CountFailure, PartitionHole
from kafka_mirror.groups.translation import BY_CHECKPOINT, BY_COUNT, EXACT, TranslatedOffset

Load = Callable[[], StoredCheckpoints]
_Place = tuple[TopicPartition, str, int]
_Hole = tuple[TopicPartition, str, Hole]


class KnownPlaces:
    """Places by remote partition, generation and the group's offset; and holes that were read in vain."""

    def __init__(self, load: Load = dict) -> None:
        """`load`: the checkpoints as they are. They are read once, and only if somebody asks; it may raise errors of ours."""
        self._load: Load | None = load
        self._places: dict[_Place, int | None] = {}
        """None: counting was tried for this very offset, and did not tell its place."""
        self._uncounted: dict[_Hole, int] = {}
        self._used: set[_Place | _Hole] = set()

    def begin(self, load: Load) -> None:
        """Begins another step with what this one knew. What was not asked for is forgotten."""
        self._load = load
        self._places = {key: place for key, place in self._places.items() if key in self._used}
        self._uncounted = {key: place for key, place in self._uncounted.items() if key in self._used}
        self._used = set()

    def find_place(self, remote: TopicPartition, generation: str, offset: int, within: tuple[int, int]) -> int | None:
        """The position of a group with this offset, from the first of these positions to the last; None if it is not known. Raises what
        keeps the checkpoints from being read."""
        key = (remote, generation, offset)
        self._used.add(key)
        if key not in self._places and self._load is not None:
            load, self._load = self._load, None
            self._take(load().values())
        position = self._places.get(key)
        return position if position is not None and within[0] <= position <= within[1] else None

    def is_unplaced(self, remote: TopicPartition, generation: str, offset: int) -> bool:
        """Whether counting was tried for this very offset, and did not tell its place."""
        return self._places.get((remote, generation, offset), offset) is None

    def was_read_in_vain(self, remote: TopicPartition, generation: str, hole: Hole, limit: int) -> int | None:
        """0 if its sides are not the same, the budget that was not enough if this one is no larger; None if it is worth reading."""
        key = (remote, generation, hole)
        self._used.add(key)
        tried_bytes = self._uncounted.get(key)
        return tried_bytes if tried_bytes == 0 or (tried_bytes is not None and tried_bytes >= limit) else None

    def learn(self, remote: TopicPartition, generation: str, offset: int, position: int | None) -> None:
        """Keeps a place that was found, or None: that it is unknown."""
        self._places[remote, generation, offset] = position

    def learn_in_vain(self, remote: TopicPartition, generation: str, hole: Hole, limit: int) -> None:
        """Keeps that a hole was read in vain."""
        self._uncounted[remote, generation, hole] = limit

    def _take(self, stored: Iterable[NotedCheckpoint]) -> None:
        for checkpoint, generation, place, *_ in stored:
            remote = TopicPartition(checkpoint.topic, checkpoint.partition)
            if generation is None:
                continue
            if place in (EXACT_PLACE, UNPLACED):
                self.learn(remote, generation, checkpoint.upstream, checkpoint.downstream if place == EXACT_PLACE else None)
            elif (uncounted := read_uncounted(place)) is not None:
                self.learn_in_vain(remote, generation, uncounted.hole, uncounted.bytes)


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
    position = places.find_place(early.remote, early.generation, early.offset, early.bounds)
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
    places.learn(early.remote, early.generation, early.offset, position)
    if position is None:
        return replace(early.translated, reason=GONE, place=UNPLACED)
    return _answer_exactly(early.translated, position, BY_COUNT)


def _answer_exactly(translated: TranslatedOffset, position: int, by: str) -> TranslatedOffset:
    return replace(translated, kind=EXACT, target=position, at_most=position, reread=0, by=by, place=EXACT_PLACE)


def _answer_early(early: EarlyOffset, reason: str, tried: int | None, *, is_over_budget: bool) -> TranslatedOffset:
    place = "" if tried is None else UncountedHole(early.hole.hole, tried).text
    return replace(early.translated, reason=reason, is_over_budget=is_over_budget, place=place)
