"""The steps of a wave whose source is lost, and what they ask: the target alone, for its ledger, checkpoints, remote logs, groups and ACLs.

- `run_preflight` says where groups would continue, what may be missing, and what stops the wave.
- `move_groups` commits the best position that the target knows of each group. Its notes have the form of a planned wave's notes, so the
  same roll back puts groups back to where they were.
- `close` closes the flow against a source that comes back. After that no copy that was under way can commit, so what is missing is noted
  once more, for good, in place of what the preflight knew.

A broker that took over without the newest records continues with others under a newer leader epoch. A position that was made for the older
log holds up to where the two part (`Cluster.find_shared_ends`).

Write fences of earlier waves of the opposite flow may have left ACLs on the target that refuse producers. The notes that say which wave set
them stand on the source, which is lost. So they are named, and a person removes them.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from kafka_mirror.cutover.failover.close_flow import close_flow
from kafka_mirror.cutover.failover.missing_records import (
    MISSING,
    EndSighting,
    MissingRecords,
    find_missing_records,
    report_missing,
    write_missing,
)
from kafka_mirror.cutover.failover.positions import COMMITTED, FailoverPosition, find_positions, read_time, report_positions
from kafka_mirror.cutover.steps.fence_acls import WRITES
from kafka_mirror.cutover.steps.group_survey import describe_members
from kafka_mirror.cutover.steps.move_groups import GROUPS, GroupAim, GroupPlacer
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.selection import match_names
from kafka_mirror.cutover.wave.step import (
    INFORMATION,
    KNOWN_MS,
    MOVE_GROUPS,
    OPEN,
    PREFLIGHT,
    REREAD,
    Finding,
    StepOptions,
    StepOutcome,
    has_stop,
    information,
    make_outcome,
    report_wave_topics,
    stop,
    warning,
)
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
from kafka_mirror.errors.next_step import Command, Part
from kafka_mirror.errors.words import first_few, show
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import StoredCheckpoints
from kafka_mirror.groups.group_move import move_from_facts, note_by_topic, read_by_partition
from kafka_mirror.groups.mm2_topics import read_stored
from kafka_mirror.kafka.acls import topic_acls
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import describe_groups
from kafka_mirror.kafka.model import Acl, Committed, LogPosition, PartitionLog
from kafka_mirror.ledger.checks import check_handed_back
from kafka_mirror.ledger.clusters import read_state
from kafka_mirror.ledger.control_records import CLOSED
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.status.observe import heartbeat_paths


def run_preflight(move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Reads only. What may be missing is among the facts. Raises what concerns the target as a whole."""
    survey = survey_failover(move)
    findings = tuple(finding for finding in survey.findings if finding.kind != INFORMATION)
    lines = tuple(finding.message for finding in survey.findings if finding.kind == INFORMATION)
    facts = {
        "topics": len(move.topics.names),
        "partitions": len(survey.missing),
        "groups": len({position.key[0] for position in survey.positions}),
        MISSING: write_missing(survey.missing),
    }
    return make_outcome(PREFLIGHT, findings, lines, facts)


