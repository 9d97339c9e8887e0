"""A turn of following: what the lanes of a process ask once for all of them, and the new ranges that a lane makes of the answers.

    lane 0 ─┐ one turn begins      one question to each leader of the source   ┌─ lane 0: an end is not at its watermark, it copies
    lane 1 ─┼────────────────────► one question to the target, for the end  ───┼─ lane 1: everything is as it was, it waits
    lane 2 ─┘ for all at once      of the control topic                        └─ lane 2: an end is missing, it asks for itself

Whether the source has other topics than the plan knew is asked once in a while too. The plan leaves a digest of the topics that the flow
means, however many of them can be copied: so nothing but a change on the source ends lanes, and each change does so once.

An answer only says where to look. What a lane copies, and which errors it meets, comes from its own questions. Where an end is not at the
watermark, the plan's own rules decide, by what a plan would ask: so a log that was cut off or created again is the same error here and
there.
"""

import logging
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Set
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy.model import KnownTopics, LaneTask
from kafka_mirror.copy.plan.model import BEHIND, Range
from kafka_mirror.copy.plan.ranges import SourceOffsets, next_range
from kafka_mirror.copy.plan.source_partitions import digest_of, source_partitions, with_epoch_ends
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import End, Topic
from kafka_mirror.ledger.record import LedgerRecord

_EARLY = 0.01
"""This part of a turn a thread may wake too early."""

_SECONDS = 5.0
"""How long a question for all lanes may take: while it waits for a broker, no lane goes on."""

Records = Mapping[TopicPartition, LedgerRecord]
Ranges = Mapping[TopicPartition, Range]

log = logging.getLogger(__name__)


def known_topics(flow: Flow, digest: str) -> KnownTopics | None:
    """What a plan of the flow knew, for its lanes; None where it is not to be compared, or a class of the user's cannot travel."""
    seconds = flow.value("mirror.follow.discovery.seconds")
    if not digest or not seconds:
        return None
    selection = topic_selection(flow)
    try:
        pickle.dumps(selection)
    except Exception as failure:  # noqa: BLE001 — a class of the user's may raise anything
        log.warning("%s: lanes that follow look for no new topics, for a filter or policy cannot be pickled: %s", flow.name, failure)
        return None
    return KnownTopics(selection, digest, seconds)


class Discovery:
    """The comparison, shared by the lanes of one process."""

    def __init__(self, known_topics: KnownTopics | None, now: Callable[[], float] = time.time) -> None:
        """`known_topics`: None compares nothing."""
        self._known_topics = known_topics
        self._now = now
        self._lock = threading.Lock()
        self._slot = self._find_slot()
        self._has_news = False

    def has_news(self, source: Cluster) -> bool:
        """Whether the source's topics are others than the plan knew. Asks the source if it is time; raises what it answers."""
        if self._known_topics is not None and self._is_slot_begun():
            topics = source.describe_topics(None)
            self._has_news = digest_of(self._known_topics.selection, topics) != self._known_topics.digest
        return self._has_news

    def _is_slot_begun(self) -> bool:
        """Whether the caller is the first in a new stretch of time. These are the same in all processes: their lanes end together."""
        with self._lock:
            before, self._slot = self._slot, self._find_slot()
            return before != self._slot

    def _find_slot(self) -> int:
        return int(self._now() // self._known_topics.seconds) if self._known_topics else 0


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

    def find_ends(self, lane: int, partitions: Set[TopicPartition]) -> TurnEnds | None:
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
            source, target = self._open_clusters()
            control = target.offsets([self._control], "latest", committed=True) if self._control.topic else {self._control: 0}
            return TurnEnds(source.ends(wanted, {}, self._task.read_committed, patient=False), control[self._control])
        except (MirrorError, KeyError):  # the lanes ask for themselves, and meet what is wrong
            self.close()
            return None

    def _open_clusters(self) -> tuple[Cluster, Cluster]:
        task, seconds = self._task, min(self._task.request_seconds, _SECONDS)
        if self._source is None or self._target is None:
            self._source = self._connections.enter_context(Cluster(task.source, task.clients.source_admin, seconds))
            self._target = self._connections.enter_context(Cluster(task.target, task.clients.target_admin, seconds))
        return self._source, self._target


def look_for_more(
    source: Cluster, committed: bool, records: Records, ranges: Ranges, ends: Mapping[TopicPartition, End] | None = None
) -> tuple[dict[TopicPartition, Range], list[ErrorReport]]:
    """The new ranges of the partitions of these records, which were copied by these ranges before, and the errors of those that cannot be
    copied any further. `committed`: the isolation level, as in the plan; `ends`: those of the partitions, if somebody asked for them.

    A partition whose log cannot be judged, and one with a gap, has neither: it is looked at again in the next turn and in the next plan.
    """
    refused: dict[str, MirrorError] = {}
    ends = source.ends(records, refused, committed) if ends is None else ends
    moved = {tp: ends[tp].offset < record.watermark for tp, record in records.items() if tp in ends and ends[tp].offset != record.watermark}
    partitions = _partitions(source, committed, moved, records, ranges, refused) if moved else {}
    now, more = datetime.now(UTC), dict[TopicPartition, Range]()
    errors = [error.report() for error in refused.values()]
    for tp, partition in partitions.items():
        chosen = next_range(partition, records[tp], skip_gaps=True, now=now, interval=timedelta())
        if isinstance(chosen, ErrorReport):
            errors.append(chosen)
        elif chosen is not None and chosen.reason == BEHIND:
            more[tp] = replace(
                ranges[tp],
                start=chosen.start,
                end=chosen.end,
                reason=BEHIND,
                leader_epoch=chosen.leader_epoch,
                log_end=chosen.log_end,
            )
    return more, [error for error in errors if not error.retriable]


def _partitions(
    source: Cluster,
    committed: bool,
    moved: Mapping[TopicPartition, bool],
    records: Records,
    ranges: Ranges,
    refused: dict[str, MirrorError],
) -> dict[TopicPartition, SourceOffsets]:
    """The partitions as a plan finds them. The ids of topics are asked for where an end went back; everywhere else the next commit does."""
    ids = {tp.topic: ranges[tp].topic_id for tp in moved}
    shorter = {tp.topic for tp, is_shorter in moved.items() if is_shorter}
    ids.update(source.topic_ids(shorter, refused))
    topics = {name: Topic(name, topic_id, ()) for name, topic_id in ids.items()}
    return with_epoch_ends(source, source_partitions(source, topics, moved, committed, refused), records)
