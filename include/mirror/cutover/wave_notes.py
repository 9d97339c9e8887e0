"""The notes of waves in the control topic: read there, and written only as long as no other run of the wave wrote since.

Each write stands right behind everything that was read before it, so of two runs of one wave the older one learns of the newer one before
it notes anything more, and a step notes what it is going to do before it does it. Decisions of people about other things are no obstacle.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from mirror.cutover.wave_notebook import Groups, WaveNotebook
from mirror.cutover.wave_record import GroupNote, WaveRecord, decode_group, decode_wave, encode_group, encode_wave
from mirror.decisions.in_force import Decisions, moment_after
from mirror.errors import ControlUnreadable, DecidedMeanwhile, WaveRunElsewhere
from mirror.formats.control import WAVE, WAVE_GROUP, Decision
from mirror.kafka.cluster import Cluster
from mirror.kafka.control import Control
from mirror.sync.flow_clusters import control_of

if TYPE_CHECKING:
    from mirror.config import Flow

Note = TypeVar("Note")

_PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class StoredWaves:
    """What the control topic has: the waves by name, the notes of their groups, and everything that was decided."""

    waves: Mapping[str, WaveRecord]
    groups: Mapping[str, Groups]
    decisions: Decisions


class WaveStore:
    """The waves of one flow in its control topic."""

    def __init__(self, flow: "Flow", target: Cluster) -> None:
        self.control: Control = control_of(flow, target)
        self._replication_factor: int = flow.value("mirror.ledger.replication.factor")

    def read(self) -> StoredWaves:
        """All waves. Raises ControlUnreadable."""
        decisions = Decisions(self.control.read() if self.control.exists() else ())
        waves = {name: self._decoded(name, partial(decode_wave, name), text) for name, text in _documents(decisions, WAVE)}
        groups: dict[str, dict[str, GroupNote]] = {name: {} for name in waves}
        for key, text in _documents(decisions, WAVE_GROUP):
            name, _, group = key.partition("/")
            groups.setdefault(name, {})[group] = self._decoded(key, decode_group, text)
        return StoredWaves(waves, groups, decisions)

    def save(self, before: WaveRecord | None, after: WaveRecord, groups: Groups, who: str) -> None:
        """Writes the record and notes of groups, all or none, if the record is still what it was before; None: there was none.

        Raises WaveRunElsewhere if it is not; DecidedMeanwhile if others decide again and again in the same moment: nothing was written.
        """
        if before is None and not self.control.exists():
            self.control.create(self._replication_factor)
        documents = [(WAVE, after.name, encode_wave(after))] if after != before else []
        documents += [(WAVE_GROUP, f"{after.name}/{group}", encode_group(after.name, note)) for group, note in groups.items()]
        if documents:
            self._write(before, after, documents, who)

    def _write(self, before: WaveRecord | None, after: WaveRecord, documents: Sequence[tuple[str, str, str]], who: str) -> None:
        meanwhile = None
        for pause in _PAUSES:
            stored = self.read()
            present = stored.waves.get(after.name)
            if present != before:
                raise WaveRunElsewhere(after.name, present.runner if present else "whoever took its record out of the control topic")
            when = moment_after(stored.decisions, (), datetime.now(UTC))
            try:
                return self.control.write_next(
                    [Decision(kind, who, when, after.why, name, document=text) for kind, name, text in documents]
                )
            except DecidedMeanwhile as other:
                meanwhile = other
                time.sleep(pause * random.random())  # noqa: S311 — two that began together shall not do so again
        raise meanwhile or DecidedMeanwhile(self.control.topic)

    def _decoded(self, name: str, decode: Callable[[str], Note], document: str) -> Note:
        try:
            return decode(document)
        except ValueError as failure:
            raise ControlUnreadable(f"{self.control.topic}, the wave {name}", str(failure)) from failure


class ControlNotebook(WaveNotebook):
    """The notes of one wave by one run, kept in the control topic: every change is acknowledged by all replicas when the call returns, but
    for the end of a step that the next note carries."""

    def __init__(self, store: WaveStore, who: str, record: WaveRecord, before: WaveRecord | None, groups: Groups) -> None:
        """`before` is the record as it stands in the control topic; `record`, which is written at once, replaces it."""
        super().__init__(record, groups)
        self._store = store
        self._who = who
        store.save(before, record, {}, who)
        self._written = record

    def write(self, record: WaveRecord, groups: Groups | None = None) -> None:
        """As in WaveNotebook. Raises WaveRunElsewhere, DecidedMeanwhile, and what the target answers."""
        self._store.save(self._written, record, groups or {}, self._who)
        self._written = record
        super().write(record, groups)


def _documents(decisions: Decisions, kind: str) -> list[tuple[str, str]]:
    return [(name, decision.document or "") for name, decision in sorted(decisions.notes(kind).items())]
