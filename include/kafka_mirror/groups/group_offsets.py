"""Commits translated offsets on the target for groups that are idle there (`group-offsets`, KIP-545).

Positions in topics that a cutover moved to the target are left alone: the group goes on there by itself.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka_mirror.errors import ErrorReport, GroupOffsetsRefused, MirrorError
from kafka_mirror.errors.words import first_few, show
from kafka_mirror.formats.documents import to_columns
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupContext, Offsets, group_clusters, open_control
from kafka_mirror.groups.find import read_group_offsets
from kafka_mirror.groups.group_move import explain_unfit
from kafka_mirror.groups.group_translation import NOT_MIRRORED, GroupOffset, translate_groups
from kafka_mirror.groups.translation import no_answer
from kafka_mirror.groups.undo import CommitNotes
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import report_no_leader
from kafka_mirror.kafka.group_offsets import AT_ONCE
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.checks import check_closed
from kafka_mirror.ledger.clusters import check_ledger_name, check_two_clusters, collect_decisions
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.policy import TopicSelection

SYNCED, UP_TO_DATE, SKIPPED, FAILED = "synced", "up to date", "skipped", "failed"

CAME_TO_LIFE = {
    "UNKNOWN_MEMBER_ID",
    "REBALANCE_IN_PROGRESS",
    "ILLEGAL_GENERATION",
    "STALE_MEMBER_EPOCH",
    "FENCED_MEMBER_EPOCH",
    "FENCED_INSTANCE_ID",
    "UNRELEASED_INSTANCE_ID",
}
"""What a broker says of a commit without membership to a group that has members."""
_GONE = "UNKNOWN_TOPIC_OR_PARTITION"
_SHOWN = 50

Logs = Mapping[TopicPartition, tuple[int, int]]
"""Log start and end of partitions of the target."""


@dataclass(frozen=True)
class GroupOutcome:
    """What became of one group: how many partitions were committed, and why others, or all, were not."""

    group: str
    state: str
    synced: int = 0
    reason: str = ""


@dataclass(frozen=True)
class GroupOffsetsResult:
    """What was committed for some groups, or would be."""

    groups: tuple[GroupOutcome, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    run: str = ""
    """The name by which an undo knows what was committed; empty where nothing was noted."""

    def __add__(self, other: "GroupOffsetsResult") -> "GroupOffsetsResult":
        errors = self.errors + tuple(error for error in other.errors if error not in self.errors)
        return GroupOffsetsResult(self.groups + other.groups, errors, self.run or other.run)


def synchronise(context: GroupContext, names: Collection[str], dry_run: bool = False) -> GroupOffsetsResult:
    """Commits for these groups. Raises FlowClosed, and what concerns a cluster as a whole."""
    with group_clusters(context) as (source, target, groups, target_groups):
        check_two_clusters(source, target, context.selection.is_one_cluster)
        selected = read_group_offsets(groups, names, context.selection.topic_filter)
        control = open_control(context, target)
        decisions = collect_decisions(control)
        check_closed(decisions)
        check_ledger_name(context.policy.ledger_topic(context.source), context.source, target, decisions)
        remaining, moved = leave_out_moved(selected.offsets, decisions, context.selection)
        translated = translate_groups(context, remaining, source, target)
        notes = CommitNotes(control, decisions, context.control_replication_factor)
        synced = _Target(target, target_groups, notes, context.run, dry_run).sync(translated.offsets)
    outcomes = {outcome.group: outcome for outcome in synced.groups}
    for name, reason in moved.items():  # a group of which everything moved is skipped
        outcome = outcomes.get(name, GroupOutcome(name, SKIPPED))
        outcomes[name] = replace(outcome, reason="; ".join(filter(None, (outcome.reason, reason))))
    return GroupOffsetsResult((), (*selected.errors, *translated.errors)) + replace(synced, groups=tuple(outcomes.values()))


def leave_out_moved(offsets: Offsets, decisions: Decisions, selection: TopicSelection) -> tuple[Offsets, dict[str, str]]:
    """The positions that did not move, and for each group that has others why these are left alone.

    A group moves with all its topics. So its positions in what the source has from the target moved with them.
    """
    topics = {tp.topic for positions in offsets.values() for tp in positions}
    moved = {topic: decision for topic in topics if (decision := decisions.find_moved(topic)) is not None}
    remaining: dict[str, Mapping[TopicPartition, Committed]] = {}
    reasons: dict[str, str] = {}
    for group, positions in offsets.items():
        away = sorted({tp.topic for tp in positions if tp.topic in moved})
        if not away:
            remaining[group] = positions
            continue
        stays = {tp: at for tp, at in positions.items() if tp.topic not in moved and selection.from_target(tp.topic) is None}
        if stays:
            remaining[group] = stays
        reasons[group] = f"left alone, for the wave {moved[away[0]].wave} moved {', '.join(away)} to the target"
    return remaining, reasons


def step_result(synced: GroupOffsetsResult, dry_run: bool) -> StepResult:
    """The step's answer."""
    groups = sorted(synced.groups, key=lambda outcome: outcome.group)
    result = to_columns(("group", "state", "synced", "reason"), groups)
    states = Counter(outcome.state for outcome in groups)
    totals = {"groups": len(groups), "states": dict(sorted(states.items())), "synced": sum(outcome.synced for outcome in groups)}
    undo = [f"`group-offsets --undo '{synced.run}'` takes back what was committed."] if synced.run else []
    return StepResult(result, totals, (*_write_lines(groups, states, dry_run), *undo), synced.errors)


