"""What the control topic keeps of one group for the undo of `group-offsets`: where it stood before each of the newest runs. Pure.

A run notes a group before it commits for it. The runs of a history follow on each other: only the mirror moved the group in between.
As soon as somebody did, the history begins again, for an undo over that would put back what is not wanted any more.

It is the `document` of the note GROUP_OFFSETS. Field names and meanings are for keeps.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_mirror.groups.group_move import GroupMove, Positions, facts_of_move, move_from_facts

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
    """The opposite of `encode_history`. Raises ValueError, TypeError or KeyError for what is none."""
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
