"""How a flow stands, partition by partition: what the command `status` says, and what the status page, metrics and `freshness` judge by.

Computed from what was seen at one moment (`Observation`); nothing here asks a cluster.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from kafka_mirror.copy.plan.ranges import SourceOffsets, report_blocked
from kafka_mirror.errors import BlockedByOpenTransaction, ErrorReport, MirrorError, NoLeader, TargetMissing, TargetUnavailable
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.control_records import Decision
from kafka_mirror.ledger.record import LedgerRecord, Writer, history_text
from kafka_mirror.policy import IdleMembers

UP_TO_DATE = "up to date"
BEHIND = "behind"
FIRST_SIGHT = "first sight"
PAUSED = "paused"
MOVED = "moved"
DECIDED = "decided"
OPEN_TRANSACTION = BlockedByOpenTransaction.partition_state
NO_REMOTE = TargetMissing.partition_state
NO_LEADER = NoLeader.partition_state
GONE = "gone from the source"
UNKNOWN = "unknown"
TARGET_UNAVAILABLE = TargetUnavailable.partition_state
BLOCKED = "blocked"
LEDGER_UNREADABLE = "ledger unreadable"
FAILED = MirrorError.partition_state

PROGRESSING = frozenset({UP_TO_DATE, BEHIND, FIRST_SIGHT, DECIDED})
"""The states of a partition that the next run serves without anybody's help."""

INTENDED = frozenset({PAUSED, MOVED})
"""The states of a partition that is not copied because a person wants it so."""

LEFT_ALONE = INTENDED | {GONE, OPEN_TRANSACTION}
"""The states in which nothing is late: a person decided it, it is over, or there is nothing to read yet."""


