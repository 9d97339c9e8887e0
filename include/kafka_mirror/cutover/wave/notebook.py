"""What a run notes of its wave while the steps work: the notes of WaveNotes, and the states of the steps. Pure: it keeps them in memory.

`wave_notes` has the notes that are written to the control topic, and those of a dry run, which stay here so that each step finds what the
one before would have noted.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kafka_mirror.cutover.wave.record import RUNNING, GroupNote, StepNote, WaveRecord, plain, shortened
from kafka_mirror.cutover.wave.step import WAITING, PositionsTransaction, StepOutcome

if TYPE_CHECKING:
    from kafka_mirror.kafka.model import Acl
    from kafka_mirror.ledger.control_records import Decision
    from kafka_mirror.ledger.decisions import Decisions

Groups = Mapping[str, GroupNote]


class WaveNotebook(ABC):
    """The notes of one wave by one run."""

    def __init__(self, record: WaveRecord, groups: Groups | None = None, held: Mapping[str, str] | None = None) -> None:
        self.record = record
        self.held = held or {}
        self._groups = dict(groups or {})

    @property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """The facts of every group of this attempt, by name."""
        return {group: note.facts for group, note in sorted(self._groups.items()) if note.attempt == self.record.attempt}

    def of_step(self, step: str) -> Mapping[str, Any]:
        """As in WaveNotes."""
        note = self.record.steps.get(step)
        return {} if note is None else note.facts

    def keep(self, step: str, facts: Mapping[str, Any]) -> None:
        """As in WaveNotes. A step for which something is noted ahead waits for its turn. Raises WaveRunElsewhere once another run has the
        wave."""
        note = self.record.steps.get(step) or StepNote(WAITING, self.record.who, self.record.began)
        self.write(self.record.with_step(step, replace(note, facts=plain(facts))))

    def of_group(self, group: str) -> Mapping[str, Any]:
        """As in WaveNotes; empty also for what an earlier attempt noted, which a roll back took back."""
        return self.groups.get(group, {})

    def keep_group(self, group: str, facts: Mapping[str, Any]) -> None:
        """As in WaveNotes."""
        self.keep_groups({group: facts})

    def keep_groups(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """As in WaveNotes."""
        self.write(self.record, {group: GroupNote(self.record.attempt, plain(of_group)) for group, of_group in facts.items()})

    @abstractmethod
    def check(self) -> None:
        """As in WaveNotes."""

    @abstractmethod
    def begin(self) -> PositionsTransaction:
        """As in WaveNotes."""

    @abstractmethod
    def claimed_acls(self) -> "frozenset[Acl]":
        """As in WaveNotes."""

    @abstractmethod
    def decide(self, decisions: "Callable[[Decisions], Sequence[Decision]]") -> None:
        """As in WaveNotes."""

    def start_step(self, step: str, who: str, now: int) -> None:
        """Notes that a step begins. What it noted before stays."""
        self.write(self.record.with_step(step, StepNote(RUNNING, who, now, facts=self.of_step(step))))

    def end_step(self, outcome: StepOutcome, now: int, state: str | None = None, *, with_next: bool = False) -> None:
        """Notes how a step ended, and its facts if it gives any; `state` says it otherwise than the outcome. `with_next`: the next note
        carries it, for each takes its time, and a wave's pauses are on."""
        note = self.record.steps[outcome.step]
        lines = shortened((*map(str, outcome.findings), *outcome.lines))
        facts = plain(outcome.facts) or note.facts
        record = self.record.with_step(outcome.step, replace(note, state=state or outcome.state, ended=now, lines=lines, facts=facts))
        if with_next:
            self.record = record
        else:
            self.write(record)

    def write(self, record: WaveRecord, groups: Groups | None = None) -> None:
        """Keeps the record in the place of the one before, and these notes of groups beside the others."""
        self.record = record
        self._groups.update(groups or {})
