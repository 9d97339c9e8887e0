"""Takes back what runs of `group-offsets` committed (`group-offsets --undo RUN`), by what they noted before they did it.

Each group gets back what it had on the target before that run, where a position of the mirror's still stands. What somebody else committed
since, groups with members, and what a cutover moved stay as they are.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_mirror.errors import ErrorReport, GroupRunUnknown, GroupUndoFailed, MirrorError
from kafka_mirror.errors.display import show
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.documents import to_columns
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.commit_history import CommitHistory, CommitNotes
from kafka_mirror.groups.context import GroupContext, group_context, open_control
from kafka_mirror.groups.group_move import GroupMove, GroupUndo, Positions, find_unlike, plan_undo
from kafka_mirror.groups.group_offsets import explain_unfit
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups, read_positions
from kafka_mirror.ledger.clusters import collect_decisions
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.step import StepResult

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

UNDONE, AS_BEFORE, LEFT_ALONE, NOT_UNDONE = "undone", "as before", "left alone", "failed"
_EXAMPLES = 3
_NEXT_RUN = "The next run of group-offsets commits again: pause its DAG, or set sync.group.offsets.enabled = false."


@dataclass(frozen=True)
class UndoOutcome:
    """What became of one group: how many positions were put back and how many deleted, and why others stay."""

    group: str
    state: str
    restored: int = 0
    deleted: int = 0
    reason: str = ""


def undo_step(flow: "Flow", run: str, dry_run: bool = False) -> StepResult:
    """Takes back this run and all later ones, of each group for which it committed. Raises GroupRunUnknown, and what concerns the target as
    a whole."""
    context = group_context(flow)
    with Cluster(context.target, context.clients.target_admin, context.request_seconds) as target:
        control = open_control(context, target)
        decisions = collect_decisions(control)
        notes = CommitNotes(control, decisions, context.control_replication_factor)
        return Undo(Groups(target), notes, _find_moved_remotes(context, decisions)).run(run, target.alias, dry_run)


class Undo:
    """The undo of one run on the target."""

    def __init__(self, groups: Groups, notes: CommitNotes, moved: Mapping[str, str]) -> None:
        """`moved`: the remote topics that a cutover moved, with the wave."""
        self._groups = groups
        self._notes = notes
        self._moved = moved

    def run(self, run: str, target: str, dry_run: bool) -> StepResult:
        """Puts back, looks whether it stands there, and notes that it is done."""
        histories = {group: self._notes.of_group(group) for group in self._notes.groups}
        moves = {group: move for group, history in histories.items() if (move := history.since(run)) is not None}
        if not moves:
            raise GroupRunUnknown(run, target, _list_runs(histories))
        there = read_positions(self._groups, moves)
        states = self._groups.listed()
        alone = {group: reason for group in moves if (reason := explain_unfit(states.get(group)) or self._explain_moved(moves[group]))}
        undo = {group: plan_undo(move, there[group]) for group, move in moves.items() if group not in alone}
        failed = {} if dry_run else self._write(moves, undo)
        if not dry_run:
            self._notes.keep({group: histories[group].before(run) for group in undo if group not in failed}, run)
        outcomes = [_judge(group, undo.get(group), alone.get(group, ""), failed.get(group, ())) for group in sorted(moves)]
        return _summarize(outcomes, target, dry_run)

    def _write(self, moves: Mapping[str, GroupMove], undo: Mapping[str, GroupUndo]) -> dict[str, list[str]]:
        """Commits and deletes, and gives what does not stand there afterwards as it should, by group."""
        changes = {group: plan for group, plan in undo.items() if not plan.is_nothing}
        commit = {group: plan.commit for group, plan in changes.items()}
        delete = {group: plan.delete for group, plan in changes.items()}
        refused = _write_positions(self._groups, commit, delete)
        wanted = {group: {tp: moves[group].before[tp] for tp in (*plan.commit, *plan.delete)} for group, plan in changes.items()}
        return dict(find_unlike(wanted, read_positions(self._groups, changes))) | refused

    def _explain_moved(self, move: GroupMove) -> str:
        topics = sorted({tp.topic for tp in move.before if tp.topic in self._moved})
        return f"the wave {self._moved[topics[0]]} moved {', '.join(topics)}" if topics else ""


def _write_positions(
    groups: Groups, commit: Mapping[str, Positions], delete: Mapping[str, Sequence[TopicPartition]]
) -> dict[str, list[str]]:
    """Commits each group's positions in one request and deletes others in one; gives what was refused, in words, by group."""
    errors: dict[str, MirrorError] = {}
    refused = groups.commit({name: positions for name, positions in commit.items() if positions}, errors)
    reasons = {name: [f"{tp} ({why})" for tp, why in sorted(of_group.items())] for name, of_group in refused.items()}
    deleted = groups.delete({name: partitions for name, partitions in delete.items() if partitions and name not in errors}, errors)
    for name, of_group in deleted.items():
        reasons.setdefault(name, []).extend(f"{tp} ({why})" for tp, why in sorted(of_group.items()))
    for name, error in errors.items():
        reasons.setdefault(name, []).append(error.message)
    return {name: words for name, words in reasons.items() if words}


