"""What the control topic has of the waves of a flow, and what each of them holds: topics and ACLs. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from kafka_mirror.cutover.steps.fence_acls import acls_of
from kafka_mirror.cutover.wave.notebook import Groups
from kafka_mirror.cutover.wave.record import OPENED, TAKING_BACK, UNDER_WAY, WaveRecord
from kafka_mirror.cutover.wave.selection import matches
from kafka_mirror.cutover.wave.step import FAILOVER, FENCE, OPEN
from kafka_mirror.kafka.model import Acl
from kafka_mirror.ledger.control_records import CLOSED
from kafka_mirror.ledger.decisions import Decisions


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

    def stands(self, record: WaveRecord) -> bool:
        """Whether what an open wave did still holds: its topics did not return, or after a failover nobody opened the flow again since."""
        if record.mode != FAILOVER:
            return self.is_moved(record)
        return OPEN in record.steps and str(self.decisions.closed) == record.steps[OPEN].facts.get(CLOSED)

    def under_way(self, name: str, topics: Collection[str]) -> list[tuple[WaveRecord, frozenset[str]]]:
        """The other waves that have begun and not ended, each with those of these topics that it holds."""
        states = (UNDER_WAY, TAKING_BACK)
        others = [(record, _held(record, topics)) for record in self.waves.values() if record.name != name and record.state in states]
        return [(record, held) for record, held in others if held]

    def standing_on(self, name: str, topics: Collection[str]) -> dict[str, str]:
        """Those of these topics on which another open wave stands, each with its name."""
        moved = {topic: decision.wave or "" for topic in topics if (decision := self.decisions.moved(topic)) and decision.wave != name}
        failovers = [record for record in self._live() if record.mode == FAILOVER and record.state == OPENED and record.name != name]
        return moved | {topic: record.name for record in failovers for topic in sorted(_held(record, topics))}

    def claimed_acls(self) -> frozenset[Acl]:
        """The ACLs of write fences on which waves stand that are under way or open."""
        return frozenset(acl for record in self._live() if FENCE in record.steps for acl in acls_of(record.steps[FENCE].facts))

    def _live(self) -> list[WaveRecord]:
        waves = self.waves.values()
        return self._by_age(wave for wave in waves if wave.state == UNDER_WAY or (wave.state == OPENED and self.stands(wave)))

    @staticmethod
    def _by_age(waves: Iterable[WaveRecord]) -> list[WaveRecord]:
        return sorted(waves, key=lambda record: record.began)


def _held(record: WaveRecord, topics: Collection[str]) -> frozenset[str]:
    return matches(record.topics, topics)[0]