@dataclass
class _Wanted:
    """What one group should have: positions by remote partition, what to commit with them, and partitions without an answer."""

    positions: dict[TopicPartition, int] = field(default_factory=dict)
    metadata: dict[TopicPartition, str] = field(default_factory=dict)
    unanswered: list[GroupOffset] = field(default_factory=list)


@dataclass(frozen=True)
class CommitPlan:
    """What is committed, and the partitions for which nothing is: where the group stands already, stands further on, or whose remote
    partition is not there."""

    write: Mapping[TopicPartition, int]
    there: tuple[TopicPartition, ...] = ()
    ahead: tuple[TopicPartition, ...] = ()
    missing: tuple[TopicPartition, ...] = ()


def plan_commit(translated: Mapping[TopicPartition, int], committed: Mapping[TopicPartition, int], logs: Logs) -> CommitPlan:
    """Compares what was translated with what the group has on the target; `logs` are log start and end there.

    A group is never moved back (KIP-545), and never to a position that its partition does not have.
    """
    write: dict[TopicPartition, int] = {}
    there: list[TopicPartition] = []
    ahead: list[TopicPartition] = []
    missing: list[TopicPartition] = []
    for tp, offset in translated.items():
        if tp not in logs:
            missing.append(tp)
            continue
        start, end = logs[tp]
        wanted, present = min(max(offset, start), end), committed.get(tp)
        if present is None or present < wanted:
            write[tp] = wanted
        else:
            (there if present == wanted else ahead).append(tp)
    return CommitPlan(write, tuple(there), tuple(ahead), tuple(missing))


@dataclass
class _Target:
    """The target's groups, looked at directly before they are written to."""

    cluster: Cluster
    groups: Groups
    notes: CommitNotes
    run: str
    dry_run: bool

    def sync(self, offsets: Iterable[GroupOffset]) -> GroupOffsetsResult:
        """Some hundred groups at a time, so that little time lies between the look and the commit."""
        offsets = list(offsets)
        logs, leaderless = self._read_logs({offset.remote for offset in offsets if offset.translated.target is not None})
        wanted = _sort_by_group(offsets, leaderless)
        said = f"Cluster '{self.cluster.alias}': {{}} has no leader, so its offsets are unknown. None was committed for it."
        errors = tuple(report_no_leader(tp, said.format(tp)).report() for tp in sorted(leaderless))
        names, synced = sorted(wanted), GroupOffsetsResult(errors=errors)
        for first in range(0, len(names), AT_ONCE):
            synced += self._sync({name: wanted[name] for name in names[first : first + AT_ONCE]}, logs)
        return synced

    def _read_logs(self, partitions: Collection[TopicPartition]) -> tuple[Logs, set[TopicPartition]]:
        """Log start and end of each partition that is there and has a leader, and those that are there without one."""
        topics = self.cluster.topics({tp.topic for tp in partitions})
        there = [tp for tp in partitions if tp.topic in topics and tp.partition < len(topics[tp.topic].partitions)]
        starts, ends = self.cluster.offsets(there, "earliest"), self.cluster.offsets(there, "latest")
        logs = {tp: (starts[tp], ends[tp]) for tp in there if tp in starts and tp in ends}
        return logs, set(there) - logs.keys()

    def _sync(self, wanted: Mapping[str, _Wanted], logs: Logs) -> GroupOffsetsResult:
        # The state first: a member that joins and commits after it is found by the look at the offsets, or refused by the broker.
        states = self.groups.list_groups()
        errors: dict[str, MirrorError] = {}
        idle = {name: wanted_group for name, wanted_group in wanted.items() if not explain_unfit(states.get(name))}
        committed = self.groups.read_committed(idle, errors)
        decided = {
            name: plan_commit(wanted_group.positions, {tp: offset.offset for tp, offset in committed[name].items()}, logs)
            for name, wanted_group in idle.items()
            if name in committed
        }
        refused = self._commit(decided, wanted, committed, errors)
        reports = [errors[name].report() for name in sorted(errors)]
        outcomes = []
        for name, wanted_group in wanted.items():
            if name in errors:
                outcomes.append(GroupOutcome(name, FAILED, 0, errors[name].message))
            elif name not in decided:
                outcomes.append(GroupOutcome(name, SKIPPED, 0, explain_unfit(states.get(name))))
            else:
                reasons = refused.get(name, {})
                outcomes.append(_judge(name, wanted_group, decided[name], reasons))
                other = {tp: why for tp, why in sorted(reasons.items()) if why != _GONE and why not in CAME_TO_LIFE}
                reports += [GroupOffsetsRefused(name, *tp, why).report() for tp, why in other.items()]
        is_noted = any(outcome.synced for outcome in outcomes) and not self.dry_run
        return GroupOffsetsResult(tuple(outcomes), tuple(reports), self.run if is_noted else "")

    def _commit(
        self, decided: Mapping[str, CommitPlan], wanted: Mapping[str, _Wanted], committed: Offsets, errors: dict[str, MirrorError]
    ) -> dict[str, dict[TopicPartition, str]]:
        """Commits what is decided, once it is noted what stands there (`committed`)."""
        if self.dry_run:
            return {}
        writes = {
            name: {tp: Committed(offset, wanted[name].metadata[tp]) for tp, offset in commit.write.items()}
            for name, commit in decided.items()
            if commit.write
        }
        self.notes.keep_commits(self.run, committed, writes)
        return self.groups.commit(writes, errors)


