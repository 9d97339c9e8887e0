"""What the control topic keeps of a group for the undo of `group-offsets`: where it stood before each of the newest runs.

A run notes a group before it commits for it. The runs of a history follow on each other: only the mirror moved the group in between. A
commit of another client begins the history again, for an undo over that would put back what is not wanted any more. Two runs at a time for
one group leave the note of one of them.

It is the `document` of the note GROUP_OFFSETS. Field names and meanings are for keeps.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kafka_mirror.errors import ControlUnreadable
from kafka_mirror.groups.group_move import GroupMove, Positions, facts_of_move, move_from_facts
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import GROUP_OFFSETS, Decision
from kafka_mirror.ledger.decisions import Decisions, moment_after

VERSION = 1
KEPT_RUNS = 5
"""How many runs of a group are kept; what the oldest of them changed includes the runs before it that belong to its history."""
MAX_BYTES = 900_000
"""Of a document: Kafka's `max.message.bytes` is 1,048,588 for the whole batch unless somebody changed it."""


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
            return CommitHistory((*runs[:-1], GroupRun(run, merged([runs[-1].move, move]))))
        return _shorten((*runs, GroupRun(run, move)), KEPT_RUNS)

    def since(self, run: str) -> GroupMove | None:
        """What this run and all later ones changed; None if the run is not kept."""
        number = self._read_number(run)
        return None if number is None else merged([entry.move for entry in self.runs[number:]])

    def before(self, run: str) -> "CommitHistory":
        """The history without this run and all later ones."""
        return CommitHistory(self.runs[: self._read_number(run)])

    def _read_number(self, run: str) -> int | None:
        return next((number for number, entry in enumerate(self.runs) if entry.run == run), None)

    def _is_broken(self, there: Positions) -> bool:
        return bool(self.runs) and bool(merged([entry.move for entry in self.runs]).foreign(there))


def merged(moves: Sequence[GroupMove]) -> GroupMove:
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
        whole = merged([first.move, second.move])
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


_WHO = "group-offsets"


class CommitNotes:
    """The notes of one flow, as its control topic had them when it was read."""

    def __init__(self, control: Control, decisions: Decisions, replication_factor: int) -> None:
        self._control = control
        self._decisions = decisions
        self._replication_factor = replication_factor
        self._documents = decisions.notes(GROUP_OFFSETS)

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
