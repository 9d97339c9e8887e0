"""What one check saw of a flow: what all rules judge by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kafka_mirror.errors import ErrorReport
from kafka_mirror.offsets.partition import TopicPartition
from kafka_mirror.status.problems import Where
from kafka_mirror.status.status import GONE, INTENDED, LEDGER_UNREADABLE, PROGRESSING, TARGET_UNAVAILABLE, PartitionStatus, Status


@dataclass(frozen=True)
class Beats:
    """The newest heartbeat of one way to the target. `mirrored`: it came by this flow, and not from its own heartbeats DAG."""

    way: str
    time: datetime
    mirrored: bool


@dataclass(frozen=True)
class CheckObservation:
    """What one check saw. `comparable`: both sides answered, so that the partitions can be judged. `beats` is None if the target's
    heartbeats could not be read. `silent` are the errors of clusters that did not answer, by alias."""

    status: Status
    comparable: bool
    silent: Mapping[str, ErrorReport] = field(default_factory=dict)
    beats: Sequence[Beats] | None = None
    log_starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    """The first offset that the source still has of each partition, as far as it could be seen."""
    failure: str = ""
    """Why it could not be looked at all."""
    of_steps: frozenset[str] = frozenset()
    """The codes of errors that steps met, and no look at the clusters shows."""

    @property
    def unseen(self) -> frozenset[Where]:
        """The partitions of which it could not be seen how they stand, and the topics of which no partition could. Nobody has to look at
        paused ones, or at those that the source has no more."""
        hidden = [partition.topic_partition for partition in self.status.partitions if _is_unseen(partition)]
        looked_at = {partition.topic for partition in self.status.partitions if not _is_unseen(partition)}
        return frozenset[Where](hidden) | {(tp.topic, None) for tp in hidden if tp.topic not in looked_at}

    @property
    def now(self) -> float:
        """When it was looked, in Unix seconds."""
        return self.status.time.timestamp()


def _is_unseen(partition: PartitionStatus) -> bool:
    if partition.state in INTENDED | {GONE}:
        return False
    if partition.end is None or partition.state in (LEDGER_UNREADABLE, TARGET_UNAVAILABLE):
        return True
    return partition.lag is None and partition.state in PROGRESSING
