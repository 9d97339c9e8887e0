"""What a run notes of its wave while the steps work, and how it changes something else only while the wave is its own. Pure.

Kafka knows no condition on an ACL. So the run looks whose wave it is directly before it changes ACLs and directly after (`owning`). If
another run has the wave by then, a roll back perhaps, what was changed is put to where the newer run has it. For positions of groups there
is a better way: `groups.placement`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kafka_mirror.cutover.wave.record import RUNNING, GroupNote, StepNote, WaveRecord, facts_by_group, plain, shortened
from kafka_mirror.cutover.wave.step import WAITING, StepOutcome
from kafka_mirror.errors import MirrorError, WaveRunElsewhere

if TYPE_CHECKING:
    from kafka_mirror.kafka.model import Acl
    from kafka_mirror.ledger.control_records import Decision
    from kafka_mirror.ledger.decisions import Decisions

Groups = Mapping[str, GroupNote]


class WaveNotes:
    """What the control topic keeps of a wave, for one run: the states of its steps, and what each notes.

    A step notes what it is going to do before it does it, so that another run or a roll back knows all that may be done. Every write raises
    WaveRunElsewhere once another run has the wave, a roll back among them, and writes nothing then. These notes are in memory, as a dry run
    has them: no run takes the wave from it, and it decides nothing. `ControlNotes` keep them in the control topic.
    """

    def __init__(self, record: WaveRecord, groups: Groups | None = None, held: Mapping[str, str] | None = None) -> None:
        """`held`: topics of the wave on which another open wave stands, each with its name: what is theirs stays in a roll back."""
        self.record = record
        self.held = held or {}
        self._groups = dict(groups or {})

    def check(self) -> None:
        """Raises WaveRunElsewhere once another run has the wave. Directly before and after each change that is not made by these notes."""

    def begin(self) -> Any:
        """Begins a transaction of group positions (`kafka.group_transaction`) that ends without effect once another run takes the wave.
        Raises WaveRunElsewhere if one has it by then."""
        raise NotImplementedError("a dry run commits nothing")

    def claimed_acls(self) -> "frozenset[Acl]":
        """The ACLs on which waves stand by now, this one or others; a dry run has changed none."""
        return frozenset()

    def decide(self, decisions: "Callable[[Decisions], Sequence[Decision]]") -> None:
        """Writes the decisions that the callable makes of all that stand in the control topic. Raises DecidedMeanwhile."""

    @property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """The facts of every group of this attempt, by name."""
        return facts_by_group(self._groups, self.record.attempt)

    def of_step(self, step: str) -> Mapping[str, Any]:
        """What was noted of a step; empty if nothing was."""
        note = self.record.steps.get(step)
        return {} if note is None else note.facts

    def keep(self, step: str, facts: Mapping[str, Any]) -> None:
        """Notes facts of a step in the place of those before; all replicas have them when this returns. A step about which something is
        noted ahead waits for its turn. Raises DecidedMeanwhile if others write to the control topic again and again."""
        note = self.record.steps.get(step) or StepNote(WAITING, self.record.who, self.record.began)
        self.write(self.record.with_step(step, replace(note, facts=plain(facts))))

    def of_group(self, group: str) -> Mapping[str, Any]:
        """What this attempt noted of a consumer group; empty if nothing."""
        return self.groups.get(group, {})

    def keep_groups(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Notes facts of groups in the place of those before, all or none: a write takes its time, and a wave's pauses are on."""
        self.write(self.record, {group: GroupNote(self.record.attempt, plain(of_group)) for group, of_group in facts.items()})

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


@dataclass(frozen=True)
class Mended:
    """What was put back for another run, and what could not be, in words."""

    done: tuple[str, ...] = ()
    unmended: tuple[str, ...] = ()


@contextmanager
def owning(notes: WaveNotes, put_back: Callable[[], Mended]) -> Iterator[None]:
    """Changes something for a wave. Raises WaveRunElsewhere if another run has the wave: with what `put_back` did and could not do, if
    it took the wave while the change was made. It looks also if the change was interrupted: a process that stood still wakes with its time
    limit over."""
    notes.check()
    try:
        yield
    except BaseException as error:
        _look_again(notes, put_back, error)
        raise
    _look_again(notes, put_back, None)


def _look_again(notes: WaveNotes, put_back: Callable[[], Mended], cause: BaseException | None) -> None:
    try:
        notes.check()
    except WaveRunElsewhere as elsewhere:
        try:
            mended = put_back()
        except MirrorError as error:
            mended = Mended(unmended=(error.message,))
        raise WaveRunElsewhere(elsewhere.wave, elsewhere.who, mended.done, mended.unmended) from cause
