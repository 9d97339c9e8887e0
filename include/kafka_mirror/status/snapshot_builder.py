"""Taking snapshots of one flow, one after another: each is measured against those before it.

From what was seen of a flow to what its snapshot shows: partitions, topics, lanes, offsets that were passed over. Pure.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby

from kafka_mirror.config import Flow
from kafka_mirror.config.deadlines import derive_limit, hand_over_seconds, limits_of, read_limit, seconds_between_copies, slots_of
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.groups.exact_offsets import KnownPlaces
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.ledger.control_records import THROTTLE, UNLIMITED
from kafka_mirror.ledger.record import LedgerRecord, Writer
from kafka_mirror.status.judge import problems
from kafka_mirror.status.observation import CheckObservation, Memory, with_waits
from kafka_mirror.status.observe import OldestRecords, beats_of, heartbeat_paths, observe
from kafka_mirror.status.snapshot import (
    FlowSnapshot,
    GroupsSnapshot,
    HeartbeatPath,
    LaneSnapshot,
    PartitionSnapshot,
    SchemaIds,
    SkippedOffsets,
    StandingDecision,
    ThrottleStatus,
    TopicSnapshot,
)
from kafka_mirror.status.snapshot_groups import Positions, SchemaIdSampler, read_groups
from kafka_mirror.status.status import PROGRESSING, Observation, PartitionStatus, Status, status_of
from kafka_mirror.status.throughput import WINDOW_SECONDS, CatchUp, Sample, Samples, Totals, catch_up, estimated_bytes, rhythm, throughput

MAX_SKIPPED = 300
"""How many intervals of offsets that were passed over a snapshot lists."""

Records = Mapping[TopicPartition, LedgerRecord]

GROUPS_EVERY_SECONDS = 60.0
GROUPS_SHARE = 10
"""Groups are looked at so rarely that it takes no more than this part of the time."""
_RUNS_IN_WINDOW = 3


def sample_of(observation: Observation) -> Sample:
    """The running totals at the moment of an observation."""
    source = observation.source or {}
    totals = {
        tp: Totals(*record.totals, observation.starts.get(tp, record.watermark), source[tp].end if tp in source else None)
        for tp, record in (observation.ledger or {}).items()
    }
    return Sample(observation.time.timestamp(), totals)


def sample_of_check(check: CheckObservation) -> Sample:
    """A sample of a check: of the partitions of which it knows what is missing."""
    totals = {
        partition.topic_partition: Totals(partition.records or 0, partition.bytes or 0, partition.end - partition.lag, partition.end)
        for partition in check.status.partitions
        if partition.end is not None and partition.lag is not None
    }
    return Sample(check.now, totals)


def partitions_of(
    status: Status, observation: Observation, samples: Sequence[Sample], remote: Callable[[str], str]
) -> list[PartitionSnapshot]:
    """Every partition of the status, in its order, with what was measured of it."""
    records = observation.ledger or {}
    of_flow = _totals(status.partitions)
    of_topics = {topic: _totals(group) for topic, group in groupby(status.partitions, key=lambda partition: partition.topic)}
    names = {topic: remote(topic) for topic in {partition.topic for partition in status.partitions}}
    partitions = []
    for partition in status.partitions:
        tp, record = partition.topic_partition, records.get(partition.topic_partition)
        partitions.append(
            PartitionSnapshot(
                status=partition,
                remote=names[tp.topic],
                lane=lane_of(*tp, observation.lanes),
                bytes_behind=estimated_bytes(partition.lag, _totals([partition]), of_topics[tp.topic], of_flow),
                throughput=throughput(samples, [tp]),
                last=record.last if record else None,
            )
        )
    return partitions


def _totals(partitions: Iterable[PartitionStatus]) -> tuple[int, int]:
    listed = list(partitions)
    return sum(partition.records or 0 for partition in listed), sum(partition.bytes or 0 for partition in listed)


def topics_of(
    partitions: Iterable[PartitionSnapshot], samples: Sequence[Sample], schema_ids: Mapping[str, SchemaIds | None]
) -> tuple[TopicSnapshot, ...]:
    """The partitions by topic; they must be in the order of topics."""
    topics = []
    for topic, group in groupby(partitions, key=lambda partition: partition.topic):
        of_topic = tuple(group)
        topics.append(
            TopicSnapshot(
                topic,
                of_topic[0].remote,
                of_topic,
                lag=total(one.status.lag for one in of_topic),
                oldest_seconds=max((one.status.oldest_seconds for one in of_topic if one.status.oldest_seconds is not None), default=None),
                bytes_behind=bytes_of(of_topic),
                throughput=throughput(samples, [one.status.topic_partition for one in of_topic]),
                written=_newest(one.status.written for one in of_topic),
                schema_ids=schema_ids.get(topic),
            )
        )
    return tuple(topics)


def lanes_of(partitions: Iterable[PartitionSnapshot], observation: Observation) -> tuple[LaneSnapshot, ...]:
    """Partitions and lag of each lane; lanes without partitions are left out, unless their ledger cannot be read."""
    by_lane: dict[int, list[PartitionSnapshot]] = {lane: [] for lane in observation.unreadable}
    for partition in partitions:
        by_lane.setdefault(partition.lane, []).append(partition)
    return tuple(
        LaneSnapshot(
            lane,
            partitions=len(of_lane),
            behind=sum(one.status.is_behind for one in of_lane),
            lag=total(one.status.lag for one in of_lane),
            written=_newest(one.status.written for one in of_lane),
            error=observation.unreadable.get(lane),
        )
        for lane, of_lane in sorted(by_lane.items())
    )


def list_skipped(records: Records) -> tuple[tuple[SkippedOffsets, ...], int]:
    """The offsets that were passed over, those with the highest offsets of each partition first, and how many there are in all."""
    with_offsets = [
        (age, SkippedOffsets(*tp, skip.start, skip.end, skip.offsets, skip.reason))
        for tp, record in sorted(records.items())
        for age, skip in enumerate(reversed(record.skipped))
    ]
    newest_first = sorted(with_offsets, key=lambda item: item[0])[:MAX_SKIPPED]
    return tuple(skipped for _, skipped in newest_first), sum(skipped.offsets for _, skipped in with_offsets)


def catch_up_of(status: Status, samples: Sequence[Sample], interval: float, young: float = 0.0) -> CatchUp:
    """When the partitions that go on by themselves will be copied to their end; the others are counted. What is missing is the next run's
    while it is no more than `young` seconds old."""
    moving = [partition for partition in status.partitions if partition.state in PROGRESSING]
    old = {partition.topic_partition for partition in moving if partition.is_behind and not partition.is_younger_than(young)}
    waiting = sum(partition.needs_help for partition in status.partitions)
    lag = None if status.unknown else total(partition.lag for partition in moving)
    tps, lasting = {partition.topic_partition for partition in moving}, min(young, WINDOW_SECONDS)
    return catch_up(samples, tps, lag, interval, waiting, old=old, lasting=lasting)


def rhythm_of(flow: Flow) -> float:
    """How many seconds old what is missing may be while the flow is well. What a run that follows could not copy is the next run's."""
    lag = "mirror.deadline.lag.seconds"
    allowed = read_limit(flow, lag)
    if allowed is None and hand_over_seconds(flow):
        allowed = derive_limit(flow, lag)
    return rhythm(seconds_between_copies(flow), allowed)