def _sort_by_group(offsets: Iterable[GroupOffset], leaderless: Collection[TopicPartition]) -> dict[str, _Wanted]:
    wanted: dict[str, _Wanted] = {}
    for offset in offsets:
        group = wanted.setdefault(offset.group, _Wanted())
        if offset.translated.target is None:
            group.unanswered.append(offset)
        elif offset.remote in leaderless:
            group.unanswered.append(replace(offset, translated=no_answer("the remote partition has no leader")))
        else:
            group.positions[offset.remote] = offset.translated.target
            group.metadata[offset.remote] = offset.committed.metadata
    return wanted


def _judge(name: str, wanted: _Wanted, decided: CommitPlan, refused: Mapping[TopicPartition, str]) -> GroupOutcome:
    alive = [tp for tp, why in refused.items() if why in CAME_TO_LIFE]
    gone = [*decided.missing, *(tp for tp, why in refused.items() if why == _GONE)]
    other = [f"{tp}: {why}" for tp, why in refused.items() if why != _GONE and why not in CAME_TO_LIFE]
    reasons = [
        "it came to life on the target and is left alone" if alive else "",
        f"further on on the target in {first_few(decided.ahead, most=3)}" if decided.ahead else "",
        f"no remote partition for {first_few(gone, most=3)}" if gone else "",
        f"refused: {first_few(other, most=3)}" if other else "",
        *(f"no answer for {offset}: {offset.translated.reason}" for offset in wanted.unanswered[:3]),
        f"and {len(wanted.unanswered) - 3} more without an answer" if len(wanted.unanswered) > 3 else "",
    ]
    synced = len(decided.write) - len(refused)
    waits = alive or gone or any(offset.translated.reason != NOT_MIRRORED for offset in wanted.unanswered)
    state = FAILED if other else SYNCED if synced else UP_TO_DATE if decided.there and not waits else SKIPPED
    return GroupOutcome(name, state, synced, "; ".join(filter(None, reasons)))


def _write_lines(groups: Sequence[GroupOutcome], states: Counter[str], dry_run: bool) -> Iterator[str]:
    verb = "would be " if dry_run else ""
    shown_outcomes = [outcome for outcome in groups if outcome.state != UP_TO_DATE or outcome.reason]
    for outcome in shown_outcomes[:_SHOWN]:
        count = f"{verb}synced in {outcome.synced} partitions" if outcome.state == SYNCED else outcome.state
        yield f"{show(outcome.group)}: {count}{'; ' + outcome.reason if outcome.reason else ''}"
    if len(shown_outcomes) > _SHOWN:
        yield f"… and {len(shown_outcomes) - _SHOWN:,} more."
    yield f"{len(groups):,} groups: " + (", ".join(f"{count:,} {state}" for state, count in sorted(states.items())) or "none") + "."
