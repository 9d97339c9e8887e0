"""Whether the source has topics or partitions that a plan did not know: each process whose lanes follow asks once in a while for all.

The plan leaves a digest of the topics that the flow means, however many of them can be copied: so nothing but a change on the source ends
lanes, and each change does so once.
"""

import hashlib
import logging
import pickle
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.cluster_answers import DescribedTopic
from kafka_mirror.policy import TopicSelection

log = logging.getLogger(__name__)


def digest_of(selection: TopicSelection, topics: Iterable[DescribedTopic]) -> str:
    """A digest of the topics that the flow means and how many partitions each has."""
    meant = (topic for topic in topics if not topic.error_code and not topic.name.startswith("__") and selection.takes(topic.name))
    lines = sorted(f"{topic.name} {len(topic.topic.partitions)}\n" for topic in meant)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class KnownTopics:
    """What a plan knew of the source's topics, as a digest, and how often to compare it."""

    selection: TopicSelection
    digest: str
    seconds: int


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
