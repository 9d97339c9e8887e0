"""The committed offsets of groups, translated by what both clusters and the ledger say now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from mirror.errors import ErrorReport, MirrorError, SourceUnreadable
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.checkpoints import read_stored
from mirror.kafka.cluster import Cluster
from mirror.kafka.groups import Committed
from mirror.kafka.ledger import Ledger
from mirror.kafka.mm2_topics import read_offset_syncs
from mirror.offsets.checkpoint_rules import StoredCheckpoints
from mirror.offsets.lanes import lane_of
from mirror.offsets.partition import TopicPartition
from mirror.offsets.sync_store import OffsetSyncStore
from mirror.offsets.translation import EARLY, SourcePartition, Sync, TranslatedOffset, generation, none, translate, translate_back
from mirror.sync.counted_groups import EarlyOffset, count_early
from mirror.sync.counting import Counting, PartitionHole
from mirror.sync.group_work import GroupWork
from mirror.sync.known_places import KnownPlaces

Offsets = Mapping[str, Mapping[TopicPartition, Committed]]
Records = Mapping[TopicPartition, LedgerRecord]

NOT_MIRRORED = "the flow does not mirror the topic"
"""The one reason for no answer that is nobody's to mend."""
_UNUSABLE = "the topic's remote name cannot be used"
_NO_LEADER = "the partition has no leader on the source"


@dataclass(frozen=True)
class GroupOffset:
    """One group's position in one partition, on both sides. `remote` is the partition on the target; `generation` is None where nothing but
    MirrorMaker 2's offset syncs is known."""

    group: str
    source: TopicPartition
    committed: Committed
    remote: TopicPartition
    translated: TranslatedOffset
    generation: str | None


@dataclass(frozen=True)
class TranslatedGroups:
    """All positions, in the order of groups and partitions, and what kept some of them from being answered."""

    offsets: tuple[GroupOffset, ...]
    errors: tuple[ErrorReport, ...] = ()


def translate_groups(
    work: GroupWork, offsets: Offsets, source: Cluster, target: Cluster, known: KnownPlaces | None = None
) -> TranslatedGroups:
    """Translates what the groups committed. It is read before: the ledger that is read here then knows no less than the groups do.

    What the offset map has forgotten is counted, within the budget of `work`, unless it is `known`; by default the flow's checkpoints say
    what is.

    Topics that the topic filter leaves out are not among the answers, as in MirrorMaker 2. A part of the ledger that cannot be read is an
    error, and no answer for its partitions; so is a partition without leader on the source. Raises what concerns a whole cluster.
    """
    takes = work.selection.topic_filter.should_replicate
    topics = {topic: takes(topic) for topic in {tp.topic for each in offsets.values() for tp in each}}
    wanted = {tp for each in offsets.values() for tp in each if topics[tp.topic]}
    sides = _Sides(work, source, target, wanted)
    found = tuple(
        sides.translated(group, tp, committed)
        for group, each in sorted(offsets.items())
        for tp, committed in sorted(each.items())
        if topics[tp.topic]
    )
    found = sides.counted(found, KnownPlaces(lambda: stored_checkpoints(work, target)) if known is None else known)
    return TranslatedGroups(found, tuple(error.report() for error in sides.errors))


def stored_checkpoints(work: GroupWork, target: Cluster) -> StoredCheckpoints:
    """The flow's checkpoints as they are. What is damaged among them is told by whoever writes them. Raises what keeps them from being
    read."""
    stored, _ = read_stored(target, work.target_consumer, work.checkpoints_topic)
    return stored


@dataclass
class _LedgerView:
    records: Records = field(default_factory=dict)
    lanes: int = 1
    unreadable: frozenset[int] = frozenset()

    def hides(self, tp: TopicPartition) -> bool:
        return tp not in self.records and lane_of(*tp, self.lanes) in self.unreadable