def bytes_of(partitions: Iterable[PartitionSnapshot]) -> int | None:
    """About how many bytes the partitions are behind together; None if that is unknown of one that is: the rest would look like all."""
    listed = list(partitions)
    if any(partition.status.is_behind and partition.bytes_behind is None for partition in listed):
        return None
    return total(partition.bytes_behind for partition in listed)


def total(numbers: Iterable[int | None]) -> int | None:
    """The sum of what is known; None if nothing is, 0 if there is nothing to know."""
    listed = list(numbers)
    numbers_known = [number for number in listed if number is not None]
    return sum(numbers_known) if numbers_known or not listed else None


def _newest(writers: Iterable[Writer | None]) -> Writer | None:
    return max((writer for writer in writers if writer is not None), key=lambda writer: writer.time, default=None)


class FlowSnapshotBuilder:
    """The snapshots of one flow with one configuration."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._interval = seconds_between_copies(flow)
        self._rhythm = rhythm_of(flow)
        self._samples = Samples(max(WINDOW_SECONDS, _RUNS_IN_WINDOW * self._interval))
        self._schemas = SchemaIdSampler()
        self._oldest: OldestRecords = {}
        self._groups = GroupsSnapshot()
        self._groups_due = 0.0
        self._places = KnownPlaces()
        self._limits = limits_of(flow).of_page
        self._memory: Memory | None = None

    def take(self) -> FlowSnapshot:
        """Looks at both clusters. Never raises what belongs to them or to the configuration: the snapshot says it."""
        started, computed, taken = time.monotonic(), time.thread_time(), datetime.now(UTC)
        try:
            observation = observe(self.flow, self._oldest)
        except MirrorError as error:
            taken_snapshot = FlowSnapshot(self.flow.name, taken, error=error.report().with_flow(self.flow.name), groups=self._groups)
        else:
            taken_snapshot = self._snapshot(observation, taken)
        return replace(taken_snapshot, seconds=time.monotonic() - started, cpu_seconds=time.thread_time() - computed)

    def with_groups(self, snapshot: FlowSnapshot) -> FlowSnapshot:
        """The snapshot with its groups, if it is time to look at them again; otherwise itself."""
        if not snapshot.is_good or snapshot.not_reached or time.monotonic() < self._groups_due:
            return snapshot
        started = time.monotonic()
        try:
            self._groups = read_groups(self.flow, self._places)
        except MirrorError as error:
            self._groups = replace(self._groups, errors=(error.report().with_flow(self.flow.name),))
        seconds = time.monotonic() - started
        self._groups_due = time.monotonic() + max(GROUPS_EVERY_SECONDS, GROUPS_SHARE * seconds)
        return replace(snapshot, groups=self._groups)

    def from_check(self, check: CheckObservation, failed: FlowSnapshot) -> FlowSnapshot:
        """What the task `freshness` saw, in the place of a look that failed here."""
        status, samples = check.status, self._samples.samples
        if not samples or samples[-1].time < check.now:
            self._samples.add(sample_of_check(check))
        observation = Observation(status.flow, status.time, self.flow.value("mirror.lanes"))
        partitions = partitions_of(status, observation, samples, topic_selection(self.flow).remote)
        return replace(
            self._measure(check, partitions, samples),
            lanes=lanes_of(partitions, observation),
            not_reached=failed.error or next(iter(failed.errors), None),
        )

    def _snapshot(self, observation: Observation, taken: datetime) -> FlowSnapshot:
        if observation.comparable:
            self._samples.add(sample_of(observation))
        samples, status = self._samples.samples if observation.comparable else [], status_of(observation)
        partitions = partitions_of(status, observation, samples, topic_selection(self.flow).remote)
        records = observation.ledger or {}
        skipped, skipped_in_all = list_skipped(records)
        heartbeats, partial = self._read_from_target(records) if observation.comparable else ((), ())
        beats = beats_of(self.flow, heartbeats)
        check = with_waits(CheckObservation(status, observation.comparable, observation.silent, beats), self._memory)
        self._memory = check.memory
        return replace(
            self._measure(check, partitions, samples),
            taken=taken,
            lanes=lanes_of(partitions, observation),
            throttle=self._throttle(observation),
            groups=self._groups,
            heartbeats=heartbeats,
            decisions=tuple(StandingDecision(*decision) for decision in observation.decisions),
            waves=observation.waves,
            skipped=skipped,
            skipped_in_all=skipped_in_all,
            partial=partial,
        )

    def _measure(self, check: CheckObservation, partitions: Sequence[PartitionSnapshot], samples: Sequence[Sample]) -> FlowSnapshot:
        """What follows from a check and the samples, be it this process's own check or that of `freshness`."""
        return FlowSnapshot(
            self.flow.name,
            check.status.time,
            check.status,
            comparable=check.comparable,
            topics=topics_of(partitions, samples, self._schemas.ids),
            bytes_behind=bytes_of(partitions),
            throughput=throughput(samples),
            catch_up=catch_up_of(check.status, samples, self._interval, self._rhythm),
            rhythm=self._rhythm,
            lag_limit=self._limits.lag,
            pool=self.flow.value("mirror.copy.pool"),
            slots=slots_of(self.flow),
            problems=tuple(problem for problem in problems(check, self._limits).problems if problem.opens),
            late=check.late,
        )

    def _read_from_target(
        self, records: Mapping[TopicPartition, LedgerRecord]
    ) -> tuple[tuple[HeartbeatPath, ...], tuple[ErrorReport, ...]]:
        """Heartbeats, and some records to see whether they carry schema ids; and what was wrong with reading either."""
        errors: list[ErrorReport] = []
        heartbeats: tuple[HeartbeatPath, ...] = ()
        try:
            # A heartbeat begins like a value with an id: with the two zero bytes of its version.
            self._schemas.sample(self.flow, positions_of(records, topic_selection(self.flow).policy.is_heartbeats_topic))
        except MirrorError as error:
            errors.append(error.report().with_flow(self.flow.name))
        try:
            with clusters(self.flow) as (_, target):
                heartbeats = heartbeat_paths(self.flow, target)
        except MirrorError as error:
            errors.append(error.report().with_flow(self.flow.name))
        return heartbeats, tuple(errors)

    def _throttle(self, observation: Observation) -> ThrottleStatus:
        decided = next((decision for decision, in_force in observation.decisions if in_force and decision.decision == THROTTLE), None)
        rate = self.flow.value("mirror.max.bytes.per.second") if decided is None else decided.bytes_per_second
        return ThrottleStatus(None if rate == UNLIMITED else rate, decided)


def positions_of(records: Mapping[TopicPartition, LedgerRecord], left_out: Callable[[str], bool]) -> Positions:
    """The last record of each remote partition that has one of ours, by topic of the source, the last written ones first."""
    by_topic: dict[str, list[tuple[TopicPartition, int]]] = {}
    for tp, record in sorted(records.items(), key=lambda item: item[1].writer.time, reverse=True):
        if record.records and record.target_next > 0 and not left_out(tp.topic):
            by_topic.setdefault(tp.topic, []).append((TopicPartition(record.target_topic, tp.partition), record.target_next - 1))
    return by_topic
