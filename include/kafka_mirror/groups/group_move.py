"""What the control topic notes of one group that moves, what is still to commit and may be, and what an undo puts back. Pure.

The note is written before anything is committed. So of each partition only these positions can stand on the target as long as no other
client writes there: what was there before, one that the mirror meant to commit at some time since (`ours`), or none, for offsets expire.
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Committed

if TYPE_CHECKING:
    from kafka_mirror.kafka.groups import Group

Positions = Mapping[TopicPartition, Committed]

BEFORE, AFTER = "before", "after"
"""Names of facts of a group: its positions on the target before the move and after it, `{topic: {partition: offset or null}}`."""
SOURCE, EARLIER, IS_TAKEN_BACK = "source", "earlier", "is_taken_back"
"""Names of facts beside them: positions on the source by its own topics, positions that the mirror committed before AFTER, and
whether a roll back has dealt with the group."""
_METADATA, _EPOCH = "_metadata", "_epoch"


@dataclass(frozen=True)
class GroupMove:
    """One group's move: what was `before` on the target (None: nothing), what is committed there, and from what on the source."""

    before: Mapping[TopicPartition, Committed | None]
    after: Positions
    source: Mapping[TopicPartition, int] = field(default_factory=dict)
    earlier: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    """Positions that the mirror may have committed before `after`, since `before`."""
    is_taken_back: bool = False

    def list_ours(self, tp: TopicPartition) -> set[int]:
        """Positions that the mirror may have committed for a partition."""
        after = self.after.get(tp)
        return {*self.earlier.get(tp, ()), *(() if after is None else (after.offset,))}

    def find_foreign(self, there: Positions) -> dict[TopicPartition, int]:
        """Positions on the target that are neither ours nor from before the move: somebody used or reset the group there."""
        expected = {tp: {*self.list_ours(tp), *(() if before is None else (before.offset,))} for tp, before in self.before.items()}
        return {tp: there[tp].offset for tp in sorted(expected.keys() & there.keys()) if there[tp].offset not in expected[tp]}

    def drop_others(self, there: Positions) -> "GroupMove":
        """The move as if nothing had been noted of what was before where another client moved the group since: then that is what it has."""
        theirs = {tp for tp, present in there.items() if tp in self.before and present.offset not in self.list_ours(tp)}
        return replace(self, before={tp: committed for tp, committed in self.before.items() if tp not in theirs})

    def find_due(self, there: Positions) -> dict[TopicPartition, Committed]:
        """What is still to be committed."""
        return {tp: after for tp, after in self.after.items() if not is_same(there.get(tp), after)}


@dataclass(frozen=True)
class GroupUndo:
    """What puts a group back to where it was: what to commit, what to delete, and the positions of others, which stay."""

    commit: Positions = field(default_factory=dict)
    delete: tuple[TopicPartition, ...] = ()
    foreign: Mapping[TopicPartition, int] = field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is to be written."""
        return not self.commit and not self.delete


def is_same(present: Committed | None, wanted: Committed | None) -> bool:
    """Whether a reader would go on at the same place with the same metadata. Leader epochs do not matter: the target's are not the
    source's."""
    if present is None or wanted is None:
        return present is wanted
    return (present.offset, present.metadata) == (wanted.offset, wanted.metadata)


def _is_back(present: Committed | None, before: Committed | None) -> bool:
    """Whether a group has what it had before. Its own consumers may have committed the same place again, in a newer leader epoch: what the
    mirror commits carries no epoch."""
    return present == before or (present is not None and present.leader_epoch is not None and is_same(present, before))


def plan_move(noted: GroupMove | None, there: Positions, wanted: Positions, source: Mapping[TopicPartition, int]) -> GroupMove:
    """The note of a group that is to stand at `wanted`, while `there` is what it has on the target now.

    What was noted as before stays: what stands there now may be what an earlier run committed. A partition that left the wave stays noted
    too, for an earlier run may have committed for it.
    """
    if noted is None or noted.is_taken_back:
        return GroupMove({tp: there.get(tp) for tp in wanted}, dict(wanted), dict(source))
    before = {tp: there.get(tp) for tp in wanted if tp not in noted.before} | dict(noted.before)
    earlier = {tp: tuple(sorted(noted.list_ours(tp) - {wanted[tp].offset} if tp in wanted else noted.list_ours(tp))) for tp in noted.before}
    return GroupMove(before, dict(wanted), dict(source), {tp: offsets for tp, offsets in earlier.items() if offsets})


