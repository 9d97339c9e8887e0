"""The partitions that MirrorMaker 2 left: how both sides of each stand, and which of them cannot be taken over as they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kafka_mirror.config import Flow
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.source_partitions import source_partitions
from kafka_mirror.errors import ErrorReport, MirrorError, TakeOverRefused
from kafka_mirror.formats import mm2
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.groups.mm2_topics import read_topic
from kafka_mirror.groups.offset_sync_store import SyncPair
from kafka_mirror.groups.offset_syncs import find_syncs_topic
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic, is_compacted
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.ledger.clusters import current_selection
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import LedgerView
from kafka_mirror.migration.evidence import mm2_reads_committed
from kafka_mirror.migration.tail_match import Mm2Partition
from kafka_mirror.policy import TopicSelection

_ANEW = "If that was meant, nothing else is to be done: refresh-topics creates what is missing, and the copy begins at mirror.start."

_PATIENCE_SECONDS = 3.0


class _Ends(NamedTuple):
    """Log start, last stable offset and end of a remote partition."""

    start: int
    stable: int
    end: int


_NO_LEADER = _Ends(-1, -1, -1)


@dataclass
class TakeOverSurvey:
    """What is to be looked at, and what not. `sources` and `remotes`: both sides of what is looked at."""

    partitions: list[Mm2Partition] = field(default_factory=list)
    sources: Mapping[TopicPartition, SourceOffsets] = field(default_factory=dict)
    remotes: Mapping[str, Topic] = field(default_factory=dict)
    ours: list[TopicPartition] = field(default_factory=list)
    """Partitions that the ledger has already: nothing is to be done for them."""
    errors: list[ErrorReport] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def survey_partitions(
    flow: Flow,
    source: Cluster,
    target: Cluster,
    stored: Mapping[TopicPartition, int | None],
    ledger: LedgerView,
    topics: Iterable[str],
) -> TakeOverSurvey:
    """Surveys every partition that the flow mirrors, or only those of `topics` if any are named."""
    return _StateReader(flow, source, target, stored, ledger, frozenset(topics), current_selection(flow, target)).run()


@dataclass
class _StateReader:
    flow: Flow
    source: Cluster
    target: Cluster
    stored: Mapping[TopicPartition, int | None]
    ledger: LedgerView
    only: frozenset[str]
    selection: TopicSelection
    survey: TakeOverSurvey = field(default_factory=TakeOverSurvey)
    hidden: dict[str, MirrorError] = field(default_factory=dict)
    """What the target refuses to tell of single remote topics."""

    def run(self) -> TakeOverSurvey:
        """Fills what is found."""
        refused: dict[str, MirrorError] = {}
        there = frozenset(self.source.names())
        names = {*there, *(tp.topic for tp in self.stored)}
        named = {name for name in names if not self.only or name in self.only}
        refused |= {name: error for name in named if (error := self.selection.refusal(name)) is not None}
        chosen = {name for name in names if self.selection.should_replicate(name)}
        shared = self.selection.with_shared_remote_name(chosen & there, {tp.topic for tp in self.ledger.records})
        refused |= {name: error for name, error in shared.items() if name in named}
        topics = self.source.topics((chosen & named) - shared.keys(), refused)
        remotes = self.target.topics({self.selection.remote(name) for name in topics}, self.hidden)
        self.survey.remotes = {name: remotes[remote] for name in topics if (remote := self.selection.remote(name)) in remotes}
        self._note_what_is_left_out(topics, refused)
        wanted = self._select_open(topics)
        self.survey.sources = source_partitions(self.source, topics, wanted, mm2_reads_committed(self.flow), refused)
        self._add([tp for tp in wanted if not self._is_refused(tp.topic, refused)], refused)
        self.survey.errors.extend(error.report() for error in refused.values())
        topic_of = {self.selection.remote(name): name for name in topics}
        self.survey.errors.extend(replace(error.report(), topic=topic_of[remote]) for remote, error in self.hidden.items())
        self.survey.errors.extend(error.report() for error in self.ledger.unreadable.values())
        return self.survey

    def _note_what_is_left_out(self, topics: Mapping[str, Topic], refused: Mapping[str, MirrorError]) -> None:
        gone = sorted({tp.topic for tp, offset in self.stored.items() if offset is not None} - set(topics) - set(refused) - set(self.only))
        if gone and not self.only:
            listed = ", ".join(gone[:10]) + (" …" if len(gone) > 10 else "")
            self.survey.notices.append(
                f"Kafka Connect has offsets of {len(gone)} topics that the source no longer has or the flow does not mirror: {listed}."
            )

    def _select_open(self, topics: Mapping[str, Topic]) -> list[TopicPartition]:
        """The partitions that are not ours already, of lanes that can be read."""
        partitions = [TopicPartition(name, partition.number) for name, topic in topics.items() for partition in topic.partitions]
        readable = [tp for tp in partitions if lane_of(*tp, self.flow.value("mirror.lanes")) not in self.ledger.unreadable]
        self.survey.ours = [tp for tp in readable if (record := self.ledger.records.get(tp)) and not record.is_handed_back]
        ours = set(self.survey.ours)
        return [tp for tp in readable if tp not in ours]

    def _add(self, wanted: list[TopicPartition], refused: dict[str, MirrorError]) -> None:
        there = [tp for tp in wanted if (topic := self.survey.remotes.get(tp.topic)) and tp.partition < len(topic.partitions)]
        remote = {tp: TopicPartition(self.selection.remote(tp.topic), tp.partition) for tp in wanted}
        ends = self._read_remote_ends([remote[tp] for tp in there])
        compacted = self._find_compacted({tp.topic for tp in there}, refused)
        syncs = self._read_syncs()
        for tp in wanted:
            if self._is_refused(tp.topic, refused):
                continue
            stored, remote_ends = self.stored.get(tp), ends.get(remote[tp], _NO_LEADER)
            if stored is None and (tp not in there or (0 <= remote_ends.start == remote_ends.end and self._find_ours(tp) is None)):
                continue  # never mirrored
            refusal = self._find_refusal(tp, remote[tp], stored, tp in there, remote_ends, syncs.get(tp, []))
            if refusal is not None:
                self.survey.errors.append(refusal.report())
                continue
            source, ours = self.survey.sources[tp], self._find_ours(tp)
            self.survey.partitions.append(
                Mm2Partition(
                    tp=tp,
                    remote=remote[tp],
                    stored=stored,
                    source_start=source.log_start,
                    source_end=source.readable_end,
                    target_start=remote_ends.start,
                    target_end=remote_ends.end,
                    compacted=tp.topic in compacted,
                    syncs=tuple(syncs.get(tp, ())),
                    copied=SyncPair(ours.watermark, ours.target_next) if ours else None,
                )
            )

    def _read_remote_ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, _Ends]:
        """The offsets of the remote partitions, with a moment of patience for transactions whose tasks were fenced just now."""
        starts = self.target.offsets(partitions, "earliest", errors=self.hidden)
        stable, ends = poll_until(
            lambda: [self.target.offsets(partitions, "latest", committed, self.hidden) for committed in (True, False)],
            _PATIENCE_SECONDS,
            every=0.1,
            enough=lambda stable_and_ends: all(stable_and_ends[0].get(tp, end) >= end for tp, end in stable_and_ends[1].items()),
        )
        return {tp: _Ends(starts[tp], stable[tp], ends[tp]) for tp in partitions if tp in starts and tp in stable and tp in ends}

    def _find_ours(self, tp: TopicPartition) -> LedgerRecord | None:
        """What our ledger says of a partition that was handed back, if both topics are still the same."""
        record, remote, source = self.ledger.records.get(tp), self.survey.remotes.get(tp.topic), self.survey.sources.get(tp)
        if record is None or remote is None or source is None:
            return None
        return record if (record.source_topic_id, record.target_topic_id) == (source.topic_id, remote.id) else None

    def _find_refusal(
        self, tp: TopicPartition, remote: TopicPartition, stored: int | None, there: bool, ends: _Ends, syncs: list[SyncPair]
    ) -> MirrorError | None:
        start, stable, end = ends
        source = self.survey.sources.get(tp)
        if not there:
            return TakeOverRefused(*tp, f"Kafka Connect kept the offset {stored} of it, and its remote partition {remote} is gone.", _ANEW)
        if source is None or ends == _NO_LEADER:
            return TakeOverRefused(*tp, "it has no leader on one of the clusters.", "Bring the brokers back, then run take-over again.")
        if stable < end:
            return TakeOverRefused(
                *tp,
                f"a transaction is open in {remote}@[{stable}, {end}).",
                f"Find it with kafka-transactions.sh --bootstrap-server <target> find-hanging --topic {remote.topic}, then again.",
            )
        if stored is not None and stored >= source.end:
            return TakeOverRefused(
                *tp,
                f"the source ends at {source.end}, in front of the offset {stored} that was mirrored: it lost records or was recreated.",
                f"Move {remote.topic} out of the way, or let the copy follow what it holds: then decide accept-records.",
            )
        newest = syncs[-1].downstream if syncs else -1
        if (stored is not None and end == 0) or newest >= end > start:
            what = f"the newest offset sync names its offset {newest}" if newest >= end else f"Kafka Connect kept the offset {stored}"
            return TakeOverRefused(
                *tp, f"{what}, and the remote partition {remote} ends at {end}: it lost records or was recreated.", _ANEW
            )
        return None

    def _is_refused(self, topic: str, refused: Mapping[str, MirrorError]) -> bool:
        """Whether a cluster refuses to tell something of a source topic or of its remote one: that is no word about what is there."""
        return topic in refused or self.selection.remote(topic) in self.hidden

    def _find_compacted(self, topics: set[str], refused: dict[str, MirrorError]) -> set[str]:
        """The source topics of which records may be gone in between, on either side."""
        remote = {self.selection.remote(name): name for name in topics}
        sides = ((self.source, {name: name for name in topics}, refused), (self.target, remote, self.hidden))
        compacted: set[str] = set()
        for cluster, names, errors in sides:
            compacted |= {names[name] for name, configs in cluster.configs(names, errors).items() if is_compacted(configs)}
        return compacted

    def _read_syncs(self) -> dict[TopicPartition, list[SyncPair]]:
        side, topic = find_syncs_topic(self.flow)
        cluster = self.source if side == "source" else self.target
        try:
            content = read_topic(cluster, self.flow.client(side, "consumer"), topic, mm2.decode_offset_sync)
        except MirrorError as failure:
            self.survey.notices.append(f"The offset syncs cannot be read, so offsets translate less exactly: {failure.message}")
            return {}
        syncs: dict[TopicPartition, list[SyncPair]] = {}
        for sync in content.records:
            syncs.setdefault(TopicPartition(sync.topic, sync.partition), []).append(SyncPair(sync.upstream, sync.downstream))
        return syncs
