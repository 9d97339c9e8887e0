"""Asks the target alone what a failover needs: ledger, checkpoints, remote logs, groups, heartbeats, ACLs. The source is asked nothing.

A broker that took over without the newest records continues with others under a newer leader epoch. A position that was made for the older
log holds up to where the two part (`Cluster.shared_ends`).

Write fences of earlier waves of the opposite flow may have left ACLs on the target that refuse producers. The notes that say which wave set
them stand on the source, which is lost. So they are named, and a person removes them.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from kafka_mirror.cutover.failover.missing_records import EndSighting, MissingRecords, find_missing_records, report_missing
from kafka_mirror.cutover.failover.positions import FailoverPosition, TargetLog, find_positions, report_positions
from kafka_mirror.cutover.groups.survey import describe_members
from kafka_mirror.cutover.wave.findings import Finding, information, report_wave_topics, stop, warning
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.selection import WaveTopics, matches
from kafka_mirror.errors import (
    AuthorizationRefused,
    FenceOfEarlierWave,
    GroupActiveOnTarget,
    GroupSplit,
    MirrorError,
    NoGroups,
    PatternMatchesNothing,
    RemoteLogUnknown,
)
from kafka_mirror.errors.display import show
from kafka_mirror.errors.next_step import Command
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import StoredCheckpoints
from kafka_mirror.groups.mm2_topics import read_stored
from kafka_mirror.kafka.acls import topic_acls
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import describe_groups
from kafka_mirror.kafka.model import Acl, Committed, LogPosition
from kafka_mirror.ledger.checks import check_handed_back
from kafka_mirror.ledger.clusters import read_state
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.status.heartbeat_paths import heartbeat_paths

_WRITES = ("WRITE", "ALL")


@dataclass(frozen=True)
class FailoverSurvey:
    """What the target knows of a wave whose source is lost: where its groups go on, what they have `committed` there, what its topics may
    lack, and what is said of it."""

    positions: tuple[FailoverPosition, ...]
    missing: tuple[MissingRecords, ...]
    findings: tuple[Finding, ...]
    committed: Mapping[str, Mapping[TopicPartition, Committed]] = field(default_factory=dict)


def survey_failover(move: Move) -> FailoverSurvey:
    """Looks at the target, and writes nothing. Raises HandedBack, and what the target as a whole says."""
    return _TargetSurvey(move).run()


class _TargetSurvey:
    def __init__(self, move: Move) -> None:
        self._move = move
        self._flow = move.flow
        self._target = move.sides.target
        self._findings: list[Finding] = []
        self._refused: dict[str, MirrorError] = {}
        self._moved: frozenset[str] = frozenset()
        """Topics that are written on the target since a wave: a loss of the source is nothing to them."""

    def run(self) -> FailoverSurvey:
        """Reads all of it once. The ledger is read after the checkpoints, so it knows no less than they do."""
        flow, context, target, topics = self._flow, self._move.context, self._target, self._move.topics
        stored, damaged = read_stored(target, context.clients.target_consumer, context.checkpoints_topic)
        records = self._read_ledger()
        self._findings += report_wave_topics(self._move.wave, topics)
        wave_records = {tp: record for tp, record in records.items() if tp.topic in topics.names}
        remotes = {TopicPartition(record.target_topic, tp.partition): tp for tp, record in wave_records.items()}
        names = self._select_groups(stored, remotes)
        chosen = {key: checkpoint for key, checkpoint in stored.items() if key[0] in names and self._is_moved(key[1], remotes, records)}
        logs = self._read_logs({remote for _, remote in chosen})
        shared_ends, silent = find_shared_ends(target, chosen, logs, context.request_seconds)
        committed = self._move.sides.target_groups.committed(names, self._refused)
        offsets = {(name, tp): position.offset for name, of_group in committed.items() for tp, position in of_group.items()}
        positions = find_positions(chosen, wave_records, logs, offsets, shared_ends)
        missing = find_missing_records(wave_records, _find_sightings(stored, remotes, wave_records))
        self._findings += report_positions(positions, flow.target)
        if silent:
            self._findings.append(stop(RemoteLogUnknown(flow.target, first_few(silent))))
        self._findings += report_missing(missing, self._read_last_beat())
        self._findings += self._find_in_groups(stored, names, records, topics)
        self._findings += self._find_denials({*topics.names, *(remote.topic for remote in remotes)})
        self._findings += [stop(error) for error in (*damaged, *self._refused.values())]
        return FailoverSurvey(positions, missing, tuple(self._findings), committed)

    def _read_ledger(self) -> Mapping[TopicPartition, LedgerRecord]:
        state = read_state(self._flow, self._target)
        check_handed_back(state.decisions)
        self._findings += map(stop, state.view.unreadable.values())
        self._moved = frozenset(state.decisions.moved_topics)
        return state.view.records

    def _select_groups(self, stored: StoredCheckpoints, remotes: Collection[TopicPartition]) -> frozenset[str]:
        """The groups with a checkpoint in a topic of the wave, or those of them that its patterns take."""
        with_positions = {group for group, remote in stored if remote in remotes}
        if not self._move.wave.groups:
            return frozenset(with_positions)
        taken, unmatched = matches(self._move.wave.groups, with_positions)
        for pattern in unmatched:
            names = "consumer group with a checkpoint in a topic of the wave"
            self._findings.append(stop(PatternMatchesNothing("--groups", pattern, names)))
        return taken

    def _is_moved(
        self, remote: TopicPartition, remotes: Collection[TopicPartition], records: Mapping[TopicPartition, LedgerRecord]
    ) -> bool:
        """Whether a position moves with the wave: in its topics, or in a topic of the target itself that the source had from there."""
        return remote in remotes or all(remote.topic != record.target_topic for record in records.values())

    def _read_logs(self, remotes: Collection[TopicPartition]) -> dict[TopicPartition, TargetLog]:
        topics = self._target.topics({remote.topic for remote in remotes}, self._refused)
        logs = self._target.log_offsets([remote for remote in remotes if remote.topic in topics], self._refused)
        readable = {tp: log for tp, log in logs.items() if min(log.start, log.end) >= 0}
        return {tp: TargetLog(topics[tp.topic].id, log.start, log.end, log.leader_epoch) for tp, log in readable.items()}

    def _find_in_groups(
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
            yield warning(NoGroups(self._move.context.checkpoints_topic))

    def _find_denials(self, topics: Collection[str]) -> Iterable[Finding]:
        """What the target's ACLs deny producers of these topics."""
        alias = self._target.alias
        try:
            return tuple(find_denials(topic_acls(self._target) or (), topics, alias))
        except AuthorizationRefused:
            said = f"Cluster '{alias}' does not let the mirror DESCRIBE the cluster, so it is unknown whether ACLs refuse producers there."
            return (information("FenceUnknown", said),)
        except MirrorError as error:
            return (warning(error),)

    def _read_last_beat(self) -> datetime | None:
        """The newest heartbeat that came through the flow; its own beat is written to the target, and says nothing of the source."""
        try:
            paths = heartbeat_paths(self._flow, self._target)
        except MirrorError as error:
            self._findings.append(warning(error))
            return None
        return max((path.time for path in paths if len(path.path) > 2), default=None)