@dataclass(frozen=True)
class Observation:
    """What both clusters showed at one moment.

    `ledger` is None if it could not be read, `source` if the source could not be asked, and the two are `comparable` only if a run
    could plan with them. `topics` are the source's mirrored topics, `starts` the offsets at which partitions would begin now that have no
    ledger record, or about which the next run acts on a decision, `oldest` the timestamps (Unix milliseconds) of the oldest records that
    are not copied, `errors` what concerns a partition, a topic (partition None) or the flow (topic None), `lanes` the lanes that are
    unreadable in the ledger, `silent` the errors of clusters that did not answer at all, by alias, `paused` the partitions that a person
    took out and `decided` those with a decision to act on, with the words that say so.
    """

    flow: str
    time: datetime
    lanes: int
    topics: Mapping[str, Topic] = field(default_factory=dict)
    source: Mapping[TopicPartition, SourceOffsets] | None = None
    ledger: Mapping[TopicPartition, LedgerRecord] | None = None
    comparable: bool = False
    unreadable: Mapping[int, ErrorReport] = field(default_factory=dict)
    silent: Mapping[str, ErrorReport] = field(default_factory=dict)
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = ()
    idle: IdleMembers | None = None
    """The members of `topics` that take no topic of the source now, where that is known."""
    starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    oldest: Mapping[TopicPartition, int] = field(default_factory=dict)
    paused: Mapping[TopicPartition, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    """The topics that a cutover moved to the target, with the words that say so."""
    decided: Mapping[TopicPartition, str] = field(default_factory=dict)
    waiting: frozenset[TopicPartition] = frozenset()
    """The partitions that have no remote partition yet."""
    decisions: tuple[tuple[Decision, bool], ...] = ()
    """What people decided, oldest first, and whether it still counts."""
    waves: Mapping[str, str] = field(default_factory=dict)
    """The records of the flow's cutovers, by the name of the wave, as the control topic has them."""


@dataclass(frozen=True)
class PartitionStatus:
    """One source partition. What could not be found out is None.

    `lag` counts the offsets between watermark and end: an upper bound of the records that are not copied yet, open transactions included.
    Where the next run acts on a decision, `lag` counts from the offset to which the decision leads: the watermark may be of another log.
    `oldest_seconds` is how long ago the oldest record that is not copied was stamped: the age of what is missing on the target. The
    stamp is the producer's unless the topic has LogAppendTime, so it is as right as the producer's clock.
    """

    topic: str
    partition: int
    state: str
    watermark: int | None = None
    last_stable: int | None = None
    end: int | None = None
    lag: int | None = None
    oldest_seconds: float | None = None
    error: ErrorReport | None = None
    since: datetime | None = None
    """Since when it is stuck at one record, if the ledger says that it is."""
    note: str = ""
    written: Writer | None = None
    """Who last wrote its ledger record: a run without work for it writes nothing."""
    records: int | None = None
    bytes: int | None = None
    history: str = ""
    """Which topics hold what backfills wrote of it, in words."""

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition of the source."""
        return TopicPartition(self.topic, self.partition)

    @property
    def is_behind(self) -> bool:
        """Whether the source holds something that is not copied."""
        return bool(self.lag)

    @property
    def needs_help(self) -> bool:
        """Whether something is in the way of the next run: an error, a broker, or a remote partition that is missing."""
        return self.state not in PROGRESSING | LEFT_ALONE

    def is_younger_than(self, seconds: float) -> bool:
        """Whether what is missing is known to be no older."""
        return self.oldest_seconds is not None and self.oldest_seconds <= seconds


@dataclass(frozen=True)
class Status:
    """How a flow stands. `errors` are all there are, those of partitions included; with one, a person has something to do."""

    flow: str
    time: datetime
    partitions: tuple[PartitionStatus, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = ()
    idle: IdleMembers | None = None
    """The members of `topics` that take no topic of the source now, where that is known."""

    def select_topic(self, topic: str) -> "Status":
        """This status without the partitions of other topics, and without their errors."""
        others = {partition.topic for partition in self.partitions} - {topic}
        return replace(
            self,
            partitions=tuple(partition for partition in self.partitions if partition.topic == topic),
            errors=tuple(error for error in self.errors if error.topic not in others),
        )

    @property
    def behind(self) -> tuple[PartitionStatus, ...]:
        """The partitions with something to copy."""
        return tuple(partition for partition in self.partitions if partition.is_behind)

    @property
    def unknown(self) -> tuple[PartitionStatus, ...]:
        """The partitions that the next run serves, and whose lag is unknown."""
        return tuple(partition for partition in self.partitions if partition.lag is None and partition.state in PROGRESSING)

    @property
    def lag(self) -> int | None:
        """The offsets that are not copied yet, over all partitions where that is known; None if it is known of none."""
        lags = [partition.lag for partition in self.partitions if partition.lag is not None]
        return sum(lags) if lags or all(partition.state == MOVED for partition in self.partitions) else None

    @property
    def oldest_seconds(self) -> float | None:
        """The age of the oldest record that is not copied yet; None if nothing is missing, or its age could not be read."""
        return max((partition.oldest_seconds for partition in self.partitions if partition.oldest_seconds is not None), default=None)

    @property
    def written(self) -> Writer | None:
        """Who wrote to the ledger last."""
        return max(
            (partition.written for partition in self.partitions if partition.written is not None),
            key=lambda writer: writer.time,
            default=None,
        )

    @property
    def states(self) -> dict[str, int]:
        """How many partitions are in each state that occurs."""
        return dict(Counter(partition.state for partition in self.partitions))

    @property
    def records(self) -> int | None:
        """How many records the ledger says were copied since its beginning; None if it cannot be read."""
        counts = [partition.records for partition in self.partitions if partition.records is not None]
        return sum(counts) if counts else None


def status_of(observation: Observation) -> Status:
    """The status of every partition that is mirrored or was mirrored before, sorted by topic and number."""
    by_place: dict[tuple[str | None, int | None], ErrorReport] = {}
    for error in observation.errors:
        by_place.setdefault((error.topic, error.partition), error)
    partitions = tuple(_partition(tp, observation, by_place) for tp in _list_partitions(observation, by_place))
    stuck = [partition.error for partition in partitions if partition.error is not None and partition.state in (BLOCKED, NO_LEADER)]
    errors = dict.fromkeys(error.with_flow(observation.flow) for error in [*observation.errors, *observation.unreadable.values(), *stuck])
    return Status(observation.flow, observation.time, partitions, tuple(errors), observation.notices, observation.idle)


def _list_partitions(observation: Observation, errors: Mapping[tuple[str | None, int | None], ErrorReport]) -> list[TopicPartition]:
    mirrored = {TopicPartition(topic.name, partition.number) for topic in observation.topics.values() for partition in topic.partitions}
    named = {TopicPartition(topic, number) for topic, number in errors if topic and number is not None and topic in observation.topics}
    return sorted(mirrored | named | set(observation.source or ()) | set(observation.ledger or ()))


def _partition(
    tp: TopicPartition, observation: Observation, errors: Mapping[tuple[str | None, int | None], ErrorReport]
) -> PartitionStatus:
    source, record = (observation.source or {}).get(tp), (observation.ledger or {}).get(tp)
    error = errors.get((tp.topic, tp.partition)) or errors.get((tp.topic, None))
    blocked = record.blocked if record is not None and record.blocked and record.blocked.offset == record.watermark else None
    if error is None and blocked is not None and tp not in observation.decided:
        error = report_blocked(tp, blocked)
    error = error or observation.unreadable.get(lane_of(*tp, observation.lanes))
    state = _state(tp, observation, source, record, error)
    if error is None and state == NO_LEADER:
        error = NoLeader(*tp).report()
    stamp = observation.oldest.get(tp)
    return PartitionStatus(
        tp.topic,
        tp.partition,
        state,
        watermark=record.watermark if record else None,
        last_stable=source.readable_end if source else None,
        end=source.end if source else None,
        lag=_lag(source, record, observation.starts.get(tp)) if observation.comparable else None,
        oldest_seconds=None if stamp is None else max(observation.time.timestamp() - stamp / 1000, 0.0),
        error=error.with_flow(observation.flow) if error else None,
        since=blocked.since if blocked else None,
        note=observation.moved.get(tp.topic) or observation.paused.get(tp) or observation.decided.get(tp, ""),
        written=record.writer if record else None,
        records=record.totals[0] if record else None,
        bytes=record.totals[1] if record else None,
        history=history_text(record) if record else "",
    )


def _lag(source: SourceOffsets | None, record: LedgerRecord | None, start: int | None) -> int | None:
    if start is None and record is not None and source is not None and record.is_of(source.topic_id, source.leader_epoch):
        start = record.watermark
    return None if source is None or start is None else max(source.end - start, 0)


def _state(
    tp: TopicPartition, observation: Observation, source: SourceOffsets | None, record: LedgerRecord | None, error: ErrorReport | None
) -> str:
    if observation.ledger is None:
        return UNKNOWN
    if lane_of(*tp, observation.lanes) in observation.unreadable:
        return LEDGER_UNREADABLE
    if tp.topic in observation.moved or (record is not None and record.moved is not None):
        return MOVED
    if tp in observation.paused or tp in observation.decided:
        return PAUSED if tp in observation.paused else DECIDED
    if record is not None and record.blocked and record.blocked.offset == record.watermark:
        return BLOCKED
    if error is not None:
        return error.kind.partition_state
    return _compare(tp, observation, source, record) if observation.comparable else UNKNOWN


def _compare(tp: TopicPartition, observation: Observation, source: SourceOffsets | None, record: LedgerRecord | None) -> str:
    if source is None:
        topic = observation.topics.get(tp.topic)
        return NO_LEADER if topic and any(partition.number == tp.partition for partition in topic.partitions) else GONE
    if record is None:
        return NO_REMOTE if tp in observation.waiting else FIRST_SIGHT
    if record.watermark < source.readable_end:
        return BEHIND
    return OPEN_TRANSACTION if record.watermark < source.end else UP_TO_DATE
