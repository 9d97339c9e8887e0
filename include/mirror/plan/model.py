"""What a plan says: the ranges with work and the partitions that cannot be copied; and how a partition stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from mirror.errors import ErrorReport
from mirror.formats.control import Decision
from mirror.offsets.partition import TopicPartition

FIRST_SIGHT = "first sight"
BEHIND = "behind"
GAP = "gap"
BLOCKED = "blocked"
DECIDED = "decided"
HISTORY = "history"


@dataclass(frozen=True)
class Range:
    """Source offsets `[start, end)` of one partition, as of planning.

    `start` is where the plan believes the watermark is; a lane begins at the watermark of its ledger, whatever stands here. Only for a
    partition that the ledger does not know (`reason` is `first sight`) does `start` decide, and it is committed even if the range is empty.
    A range that is `blocked` begins with a record that the target refused before: it is tried last and alone. One of `history` lies below
    the watermark, and a lane writes what of it is missing.
    """

    topic: str
    partition: int
    topic_id: str
    start: int
    end: int
    reason: str
    skip_to: int | None = None
    """With `mirror.on.gap=skip-and-record`: the log start up to which a lane may move the watermark without records."""
    leader_epoch: int | None = None
    """The source partition's leader epoch when `end` was asked for: no offset below `end` belongs to a newer one."""
    records: int = 0
    """The ledger's running total of records as of planning, and of `bytes`: what a run copied is what they grew by."""
    bytes: int = 0
    decisions: tuple[Decision, ...] = ()
    """What people decided about the partition and is in force, for all the plan can see. A lane holds it against its own ledger record."""

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition of the source that this range belongs to."""
        return TopicPartition(self.topic, self.partition)

    @property
    def offsets(self) -> int:
        """The number of offsets between start and end: an upper bound of the records."""
        return self.end - self.start


@dataclass(frozen=True)
class Standing:
    """How one partition stands on both clusters; None for what is not there or not known."""

    source_topic_id: str
    log_start: int | None
    remote: str
    remote_id: str | None
    leader_epoch: int | None = None
    """The source partition's leader epoch: no offset that a decision leads to belongs to a newer one."""


@dataclass(frozen=True)
class Plan:
    """The work of one run of one flow."""

    flow: str
    ranges: tuple[Range, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = field(default=())
    config_hash: str = ""
    source_cluster_id: str = ""
    target_cluster_id: str = ""
    ledger_id: str = ""
    """The topic id of the ledger that was read; '' in a dry run that found none."""
    decisions: tuple[Decision, ...] = ()
    """Decisions in force that concern the whole flow: clusters that were adopted, ownership that was taken."""
    into: Mapping[str, str] = field(default_factory=dict)
    """For a plan of history, whose ranges all are: the topics of the target that it goes to, by source topic."""
    in_time_order: bool = True
    """Whether history may only stand behind older history of its partition."""
    time: datetime | None = None
    """When the plan was made, by the clock that will plan the next run too; None: a plan that does not say."""
    by_person: bool = False
    """Whether a person started the run, rather than its schedule."""

    @property
    def has_work(self) -> bool:
        """Whether a copy job has anything to do."""
        return bool(self.ranges)
