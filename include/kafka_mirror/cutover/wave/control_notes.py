"""The waves of a flow in its control topic: what each of them holds, and how a run writes its notes only while no other run has its wave.

Each write stands directly after everything that was read before it, so of two runs of one wave the older one learns of the newer one before
it notes anything more, and a step notes what it is going to do before it does it. Decisions of people about other things are no obstacle.
"""

import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from kafka_mirror.copy.plan.left_on_source import find_written_since_move
from kafka_mirror.cutover.wave.record import (
    OPENED,
    TAKING_BACK,
    UNDER_WAY,
    GroupNote,
    Groups,
    WaveNotes,
    WaveRecord,
    decode_group,
    decode_wave,
    encode_group,
    encode_wave,
)
from kafka_mirror.cutover.wave.selection import match_names
from kafka_mirror.cutover.wave.step import FAILOVER, OPEN, PLANNED
from kafka_mirror.errors import ControlUnreadable, DecidedMeanwhile, ErrorReport, WaveRunElsewhere
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import GroupTransaction
from kafka_mirror.kafka.model import Acl
from kafka_mirror.ledger.clusters import clusters, collect_decisions, control_of, ledger_of
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import CLOSED, WAVE, WAVE_GROUP, Decision
from kafka_mirror.ledger.decisions import Decisions, moment_after

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


@dataclass(frozen=True)
class StoredWaves:
    """The waves by name, the notes of their groups, and everything that was decided."""

    waves: Mapping[str, WaveRecord]
    groups: Mapping[str, Groups]
    decisions: Decisions

    def is_moved(self, record: WaveRecord) -> bool:
        """Whether a topic is written on the target since this wave opened: so it is also after an `open` that was killed."""
        return any(decision.wave == record.name for decision in self.decisions.moved_topics.values())

    def is_open(self, record: WaveRecord) -> bool:
        """Whether a roll back comes too late, also where `open` was killed once it had decided so."""
        is_closed = record.mode == FAILOVER and OPEN in record.steps and self.decisions.closed is not None
        return record.state == OPENED or is_closed or self.is_moved(record)

    def is_standing(self, record: WaveRecord) -> bool:
        """Whether what an open wave did still holds: its topics did not return, or after a failover the flow was not opened again."""
        if record.mode != FAILOVER:
            return self.is_moved(record)
        return str(self.decisions.closed) == record.facts_of(OPEN).get(CLOSED)

    def list_under_way(self, name: str, topics: Collection[str]) -> list[tuple[WaveRecord, frozenset[str]]]:
        """The other waves that have begun and not ended, each with those of these topics that it holds."""
        begun = [record for record in self.waves.values() if record.name != name and record.state in (UNDER_WAY, TAKING_BACK)]
        return [(record, held) for record in begun if (held := match_names(record.topics, topics)[0])]

    def find_standing(self, name: str, topics: Collection[str]) -> dict[str, str]:
        """Those of these topics on which another open wave stands, each with its name."""
        moved = {topic: decision.wave or "" for topic in topics if (decision := self.decisions.find_moved(topic)) and decision.wave != name}
        failovers = [record for record in self._live if record.mode == FAILOVER and record.state == OPENED and record.name != name]
        return moved | {topic: record.name for record in failovers for topic in sorted(match_names(record.topics, topics)[0])}

    @property
    def claimed_acls(self) -> frozenset[Acl]:
        """The ACLs of write fences on which waves stand that are under way or open."""
        return frozenset(acl for record in self._live for acl in record.fence_acls)

    @property
    def _live(self) -> list[WaveRecord]:
        live = (wave for wave in self.waves.values() if wave.state == UNDER_WAY or (wave.state == OPENED and self.is_standing(wave)))
        return sorted(live, key=lambda record: record.began)


Note = TypeVar("Note")

_PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0)