def _find_sightings(
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


def find_shared_ends(
    target: Cluster, checkpoints: StoredCheckpoints, logs: Mapping[TopicPartition, TargetLog], seconds: float
) -> tuple[dict[tuple[str, TopicPartition], int], tuple[TopicPartition, ...]]:
    """Up to where each checkpoint's log is still the one, by group and partition, and the partitions whose leaders did not answer.

    It looks no further than the checkpoint's position. One that does not note its leader epoch has no answer, nor has one of another topic.
    Each question may take `seconds`."""
    positions: dict[tuple[str, TopicPartition], LogPosition] = {}
    for key, stored in checkpoints.items():
        log, note = logs.get(key[1]), stored.logs and stored.logs.target
        if log is not None and note and note.topic_id == log.topic_id and note.leader_epoch is not None:
            positions[key] = LogPosition(key[1], note.leader_epoch, stored.checkpoint.downstream)
    older = {position for position in positions.values() if position.leader_epoch != logs[position.partition].leader_epoch}
    ends = target.shared_ends(older, seconds)
    silent = {position.partition for position in older - ends.keys()}
    ends_by_key = {
        key: min(position.offset, ends.get(position, position.offset)) for key, position in positions.items() if key[1] not in silent
    }
    return ends_by_key, tuple(sorted(silent))


def find_denials(acls: Iterable[Acl], topics: Collection[str], target: str) -> Iterator[Finding]:
    """A warning for each topic to which an ACL denies writing, with the commands that remove it."""
    denials: dict[str, list[Acl]] = {}
    for acl in sorted(acls):
        if acl.topic in topics and acl.permission == "DENY" and acl.operation in _WRITES:
            denials.setdefault(acl.topic, []).append(acl)
    for topic, of_topic in denials.items():
        removals = [part for acl in of_topic for part in (Command(_make_removal(acl)), ", ")][:-1]
        error = replace(FenceOfEarlierWave(topic, target, first_few(of_topic)).report(), topic=topic)
        yield warning(error.with_next("Remove them before producers start, unless another person set them: ", *removals, "."))


def _make_removal(acl: Acl) -> str:
    who = f"--deny-principal {shlex.quote(acl.principal)} --deny-host {shlex.quote(acl.host)} --operation {acl.operation}"
    return f"kafka-acls.sh --bootstrap-server <target> --remove --force --topic {acl.topic} {who}"
