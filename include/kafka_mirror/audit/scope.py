"""What an audit is asked for, and what the partitions of both sides hold of that; why some cannot be compared."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from kafka_mirror.audit.copied_ranges import LogBounds
from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy.plan.target_checks import RemotePartition, window
from kafka_mirror.errors import (
    MirrorError,
    SourceRecreated,
    SourceUnreadable,
    TargetHidden,
    TargetMissing,
    TargetRecreated,
    TargetUnavailable,
)
from kafka_mirror.errors.next_step import program
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.intervals import Interval, cut_within
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic, is_compacted
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.ledger.record import LedgerRecord

_MARKER_SECONDS = 5.0


class LogBoundsReader:
    """Topics and offsets of both sides, asked for once. `starts` and `ends`: from where and how far each source partition can be read;
    `partitions`: how many each source topic has."""

    def __init__(self, source: Cluster, target: Cluster, records: Mapping[TopicPartition, LedgerRecord], committed: bool) -> None:
        self._records = records
        self._target = target
        self.refused: dict[str, MirrorError] = {}
        """What the source refuses to tell of single topics, also to who asks later."""
        self._refused_there: dict[str, MirrorError] = {}
        self._sources = source.topics({tp.topic for tp in records}, self.refused)
        self.partitions = {name: len(topic.partitions) for name, topic in self._sources.items()}
        self._targets = target.topics({name for record in records.values() for name in _list_topics(record)}, self._refused_there)
        self._compacted = _find_compacted(source, self._sources), _find_compacted(target, self._targets)
        ours = [tp for tp in records if _has(self._sources, tp)]
        remotes = [TopicPartition(name, tp.partition) for tp, record in records.items() for name in _list_topics(record)]
        theirs = [remote for remote in remotes if _has(self._targets, remote)]
        with ThreadPoolExecutor(2) as threads:
            starts = threads.submit(target.offsets, theirs, "earliest", False, self._refused_there)
            self.starts = source.offsets(ours, "earliest", errors=self.refused)
            self.ends = source.offsets(ours, "latest", committed=committed, errors=self.refused)
            self._target_starts = starts.result()
        self._stable = target.offsets(theirs, "latest", committed=True, errors=self._refused_there)
        self._target_ends = target.offsets(theirs, "latest", errors=self._refused_there)
        # A commit is decided before its markers are written, and the ledger's may be there first.
        poll_until(self._is_all_shown, _MARKER_SECONDS, every=0.1)

    def find_bounds(self, tp: TopicPartition, name: str | None) -> LogBounds:
        """Returns the offsets that a source partition and a topic of the target hold (None: nothing is read there)."""
        if name is None:
            return LogBounds(self.starts[tp], self.ends[tp], 0, 0)
        remote = TopicPartition(name, tp.partition)
        return LogBounds(self.starts[tp], self.ends[tp], self._target_starts[remote], self._stable[remote])

    def find_tail(self, tp: TopicPartition, record: LedgerRecord) -> Interval | None:
        """Where a record after the copy would be unexplained; None if nothing stands there but the marker of our own transaction, and where
        producers write since a cutover moved the partition."""
        if record.moved is not None:
            return None
        remote = TopicPartition(record.target_topic, tp.partition)
        ends = self._target_starts[remote], self._stable[remote], self._target_ends[remote]
        return window(RemotePartition(tp, remote.topic, None, 1, *ends), record)

    def is_compacted(self, tp: TopicPartition, name: str) -> bool:
        """Returns whether one of the two topics is compacted, as far as the mirror may describe them."""
        sources, targets = self._compacted
        return tp.topic in sources or name in targets

    # ------------------------------------------------------------ what keeps a partition from being compared

    def find_source_error(self, tp: TopicPartition, record: LedgerRecord) -> MirrorError | None:
        """Why the source partition cannot be read, or is another one."""
        refused, topic = self.refused.get(tp.topic), self._sources.get(tp.topic)
        if refused is not None:
            return refused
        if topic is None or tp not in self.starts or tp not in self.ends:
            detail = "it is gone" if topic is None else "it has no leader, or is gone"
            message = f"{tp}: the source partition cannot be read: {detail}. Nothing of it was compared."
            return SourceUnreadable(message, topic=tp.topic, partition=tp.partition, next="Bring the source's brokers back, or exclude it.")
        if not record.is_of(topic.id):
            return SourceRecreated(*tp, record.watermark, record.source_topic_id, topic.id)
        return None

    def find_target_error(self, tp: TopicPartition, name: str, topic_id: str) -> MirrorError | None:
        """Why a partition of a topic of the target cannot be read, or is another one."""
        remote, topic = TopicPartition(name, tp.partition), self._targets.get(name)
        if name in self._refused_there:
            return self._refused_there[name]
        if topic is None or tp.partition >= len(topic.partitions):
            return TargetMissing(*tp, name)
        if topic.id != topic_id:
            return TargetRecreated(*tp, name, f"topic id {topic_id}", topic.id)
        if not all(remote in offsets for offsets in (self._target_starts, self._stable, self._target_ends)):
            return TargetUnavailable(*tp, name, "it has no leader")
        return None

    def find_live_error(self, tp: TopicPartition, record: LedgerRecord) -> MirrorError | None:
        """The error of the remote partition; also that an open transaction hides what was copied."""
        error = self.find_target_error(tp, record.target_topic, record.target_topic_id)
        if error is None and self._is_hidden(tp, record):
            stable = self._stable[TopicPartition(record.target_topic, tp.partition)]
            return TargetHidden(*tp, record.target_topic, stable, record.target_next)
        return error

    def _is_hidden(self, tp: TopicPartition, record: LedgerRecord) -> bool:
        remote = TopicPartition(record.target_topic, tp.partition)
        return remote in self._stable and self._stable[remote] < record.target_next <= self._target_ends.get(remote, -1)

    def _is_all_shown(self) -> bool:
        """Whether nothing is hidden, once what was is asked for again."""
        if hidden := self._find_hidden():
            self._stable |= self._target.offsets(hidden, "latest", committed=True)
        return not self._find_hidden()

    def _find_hidden(self) -> list[TopicPartition]:
        return [TopicPartition(record.target_topic, tp.partition) for tp, record in self._records.items() if self._is_hidden(tp, record)]


def _list_topics(record: LedgerRecord) -> set[str]:
    """The topics of the target that hold something of a partition."""
    return {record.target_topic, *(topic.topic for topic in record.history_topics)}


def _has(topics: Mapping[str, Topic], tp: TopicPartition) -> bool:
    return tp.topic in topics and tp.partition < len(topics[tp.topic].partitions)


def _find_compacted(cluster: Cluster, topics: Mapping[str, Topic]) -> frozenset[str]:
    refused: dict[str, MirrorError] = {}
    return frozenset(name for name, configs in cluster.configs(topics, refused).items() if is_compacted(configs))


UNKNOWN_TOPIC = "{}: the ledger knows nothing of this topic, so nothing of it was compared."
NOT_BEGUN = "Not copied yet, so not compared: {}. See what the plan says of them: {} plan (in Airflow, the DAG copy with dry_run)."

Records = Mapping[TopicPartition, LedgerRecord]


@dataclass(frozen=True)
class Scope:
    """What is asked for; each narrows it further. `topics`: these source topics. `source_offsets`: these offsets of these partitions.
    `times`: offsets between those of two times. `starts`: offsets from these on, up to where the copy is; other partitions whole."""

    topics: Collection[str] = ()
    source_offsets: Mapping[TopicPartition, Interval] | None = None
    times: tuple[datetime, datetime] | None = None
    starts: Mapping[TopicPartition, int] | None = None

    @property
    def is_whole_topics(self) -> bool:
        """Whether nothing narrows it but topics."""
        return self.source_offsets is None and self.times is None and self.starts is None

    @property
    def reaches_the_end(self) -> bool:
        """Whether it goes up to where the copy is, so that what stands after that is asked for too."""
        return self.source_offsets is None and self.times is None

    def list_unknown(self, records: Records) -> Iterator[str]:
        """Sentences about what the ledger does not know."""
        for name in sorted(set(self.topics) - {tp.topic for tp in records}):
            yield UNKNOWN_TOPIC.format(name)
        for tp in sorted((self.source_offsets or {}).keys() - records.keys()):
            yield UNKNOWN_TOPIC.format(tp)

    def select_partitions(self, flow: Flow, records: Records) -> Records:
        """Of the ledger's partitions those that are asked for; of topics that the flow no longer mirrors, those that are named."""
        if self.source_offsets is not None:
            records = {tp: record for tp, record in records.items() if tp in self.source_offsets}
        if self.topics:
            return {tp: record for tp, record in records.items() if tp.topic in self.topics}
        selection = topic_selection(flow)
        ours = {name for name in {tp.topic for tp in records} if selection.takes(name)}
        return {tp: record for tp, record in records.items() if tp.topic in ours}

    def select_offsets(self, source: Cluster, records: Records, holdings: LogBoundsReader) -> Mapping[TopicPartition, Interval] | None:
        """The source offsets that are asked for; None: all there are. None of a partition whose offsets no leader tells.

        What the source refuses to tell of one topic is of that topic alone.

        Times that begin no later than what the log still has: records of theirs may have stood in front of it, so what was copied there is
        asked for as well, to be said.
        """
        if self.starts is not None:
            return {tp: (min(start, records[tp].watermark), records[tp].watermark) for tp, start in self.starts.items() if tp in records}
        if self.times is None:
            return self.source_offsets
        known_partitions = [tp for tp in records if tp in holdings.ends and tp in holdings.starts]
        at = [source.offsets_for_time(known_partitions, round(time.timestamp() * 1000), holdings.refused) for time in self.times]
        selected: dict[TopicPartition, Interval] = {}
        for tp in known_partitions:
            if not all(tp in offsets_at for offsets_at in at):
                continue
            start, end = (holdings.ends[tp] if (offset := offsets_at[tp]) is None else offset for offsets_at in at)
            if start <= holdings.starts[tp]:
                start = min([start, *(first for first, _ in records[tp].covered[:1])])
            whole = (start, max(start, end))
            inside = cut_within([whole], *self.source_offsets[tp]) if self.source_offsets else (whole,)
            selected[tp] = inside[0] if inside else (start, start)
        return selected


def list_not_begun(flow: Flow, source: Cluster, scope: Scope, records: Records, partitions: Mapping[str, int]) -> tuple[str, ...]:
    """What the flow mirrors and the ledger does not know yet: topics, and new partitions of others, in words; `partitions` are how many the
    source's topics in the ledger have. An audit is about what was copied, so it would be equal without it."""
    if not flow.value("refresh.topics.enabled"):
        return ()
    in_ledger, selection = {tp.topic for tp in records}, topic_selection(flow)
    topics = () if scope.topics else [name for name in source.names() if name not in in_ledger and selection.takes(name)]
    new = {name: count - sum(1 for tp in records if tp.topic == name) for name, count in sorted(partitions.items())}
    return (*topics, *(f"{count} partitions of {name}" for name, count in new.items() if count > 0))


def note_not_begun(names: Sequence[str]) -> Iterator[str]:
    """The first of them, and what says more."""
    if names:
        yield NOT_BEGUN.format(first_few(names), program())
