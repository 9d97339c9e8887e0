"""What the partitions of an audit hold on both sides, and why some cannot be compared."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from kafka_mirror.audit.range import LogBounds
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
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic, is_compacted
from kafka_mirror.kafka.polling import until
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
        self._await_markers()

    def bounds(self, tp: TopicPartition, name: str | None) -> LogBounds:
        """Returns the offsets that a source partition and a topic of the target hold (None: nothing is read there)."""
        if name is None:
            return LogBounds(self.starts[tp], self.ends[tp], 0, 0)
        remote = TopicPartition(name, tp.partition)
        return LogBounds(self.starts[tp], self.ends[tp], self._target_starts[remote], self._stable[remote])

    def tail(self, tp: TopicPartition, record: LedgerRecord) -> Interval | None:
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

    def source_error(self, tp: TopicPartition, record: LedgerRecord) -> MirrorError | None:
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

    def target_error(self, tp: TopicPartition, name: str, topic_id: str) -> MirrorError | None:
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

    def live_error(self, tp: TopicPartition, record: LedgerRecord) -> MirrorError | None:
        """The error of the remote partition; also that an open transaction hides what was copied."""
        error = self.target_error(tp, record.target_topic, record.target_topic_id)
        if error is None and self._is_hidden(tp, record):
            stable = self._stable[TopicPartition(record.target_topic, tp.partition)]
            return TargetHidden(*tp, record.target_topic, stable, record.target_next)
        return error

    def _is_hidden(self, tp: TopicPartition, record: LedgerRecord) -> bool:
        remote = TopicPartition(record.target_topic, tp.partition)
        return remote in self._stable and self._stable[remote] < record.target_next <= self._target_ends.get(remote, -1)

    def _await_markers(self) -> None:
        """A commit is decided before its markers are written, and the ledger's may be there first."""
        until(self._is_all_shown, _MARKER_SECONDS, every=0.1)

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
