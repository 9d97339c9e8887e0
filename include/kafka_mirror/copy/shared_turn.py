"""What lanes of one process that follow ask in each turn, asked once for all of them: how far the source is, what was decided, and
whether the source has other topics.

    lane 0 ─┐ one turn begins      one question to each leader of the source   ┌─ lane 0: an end is not at its watermark, it copies
    lane 1 ─┼────────────────────► one question to the target, for the end  ───┼─ lane 1: everything is as it was, it waits
    lane 2 ─┘ for all at once      of the control topic                        └─ lane 2: an end is missing, it asks for itself

An answer only says where to look. What a lane copies, and which errors it meets, comes from its own questions.
"""

import threading
import time
from collections.abc import Callable, Mapping, Set
from contextlib import ExitStack
from typing import NamedTuple

from kafka_mirror.copy.model import LaneTask
from kafka_mirror.copy.plan.discovery import Discovery
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import End

_EARLY = 0.01
"""This part of a turn a thread may wake too early."""

_SECONDS = 5.0
"""How long a question for all lanes may take: while it waits for a broker, no lane goes on."""


class TurnEnds(NamedTuple):
    """The end of each partition of the source, and that of the control topic."""

    source: Mapping[TopicPartition, End]
    control: int


class SharedTurn:
    """The questions of one process. Its first one opens connections, which `close` lets go of."""

    def __init__(self, task: LaneTask, discovery: Discovery | None = None, now: Callable[[], float] = time.monotonic) -> None:
        """`task`: that of any of the lanes, for what is the same in all of them."""
        self.discovery = discovery or Discovery(task.known_topics)
        self._task = task
        self._now = now
        self._control = TopicPartition(task.control_topic, 0)
        self._lock = threading.Lock()
        self._followed: dict[int, Set[TopicPartition]] = {}
        self._turn = -1
        self._ends: TurnEnds | None = None
        self._connections = ExitStack()
        self._source: Cluster | None = None
        self._target: Cluster | None = None

    def ends(self, lane: int, partitions: Set[TopicPartition]) -> TurnEnds | None:
        """The ends of this turn, for a lane that follows these partitions. None: not all of them are known, and the lane asks for itself.

        The first lane of a turn asks, and the others wait for its answer.
        """
        turn = int(self._now() / self._task.follow_seconds + _EARLY)
        with self._lock:
            self._followed[lane] = partitions
            if turn != self._turn:
                self._turn, self._ends = turn, self._ask()
            ends = self._ends
        return ends if ends is not None and partitions <= ends.source.keys() else None

    def leave(self, lane: int) -> None:
        """Asks no longer for a lane that has ended."""
        with self._lock:
            self._followed.pop(lane, None)

    def close(self) -> None:
        """Lets go of the connections."""
        self._connections.close()
        self._source = self._target = None

    def _ask(self) -> TurnEnds | None:
        wanted: set[TopicPartition] = set().union(*self._followed.values())
        try:
            source, target = self._clusters()
            control = target.offsets([self._control], "latest", committed=True) if self._control.topic else {self._control: 0}
            return TurnEnds(source.ends(wanted, {}, self._task.read_committed, patient=False), control[self._control])
        except (MirrorError, KeyError):  # the lanes ask for themselves, and meet what is wrong
            self.close()
            return None

    def _clusters(self) -> tuple[Cluster, Cluster]:
        task, seconds = self._task, min(self._task.request_seconds, _SECONDS)
        if self._source is None or self._target is None:
            self._source = self._connections.enter_context(Cluster(task.source, task.clients.source_admin, seconds))
            self._target = self._connections.enter_context(Cluster(task.target, task.clients.target_admin, seconds))
        return self._source, self._target
