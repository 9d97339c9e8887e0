"""The target as a lane finds it: remote topics with their limits, the ends of remote partitions, and whether our last records still stand.

             kept              lost              target_next
    then  ───────────────┼──────────────────────────┤
    now   ───────────────┼── aborted records ──────────────────┤ end

A leader without our last records may take over while a transaction writes. What that had sent stands where they were, and is aborted: the
partition ends after `target_next` as it should, and only a reader of committed records sees the hole.
"""

from collections.abc import Iterable, Mapping

from kafka_mirror.copy.model import RECORDS, LaneTask, RecordLimits
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.copy.plan.target_checks import LIMITS, UNKNOWN, RemotePartition, ends_with_ours, limits_text
from kafka_mirror.errors import MirrorError, TargetLostRecords
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import ConfigEntry, Topic, is_compacted
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.record import LedgerRecord

CONFIGS = frozenset({"compression.type", "min.insync.replicas", *LIMITS})
"""What a lane has to know of a remote topic's configs."""
_FIRST_LOOK = 1000
_AS_IT_COMES = RecordLimits().compression


class TargetView:
    """Remote topics and their configs, read once for an attempt; offsets are asked for after the lane is fenced."""

    def __init__(self, task: LaneTask, cluster: Cluster) -> None:
        self._task = task
        self._cluster = cluster
        names = {task.remote_topics[planned.topic] for planned in task.ranges}
        self.refused: dict[str, MirrorError] = {}
        self.topics: Mapping[str, Topic] = cluster.topics(names, self.refused)
        self._configs = cluster.configs(self.topics, self.refused, CONFIGS)

    @property
    def smallest_message_limit(self) -> int:
        """The smallest max.message.bytes of the lane's remote topics and the ledger's usual one."""
        return min([RecordLimits().max_message_bytes, *(self.find_limits(name).max_message_bytes for name in self.topics)])

    def find_limits(self, remote: str) -> RecordLimits:
        """What the remote topic takes, whatever the time is."""
        configs = self._configs.get(remote, {})
        return RecordLimits(
            max_message_bytes=_number(configs, "max.message.bytes") or RecordLimits().max_message_bytes,
            needs_key=is_compacted(configs),
            compression=self._choose_compression(_text(configs, "compression.type") or _AS_IT_COMES),
        )

    def _choose_compression(self, configured: str) -> str:
        """With mirror.engine=records the producer's codec packs what may come as it is."""
        if self._task.engine != RECORDS or configured != _AS_IT_COMES:
            return configured
        codec = self._task.clients.target_producer.get("compression.type", _AS_IT_COMES)
        return "uncompressed" if codec == "none" else str(codec)

    def describe_limits(self, remote: str) -> str:
        """The limits of a remote topic, as the ledger notes them beside a refused record."""
        return limits_text(self._configs.get(remote, {}))

    def read_partitions(self, ranges: Iterable[Range]) -> dict[TopicPartition, RemotePartition]:
        """The remote partitions of the given ranges, by source partition, with their offsets as of now."""
        remote = {planned.topic_partition: TopicPartition(self._task.remote_topics[planned.topic], planned.partition) for planned in ranges}
        there = [tp for tp in remote.values() if tp.topic in self.topics and tp.partition < len(self.topics[tp.topic].partitions)]
        offsets = self._cluster.log_offsets(there, self.refused)
        return {
            source: RemotePartition(
                source=source,
                remote=tp.topic,
                topic=self.topics.get(tp.topic),
                min_insync=_number(self._configs.get(tp.topic, {}), "min.insync.replicas") or 1,
                log_start=offsets[tp].start if tp in offsets else UNKNOWN,
                last_stable=offsets[tp].stable if tp in offsets else UNKNOWN,
                end=offsets[tp].end if tp in offsets else UNKNOWN,
            )
            for source, tp in remote.items()
        }


def _text(configs: Mapping[str, ConfigEntry], name: str) -> str | None:
    entry = configs.get(name)
    return entry.value if entry else None


def _number(configs: Mapping[str, ConfigEntry], name: str) -> int | None:
    text = _text(configs, name)
    return int(text) if text is not None else None


def losses(
    reader: BoundedReader, target: Cluster, looked_at: Mapping[TopicPartition, tuple[RemotePartition, LedgerRecord]], seconds: float
) -> dict[TopicPartition, TargetLostRecords]:
    """What was lost, by source partition, of the given remote partitions and their records in the ledger; none of them compacted.

    Looked at are those in which a record of ours stood right in front of `target_next`. A topic that may not be read is left to those
    who read what stands after that.
    """
    sources = {
        TopicPartition(partition.remote, tp.partition): tp
        for tp, (partition, record) in looked_at.items()
        if ends_with_ours(record) and 0 <= partition.log_start < record.target_next
    }
    if not sources:
        return {}
    nexts = {remote: looked_at[tp][1].target_next for remote, tp in sources.items()}
    unread: dict[str, MirrorError] = {}
    last = {remote: (target_next - 1, target_next) for remote, target_next in nexts.items()}
    visible = reader.first_visible(last, seconds, unread, in_all=False)
    gone = [remote for remote in sources if remote not in visible and remote.topic not in unread]
    starts = target.offsets(gone, "earliest") if gone else {}
    lost = {}
    for remote in gone:
        target_next = nexts[remote]
        if starts.get(remote, target_next) < target_next:  # else retention took it meanwhile, or it is unknown
            end = _end_of_visible(reader, remote, starts[remote], target_next, seconds)
            lost[sources[remote]] = TargetLostRecords(*sources[remote], remote.topic, target_next, end)
    return lost


def _end_of_visible(reader: BoundedReader, remote: TopicPartition, log_start: int, target_next: int, seconds: float) -> int:
    """Looked for backwards, in steps that get larger."""
    end, step = target_next, _FIRST_LOOK
    while end > log_start:
        start = max(log_start, end - step)
        offsets = [message.offset for message in reader.read({remote: (start, end)}, seconds)]
        if offsets:
            return offsets[-1] + 1
        end, step = start, 8 * step
    return log_start