def _find_moved_remotes(context: GroupContext, decisions: Decisions) -> dict[str, str]:
    """The remote topics that are written on the target since a cutover, with its wave."""
    moved = decisions.moved_topics.items()
    return {context.selection.display_name(topic): decision.wave or "" for topic, decision in moved}


def _list_runs(histories: Mapping[str, CommitHistory]) -> tuple[str, ...]:
    """The runs that are kept, those of most groups first."""
    counts = Counter(entry.run for history in histories.values() for entry in history.runs)
    return tuple(run for run, _ in counts.most_common())


def _judge(group: str, undo: GroupUndo | None, alone: str, failed: Collection[str]) -> UndoOutcome:
    if undo is None:
        return UndoOutcome(group, LEFT_ALONE, reason=alone)
    if failed:
        return UndoOutcome(group, NOT_UNDONE, reason=f"does not stand where it should: {first_few(failed, most=_EXAMPLES)}")
    foreign = [f"{tp}@{offset}" for tp, offset in undo.foreign.items()]
    reason = f"moved since by somebody else, so it stays in {first_few(foreign, most=_EXAMPLES)}" if foreign else ""
    state = LEFT_ALONE if undo.is_nothing and foreign else AS_BEFORE if undo.is_nothing else UNDONE
    return UndoOutcome(group, state, len(undo.commit), len(undo.delete), reason)


def _summarize(outcomes: Sequence[UndoOutcome], target: str, dry_run: bool) -> StepResult:
    states = Counter(outcome.state for outcome in outcomes)
    totals = {"groups": len(outcomes), "states": dict(sorted(states.items()))}
    result = to_columns(("group", "state", "restored", "deleted", "reason"), outcomes)
    return StepResult(result, totals, tuple(_write_lines(outcomes, dry_run)), tuple(_list_reports(outcomes, target)))


def _list_reports(outcomes: Sequence[UndoOutcome], target: str) -> Iterator[ErrorReport]:
    for outcome in outcomes:
        if outcome.state == NOT_UNDONE:
            yield GroupUndoFailed(outcome.group, target, outcome.reason).report()


def _write_lines(outcomes: Sequence[UndoOutcome], dry_run: bool) -> Iterator[str]:
    verb = "would be " if dry_run else ""
    for outcome in outcomes:
        counts = f"{outcome.restored} positions {verb}put back, {outcome.deleted} {verb}deleted, for there was none before"
        said = counts if outcome.state == UNDONE else outcome.state
        yield f"{show(outcome.group)}: {said}{'; ' + outcome.reason if outcome.reason else ''}"
    if any(outcome.state == UNDONE for outcome in outcomes):
        yield _NEXT_RUN
