"""Which offsets of groups a transaction that is still open commits (KIP-447).

Until it ends, a group stands where it stood; once it is committed, further on. A consumer that reads committed records waits for that, and
so does who moves a group. Brokers before Kafka 2.5 do not tell: then the group stands where they say.
"""

import time
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from typing import Any

import kafka.errors as errors
from kafka.protocol.consumer import OffsetFetchRequest

from mirror.errors import AuthorizationRefused, ClusterUnreachable, MirrorError
from mirror.errors.display import show
from mirror.kafka.broker_pool import BrokerPool
from mirror.kafka.cluster import Cluster
from mirror.offsets.partition import TopicPartition

_UNSTABLE = errors.UnstableOffsetCommitError.errno
_OLDEST, _SEVERAL_GROUPS = 7, 8
"""The first version of the request that asks for stable offsets, and the one that asks for several groups."""
_PAUSE_SECONDS = 0.1
_OFFSETS_TOPIC = "__consumer_offsets"


def unstable_offsets(
    cluster: Cluster,
    settings: Mapping[str, Any],
    groups: Mapping[str, Collection[TopicPartition]],
    refused: MutableMapping[str, MirrorError],
) -> dict[str, tuple[TopicPartition, ...]]:
    """Those of the partitions for which an open transaction commits offsets, by group, for groups that have some. They are asked for by
    name: of a first commit a coordinator tells nothing else. What fails for one group alone goes into `refused` by its name. `settings` are
    librdkafka's, of an admin client; raises what the cluster answers."""
    pool = BrokerPool(cluster.alias, settings, cluster.timeout)
    unstable: dict[str, tuple[TopicPartition, ...]] = {}
    try:
        for group, wanted in sorted(groups.items()):
            try:
                partitions = _of_group(pool, group, wanted, time.monotonic() + cluster.timeout)
            except AuthorizationRefused as error:
                refused[group] = error
                continue
            if partitions:
                unstable[group] = partitions
    finally:
        pool.release()
    return unstable


def may_be_unstable(cluster: Cluster, groups: Collection[str]) -> list[str]:
    """Those of the groups for which a transaction may commit offsets now: where one is open, their coordinator's log goes on after its last
    stable offset. All of them where that log may not be described."""
    refused: dict[str, MirrorError] = {}
    topic = cluster.topics([_OFFSETS_TOPIC], refused).get(_OFFSETS_TOPIC)
    if topic is None:
        return sorted(groups)
    logs = cluster.log_offsets([TopicPartition(topic.name, partition.number) for partition in topic.partitions], refused)
    settled = {tp.partition for tp, log in logs.items() if 0 <= log.end == log.stable}
    return sorted(group for group in groups if _java_hash(group) % len(topic.partitions) not in settled)


def _java_hash(name: str) -> int:
    """Java's hash code of a text without its sign, by which a group has its partition of the coordinators' log."""
    code, units = 0, name.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + (high << 8 | low)) & 0xFFFFFFFF
    return code & 0x7FFFFFFF


def _of_group(pool: BrokerPool, group: str, wanted: Collection[TopicPartition], deadline: float) -> tuple[TopicPartition, ...]:
    """Asks the group's coordinator, and the next one while it moves; over a new connection where one broke."""
    step = f"asking for the stable offsets of the group {show(group)}"
    while True:
        is_late = time.monotonic() + _PAUSE_SECONDS >= deadline
        try:
            answer = pool.guarded(step, lambda: _ask(pool, group, wanted))
        except ClusterUnreachable:
            if is_late:
                raise
            pool.close()
        else:
            failure = errors.for_code(answer.error_code) if answer is not None and answer.error_code else None
            if failure is None:
                return tuple(sorted(_unstable(answer)))
            if is_late or not failure.retriable:
                raise pool.refused(failure.errno, step, operation="DESCRIBE", what=f"the group {show(group)}")
        time.sleep(_PAUSE_SECONDS)


def _unstable(answer: Any) -> Iterator[TopicPartition]:
    for topic in answer.topics if answer is not None else ():
        for partition in topic.partitions:
            if partition.error_code == _UNSTABLE:
                yield TopicPartition(topic.name, partition.partition_index)


def _ask(pool: BrokerPool, group: str, wanted: Collection[TopicPartition]) -> Any:
    """What the coordinator says of the group's offsets; None: it is too old to tell which are stable."""
    connection = pool.to(pool.group_coordinator(group))
    version = connection.version(OffsetFetchRequest.API_KEY, _SEVERAL_GROUPS)
    if version < _OLDEST:
        return None
    numbers: dict[str, list[int]] = {}
    for topic, partition in sorted(wanted):
        numbers.setdefault(topic, []).append(partition)
    if version < _SEVERAL_GROUPS:
        topics = [OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=of_topic) for name, of_topic in numbers.items()]
        return connection.ask(OffsetFetchRequest(version=version, group_id=group, topics=topics, require_stable=True))
    of_group = OffsetFetchRequest.OffsetFetchRequestGroup
    named = [of_group.OffsetFetchRequestTopics(name=name, partition_indexes=of_topic) for name, of_topic in numbers.items()]
    groups = [of_group(group_id=group, topics=named)]
    return connection.ask(OffsetFetchRequest(version=version, groups=groups, require_stable=True)).groups[0]
