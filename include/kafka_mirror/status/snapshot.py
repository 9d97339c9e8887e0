"""How a flow stands, whole: what the status page and the metrics show. Taken by `snapshot_builder`, kept by `snapshot_cache`.

Plain values, taken at one moment; nothing here asks a cluster, and nothing holds a secret.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kafka_mirror.config.deadlines import DEFAULT_POOL
from kafka_mirror.errors import ErrorReport
from kafka_mirror.ledger.control_records import Decision
from kafka_mirror.ledger.record import LastRecord, Writer
from kafka_mirror.status.observation import LatePartition
from kafka_mirror.status.problems import FlowProblem
from kafka_mirror.status.status import PartitionStatus, Status
from kafka_mirror.status.throughput import NOT_MEASURED, CatchUp, Throughput


@dataclass(frozen=True)
class PartitionSnapshot:
    """One source partition: its status, where it goes, and what was measured of it.

    `bytes_behind` is an estimate: the offsets that are not copied, times the mean size of the records that were copied of
    the partition, else of its topic, else of the flow; None if nothing was copied yet, or the lag is unknown.
    """

    status: PartitionStatus
    remote: str
    lane: int
    bytes_behind: int | None = None
    throughput: Throughput = NOT_MEASURED
    last: LastRecord | None = None
    """The last record that was copied."""

    @property
    def topic(self) -> str:
        """The topic, by its name on the source."""
        return self.status.topic

    @property
    def partition(self) -> int:
        """Its number, on both clusters."""
        return self.status.partition


@dataclass(frozen=True)
class SchemaIds:
    """That the newest values of a topic look as if a schema registry's serializer wrote them, with the ids that were seen.

    The ids are the source registry's: consumers on the target need that registry, or one with the same ids.
    """

    ids: tuple[int, ...]
    in_headers: bool = False
    """Whether the ids stand in the records' headers, as GUIDs; `ids` is empty then."""


@dataclass(frozen=True)
class TopicSnapshot:
    """A topic over all its partitions. `lag`, `oldest_seconds`, `bytes_behind` as those of partitions; None: known of none."""

    topic: str
    remote: str
    partitions: tuple[PartitionSnapshot, ...]
    lag: int | None = None
    oldest_seconds: float | None = None
    bytes_behind: int | None = None
    throughput: Throughput = NOT_MEASURED
    written: Writer | None = None
    schema_ids: SchemaIds | None = None

    @property
    def states(self) -> dict[str, int]:
        """How many partitions are in each state that occurs."""
        return dict(Counter(partition.status.state for partition in self.partitions))

    @property
    def problems(self) -> int:
        """How many partitions the next run does not serve without somebody's help."""
        return sum(partition.status.needs_help for partition in self.partitions)


@dataclass(frozen=True)
class LaneSnapshot:
    """One lane: its partitions, how many of them are behind and by how many offsets, and when it last wrote."""

    lane: int
    partitions: int
    behind: int
    lag: int | None
    written: Writer | None
    error: ErrorReport | None = None
    """Why the ledger of the lane cannot be read."""


@dataclass(frozen=True)
class InexactPosition:
    """A group's position in one partition that is not exact, and why."""

    topic: str
    partition: int
    committed: int
    kind: str
    """`early`, `incomplete` or `none` (`offsets.translation`)."""
    reread: int | None
    reason: str


@dataclass(frozen=True)
class GroupSnapshot:
    """A consumer group of the source: what would happen if it failed over now.

    `reread` is how many records it would read again, at most, over the partitions where that is known; None if it is known of none.
    `ahead` is how many offsets it has read on the source that the copy has yet to bring, and that it would read again afterwards.
    """

    group: str
    partitions: int
    exact: int
    early: int = 0
    incomplete: int = 0
    unanswered: int = 0
    reread: int | None = 0
    reread_unknown: int = 0
    """How many partitions have an unknown number of records that would be read again."""
    ahead: int = 0
    beyond_map: int = 0
    """Exact partitions whose positions the offset map does not know: they were counted, now or before."""
    over_budget: int = 0
    """Early partitions that were not counted, for that would have cost too much."""
    examples: tuple[InexactPosition, ...] = ()
    """Some of the positions that are not exact, those first that have no answer."""

    @property
    def is_exact(self) -> bool:
        """Whether a failover now would lose nothing and read nothing again, in every partition."""
        return self.exact == self.partitions