class _Sides:
    """What is known of both clusters, read once for all groups."""

    def __init__(self, work: GroupWork, source: Cluster, target: Cluster, wanted: Iterable[TopicPartition]) -> None:
        self._work = work
        self._source = source
        self._target = target
        self.errors: list[MirrorError] = []
        wanted = sorted(wanted)
        names = {tp.topic for tp in wanted}
        self._upstream = {name: upstream for name in names if (upstream := work.upstream_of(name)) is not None}
        self._remote = {name: work.selection.shown(name) for name in names if name not in self._upstream}
        self._unusable = {name: error for name in sorted(self._remote) if (error := work.selection.refusal(name)) is not None}
        self._mirrored = {name for name in self._remote if work.selection.should_replicate(name)}
        self._ledger = self._read(target, work.policy.ledger_topic(work.source), work.target_consumer, self._mirrored, work.lanes)
        self._back = self._read(source, work.policy.ledger_topic(work.target), work.source_consumer, self._upstream, None)
        hidden: dict[str, MirrorError] = {}
        there = source.topics(names, hidden)
        self._source_ids = {name: topic.id for name, topic in there.items()}
        written = {*(self._remote[name] for name in self._mirrored), *self._upstream.values()}
        self._target_ids = {name: topic.id for name, topic in target.topics(written, hidden).items()}
        answered = [tp for tp in wanted if tp.topic in there and (tp.topic in self._mirrored or tp.topic in self._upstream)]
        asked = [tp for tp in answered if tp.partition < len(there[tp.topic].partitions)]
        unlisted: dict[str, MirrorError] = {}
        self._ends = source.ends(asked, unlisted)
        self._leaderless = {tp for tp in asked if tp not in self._ends and tp.topic not in unlisted}
        self.errors += [*self._unusable.values(), *hidden.values(), *unlisted.values(), *map(_without_leader, sorted(self._leaderless))]

    def translated(self, group: str, tp: TopicPartition, committed: Committed) -> GroupOffset:
        """One answer."""
        if tp.topic in self._upstream:
            return self._translated_back(group, tp, committed)
        remote = self._remote[tp.topic]
        record = self._ledger.records.get(tp)
        if tp.topic in self._unusable:
            found = none(_UNUSABLE)
        elif tp.topic not in self._mirrored:
            found = none(NOT_MIRRORED)
        elif self._ledger.hides(tp):
            found = none("the ledger cannot be read")
        elif record is not None and record.is_handed_back:
            found = none("the flow was handed back to MirrorMaker 2, which translates offsets since")
        elif tp in self._leaderless:
            found = none(_NO_LEADER)
        else:
            side, epoch = self._source_partition(tp), committed.leader_epoch
            sync = self._sync(tp) if _asks_syncs(committed.offset, record) else None
            found = translate(committed.offset, record, side, self._target_ids.get(remote), leader_epoch=epoch, sync=sync)
        return GroupOffset(group, tp, committed, TopicPartition(remote, tp.partition), found, generation(record) if record else None)

    def counted(self, found: tuple[GroupOffset, ...], known: KnownPlaces) -> tuple[GroupOffset, ...]:
        """The same answers, with those exact that could be counted."""
        limit = self._work.count_max_bytes
        asked = {number: early for number, each in enumerate(found) if limit and (early := self._early(each)) is not None}
        if not asked:
            return found
        answers = count_early(asked.values(), known, Counting(self._work, self._source, self._target).count, limit)
        return tuple(replace(each, translated=answers[asked[at]]) if at in asked else each for at, each in enumerate(found))

    def _early(self, each: GroupOffset) -> EarlyOffset | None:
        """An answer that may be counted; None for every other one."""
        answer, is_back = each.translated, each.source.topic in self._upstream
        record = self._back.records.get(each.remote) if is_back else self._ledger.records.get(each.source)
        if answer.hole is None or answer.kind != EARLY or answer.reread == 0 or record is None or each.generation is None:
            return None
        hole = PartitionHole(each.remote if is_back else each.source, record, answer.hole, is_back)
        return EarlyOffset(each.committed.offset, answer, each.remote, each.generation, hole)

    def _translated_back(self, group: str, tp: TopicPartition, committed: Committed) -> GroupOffset:
        upstream = TopicPartition(self._upstream[tp.topic], tp.partition)
        record = self._back.records.get(upstream)
        if self._back.hides(upstream):
            found = none("the ledger of the other direction, on the source, cannot be read")
        elif tp in self._leaderless:
            found = none(_NO_LEADER)
        else:
            ids = self._target_ids.get(upstream.topic)
            found = translate_back(committed.offset, record, self._source_partition(tp), ids, leader_epoch=committed.leader_epoch)
        return GroupOffset(group, tp, committed, upstream, found, generation(record) if record else None)

    def _source_partition(self, tp: TopicPartition) -> SourcePartition | None:
        end = self._ends.get(tp)
        return None if end is None else SourcePartition(self._source_ids[tp.topic], end.offset, end.leader_epoch)

    def _read(self, cluster: Cluster, name: str, settings: Mapping[str, object], topics: Iterable[str], lanes: int | None) -> _LedgerView:
        """A ledger, if there is one; that of the other direction has as many lanes as it was made with."""
        topic = cluster.topics([name]).get(name) if topics else None
        if topic is None:
            return _LedgerView()
        count = len(topic.partitions) if lanes is None else lanes
        view = Ledger(name, count, cluster, settings).read()
        self.errors += view.unreadable.values()
        return _LedgerView(view.records, count, frozenset(view.unreadable))

    def _sync(self, tp: TopicPartition) -> Sync:
        return lambda offset: self._store.translate(tp.topic, tp.partition, offset)

    @cached_property
    def _store(self) -> OffsetSyncStore:
        """What MirrorMaker 2 left; it is read only where the ledger does not know enough."""
        work, store = self._work, OffsetSyncStore(must_read_to_end=False)
        cluster, settings = (self._source, work.source_consumer) if work.offset_syncs_on_source else (self._target, work.target_consumer)
        content = read_offset_syncs(cluster, settings, work.offset_syncs_topic)
        self.errors += content.damaged
        for each in content.records:
            store.sync(each)
        store.read_to_end()
        return store


def _without_leader(tp: TopicPartition) -> SourceUnreadable:
    return SourceUnreadable(
        f"{tp}: it has no leader on the source, so nobody knows whether what groups committed is in it. No offset of it was translated.",
        topic=tp.topic,
        partition=tp.partition,
        next="Bring the source's brokers back; the next run goes on by itself.",
    )


def _asks_syncs(offset: int, record: LedgerRecord | None) -> bool:
    """Whether an offset may lie below all that the ledger knows."""
    return record is None or offset < max((run.source for run in record.offset_map.runs[:1]), default=record.watermark)
