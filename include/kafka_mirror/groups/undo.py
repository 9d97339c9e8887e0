"""The undo of `group-offsets` (`group-offsets --undo RUN`): what the control topic keeps for it, and how a run is taken back.

A run notes where a group stands before it commits for it; the newest runs are kept. The runs of a history follow on each other: only the
mirror moved the group in between. A commit of another client begins the history again, for an undo over that would put back what is not
wanted any more. Two runs at a time for one group leave the note of one of them. A history is the `document` of the note GROUP_OFFSETS.
Field names and meanings are for keeps.

An undo gives each group what it had on the target before that run, where a position of the mirror's still stands. What somebody else
committed since, groups with members, and what a cutover moved stay as they are.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kafka_mirror.errors import ControlUnreadable, ErrorReport, GroupRunUnknown, GroupUndoFailed, MirrorError
from kafka_mirror.errors.words import first_few, show
from kafka_mirror.formats.documents import to_columns
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupContext, group_context, open_control
from kafka_mirror.groups.group_move import (
    GroupMove,
    GroupUndo,
    Positions,
    explain_unfit,
    facts_of_move,
    find_unlike,
    move_from_facts,
    plan_undo,
)
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups, read_positions
from kafka_mirror.ledger.clusters import collect_decisions
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import GROUP_OFFSETS, Decision
from kafka_mirror.ledger.decisions import Decisions, moment_after
from kafka_mirror.ledger.step import StepResult

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

VERSION = 1
KEPT_RUNS = 5
"""How many runs of a group are kept; what the oldest of them changed includes the runs before it that belong to its history."""
MAX_BYTES = 900_000
"""Of a document: Kafka's `max.message.bytes` is 1,048,588 for the whole batch unless somebody changed it."""

_WHO = "group-offsets"
UNDONE, AS_BEFORE, LEFT_ALONE, NOT_UNDONE = "undone", "as before", "left alone", "failed"
_EXAMPLES = 3
_NEXT_RUN = "The next run of group-offsets commits again: pause its DAG, or set sync.group.offsets.enabled = false."


@dataclass(frozen=True)
class GroupRun:
    """One run that committed for a group: its name, and what it changed."""

    run: str
    move: GroupMove


@dataclass(frozen=True)
class CommitHistory:
    """The newest runs that committed for a group, oldest first."""

    runs: tuple[GroupRun, ...] = ()

    def extend(self, run: str, there: Positions, write: Positions) -> "CommitHistory":
        """The history once `run` commits `write` for the group, which stands on the target as `there` says. A run may commit more than
        once, for it may have been killed."""
        runs = () if self._is_broken(there) else self.runs
        move = GroupMove({tp: there.get(tp) for tp in write}, dict(write))
        if runs and runs[-1].run == run:
            return CommitHistory((*runs[:-1], GroupRun(run, merge_moves([runs[-1].move, move]))))
        return _shorten((*runs, GroupRun(run, move)), KEPT_RUNS)

    def since(self, run: str) -> GroupMove | None:
        """What this run and all later ones changed; None if the run is not kept."""
        number = self._read_number(run)
        return None if number is None else merge_moves([entry.move for entry in self.runs[number:]])

    def before(self, run: str) -> "CommitHistory":
        """The history without this run and all later ones."""
        return CommitHistory(self.runs[: self._read_number(run)])

    def _read_number(self, run: str) -> int | None:
        return next((number for number, entry in enumerate(self.runs) if entry.run == run), None)

    def _is_broken(self, there: Positions) -> bool:
        return bool(self.runs) and bool(merge_moves([entry.move for entry in self.runs]).foreign(there))