@dataclass(frozen=True)
class GroupsSnapshot:
    """All groups whose offsets are translated, as of `taken`: they are looked at less often than partitions. None: not looked at yet."""

    taken: datetime | None = None
    groups: tuple[GroupSnapshot, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    left_out: int = 0
    """Groups that were not translated, because together they have too many partitions."""
    seconds: float = 0.0


@dataclass(frozen=True)
class HeartbeatPath:
    """The newest beat that reached the target on one way, `path` from the cluster where it began to the target."""

    path: tuple[str, ...]
    topic: str
    time: datetime
    age_seconds: float


@dataclass(frozen=True)
class StandingDecision:
    """What a person decided, and whether it still counts."""

    decision: Decision
    in_force: bool


@dataclass(frozen=True)
class SkippedOffsets:
    """Source offsets `[start, end)` that were passed over and are not on the target: how many of them, and why."""

    topic: str
    partition: int
    start: int
    end: int
    offsets: int
    reason: str


@dataclass(frozen=True)
class ThrottleStatus:
    """How many bytes a second the flow may copy (None: no limit), and whether a person decided it or the properties say it."""

    bytes_per_second: int | None = None
    decided: Decision | None = None


@dataclass(frozen=True)
class FlowSnapshot:
    """A flow as it stands. One that was not taken yet (`taken` is None) has its name alone.

    `status` is None if nothing could be found out, and `error` says why. Where one of the clusters did not answer, `status` shows what
    could be seen and its errors say what was wrong; then `last_good` is the newest snapshot in which both sides could be compared.
    """

    flow: str
    taken: datetime | None = None
    status: Status | None = None
    error: ErrorReport | None = None
    comparable: bool = False
    """Whether both clusters answered, so that source and ledger could be compared."""
    topics: tuple[TopicSnapshot, ...] = ()
    lanes: tuple[LaneSnapshot, ...] = ()
    bytes_behind: int | None = None
    throughput: Throughput = NOT_MEASURED
    catch_up: CatchUp = field(default_factory=CatchUp)
    rhythm: float = 0.0
    """How many seconds old what is missing may be while the flow is well."""
    lag_limit: float | None = None
    """For how many seconds a record may wait before an alert is sent; None: as long as it takes."""
    pool: str = DEFAULT_POOL
    """The Airflow pool of its copies."""
    slots: int = 1
    """How many slots its copies need there."""
    throttle: ThrottleStatus = field(default_factory=ThrottleStatus)
    groups: GroupsSnapshot = field(default_factory=GroupsSnapshot)
    heartbeats: tuple[HeartbeatPath, ...] = ()
    decisions: tuple[StandingDecision, ...] = ()
    waves: Mapping[str, str] = field(default_factory=dict)
    """The records of the flow's cutovers, as the control topic has them; `kafka_mirror.cutover.wave.record` reads them."""
    skipped: tuple[SkippedOffsets, ...] = ()
    """The newest of each partition first; no more than some hundred in all."""
    skipped_in_all: int = 0
    """How many offsets were passed over, in all partitions."""
    problems: tuple[FlowProblem, ...] = ()
    """What is a problem of the flow at this moment, by `judge`; whether it lasts is left to the alerts."""
    late: tuple[LatePartition, ...] = ()
    """The partitions with something to copy, and for how long it has been waiting."""
    partial: tuple[ErrorReport, ...] = ()
    """Why some of the rest could not be looked at: heartbeats, schema ids."""
    seconds: float = 0.0
    """What taking it cost."""
    cpu_seconds: float = 0.0
    """What of it was computing of the threads that took it."""
    last_good: "FlowSnapshot | None" = None
    not_reached: ErrorReport | None = None
    """Why this process could not look itself. Then the snapshot is what the task `freshness` saw from its worker at `taken`, without
    groups, heartbeats, decisions and skipped offsets."""

    @property
    def is_taken(self) -> bool:
        """Returns whether a snapshot has been taken yet."""
        return self.taken is not None

    @property
    def is_good(self) -> bool:
        """Whether both sides could be compared; the flow itself may have errors all the same."""
        return self.error is None and self.comparable

    @property
    def with_figures(self) -> "FlowSnapshot":
        """Returns the newest snapshot that has figures: this one, or the last good one."""
        return self.last_good if not self.is_good and self.last_good is not None else self

    @property
    def errors(self) -> tuple[ErrorReport, ...]:
        """All that a person has to do something about."""
        of_flow = (self.error,) if self.error else ()
        return tuple(dict.fromkeys((*of_flow, *(self.status.errors if self.status else ()), *self.partial, *self.groups.errors)))

    @property
    def written(self) -> Writer | None:
        """Who wrote to the ledger last: the last copy that had something to do."""
        return self.status.written if self.status else None

    def measure_age(self, now: datetime | None = None) -> float | None:
        """For how long it has been true; None if it was not taken yet."""
        return None if self.taken is None else max(((now or datetime.now(UTC)) - self.taken).total_seconds(), 0.0)


@dataclass(frozen=True)
class Snapshots:
    """All flows of the configuration, in its order, and what is wrong with its files."""

    flows: tuple[FlowSnapshot, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    """Of files that cannot be read; their flows are not known."""
    refreshing: bool = False
    """Whether somebody is looking at the clusters just now."""

    @property
    def by_name(self) -> Mapping[str, FlowSnapshot]:
        """The flows by name (`east->west`)."""
        return {snapshot.flow: snapshot for snapshot in self.flows}
