"""The notes of groups for an undo, in the control topic: read there, and written before anything is committed.

Several parts of a step may note at a time, each its own groups. Two runs at a time for one group leave the note of one of them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from kafka_mirror.errors import ControlUnreadable
from kafka_mirror.groups.commit_history import CommitHistory, decode_history, encode_history
from kafka_mirror.groups.group_move import Positions
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import GROUP_OFFSETS, Decision
from kafka_mirror.ledger.decisions import Decisions, moment_after

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