def plan_undo(noted: GroupMove, there: Positions, held: Container[str] = ()) -> GroupUndo:
    """What a roll back writes: only where one of our positions still stands, or where it expired and something was there before.

    A position of somebody else stays, and is named; one in a topic that is `held` stays too.
    """
    if noted.is_taken_back:
        return GroupUndo()
    foreign = {tp: offset for tp, offset in noted.find_foreign(there).items() if tp.topic not in held}
    stays = [tp for tp in noted.before if tp in foreign or tp.topic in held]
    changed = {tp: before for tp, before in noted.before.items() if tp not in stays and not _is_back(there.get(tp), before)}
    commit = {tp: before for tp, before in changed.items() if before is not None}
    return GroupUndo(commit, tuple(sorted(tp for tp, before in changed.items() if before is None)), foreign)


def find_unlike(
    wanted: Mapping[str, Mapping[TopicPartition, Committed | None]], there: Mapping[str, Positions]
) -> Iterator[tuple[str, list[str]]]:
    """The groups that do not stand where they should, with each such place."""
    for name, positions in wanted.items():
        places = [
            f"{tp}@{'nothing' if present is None else present.offset} instead of {'nothing' if committed is None else committed.offset}"
            for tp, committed in sorted(positions.items(), key=lambda pair: pair[0])
            if not is_same(present := there.get(name, {}).get(tp), committed)
        ]
        if places:
            yield name, places


def explain_unfit(group: "Group | None") -> str:
    """Why nothing may be committed for a group that looks like this on the target; empty if it may."""
    if group is None:
        return ""
    if not group.has_offsets:
        return f"the target has a group of this name of another kind ({group.protocol or group.type})"
    return "" if group.is_idle else f"it is active on the target ({group.state})"


# ------------------------------------------------------------ as facts


def facts_of_move(move: GroupMove) -> dict[str, Any]:
    """The note as JSON takes it, topic by topic: `{"before": {"orders": {"0": 7, "1": null}}, "after": …}`.

    Metadata and leader epochs stand only where there are some.
    """
    facts: dict[str, Any] = {
        SOURCE: note_by_topic(move.source),
        BEFORE: note_by_topic({tp: None if before is None else before.offset for tp, before in move.before.items()}),
        AFTER: note_by_topic({tp: after.offset for tp, after in move.after.items()}),
        EARLIER: note_by_topic({tp: list(offsets) for tp, offsets in move.earlier.items()}),
        IS_TAKEN_BACK: move.is_taken_back,
    }
    for name, positions in ((BEFORE, move.before), (AFTER, move.after)):
        there = {tp: committed for tp, committed in positions.items() if committed is not None}
        facts[name + _METADATA] = note_by_topic({tp: committed.metadata for tp, committed in there.items() if committed.metadata})
        epochs = {tp: committed.leader_epoch for tp, committed in there.items() if committed.leader_epoch is not None}
        facts[name + _EPOCH] = note_by_topic(epochs)
    return {name: fact for name, fact in facts.items() if fact or name in (BEFORE, AFTER)}


def move_from_facts(facts: Mapping[str, Any]) -> GroupMove | None:
    """The move that was noted of a group; None if nothing was."""
    if BEFORE not in facts:
        return None
    after = {tp: offset for tp, offset in _read_committed(facts, AFTER).items() if offset is not None}
    return GroupMove(
        _read_committed(facts, BEFORE),
        after,
        read_by_partition(facts.get(SOURCE, {})),
        {tp: tuple(offsets) for tp, offsets in read_by_partition(facts.get(EARLIER, {})).items()},
        bool(facts.get(IS_TAKEN_BACK, False)),
    )


def _read_committed(facts: Mapping[str, Any], name: str) -> dict[TopicPartition, Committed | None]:
    offsets, metadata, epochs = (read_by_partition(facts.get(of, {})) for of in (name, name + _METADATA, name + _EPOCH))
    return {tp: None if offset is None else Committed(offset, metadata.get(tp, ""), epochs.get(tp)) for tp, offset in offsets.items()}


def note_by_topic(values: Mapping[TopicPartition, Any]) -> dict[str, dict[str, Any]]:
    """What is noted of partitions as JSON takes it: `{topic: {partition: value}}`."""
    topics: dict[str, dict[str, Any]] = {}
    for tp, value in sorted(values.items(), key=lambda pair: pair[0]):
        topics.setdefault(tp.topic, {})[str(tp.partition)] = value
    return topics


def read_by_partition(topics: Mapping[str, Mapping[str, Any]]) -> dict[TopicPartition, Any]:
    """The value of each partition, from `{topic: {partition: value}}`."""
    return {TopicPartition(topic, int(number)): value for topic, of_topic in topics.items() for number, value in of_topic.items()}
