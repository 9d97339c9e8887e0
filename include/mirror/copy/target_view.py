"""The target as a lane finds it: remote topics with their limits, and the ends of its remote partitions."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from mirror.copy.checks import UNKNOWN, RemotePartition
from mirror.copy.engine import RecordLimits
from mirror.copy.model import LaneTask
from mirror.errors import MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.model import ConfigEntry, Topic
from mirror.offsets.partition import TopicPartition
from mirror.plan.limits import limits_text
from mirror.plan.model import Range


class TargetView:
    """Remote topics and their configs, read once for an attempt; offsets are asked for after the lane is fenced."""

    def __init__(self, task: LaneTask, cluster: Cluster) -> None:
        self._task = task
        self._cluster = cluster
        names = {task.remote_topics[planned.topic] for planned in task.ranges}
        self.refused: dict[str, MirrorError] = {}
        self.topics: Mapping[str, Topic] = cluster.topics(names, self.refused)
        self._configs = cluster.configs(self.topics, self.refused)

    @property
    def smallest_message_limit(self) -> int:
        """The smallest max.message.bytes of the lane's remote topics and the ledger's usual one."""
        return min([RecordLimits().max_message_bytes, *(self.limits(name).max_message_bytes for name in self.topics)])

    def limits(self, remote: str) -> RecordLimits:
        """What the remote topic takes, whatever the time is."""
        configs = self._configs.get(remote, {})
        return RecordLimits(
            max_message_bytes=_number(configs, "max.message.bytes") or RecordLimits().max_message_bytes,
            needs_key="compact" in (_text(configs, "cleanup.policy") or ""),
        )

    def limits_text(self, remote: str) -> str:
        """The same as the ledger notes it."""
        return limits_text(self._configs.get(remote, {}))

    def partitions(self, ranges: Iterable[Range]) -> dict[TopicPartition, RemotePartition]:
        """The remote partitions of the given ranges, by source partition, with their offsets as of now."""
        remote = {planned.topic_partition: TopicPartition(self._task.remote_topics[planned.topic], planned.partition) for planned in ranges}
        there = [tp for tp in remote.values() if tp.topic in self.topics and tp.partition < len(self.topics[tp.topic].partitions)]
        with ThreadPoolExecutor(3) as threads:  # on a far network, the time of one question instead of three
            asking = [
                threads.submit(self._cluster.offsets, there, at, committed, self.refused)
                for at, committed in (("earliest", False), ("latest", True), ("latest", False))
            ]
        starts, stable, ends = (answer.result() for answer in asking)
        return {
            source: RemotePartition(
                source=source,
                remote=tp.topic,
                topic=self.topics.get(tp.topic),
                min_insync=_number(self._configs.get(tp.topic, {}), "min.insync.replicas") or 1,
                log_start=starts.get(tp, UNKNOWN),
                last_stable=stable.get(tp, UNKNOWN),
                end=ends.get(tp, UNKNOWN),
            )
            for source, tp in remote.items()
        }


def _text(configs: Mapping[str, ConfigEntry], name: str) -> str | None:
    entry = configs.get(name)
    return entry.value if entry else None


def _number(configs: Mapping[str, ConfigEntry], name: str) -> int | None:
    text = _text(configs, name)
    return int(text) if text is not None else None