class WaveStore:
    """The waves of one flow in its control topic."""

    def __init__(self, flow: "Flow", target: Cluster) -> None:
        self.control: Control = control_of(flow, target)
        self._replication_factor: int = flow.value("mirror.ledger.replication.factor")

    def read(self) -> StoredWaves:
        """All waves. Raises ControlUnreadable."""
        decisions = collect_decisions(self.control)
        waves = {name: self._decode(name, partial(decode_wave, name), text) for name, text in _documents(decisions, WAVE)}
        groups: dict[str, dict[str, GroupNote]] = {name: {} for name in waves}
        for key, text in _documents(decisions, WAVE_GROUP):
            name, _, group = key.partition("/")
            groups.setdefault(name, {})[group] = self._decode(key, decode_group, text)
        return StoredWaves(waves, groups, decisions)

    def save(self, before: WaveRecord | None, after: WaveRecord, groups: Groups, who: str, also: "Also | None" = None) -> None:
        """Writes the record, notes of groups, and what `also` makes of all that is stored, all or none, if the record is still what it was
        before; None: there was none.

        Raises WaveRunElsewhere if it is not; DecidedMeanwhile if others decide again and again in the same moment; and what `also` raises:
        nothing was written.
        """
        if before is None and not self.control.exists():
            self.control.create(self._replication_factor)
        documents = [(WAVE, after.name, encode_wave(after))] if after != before else []
        documents += [(WAVE_GROUP, f"{after.name}/{group}", encode_group(after.name, note)) for group, note in groups.items()]

        def make() -> Sequence[Decision]:
            stored = self.check(before, after.name)
            when = moment_after(stored.decisions, (), datetime.now(UTC))
            notes = [Decision(kind, who, when, after.why, name, document=text) for kind, name, text in documents]
            return [*notes, *(also(stored) if also else ())]

        if documents or also:
            write_next(self.control, make)

    def check(self, before: WaveRecord | None, name: str) -> StoredWaves:
        """What is stored. Raises WaveRunElsewhere if the record of this name is not what it was before."""
        stored = self.read()
        present = stored.waves.get(name)
        if present != before:
            raise WaveRunElsewhere(name, present.runner if present else "a person who took its record out of the control topic")
        return stored

    def _decode(self, name: str, decode: Callable[[str], Note], document: str) -> Note:
        try:
            return decode(document)
        except ValueError as failure:
            raise ControlUnreadable(f"{self.control.topic}, the wave {name}", str(failure)) from failure


Also = Callable[[StoredWaves], Sequence[Decision]]


def write_next(control: Control, make: Callable[[], Sequence[Decision]]) -> None:
    """Writes the decisions that `make` gives once it has read the control topic, directly after what it read, and again while others decide
    in the same moment. Raises DecidedMeanwhile if they do so again and again, and what `make` raises: nothing was written."""
    meanwhile = None
    for pause in _PAUSES:
        decisions = make()
        try:
            return control.write_next(decisions) if decisions else None
        except DecidedMeanwhile as other:
            meanwhile = other
            time.sleep(pause * random.random())  # noqa: S311 — two that began together are not to do so again
    raise meanwhile or DecidedMeanwhile(control.topic)


class ControlNotes(WaveNotes):
    """The notes of one wave by one run, kept in the control topic: every change is acknowledged by all replicas when the call returns, but
    for the end of a step that the next note carries."""

    def __init__(
        self,
        store: WaveStore,
        who: str,
        record: WaveRecord,
        before: WaveRecord | None,
        stored: StoredWaves,
        topics: Collection[str] = (),
        also: Also | None = None,
    ) -> None:
        """`before` is the record as it is `stored` in the control topic; `record`, which is written at once with what `also` makes,
        replaces it. `topics`: those of the wave, by name."""
        super().__init__(record, stored.groups.get(record.name), stored.find_standing(record.name, topics))
        self._store = store
        self._who = who
        store.save(before, record, {}, who, also)
        self._written = record

    def write(self, record: WaveRecord, groups: Groups | None = None) -> None:
        """Writes the record and the notes of groups. Raises WaveRunElsewhere, DecidedMeanwhile, and what the target answers."""
        self._store.save(self._written, record, groups or {}, self._who)
        self._written = record
        super().write(record, groups)

    def check(self) -> None:
        """Raises WaveRunElsewhere once the record is not what this run wrote last."""
        self._store.check(self._written, self._written.name)

    def begin(self) -> GroupTransaction:
        """Begins a transaction, then looks: a run that took the wave before is seen, and one that takes it later ends the transaction."""
        transaction = self._store.control.begin()
        self.check()
        return transaction

    def read_claimed_acls(self) -> frozenset[Acl]:
        """The ACLs on which any wave of the control topic stands by now."""
        return self._store.read().claimed_acls

    def decide(self, decisions: Callable[[Decisions], Sequence[Decision]]) -> None:
        """Writes the decisions with the record that stands there. Raises DecidedMeanwhile and WaveRunElsewhere."""
        self._store.save(self._written, self._written, {}, self._who, lambda stored: decisions(stored.decisions))


def _documents(decisions: Decisions, kind: str) -> list[tuple[str, str]]:
    return [(name, decision.document or "") for name, decision in sorted(decisions.list_notes(kind).items())]


def find_written_since_open(flow: "Flow", stored: StoredWaves, wave: str | None = None) -> tuple[ErrorReport, ...]:
    """WrittenOnSource of each partition that planned waves moved, or this one, with records on the source that no flow copies; or why that
    is unknown. Of a failover nothing: its source is lost, and `cutover compare` looks at one that is back."""
    waves = {name for name, record in stored.waves.items() if record.mode == PLANNED and wave in (None, name)}
    topics = {topic for topic, decision in stored.decisions.moved_topics.items() if decision.wave in waves}
    if not topics:
        return ()
    with clusters(flow) as (source, target):
        return tuple(
            error.with_flow(flow.name) for error in find_written_since_move(flow, source, ledger_of(flow, target).read().records, topics)
        )