def move_groups(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Commits, after it noted what each group had on the target: once, however often it runs. Raises what concerns the target as a
    whole."""
    survey = survey_failover(move)
    findings = [finding for finding in survey.findings if finding.kind != INFORMATION]
    lines = tuple(f"{show(position.key[0])}: {position}" for position in survey.positions)
    if not options.dry_run and not has_stop(findings):
        placer = GroupPlacer(move.sides.target, move.sides.target_groups, notes, options.wave)
        findings += placer.place(find_aims(survey.positions, notes), dry_run=False, stood=survey.committed).findings
    return make_outcome(MOVE_GROUPS, findings, lines, {GROUPS: list(notes.read_step(MOVE_GROUPS).get(GROUPS, ()))})


def find_aims(positions: Iterable[FailoverPosition], notes: WaveNotes) -> dict[str, GroupAim]:
    """Where each group goes on, and how good that is. A group that stands further on already stays there: nothing is noted of that, unless
    the mirror put it there."""
    by_group: dict[str, dict[TopicPartition, FailoverPosition]] = {}
    for position in positions:
        (group, remote), answer = position.key, position.answer
        noted = move_from_facts(notes.read_group(group))
        is_ours = noted is not None and not noted.is_taken_back and answer.target in noted.list_ours(remote)
        if answer.target is not None and (answer.kind != COMMITTED or is_ours):
            by_group.setdefault(group, {})[remote] = position
    return {name: _make_aim(of_group, notes.read_group(name).get(REREAD, {})) for name, of_group in by_group.items()}


def _make_aim(positions: Mapping[TopicPartition, FailoverPosition], reread: Mapping[str, Mapping[str, int | None]]) -> GroupAim:
    """`reread`: what an earlier run noted of positions on which the group stands now."""
    before = read_by_partition(reread)
    wanted, counts = {}, {}
    for tp, position in positions.items():
        answer = position.answer
        if answer.target is not None:
            wanted[tp] = Committed(answer.target, position.noted.checkpoint.metadata)
        counts[tp] = before.get(tp, 0) if answer.kind == COMMITTED else answer.reread
    since = min((position.noted.time for position in positions.values() if position.noted.time is not None), default=None)
    return GroupAim(wanted, facts={REREAD: note_by_topic({tp: count for tp, count in counts.items() if count != 0}), KNOWN_MS: since})


def close(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Closes the whole flow: its source is lost for every topic. Raises what the target says."""
    closing = close_flow(move.flow, options.who, options.reason, options.dry_run, notes)
    verb = "would be" if options.dry_run else "is"
    missing = survey_failover(move).missing
    if not options.dry_run:
        notes.keep(PREFLIGHT, {**notes.read_step(PREFLIGHT), MISSING: write_missing(missing)})
    lacking = [partition for partition in missing if partition.offsets]
    records = sum(partition.offsets for partition in lacking)
    lines = (
        f"{move.flow.name} {verb} closed, in {len(closing.lanes)} lanes as of now: {closing.decision}.",
        f"At most {records:,} records of {len(lacking)} partitions are known to be missing; the report lists them.",
    )
    return make_outcome(OPEN, (), lines, {CLOSED: str(closing.decision)})


def roll_back_close(_move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Does nothing: a wave whose flow is closed cannot be rolled back, and before that nothing was done."""
    return make_outcome(OPEN, (), ("The flow was not closed.",))


# ------------------------------------------------------------ what the target knows


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


@dataclass
class _TargetSurvey:
    move: Move
    findings: list[Finding] = field(default_factory=list)
    refused: dict[str, MirrorError] = field(default_factory=dict)

    def run(self) -> FailoverSurvey:
        """Reads all of it once. The ledger is read after the checkpoints, so it knows no less than they do."""
        flow, context, target, topics = self.move.flow, self.move.context, self.move.sides.target, self.move.topics
        stored, damaged = read_stored(target, context.clients.target_consumer, context.checkpoints_topic)
        state = read_state(flow, target)
        check_handed_back(state.decisions)
        records = state.view.records
        self.findings += map(stop, state.view.unreadable.values())
        self.findings += report_wave_topics(self.move.wave, topics)
        wave_records = {tp: record for tp, record in records.items() if tp.topic in topics.names}
        remotes = {TopicPartition(record.target_topic, tp.partition): tp for tp, record in wave_records.items()}
        names = self._select_groups(stored, remotes)
        # With the wave move positions in its topics, and in topics of the target itself that the source had from there.
        others = {record.target_topic for record in records.values()}
        chosen = {key: noted for key, noted in stored.items() if key[0] in names and (key[1] in remotes or key[1].topic not in others)}
        logs = self._read_logs({remote for _, remote in chosen})
        shared_ends, silent = find_shared_ends(target, chosen, logs, context.request_seconds)
        committed = self.move.sides.target_groups.read_committed(names, self.refused)
        offsets = {(name, tp): position.offset for name, of_group in committed.items() for tp, position in of_group.items()}
        positions = find_positions(chosen, wave_records, logs, offsets, shared_ends)
        missing = find_missing_records(wave_records, _find_sightings(stored, remotes, wave_records))
        self.findings += report_positions(positions, flow.target)
        if silent:
            self.findings.append(stop(RemoteLogUnknown(flow.target, first_few(silent))))
        self.findings += report_missing(missing, self._read_last_beat())
        # Topics that are written on the target since a wave lose nothing with the source, so a group may stand on them too.
        staying = {tp for tp in records if tp.topic not in {*topics.names, *state.decisions.moved_topics}}
        self.findings += self._find_in_groups(stored, names, {records[tp].target_topic: tp.topic for tp in staying})
        self.findings += self._find_denials({*topics.names, *(remote.topic for remote in remotes)})
        self.findings += map(stop, (*damaged, *self.refused.values()))
        return FailoverSurvey(positions, missing, tuple(self.findings), committed)

    def _select_groups(self, stored: StoredCheckpoints, remotes: Collection[TopicPartition]) -> frozenset[str]:
        """The groups with a checkpoint in a topic of the wave, or those of them that its patterns take."""
        with_positions = frozenset(group for group, remote in stored if remote in remotes)
        if not self.move.wave.groups:
            return with_positions
        taken, unmatched = match_names(self.move.wave.groups, with_positions)
        for pattern in unmatched:
            names = "consumer group with a checkpoint in a topic of the wave"
            self.findings.append(stop(PatternMatchesNothing("--groups", pattern, names)))
        return taken

    def _read_logs(self, remotes: Collection[TopicPartition]) -> dict[TopicPartition, PartitionLog]:
        target = self.move.sides.target
        topics = target.topics({remote.topic for remote in remotes}, self.refused)
        logs = target.log_offsets([remote for remote in remotes if remote.topic in topics], self.refused)
        return {tp: PartitionLog(topics[tp.topic].id, log) for tp, log in logs.items() if min(log.start, log.end) >= 0}

    def _find_in_groups(self, stored: StoredCheckpoints, names: Collection[str], staying: Mapping[str, str]) -> Iterator[Finding]:
        """`staying`: the topics that do not move, by their remote topics."""
        for name, group in describe_groups(self.move.sides.target, names, self.refused).items():
            if group.members:
                yield stop(GroupActiveOnTarget(name, describe_members(group.members), self.move.flow.target))
        for name in sorted(names):
            others = sorted({staying[remote.topic] for group, remote in stored if group == name and remote.topic in staying})
            if others:
                yield stop(GroupSplit(name, others))
        if self.move.topics.names and not names:
            yield warning(NoGroups(self.move.context.checkpoints_topic))

    def _find_denials(self, topics: Collection[str]) -> Iterable[Finding]:
        """What the target's ACLs deny producers of these topics."""
        target = self.move.sides.target
        try:
            return tuple(find_denials(topic_acls(target) or (), topics, target.alias))
        except AuthorizationRefused:
            said = f"Cluster '{target.alias}' does not let the mirror DESCRIBE the cluster"
            return (information("FenceUnknown", f"{said}, so it is unknown whether ACLs refuse producers there."),)
        except MirrorError as error:
            return (warning(error),)

    def _read_last_beat(self) -> datetime | None:
        """The newest heartbeat that came through the flow; its own beat is written to the target, and says nothing of the source."""
        try:
            paths = heartbeat_paths(self.move.flow, self.move.sides.target)
        except MirrorError as error:
            self.findings.append(warning(error))
            return None
        return max((path.time for path in paths if len(path.path) > 2), default=None)


def _find_sightings(
    stored: StoredCheckpoints, remotes: Mapping[TopicPartition, TopicPartition], records: Mapping[TopicPartition, LedgerRecord]
) -> dict[TopicPartition, list[EndSighting]]:
    """How far groups had read each partition, as those of their checkpoints say that are not of a topic that is gone."""
    sightings: dict[TopicPartition, list[EndSighting]] = {}
    for (group, remote), checkpoint in stored.items():
        if remote in remotes and (checkpoint.logs is None or checkpoint.logs.source.topic_id == records[remotes[remote]].source_topic_id):
            sighting = EndSighting(checkpoint.checkpoint.upstream, read_time(checkpoint), f"the checkpoint of the group {show(group)}")
            sightings.setdefault(remotes[remote], []).append(sighting)
    return sightings


def find_shared_ends(
    target: Cluster, checkpoints: StoredCheckpoints, logs: Mapping[TopicPartition, PartitionLog], seconds: float
) -> tuple[dict[tuple[str, TopicPartition], int], tuple[TopicPartition, ...]]:
    """Up to where each checkpoint's log is still the one, by group and partition, and the partitions whose leaders did not answer.

    It looks no further than the checkpoint's position. One that does not note its leader epoch has no answer, nor has one of another topic.
    Each question may take `seconds`."""
    positions: dict[tuple[str, TopicPartition], LogPosition] = {}
    older: set[LogPosition] = set()
    for key, stored in checkpoints.items():
        there, note = logs.get(key[1]), stored.logs and stored.logs.target
        if there is None or there.log is None or not note or note.topic_id != there.topic_id or note.leader_epoch is None:
            continue
        positions[key] = LogPosition(key[1], note.leader_epoch, stored.checkpoint.downstream)
        if note.leader_epoch != there.log.leader_epoch:
            older.add(positions[key])
    ends = target.find_shared_ends(older, seconds)
    silent = {position.partition for position in older - ends.keys()}
    ends_by_key = {
        key: min(position.offset, ends.get(position, position.offset)) for key, position in positions.items() if key[1] not in silent
    }
    return ends_by_key, tuple(sorted(silent))


def find_denials(acls: Iterable[Acl], topics: Collection[str], target: str) -> Iterator[Finding]:
    """A warning for each topic to which an ACL denies writing, with the commands that remove it."""
    denials: dict[str, list[Acl]] = {}
    for acl in sorted(acls):
        if acl.topic in topics and acl.permission == "DENY" and acl.operation in WRITES:
            denials.setdefault(acl.topic, []).append(acl)
    for topic, of_topic in denials.items():
        command = "kafka-acls.sh --bootstrap-server <target> --remove --force"
        removals: list[Part] = []
        for acl in of_topic:
            who = f"--deny-principal {shlex.quote(acl.principal)} --deny-host {shlex.quote(acl.host)} --operation {acl.operation}"
            removals += [*([", "] if removals else []), Command(f"{command} --topic {acl.topic} {who}")]
        error = replace(FenceOfEarlierWave(topic, target, first_few(of_topic)).report(), topic=topic)
        yield warning(error.with_next("Remove them before producers start, unless another person set them: ", *removals, "."))
