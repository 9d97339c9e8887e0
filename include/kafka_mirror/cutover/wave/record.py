"""The record of a wave: what it is, what its steps did so far, and what a roll back takes back; and how a run notes that. Pure.

It is the `document` of the decision WAVE in the control topic. Every write replaces all of it, and the name of the wave is its key. Times
are milliseconds UTC. Field names and meanings are for keeps. An error names the place of the field that is wrong.

A run changes other things only while the wave is its own: ACLs as `steps.fence_acls` says, positions of groups as `steps.move_groups`.
"""

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar, get_origin, get_type_hints

from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import DONE, FENCE, MODES, PLANNED, STEPS, STOPPED, WAITING, StepOutcome, list_steps
from kafka_mirror.errors import WaveTooLarge
from kafka_mirror.formats.documents import columns, from_columns, string, whole
from kafka_mirror.kafka.model import Acl

if TYPE_CHECKING:
    from kafka_mirror.ledger.control_records import Decision
    from kafka_mirror.ledger.decisions import Decisions


VERSION = 1
UNDER_WAY, OPENED, TAKING_BACK, ROLLED_BACK = "under way", "open", "rolling back", "rolled back"
WAVE_STATES = (UNDER_WAY, OPENED, TAKING_BACK, ROLLED_BACK)
RUNNING, TAKEN_BACK = "running", "taken back"
STEP_STATES = (RUNNING, DONE, WAITING, STOPPED, TAKEN_BACK)
"""What is noted of a step: `running` also of one whose runner was killed."""

MAX_BYTES = 900_000
"""Of a document: Kafka's `max.message.bytes` is 1,048,588 for the whole batch unless somebody changed it."""
MAX_LINES, MAX_LINE = 20, 1000
"""How much of what a step said is noted, in lines and in characters of each."""

Acls = tuple[Acl, ...]

_NAME = re.compile(r"[A-Za-z0-9._-]{1,80}")
_READABLE = 32


@dataclass(frozen=True)
class StepNote:
    """What the record keeps of one step: of its newest try the state, who ran it and when; and its facts, those too that it noted
    before it acted."""

    state: str
    who: str
    began: int
    ended: int | None = None
    lines: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GroupNote:
    """What is kept of one consumer group, in a record of its own (the decision WAVE_GROUP): of which attempt, and the facts."""

    attempt: int
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class WaveRecord:
    """One wave as the control topic keeps it. `who` and `why` are of the person that began it; `steps` are those that began."""

    name: str
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    mode: str
    who: str
    why: str
    began: int
    state: str = UNDER_WAY
    ended: int | None = None
    attempt: int = 1
    """Counts how often it was begun: again after a roll back, or after its topics returned."""
    run: int = 1
    """Counts the runs, roll backs among them: a newer one has taken the wave from those before."""
    runner: str = ""
    """Who began the newest run."""
    steps: Mapping[str, StepNote] = field(default_factory=dict)

    @property
    def wave(self) -> Wave:
        """Its topics and groups."""
        return Wave(self.topics, self.groups)

    @property
    def order(self) -> tuple[str, ...]:
        """All steps of a wave of its mode."""
        return list_steps(self.mode)

    @property
    def next_step(self) -> str | None:
        """The first step that is not done; None if all are."""
        return next((step for step in self.order if not self.is_done(step)), None)

    @property
    def fence_acls(self) -> Acls:
        """The ACLs that its write fence noted; none before the wave is fenced."""
        return read_acls(self.facts_of(FENCE))

    def facts_of(self, step: str) -> Mapping[str, Any]:
        """What was noted of a step; empty if nothing was."""
        return self.steps[step].facts if step in self.steps else {}

    def is_done(self, step: str) -> bool:
        """Whether the step ended well when it ran last."""
        return step in self.steps and self.steps[step].state == DONE

    def with_step(self, step: str, note: StepNote) -> "WaveRecord":
        """The record with another note of the step."""
        return replace(self, steps={**self.steps, step: note})


