"""What the control topic has of the waves of a flow, and what each of them holds: topics, positions of groups, ACLs. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mirror.cutover.fence_acls import acls_of
from mirror.cutover.steps import FAILOVER, FENCE, OPEN
from mirror.cutover.wave import matches
from mirror.cutover.wave_notebook import Groups
from mirror.cutover.wave_record import OPENED, TAKING_BACK, UNDER_WAY, WaveRecord
from mirror.decisions.in_force import Decisions
from mirror.formats.control import CLOSED
from mirror.kafka.model import Acl, Committed
from mirror.offsets.partition import TopicPartition
from mirror.sync.groups.group_move import GroupMove, Positions, move_from_facts


@dataclass(frozen=True)
class Claims:
    """What waves stand on that are under way or open: positions of groups on the target, and ACLs of write fences on the source."""

    positions: Mapping[str, Positions] = field(default_factory=dict)
    acls: frozenset[Acl] = frozenset()
    taken_back: Sequence[tuple[str, GroupMove]] = ()
    """The groups that roll backs took back, those of the newest wave first."""

    def position(self, group: str, tp: TopicPartition, before: Committed | None) -> Committed | None:
        """Where a group is to stand: where some wave has it, else where it was `before`, unless a wave that is taken back put it there."""
        if tp in self.positions.get(group, {}):
            return self.positions[group][tp]
        for name, move in self.taken_back:
            if name == group and before is not None and before.offset in move.ours(tp):
                before = move.before[tp]
        return before


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

    def claims(self, topics: Collection[str]) -> Claims:
        """What all waves stand on. Of two that noted a position the newer one counts. A planned wave claims no position once a failover
        took some of these topics from it; its fence stands until it is rolled back."""
        live = self._live()
        lost = frozenset[str]().union(*(_held(record, topics) for record in live if record.mode == FAILOVER))
        standing = [record for record in live if record.mode == FAILOVER or not lost & _held(record, topics)]
        positions: dict[str, dict[TopicPartition, Committed]] = {}
        for record in standing:
            for group, move in self._moves(record):
                if not move.is_taken_back:
                    positions.setdefault(group, {}).update(move.after)
        acls = (acl for record in live if FENCE in record.steps for acl in acls_of(record.steps[FENCE].facts))
        moves = [moved for record in reversed(self._by_age(self.waves.values())) for moved in self._moves(record)]
        return Claims(positions, frozenset(acls), [(group, move) for group, move in moves if move.is_taken_back])

    def _live(self) -> list[WaveRecord]:
        waves = self.waves.values()
        return self._by_age(wave for wave in waves if wave.state == UNDER_WAY or (wave.state == OPENED and self.stands(wave)))

    def _moves(self, record: WaveRecord) -> Iterator[tuple[str, GroupMove]]:
        for group, note in self.groups.get(record.name, {}).items():
            move = move_from_facts(note.facts) if note.attempt == record.attempt else None
            if move is not None:
                yield group, move

    @staticmethod
    def _by_age(waves: Iterable[WaveRecord]) -> list[WaveRecord]:
        return sorted(waves, key=lambda record: record.began)


def _held(record: WaveRecord, topics: Collection[str]) -> frozenset[str]:
    return matches(record.topics, topics)[0]
