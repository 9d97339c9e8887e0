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

from kafka_mirror.errors import ControlUnreadable, GroupRunUnknown, GroupUndoFailed, MirrorError
from kafka_mirror.errors.words import first_few, show
from kafka_mirror.formats.documents import to_columns
from kafka_mirror.groups.context import group_context, open_control
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
        is_broken = bool(merge_moves([entry.move for entry in self.runs]).find_foreign(there))
        runs = () if is_broken else self.runs
        move = GroupMove({tp: there.get(tp) for tp in write}, dict(write))
        if runs and runs[-1].run == run:
            return CommitHistory((*runs[:-1], GroupRun(run, merge_moves([runs[-1].move, move]))))
        return _shorten((*runs, GroupRun(run, move)), KEPT_RUNS)

    def merge_since(self, run: str) -> GroupMove | None:
        """What this run and all later ones changed; None if the run is not kept."""
        number = self._find(run)
        return None if number is None else merge_moves([entry.move for entry in self.runs[number:]])

    def cut_before(self, run: str) -> "CommitHistory":
        """The history without this run and all later ones."""
        return CommitHistory(self.runs[: self._find(run)])

    def _find(self, run: str) -> int | None:
        return next((number for number, entry in enumerate(self.runs) if entry.run == run), None)


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
    runs = []
    for entry in fields["runs"]:
        move = move_from_facts(entry)
        if move is None:
            raise ValueError("a run says nothing of before")
        runs.append(GroupRun(str(entry["run"]), move))
    return CommitHistory(tuple(runs))


def _write_text(history: CommitHistory) -> str:
    runs = [{"run": entry.run, **facts_of_move(entry.move)} for entry in history.runs]
    return json.dumps({"v": VERSION, "runs": runs}, separators=(",", ":"), ensure_ascii=False)


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

    def read_history(self, group: str) -> CommitHistory:
        """The history of a group; empty if nothing is noted. Raises ControlUnreadable."""
        note = self._documents.get(group)
        try:
            return decode_history(note.document or "") if note is not None else CommitHistory()
        except (ValueError, TypeError, KeyError, AttributeError) as failure:
            where = f"{self._control.topic}, the note of the group {group}"
            raise ControlUnreadable(where, f"{type(failure).__name__}: {failure}") from failure

    def keep_commits(self, run: str, there: Mapping[str, Positions], writes: Mapping[str, Positions]) -> None:
        """Notes where the groups stand and what the run is about to commit for them; acknowledged by all replicas when this returns."""
        self.keep({group: self.read_history(group).extend(run, there[group], positions) for group, positions in writes.items()}, run)

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
        moved = {context.selection.display_name(topic): decision.wave or "" for topic, decision in decisions.moved_topics.items()}
        return Undo(Groups(target), notes, moved).run(run, target.alias, dry_run)


@dataclass
class Undo:
    """The undo of one run on the target. `moved`: the remote topics that a cutover moved, with the wave."""

    groups: Groups
    notes: CommitNotes
    moved: Mapping[str, str]

    def run(self, run: str, target: str, dry_run: bool) -> StepResult:
        """Puts back, looks whether it stands there, and notes that it is done."""
        histories = {group: self.notes.read_history(group) for group in self.notes.groups}
        moves = {group: move for group, history in histories.items() if (move := history.merge_since(run)) is not None}
        if not moves:
            counts = Counter(entry.run for history in histories.values() for entry in history.runs)
            raise GroupRunUnknown(run, target, tuple(name for name, _ in counts.most_common()))
        there = read_positions(self.groups, moves)
        listed = self.groups.list_groups()
        alone = {}
        for group, move in moves.items():
            topics = sorted({tp.topic for tp in move.before if tp.topic in self.moved})
            reason = f"the wave {self.moved[topics[0]]} moved {', '.join(topics)}" if topics else ""
            if reason := explain_unfit(listed.get(group)) or reason:
                alone[group] = reason
        undo = {group: plan_undo(move, there[group]) for group, move in moves.items() if group not in alone}
        failed = {} if dry_run else self._write(moves, undo)
        if not dry_run:
            self.notes.keep({group: histories[group].cut_before(run) for group in undo if group not in failed}, run)
        outcomes = [_judge(group, undo.get(group), alone.get(group, ""), failed.get(group, ())) for group in sorted(moves)]
        states = Counter(outcome.state for outcome in outcomes)
        totals = {"groups": len(outcomes), "states": dict(sorted(states.items()))}
        result = to_columns(("group", "state", "restored", "deleted", "reason"), outcomes)
        errors = tuple(GroupUndoFailed(of.group, target, of.reason).report() for of in outcomes if of.state == NOT_UNDONE)
        return StepResult(result, totals, tuple(_write_lines(outcomes, dry_run)), errors)

    def _write(self, moves: Mapping[str, GroupMove], undo: Mapping[str, GroupUndo]) -> dict[str, list[str]]:
        """Commits and deletes, and gives what does not stand there afterwards as it should, by group."""
        changes = {group: plan for group, plan in undo.items() if not plan.is_nothing}
        errors: dict[str, MirrorError] = {}
        answers = [self.groups.commit({group: plan.commit for group, plan in changes.items() if plan.commit}, errors)]
        answers.append(self.groups.delete({group: of.delete for group, of in changes.items() if of.delete and group not in errors}, errors))
        refused: dict[str, list[str]] = {}
        for group, places in [pair for answer in answers for pair in answer.items() if pair[1]]:
            refused.setdefault(group, []).extend(f"{tp} ({why})" for tp, why in sorted(places.items()))
        for group, error in errors.items():
            refused.setdefault(group, []).append(error.message)
        wanted = {group: {tp: moves[group].before[tp] for tp in (*plan.commit, *plan.delete)} for group, plan in changes.items()}
        return dict(find_unlike(wanted, read_positions(self.groups, changes))) | refused


def _judge(group: str, undo: GroupUndo | None, alone: str, failed: Collection[str]) -> UndoOutcome:
    if undo is None:
        return UndoOutcome(group, LEFT_ALONE, reason=alone)
    if failed:
        return UndoOutcome(group, NOT_UNDONE, reason=f"does not stand where it should: {first_few(failed, most=_EXAMPLES)}")
    foreign = [f"{tp}@{offset}" for tp, offset in undo.foreign.items()]
    reason = f"moved since by somebody else, so it stays in {first_few(foreign, most=_EXAMPLES)}" if foreign else ""
    state = LEFT_ALONE if undo.is_nothing and foreign else AS_BEFORE if undo.is_nothing else UNDONE
    return UndoOutcome(group, state, len(undo.commit), len(undo.delete), reason)


def _write_lines(outcomes: Sequence[UndoOutcome], dry_run: bool) -> Iterator[str]:
    verb = "would be " if dry_run else ""
    for outcome in outcomes:
        counts = f"{outcome.restored} positions {verb}put back, {outcome.deleted} {verb}deleted, for there was none before"
        said = counts if outcome.state == UNDONE else outcome.state
        yield f"{show(outcome.group)}: {said}{'; ' + outcome.reason if outcome.reason else ''}"
    if any(outcome.state == UNDONE for outcome in outcomes):
        yield _NEXT_RUN