def write_acls(acls: Iterable[Acl]) -> dict[str, list[Any]]:
    """Bindings as the notes of a fence have them, one list a field."""
    return columns(Acl._fields, acls)


def read_acls(facts: Mapping[str, Any]) -> Acls:
    """The bindings that a fence's notes name; none if they name none."""
    return from_columns(Acl, facts["acls"]) if "acls" in facts else ()


def name_wave(flow: str, wave: Wave, mode: str = PLANNED) -> str:
    """The name of a wave to which no person gave one: its topics in words, and six digits that differ by flow and patterns. A failover has
    another one than the planned wave that it may have interrupted."""
    identity = json.dumps([flow, sorted(wave.topics), sorted(wave.groups)])
    words = "-".join(re.findall(r"[A-Za-z0-9]+", " ".join(sorted(wave.topics))))[:_READABLE].strip("-")
    digits = hashlib.sha256(identity.encode()).hexdigest()[:6]
    return "-".join(filter(None, (words, digits, mode if mode != PLANNED else "")))


def read_name(text: str) -> str:
    """A wave's name as a person gives it. Raises ValueError."""
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a wave: letters, digits, '.', '_' and '-', at most 80")
    return text


def encode_wave(record: WaveRecord) -> str:
    """The record as the document of a WAVE. Raises WaveTooLarge."""
    steps = {step: vars(record.steps[step]) for step in STEPS if step in record.steps}
    return _write(record.name, {**vars(record), "steps": steps})


def decode_wave(name: str, document: str) -> WaveRecord:
    """The record that the document of a WAVE holds. Raises ValueError that names the place: `steps.fence.began is …`."""
    record = _read(WaveRecord, document)
    if record.name != name:
        raise ValueError(f"name is {record.name!r}, and it stands under the key of {name!r}")
    return record


def encode_group(wave: str, note: GroupNote) -> str:
    """The note as the document of a WAVE_GROUP. Raises WaveTooLarge."""
    return _write(wave, vars(note))


def decode_group(document: str) -> GroupNote:
    """The note that the document of a WAVE_GROUP holds. Raises ValueError that names the place."""
    return _read(GroupNote, document)


def select_facts(notes: Mapping[str, GroupNote], attempt: int) -> dict[str, Mapping[str, Any]]:
    """The facts of every group that were noted in this attempt: a roll back took back what an earlier one noted."""
    return {group: note.facts for group, note in sorted(notes.items()) if note.attempt == attempt}


