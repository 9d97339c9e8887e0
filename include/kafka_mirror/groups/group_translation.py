"""The committed offsets of groups, translated by what both clusters and the ledger say now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from kafka_mirror.errors import ErrorReport, MirrorError, SourceUnreadable
from kafka_mirror.formats import mm2
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.groups.checkpoint_rules import SeenLog, SeenLogs, StoredCheckpoints
from kafka_mirror.groups.context import GroupContext, Offsets
from kafka_mirror.groups.exact_offsets import EarlyOffset, KnownPlaces, count_early
from kafka_mirror.groups.hole_reader import HoleCounter, PartitionHole
from kafka_mirror.groups.mm2_topics import read_stored, read_topic
from kafka_mirror.groups.offset_sync_store import OffsetSyncStore
from kafka_mirror.groups.translation import EARLY, SourceState, Sync, TranslatedOffset, generation, no_answer, translate, translate_back
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Committed, LogPosition
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import Ledger

Records = Mapping[TopicPartition, LedgerRecord]

NOT_MIRRORED = "the flow does not mirror the topic"
"""The one reason for no answer that needs no mending."""
_UNUSABLE = "the topic's remote name cannot be used"
_NO_LEADER = "the partition has no leader on the source"
_UNCONFIRMED = "its leader does not say whether the source's log still is the one of which it was committed"
_EPOCH_SECONDS = 5.0


@dataclass(frozen=True)
class GroupOffset:
    """One group's position in one partition, on both sides. `remote` is the partition on the target; `generation` and `logs` are None where
    nothing but MirrorMaker 2's offset syncs is known. `record`: the ledger's, of this direction; None for a reader of a mirror."""

    group: str
    source: TopicPartition
    committed: Committed
    remote: TopicPartition
    translated: TranslatedOffset
    generation: str | None
    logs: SeenLogs | None = None
    record: LedgerRecord | None = None
    shared_end: int | None = None

    @property
    def read_until(self) -> int:
        """Up to where the group has read the source's log as it is now: the committed offset, or where the log departs from the one that
        the group read."""
        return self.committed.offset if self.shared_end is None else min(self.committed.offset, self.shared_end)

    def __str__(self) -> str:
        return f"{self.source}@{self.committed.offset}"


@dataclass(frozen=True)
class TranslatedGroups:
    """All positions, in the order of groups and partitions, and what kept some of them from being answered."""

    offsets: tuple[GroupOffset, ...]
    errors: tuple[ErrorReport, ...] = ()
    moved: frozenset[TopicPartition] = frozenset()
    """Partitions of the source that a cutover moved to the target: groups read them there, and their positions here are of before."""


def translate_groups(
    context: GroupContext, offsets: Offsets, source: Cluster, target: Cluster, known_places: KnownPlaces | None = None
) -> TranslatedGroups:
    """Translates what the groups committed. It is read before: the ledger that is read here then knows no less than the groups do.

    What the offset map has forgotten is counted, within the budget of `context`, unless it is in `known_places`; by default the flow's
    checkpoints say what is.

    Topics that the topic filter leaves out are not among the answers, as in MirrorMaker 2. A part of the ledger that cannot be read is an
    error, and no answer for its partitions; so is a partition without leader on the source. Raises what concerns a whole cluster.
    """
    takes = context.selection.topic_filter.should_replicate
    topics = {topic: takes(topic) for topic in {tp.topic for offset in offsets.values() for tp in offset}}
    wanted = [(tp, committed) for of_group in offsets.values() for tp, committed in of_group.items() if topics[tp.topic]]
    sides = _Sides(context, source, target, {tp for tp, _ in wanted})
    sides.ask_older_epochs(wanted)
    translated = tuple(
        sides.translate(group, tp, committed)
        for group, of_group in sorted(offsets.items())
        for tp, committed in sorted(of_group.items())
        if topics[tp.topic]
    )
    translated = sides.with_counted(
        translated, KnownPlaces(lambda: stored_checkpoints(context, target)) if known_places is None else known_places
    )
    return TranslatedGroups(translated, tuple(error.report() for error in sides.errors), sides.moved_partitions)


def stored_checkpoints(context: GroupContext, target: Cluster) -> StoredCheckpoints:
    """The flow's checkpoints as they are. Their writer reports what is damaged among them. Raises what keeps them from being
    read."""
    stored, _ = read_stored(target, context.clients.target_consumer, context.checkpoints_topic)
    return stored


@dataclass
class _LedgerView:
    records: Records = field(default_factory=dict)
    lanes: int = 1
    unreadable: frozenset[int] = frozenset()

    def is_hiding(self, tp: TopicPartition) -> bool:
        return tp not in self.records and lane_of(*tp, self.lanes) in self.unreadable


class _Sides:
    """What is known of both clusters, read once for all groups."""

    def __init__(self, context: GroupContext, source: Cluster, target: Cluster, wanted: Iterable[TopicPartition]) -> None:
        self._context = context
        self._source = source
        self._target = target
        self.errors: list[MirrorError] = []
        wanted = sorted(wanted)
        names = {tp.topic for tp in wanted}
        self._upstream = {name: upstream for name in names if (upstream := context.selection.from_target(name)) is not None}
        self._remote = {name: context.selection.display_name(name) for name in names if name not in self._upstream}
        self._unusable = {name: error for name in sorted(self._remote) if (error := context.selection.refusal(name)) is not None}
        self._mirrored = {name for name in self._remote if context.selection.should_replicate(name)}
        ledger_topic, clients = context.policy.ledger_topic, context.clients
        self._ledger = self._read(target, ledger_topic(context.source), clients.target_consumer, self._mirrored, context.lanes)
        self._back = self._read(source, ledger_topic(context.target), clients.source_consumer, self._upstream, None)
        hidden: dict[str, MirrorError] = {}
        there = source.topics(names, hidden)
        self._source_ids = {name: topic.id for name, topic in there.items()}
        written = {*(self._remote[name] for name in self._mirrored), *self._upstream.values()}
        self._target_ids = {name: topic.id for name, topic in target.topics(written, hidden).items()}
        answered = [tp for tp in wanted if tp.topic in there and (tp.topic in self._mirrored or tp.topic in self._upstream)]
        existing = [tp for tp in answered if tp.partition < len(there[tp.topic].partitions)]
        unlisted: dict[str, MirrorError] = {}
        self._ends = source.ends(existing, unlisted)
        self._leaderless = {tp for tp in existing if tp not in self._ends and tp.topic not in unlisted}
        self.errors += [*self._unusable.values(), *hidden.values(), *unlisted.values(), *map(_report_leaderless, sorted(self._leaderless))]

    def ask_older_epochs(self, wanted: Iterable[tuple[TopicPartition, Committed]]) -> None:
        """Asks the source up to where its logs are those of these commits, as far as their leader epochs are older than the leader's."""
        older = {_read_position(tp, committed) for tp, committed in wanted if self._is_older(tp, committed.leader_epoch)}
        self._shared_ends = self._source.find_shared_ends(older, _EPOCH_SECONDS)

    @property
    def moved_partitions(self) -> frozenset[TopicPartition]:
        """The partitions that a cutover moved."""
        return frozenset(tp for tp, record in self._ledger.records.items() if record.moved is not None)

    def translate(self, group: str, tp: TopicPartition, committed: Committed) -> GroupOffset:
        """Translates one committed offset; that of a reader of a mirror back into the upstream topic (KIP-1098)."""
        is_back = tp.topic in self._upstream
        remote = TopicPartition((self._upstream if is_back else self._remote)[tp.topic], tp.partition)
        record = self._back.records.get(remote) if is_back else self._ledger.records.get(tp)
        if reason := self._explain_no_answer(tp, remote, record, committed):
            answer = no_answer(reason)
        else:
            answer = self._answer(tp, record, committed, self._target_ids.get(remote.topic), is_back)
        offset = GroupOffset(group, tp, committed, remote, answer, None, shared_end=self._find_shared_end(tp, committed))
        if record is None:
            return offset
        of_source, of_target = SeenLog(record.source_topic_id, record.leader_epoch), SeenLog(record.target_topic_id, None)
        here, there = (of_target, of_source) if is_back else (of_source, of_target)
        logs = SeenLogs(here._replace(leader_epoch=self._find_leader_epoch(tp)), there)
        return replace(offset, generation=generation(record), logs=logs, record=None if is_back else record)

    def _explain_no_answer(self, tp: TopicPartition, remote: TopicPartition, record: LedgerRecord | None, committed: Committed) -> str:
        """Why an offset is not translated; empty if it is."""
        if tp.topic in self._upstream:
            if self._back.is_hiding(remote):
                return "the ledger of the other direction, on the source, cannot be read"
        elif tp.topic in self._unusable:
            return _UNUSABLE
        elif tp.topic not in self._mirrored:
            return NOT_MIRRORED
        elif self._ledger.is_hiding(tp):
            return "the ledger cannot be read"
        elif record is not None and record.is_handed_back:
            return "the flow was handed back to MirrorMaker 2, which translates offsets since"
        if tp in self._leaderless:
            return _NO_LEADER
        is_unconfirmed = self._is_older(tp, committed.leader_epoch) and self._find_shared_end(tp, committed) is None
        return _UNCONFIRMED if is_unconfirmed else ""

    def _answer(
        self, tp: TopicPartition, record: LedgerRecord | None, committed: Committed, target_id: str | None, is_back: bool
    ) -> TranslatedOffset:
        offset, epoch, end = committed.offset, committed.leader_epoch, self._ends.get(tp)
        side = None
        if end is not None:
            side = SourceState(self._source_ids[tp.topic], end.offset, end.leader_epoch, self._find_shared_end(tp, committed))
        if is_back:
            return translate_back(offset, record, side, target_id, leader_epoch=epoch)
        sync: Sync | None = None
        first = None if record is None else next((run.source for run in record.offset_map.runs), record.watermark)
        if first is None or (side.read_until(offset) if side else offset) < first:  # it may lie below all that the ledger knows
            sync = lambda of: self._store.translate(*tp, of)  # noqa: E731 — the store is read only if it is asked
        return translate(offset, record, side, target_id, leader_epoch=epoch, sync=sync)

    def with_counted(self, translated: tuple[GroupOffset, ...], known_places: KnownPlaces) -> tuple[GroupOffset, ...]:
        """Returns the same answers, exact where counting could place them."""
        limit = self._context.count_max_bytes
        early_by_place = {
            number: early for number, offset in enumerate(translated) if limit and (early := self._find_early(offset)) is not None
        }
        if not early_by_place:
            return translated
        answers = count_early(early_by_place.values(), known_places, HoleCounter(self._context, self._source, self._target).count, limit)
        return tuple(
            replace(offset, translated=answers[early_by_place[at]]) if at in early_by_place else offset
            for at, offset in enumerate(translated)
        )

    def _find_early(self, offset: GroupOffset) -> EarlyOffset | None:
        """An answer that may be counted; None for every other one."""
        answer, is_back = offset.translated, offset.source.topic in self._upstream
        record = self._back.records.get(offset.remote) if is_back else self._ledger.records.get(offset.source)
        if answer.hole is None or answer.kind != EARLY or answer.reread == 0 or record is None or offset.generation is None:
            return None
        hole = PartitionHole(offset.remote if is_back else offset.source, record, answer.hole, is_back)
        return EarlyOffset(offset.read_until, answer, offset.remote, offset.generation, hole)

    def _find_leader_epoch(self, tp: TopicPartition) -> int | None:
        end = self._ends.get(tp)
        return None if end is None else end.leader_epoch

    def _find_shared_end(self, tp: TopicPartition, committed: Committed) -> int | None:
        return self._shared_ends.get(_read_position(tp, committed))

    def _is_older(self, tp: TopicPartition, epoch: int | None) -> bool:
        newest = self._find_leader_epoch(tp)
        return epoch is not None and newest is not None and epoch < newest

    def _read(self, cluster: Cluster, name: str, settings: Mapping[str, object], topics: Iterable[str], lanes: int | None) -> _LedgerView:
        """A ledger, if there is one; that of the other direction has as many lanes as it was made with."""
        topic = cluster.topics([name]).get(name) if topics else None
        if topic is None:
            return _LedgerView()
        count = len(topic.partitions) if lanes is None else lanes
        view = Ledger(name, count, cluster, settings).read()
        self.errors += view.unreadable.values()
        return _LedgerView(view.records, count, frozenset(view.unreadable))

    @cached_property
    def _store(self) -> OffsetSyncStore:
        """What MirrorMaker 2 left; it is read only where the ledger does not know enough."""
        clients, store = self._context.clients, OffsetSyncStore()
        on_source = self._context.offset_syncs_on_source
        cluster, settings = (self._source, clients.source_consumer) if on_source else (self._target, clients.target_consumer)
        content = read_topic(cluster, settings, self._context.offset_syncs_topic, mm2.decode_offset_sync)
        self.errors += content.damaged
        for record in content.records:
            store.sync(record)
        return store


def _read_position(tp: TopicPartition, committed: Committed) -> LogPosition:
    return LogPosition(tp, -1 if committed.leader_epoch is None else committed.leader_epoch, committed.offset)


def _report_leaderless(tp: TopicPartition) -> SourceUnreadable:
    return SourceUnreadable(
        f"{tp} has no leader on the source, so the offsets that groups committed cannot be checked. No offset of it was translated.",
        topic=tp.topic,
        partition=tp.partition,
        next="Bring the source's brokers back; the next run goes on by itself.",
    )
