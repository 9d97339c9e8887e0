"""Taking snapshots of one flow, one after another: each is measured against those before it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from mirror.config import Flow
from mirror.errors import ErrorReport, MirrorError
from mirror.formats.control import THROTTLE, UNLIMITED
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.connect import clusters
from mirror.offsets.partition import TopicPartition
from mirror.policy import topic_selection
from mirror.report.group_snapshots import look_at_groups
from mirror.report.heartbeat_paths import heartbeat_paths
from mirror.report.observe import observe
from mirror.report.oldest import Known
from mirror.report.schema_ids import Positions, SchemaSampling
from mirror.report.snapshot import FlowSnapshot, GroupsSnapshot, HeartbeatPath, StandingDecision, Throttle
from mirror.report.snapshot_parts import bytes_of, catch_up_of, lanes_of, partitions_of, sample_of, skipped_of, topics_of
from mirror.report.status import Observation, status_of
from mirror.report.throughput import WINDOW_SECONDS, Samples, throughput
from mirror.sync.known_places import KnownPlaces

GROUPS_EVERY_SECONDS = 60.0
GROUPS_SHARE = 10
"""Groups are looked at so rarely that it takes no more than this part of the time."""
_RUNS_IN_WINDOW = 3


class FlowTaking:
    """The snapshots of one flow with one configuration."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._interval = float(flow.value("mirror.copy.interval.seconds"))
        self._samples = Samples(max(WINDOW_SECONDS, _RUNS_IN_WINDOW * self._interval))
        self._schemas = SchemaSampling()
        self._oldest: Known = {}
        self._groups = GroupsSnapshot()
        self._groups_due = 0.0
        self._places = KnownPlaces()

    def take(self) -> FlowSnapshot:
        """Looks at both clusters. Never raises what belongs to them or to the configuration: the snapshot says it."""
        started, computed, taken = time.monotonic(), time.thread_time(), datetime.now(UTC)
        try:
            seen = observe(self.flow, self._oldest)
        except MirrorError as error:
            made = FlowSnapshot(self.flow.name, taken, error=error.report().of_flow(self.flow.name), groups=self._groups)
        else:
            made = self._made(seen, taken)
        return replace(made, seconds=time.monotonic() - started, cpu_seconds=time.thread_time() - computed)

    def with_groups(self, snapshot: FlowSnapshot) -> FlowSnapshot:
        """The snapshot with its groups, if it is time to look at them again; otherwise itself. Likewise."""
        if not snapshot.is_good or time.monotonic() < self._groups_due:
            return snapshot
        started = time.monotonic()
        try:
            self._groups = look_at_groups(self.flow, self._places)
        except MirrorError as error:
            self._groups = replace(self._groups, errors=(error.report().of_flow(self.flow.name),))
        seconds = time.monotonic() - started
        self._groups_due = time.monotonic() + max(GROUPS_EVERY_SECONDS, GROUPS_SHARE * seconds)
        return replace(snapshot, groups=self._groups)

    def _made(self, seen: Observation, taken: datetime) -> FlowSnapshot:
        if seen.comparable:
            self._samples.add(sample_of(seen))
        samples, status = self._samples.kept if seen.comparable else [], status_of(seen)
        partitions = partitions_of(status, seen, samples, topic_selection(self.flow).remote)
        records = seen.ledger or {}
        skipped, skipped_in_all = skipped_of(records)
        heartbeats, partial = self._read_from_target(records) if seen.comparable else ((), ())
        return FlowSnapshot(
            self.flow.name,
            taken,
            status,
            comparable=seen.comparable,
            topics=topics_of(partitions, samples, self._schemas.found),
            lanes=lanes_of(partitions, seen),
            bytes_behind=bytes_of(partitions),
            throughput=throughput(samples),
            catch_up=catch_up_of(status, samples, self._interval),
            throttle=self._throttle(seen),
            groups=self._groups,
            heartbeats=heartbeats,
            decisions=tuple(StandingDecision(*each) for each in seen.decisions),
            skipped=skipped,
            skipped_in_all=skipped_in_all,
            partial=partial,
        )

    def _read_from_target(
        self, records: Mapping[TopicPartition, LedgerRecord]
    ) -> tuple[tuple[HeartbeatPath, ...], tuple[ErrorReport, ...]]:
        """Heartbeats, and some records to see whether they carry schema ids; and what was wrong with reading either."""
        errors: list[ErrorReport] = []
        heartbeats: tuple[HeartbeatPath, ...] = ()
        try:
            # A heartbeat begins like a value with an id: with the two zero bytes of its version.
            self._schemas.look(self.flow, positions_of(records, topic_selection(self.flow).policy.is_heartbeats_topic))
        except MirrorError as error:
            errors.append(error.report().of_flow(self.flow.name))
        try:
            with clusters(self.flow) as (_, target):
                heartbeats = heartbeat_paths(self.flow, target)
        except MirrorError as error:
            errors.append(error.report().of_flow(self.flow.name))
        return heartbeats, tuple(errors)

    def _throttle(self, seen: Observation) -> Throttle:
        decided = next((decision for decision, in_force in seen.decisions if in_force and decision.decision == THROTTLE), None)
        rate = self.flow.value("mirror.max.bytes.per.second") if decided is None else decided.bytes_per_second
        return Throttle(None if rate == UNLIMITED else rate, decided)


def positions_of(records: Mapping[TopicPartition, LedgerRecord], left_out: Callable[[str], bool]) -> Positions:
    """The last record of each remote partition that has one of ours, by topic of the source, the last written ones first."""
    found: dict[str, list[tuple[TopicPartition, int]]] = {}
    for tp, record in sorted(records.items(), key=lambda each: each[1].writer.time, reverse=True):
        if record.records and record.target_next > 0 and not left_out(tp.topic):
            found.setdefault(tp.topic, []).append((TopicPartition(record.target_topic, tp.partition), record.target_next - 1))
    return found
