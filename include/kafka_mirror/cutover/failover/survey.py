"""Asks the target alone what a failover needs: ledger, checkpoints, remote logs, groups, heartbeats. No client of the source is opened."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafka_mirror.config.validate import check_readable
from kafka_mirror.cutover.failover.denials import survey_denials
from kafka_mirror.cutover.failover.logs import find_shared_ends
from kafka_mirror.cutover.failover.missing_records import EndSighting, MissingRecords, missing_findings, missing_records
from kafka_mirror.cutover.failover.positions import FailoverFacts, FailoverPosition, TargetLog, failover_positions, position_findings
from kafka_mirror.cutover.groups.findings import describe_members
from kafka_mirror.cutover.wave.findings import Finding, in_order, stop, warning, wave_findings
from kafka_mirror.cutover.wave.selection import Wave, WaveTopics, matches, select_topics
from kafka_mirror.errors import GroupActiveOnTarget, GroupSplit, MirrorError, NoGroups, PatternMatchesNothing, RemoteLogUnknown, named_with
from kafka_mirror.errors.display import show
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupContext, group_context
from kafka_mirror.groups.group_rules import StoredCheckpoints
from kafka_mirror.groups.mm2_topics import read_stored
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.group_members import describe_groups
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.checks import check_handed_back
from kafka_mirror.ledger.clusters import control_of
from kafka_mirror.ledger.internal_topics import read_decisions, read_ledger
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.status.heartbeat_paths import heartbeat_paths

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


@dataclass(frozen=True)
class FailoverSurvey:
    """What the target knows of a wave whose source is lost: where its groups go on, what its topics may lack, and what is said of it."""

    time: datetime
    topics: WaveTopics
    positions: tuple[FailoverPosition, ...]
    missing: tuple[MissingRecords, ...]
    last_beat: datetime | None
    findings: tuple[Finding, ...]

    def to_commit(self) -> dict[str, dict[TopicPartition, Committed]]:
        """By group, where it is to stand on the target: the seam to the step `move-groups`. What has no answer is left out, and where a
        group stands further on already it is not moved back."""
        groups: dict[str, dict[TopicPartition, Committed]] = {}
        for position in self.positions:
            if position.target is not None and position.target != position.committed:
                groups.setdefault(position.group, {})[position.remote] = Committed(position.target, position.metadata)
        return groups


def survey_failover(flow: "Flow", wave: Wave) -> FailoverSurvey:
    """Looks at the target, and writes nothing. Raises ConfigurationError, HandedBack, and what the target as a whole says."""
    check_readable(flow)
    context = group_context(flow)
    with (
        named_with(flow.name),
        Cluster(flow.target, context.clients.target_admin, context.request_seconds) as target,
    ):
        return _TargetSurvey(flow, context, wave, target, Groups(target)).run()


class _TargetSurvey:
    def __init__(self, flow: "Flow", context: GroupContext, wave: Wave, target: Cluster, groups: Groups) -> None:
        self._flow = flow
        self._context = context
        self._wave = wave
        self._target = target
        self._groups = groups
        self._findings: list[Finding] = []
        self._refused: dict[str, MirrorError] = {}
        self._moved: frozenset[str] = frozenset()
        """Topics that are written on the target since a wave: a loss of the source is nothing to them."""

    def run(self) -> FailoverSurvey:
        """Reads all of it once. The ledger is read behind the checkpoints: it knows no less than they do."""
        flow, context, target = self._flow, self._context, self._target
        stored, damaged = read_stored(target, context.clients.target_consumer, context.checkpoints_topic)
        records = self._ledger()
        topics = select_topics(self._wave, {tp.topic for tp in records} - self._moved, context.selection)
        self._findings += wave_findings(self._wave, topics)
        wave_records = {tp: record for tp, record in records.items() if tp.topic in topics.names}
        remotes = {TopicPartition(record.target_topic, tp.partition): tp for tp, record in wave_records.items()}
        names = self._group_names(stored, remotes)
        chosen = {key: checkpoint for key, checkpoint in stored.items() if key[0] in names and self._goes_along(key[1], remotes, records)}
        logs = self._logs({remote for _, remote in chosen})
        shared = find_shared_ends(target, chosen, logs, context.request_seconds)
        positions = failover_positions(chosen, FailoverFacts(wave_records, logs, self._committed(names), shared.ends))
        missing = missing_records(wave_records, _sightings(stored, remotes, wave_records))
        last_beat = self._last_beat()
        self._findings += position_findings(positions, flow.target)
        if shared.silent:
            self._findings.append(stop(RemoteLogUnknown(flow.target, first_few(shared.silent))))
        self._findings += missing_findings(missing, last_beat)
        self._findings += self._group_findings(stored, names, records, topics)
        self._findings += self._denials({*topics.names, *(remote.topic for remote in remotes)})
        self._findings += [stop(error) for error in (*damaged, *self._refused.values())]
        return FailoverSurvey(datetime.now(UTC), topics, positions, missing, last_beat, in_order(self._findings, flow.name))

    def _ledger(self) -> Mapping[TopicPartition, LedgerRecord]:
        control = control_of(self._flow, self._target)
        decisions = read_decisions(self._flow, control, dry_run=True)
        check_handed_back(decisions)
        _, view = read_ledger(self._flow, self._target, control, decisions, dry_run=True)
        self._findings += [stop(error) for error in view.unreadable.values()]
        self._moved = frozenset(decisions.moved_topics)
        return view.records

    def _group_names(self, stored: StoredCheckpoints, remotes: Collection[TopicPartition]) -> frozenset[str]:
        """The groups with a checkpoint in a topic of the wave, or those of them that its patterns take."""
        with_positions = {group for group, remote in stored if remote in remotes}
        if not self._wave.groups:
            return frozenset(with_positions)
        taken, unmatched = matches(self._wave.groups, with_positions)
        for pattern in unmatched:
            names = "consumer group with a checkpoint in a topic of the wave"
            self._findings.append(stop(PatternMatchesNothing("--groups", pattern, names)))
        return taken

    def _goes_along(
        self, remote: TopicPartition, remotes: Collection[TopicPartition], records: Mapping[TopicPartition, LedgerRecord]
    ) -> bool:
        """Whether a position moves with the wave: in its topics, or in a topic of the target itself that the source had from there."""
        return remote in remotes or all(remote.topic != record.target_topic for record in records.values())

    def _logs(self, remotes: Collection[TopicPartition]) -> dict[TopicPartition, TargetLog]:
        topics = self._target.topics({remote.topic for remote in remotes}, self._refused)
        logs = self._target.log_offsets([remote for remote in remotes if remote.topic in topics], self._refused)
        readable = {tp: log for tp, log in logs.items() if min(log.start, log.end) >= 0}
        return {tp: TargetLog(topics[tp.topic].id, log.start, log.end, log.leader_epoch) for tp, log in readable.items()}

    def _committed(self, names: Collection[str]) -> dict[tuple[str, TopicPartition], int]:
        committed = self._groups.committed(names, self._refused)
        return {(name, tp): position.offset for name, of_group in committed.items() for tp, position in of_group.items()}

    def _group_findings(
        self, stored: StoredCheckpoints, names: Collection[str], records: Mapping[TopicPartition, LedgerRecord], topics: WaveTopics
    ) -> Iterable[Finding]:
        target = self._flow.target
        for name, group in describe_groups(self._target, names, self._refused).items():
            if group.members:
                yield stop(GroupActiveOnTarget(name, describe_members(group.members), target))
        outside = {record.target_topic: tp.topic for tp, record in records.items() if tp.topic not in {*topics.names, *self._moved}}
        for name in sorted(names):
            others = sorted({outside[remote.topic] for group, remote in stored if group == name and remote.topic in outside})
            if others:
                yield stop(GroupSplit(name, others))
        if topics.names and not names:
            yield warning(NoGroups(self._context.checkpoints_topic))

    def _denials(self, topics: Collection[str]) -> Iterable[Finding]:
        try:
            return survey_denials(self._target, topics)
        except MirrorError as error:
            return (warning(error),)

    def _last_beat(self) -> datetime | None:
        """The newest heartbeat that came through the flow; its own beat is written to the target, and says nothing of the source."""
        try:
            paths = heartbeat_paths(self._flow, self._target)
        except MirrorError as error:
            self._findings.append(warning(error))
            return None
        return max((path.time for path in paths if len(path.path) > 2), default=None)


def _sightings(
    stored: StoredCheckpoints, remotes: Mapping[TopicPartition, TopicPartition], records: Mapping[TopicPartition, LedgerRecord]
) -> dict[TopicPartition, list[EndSighting]]:
    """How far groups had read each partition, as those of their checkpoints say that are not of a topic that is gone."""
    sightings: dict[TopicPartition, list[EndSighting]] = {}
    for (group, remote), checkpoint in stored.items():
        if remote in remotes and (checkpoint.logs is None or checkpoint.logs.source.topic_id == records[remotes[remote]].source_topic_id):
            time = None if checkpoint.time is None else datetime.fromtimestamp(checkpoint.time / 1000, UTC)
            sighting = EndSighting(checkpoint.checkpoint.upstream, time, f"the checkpoint of the group {show(group)}")
            sightings.setdefault(remotes[remote], []).append(sighting)
    return sightings