def merge_moves(moves: Sequence[GroupMove]) -> GroupMove:
    """Moves that follow on each other as one: from before the first to after the last, over the positions in between."""
    before: dict[Any, Any] = {}
    after: dict[Any, Any] = {}
    between: dict[Any, set[int]] = {}
    for move in moves:
        for tp, offsets in move.earlier.items():
            between.setdefault(tp, set()).update(offsets)
        for tp, committed in move.before.items():
            if tp not in before:
                before[tp] = committed
            elif committed is not None:
                between.setdefault(tp, set()).add(committed.offset)
        for tp, committed in move.after.items():
            if tp in after:
                between.setdefault(tp, set()).add(after[tp].offset)
            after[tp] = committed
    earlier = {tp: tuple(sorted(offsets - {after[tp].offset})) for tp, offsets in between.items() if tp in after}
    return GroupMove(before, after, earlier={tp: offsets for tp, offsets in earlier.items() if offsets})


def _shorten(runs: tuple[GroupRun, ...], most: int) -> CommitHistory:
    """The history with at most KEPT_RUNS runs: the oldest takes in those after it, as long as there are too many."""
    while len(runs) > most:
        first, second, *later = runs
        whole = merge_moves([first.move, second.move])
        # What lay between is of no use any more: the next run noted where the group stood after them.
        runs = (GroupRun(first.run, GroupMove(whole.before, whole.after)), *later)
    return CommitHistory(runs)


# ------------------------------------------------------------ as a document


def encode_history(history: CommitHistory) -> str:
    """The history as the document of a GROUP_OFFSETS. One that is too large for a record is kept as one run, named by its oldest; where
    even that is too large nothing is kept, and nothing can be taken back."""
    for most in (KEPT_RUNS, 1):
        text = _write_text(_shorten(history.runs, most))
        if len(text.encode()) <= MAX_BYTES:
            return text
    return _write_text(CommitHistory())


def decode_history(document: str) -> CommitHistory:
    """The history that the document of a GROUP_OFFSETS holds. Raises ValueError, TypeError or KeyError for what is none."""
    fields: Mapping[str, Any] = json.loads(document)
    if fields["v"] != VERSION:
        raise ValueError(f"its version is {fields['v']!r}, and this mirror knows version {VERSION}")
    return CommitHistory(tuple(GroupRun(str(entry["run"]), _read_move(entry)) for entry in fields["runs"]))


def _write_text(history: CommitHistory) -> str:
    runs = [{"run": entry.run, **facts_of_move(entry.move)} for entry in history.runs]
    return json.dumps({"v": VERSION, "runs": runs}, separators=(",", ":"), ensure_ascii=False)


def _read_move(entry: Mapping[str, Any]) -> GroupMove:
    move = move_from_facts(entry)
    if move is None:
        raise ValueError("a run says nothing of before")
    return move


class CommitNotes:
    """The notes of one flow, as its control topic had them when it was read."""

    def __init__(self, control: Control, decisions: Decisions, replication_factor: int) -> None:
        self._control = control
        self._decisions = decisions
        self._replication_factor = replication_factor
        self._documents = decisions.list_notes(GROUP_OFFSETS)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of which something is noted."""
        return tuple(sorted(self._documents))

    def of_group(self, group: str) -> CommitHistory:
        """The history of a group; empty if nothing is noted. Raises ControlUnreadable."""
        note = self._documents.get(group)
        try:
            return decode_history(note.document or "") if note is not None else CommitHistory()
        except (ValueError, TypeError, KeyError, AttributeError) as failure:
            where = f"{self._control.topic}, the note of the group {group}"
            raise ControlUnreadable(where, f"{type(failure).__name__}: {failure}") from failure

    def keep_commits(self, run: str, there: Mapping[str, Positions], writes: Mapping[str, Positions]) -> None:
        """Notes where the groups stand and what the run is about to commit for them; acknowledged by all replicas when this returns."""
        self.keep({group: self.of_group(group).extend(run, there[group], positions) for group, positions in writes.items()}, run)

    def keep(self, histories: Mapping[str, CommitHistory], run: str) -> None:
        """Notes these histories in the place of those before."""
        if not histories:
            return
        if not self._control.exists():
            self._control.create(self._replication_factor)
        when = moment_after(self._decisions, (), datetime.now(UTC))
        self._control.note(
            [Decision(GROUP_OFFSETS, _WHO, when, run, group, document=encode_history(history)) for group, history in histories.items()]
        )


# ------------------------------------------------------------ the undo


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
        states = self._groups.list_groups()
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