def _write(wave: str, fields: Mapping[str, Any]) -> str:
    """The document as text. Raises WaveTooLarge for more than a record takes, and ValueError for what is no JSON."""
    text = json.dumps({"v": VERSION, **fields}, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    size = len(text.encode())
    if size > MAX_BYTES:
        raise WaveTooLarge(wave, size, MAX_BYTES)
    return text


Kind = TypeVar("Kind")


def _read(kind: type[Kind], document: str) -> Kind:
    fields = json.loads(document)
    if not isinstance(fields, dict):
        raise ValueError("it is no object")
    version = whole(fields.pop("v", None), "v")
    if version != VERSION:
        raise ValueError(f"v is {version}, and this mirror knows version {VERSION}")
    return _read_fields(kind, fields, "")


def _read_fields(kind: type[Kind], document: Any, place: str) -> Kind:
    """The value of this class, each field exactly of its type; `place` ends with a dot, unless it is the whole document."""
    hints = get_type_hints(kind)
    _check_names(document, hints, place)
    values = {}
    for name, hint in hints.items():
        if name not in document:
            raise ValueError(f"{place}{name} is missing")
        values[name] = _read_value(hint, document[name], f"{place}{name}")
        words = _WORDS.get((kind, name))
        if words and values[name] not in words:
            raise ValueError(f"{place}{name} is {values[name]!r}, not one of {', '.join(words)}")
    return kind(**values)


def _read_value(hint: Any, value: Any, place: str) -> Any:
    if hint is str:
        return string({place: value}, place)
    if hint is int or hint == int | None:
        return None if value is None and hint is not int else whole(value, place)
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{place} is no list")
        return tuple(string({f"{place}.{number}": item}, f"{place}.{number}") for number, item in enumerate(value))
    if hint != Mapping[str, StepNote]:
        _check_names(value, value, f"{place}.")
        return value
    _check_names(value, STEPS, f"{place}.")
    return {step: _read_fields(StepNote, value[step], f"{place}.{step}.") for step in STEPS if step in value}


def _check_names(document: Any, names: Collection[str], place: str) -> None:
    if not isinstance(document, dict):
        raise ValueError(f"{place[:-1]} is no object")
    for name in document:
        if name not in names:
            raise ValueError(f"{place}{name} is not known")


_WORDS = {(WaveRecord, "mode"): MODES, (WaveRecord, "state"): WAVE_STATES, (StepNote, "state"): STEP_STATES}
"""Fields that are one of some words."""


def normalize(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as they come back from the control topic: tuples as lists, keys as text. Raises TypeError or ValueError for what is no JSON."""
    copy: dict[str, Any] = json.loads(json.dumps(facts, allow_nan=False))
    return copy


def shorten_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The first lines, each cut, as many as the record keeps."""
    return tuple(line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 1]}…" for line in lines[:MAX_LINES])


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
        """Begins a transaction of group positions (`kafka.groups`) that ends without effect once another run takes the wave.
        Raises WaveRunElsewhere if one has it by then."""
        raise NotImplementedError("a dry run commits nothing")

    def read_claimed_acls(self) -> frozenset[Acl]:
        """The ACLs on which waves stand by now, this one or others; a dry run has changed none."""
        return frozenset()

    def decide(self, decisions: "Callable[[Decisions], Sequence[Decision]]") -> None:
        """Writes the decisions that the callable makes of all that stand in the control topic. Raises DecidedMeanwhile."""

    @property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """The facts of every group of this attempt, by name."""
        return select_facts(self._groups, self.record.attempt)

    def read_step(self, step: str) -> Mapping[str, Any]:
        """What was noted of a step; empty if nothing was."""
        return self.record.facts_of(step)

    def keep(self, step: str, facts: Mapping[str, Any]) -> None:
        """Notes facts of a step in the place of those before; all replicas have them when this returns. A step about which something is
        noted ahead waits for its turn. Raises DecidedMeanwhile if others write to the control topic again and again."""
        note = self.record.steps.get(step) or StepNote(WAITING, self.record.who, self.record.began)
        self.write(self.record.with_step(step, replace(note, facts=normalize(facts))))

    def read_group(self, group: str) -> Mapping[str, Any]:
        """What this attempt noted of a consumer group; empty if nothing."""
        return self.groups.get(group, {})

    def keep_groups(self, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Notes facts of groups in the place of those before, all or none: a write takes its time, and a wave's pauses are on."""
        self.write(self.record, {group: GroupNote(self.record.attempt, normalize(of_group)) for group, of_group in facts.items()})

    def start_step(self, step: str, who: str, now: int) -> None:
        """Notes that a step begins. What it noted before stays."""
        self.write(self.record.with_step(step, StepNote(RUNNING, who, now, facts=self.read_step(step))))

    def end_step(self, outcome: StepOutcome, now: int, state: str | None = None, *, with_next: bool = False) -> None:
        """Notes how a step ended, and its facts if it gives any; `state` says it otherwise than the outcome. `with_next`: the next note
        carries it, for each takes its time, and a wave's pauses are on."""
        note = self.record.steps[outcome.step]
        lines = shorten_lines((*map(str, outcome.findings), *outcome.lines))
        facts = normalize(outcome.facts) or note.facts
        record = self.record.with_step(outcome.step, replace(note, state=state or outcome.state, ended=now, lines=lines, facts=facts))
        if with_next:
            self.record = record
        else:
            self.write(record)

    def write(self, record: WaveRecord, groups: Groups | None = None) -> None:
        """Keeps the record in the place of the one before, and these notes of groups beside the others."""
        self.record = record
        self._groups.update(groups or {})
