"""What is known already of places that the offset map does not know, so that an idle group is not counted again every minute.

There is no process that could remember it, so the checkpoints do. A checkpoint whose position was exact says so in a header, with the
generation that it was made in. Within a generation no record of the remote partition moves, and the copy of a source offset that has one
does not either: so the position is that of every group with the same offset, for as long as the generation lasts. A hole that was read in
vain is noted too.
"""

from collections.abc import Callable, Iterable

from kafka_mirror.formats.offsets.holes import EXACT_PLACE, UNPLACED, Hole, read_uncounted
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_rules import StoredCheckpoint, StoredCheckpoints

Load = Callable[[], StoredCheckpoints]
_Place = tuple[TopicPartition, str, int]
_Hole = tuple[TopicPartition, str, Hole]


class KnownPlaces:
    """Places by remote partition, generation and the group's offset; and holes that were read in vain."""

    def __init__(self, load: Load = dict) -> None:
        """`load`: the checkpoints as they are. They are read once, and only if somebody asks; it may raise errors of ours."""
        self._load: Load | None = load
        self._exact: dict[_Place, int] = {}
        self._unplaced: set[_Place] = set()
        self._uncounted: dict[_Hole, int] = {}
        self._used: set[_Place | _Hole] = set()

    def begin(self, load: Load) -> None:
        """Begins another step with what this one knew. What was not asked for is forgotten."""
        self._load = load
        self._exact = {key: place for key, place in self._exact.items() if key in self._used}
        self._unplaced = {key for key in self._unplaced if key in self._used}
        self._uncounted = {key: place for key, place in self._uncounted.items() if key in self._used}
        self._used = set()

    def place(self, remote: TopicPartition, generation: str, offset: int, within: tuple[int, int]) -> int | None:
        """The position of a group with this offset, from the first of these positions to the last; None if it is not known. Raises what
        keeps the checkpoints from being read."""
        key = (remote, generation, offset)
        self._used.add(key)
        if key not in self._exact and key not in self._unplaced:
            self._read()
        position = self._exact.get(key)
        return position if position is not None and within[0] <= position <= within[1] else None

    def is_unplaced(self, remote: TopicPartition, generation: str, offset: int) -> bool:
        """Whether counting was tried for this very offset, and did not tell its place."""
        return (remote, generation, offset) in self._unplaced

    def was_read_in_vain(self, remote: TopicPartition, generation: str, hole: Hole, limit: int) -> int | None:
        """0 if its sides are not the same, the budget that was not enough if this one is no larger; None if it is worth reading."""
        key = (remote, generation, hole)
        self._used.add(key)
        tried_bytes = self._uncounted.get(key)
        return tried_bytes if tried_bytes == 0 or (tried_bytes is not None and tried_bytes >= limit) else None

    def learn(self, remote: TopicPartition, generation: str, offset: int, position: int) -> None:
        """Keeps a place that was found."""
        self._exact[remote, generation, offset] = position

    def learn_unplaced(self, remote: TopicPartition, generation: str, offset: int) -> None:
        """Keeps that the place of an offset is unknown."""
        self._unplaced.add((remote, generation, offset))

    def learn_in_vain(self, remote: TopicPartition, generation: str, hole: Hole, limit: int) -> None:
        """Keeps that a hole was read in vain."""
        self._uncounted[remote, generation, hole] = limit

    def _read(self) -> None:
        if self._load is not None:
            load, self._load = self._load, None
            self._take(load().values())

    def _take(self, stored: Iterable[StoredCheckpoint]) -> None:
        for checkpoint_read in stored:
            if checkpoint_read.generation is None:
                continue
            remote = TopicPartition(checkpoint_read.checkpoint.topic, checkpoint_read.checkpoint.partition)
            if checkpoint_read.place == EXACT_PLACE:
                self.learn(remote, checkpoint_read.generation, checkpoint_read.checkpoint.upstream, checkpoint_read.checkpoint.downstream)
            elif checkpoint_read.place == UNPLACED:
                self.learn_unplaced(remote, checkpoint_read.generation, checkpoint_read.checkpoint.upstream)
            elif (uncounted := read_uncounted(checkpoint_read.place)) is not None:
                self.learn_in_vain(remote, checkpoint_read.generation, uncounted.hole, uncounted.bytes)
