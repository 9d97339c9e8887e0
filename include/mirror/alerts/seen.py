"""What one check saw of a flow: what all rules judge by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mirror.errors import ErrorReport
from mirror.offsets.partition import TopicPartition
from mirror.report.status import Status


@dataclass(frozen=True)
class Beats:
    """The newest heartbeat of one way to the target. `mirrored`: it came by this flow, and not from its own heartbeats DAG."""

    way: str
    time: datetime
    mirrored: bool


@dataclass(frozen=True)
class Seen:
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

    @property
    def now(self) -> float:
        """When it was looked, in Unix seconds."""
        return self.status.time.timestamp()
