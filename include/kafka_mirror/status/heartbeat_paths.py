"""Heartbeats that reached the target through a flow: on which way, and how old the newest one is."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import replication_policy
from kafka_mirror.errors import DeadlineExceeded, KafkaFailure
from kafka_mirror.formats import mm2
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.mm2_topics import read_between
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.policy import ReplicationPolicy
from kafka_mirror.policy.replication import sources
from kafka_mirror.status.observation import Beats
from kafka_mirror.status.snapshot import HeartbeatPath

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_LAST_OFFSETS = 20_000
"""How much of the end of a topic is read where it is unknown which pairs beat there: a fifth of a second."""
_FIRST_STEP = 200
_LARGEST_STEP = 100_000
_MOST_OFFSETS = 500_000
"""How far back the flow's own beat is looked for, some seconds: 23 days of 15 pairs that beat once a minute, 9 hours once a second."""

Pair = tuple[str, str]


def heartbeat_paths(flow: "Flow", target: Cluster) -> tuple[HeartbeatPath, ...]:
    """The newest beat of each way on which beats reach the target through the flow, the shortest ways first; and the flow's own beat, which
    is written to the target itself.

    Its own is looked for until it is found or the log starts: other pairs beat into the same topic, and stay when it stops. Of a mirrored
    topic the newest 20,000 offsets are read; a way whose beats are all older is not among the answers.

    Raises what concerns the target as a whole, and what would leave a way out that may be there: KafkaFailure for a topic without leader,
    DeadlineExceeded where the flow's own beat, if it has one, lies too far back.
    """
    policy = replication_policy(flow)
    topics = [name for name in target.names() if policy.is_heartbeats_topic(name) and sources(policy, name)[:1] in ((), (flow.source,))]
    partitions = [TopicPartition(name, 0) for name in sorted(topics)]
    starts, ends = target.offsets(partitions, "earliest"), target.offsets(partitions, "latest")
    paths: list[HeartbeatPath] = []
    for tp in partitions:
        if tp not in starts or tp not in ends:
            raise KafkaFailure(
                f"Cluster '{target.alias}': {tp} has no leader, so it is unknown how old the heartbeats are.",
                topic=tp.topic,
                partition=tp.partition,
                next="Bring the cluster's brokers back; the next look goes on by itself.",
            )
        read = _read_mirrored if sources(policy, tp.topic) else _find_own
        paths += _paths(flow, policy, tp.topic, read(flow, target, tp.topic, starts[tp], ends[tp]), datetime.now(UTC))
    return tuple(sorted(paths, key=lambda path: (len(path.path), path.path)))


def beats_of(flow: "Flow", paths: Iterable[HeartbeatPath]) -> tuple[Beats, ...]:
    """The newest beat of each topic that should have some: the flow's own, and those that it mirrors."""
    own_topic, newest = replication_policy(flow).heartbeats_topic(), dict[str, datetime]()
    for path in paths:
        newest[path.topic] = max(newest.get(path.topic, path.time), path.time)
    if not flow.value("emit.heartbeats.enabled"):
        newest.pop(own_topic, None)
    return tuple(Beats(topic, time, mirrored=topic != own_topic) for topic, time in sorted(newest.items()))


def _read_mirrored(flow: "Flow", target: Cluster, topic: str, start: int, end: int) -> Mapping[Pair, int]:
    """The newest beats of the pairs that beat into a topic which the flow mirrors."""
    return _newest(flow, target, topic, max(start, end - _LAST_OFFSETS), end)


def _find_own(flow: "Flow", target: Cluster, topic: str, start: int, end: int) -> Mapping[Pair, int]:
    """The flow's own newest beat, read backwards in steps that get larger: most often it stands at the end."""
    pair, beats = (flow.source, flow.target), flow.value("emit.heartbeats.enabled")
    least, step = max(start, end - (_MOST_OFFSETS if beats else _LAST_OFFSETS)), _FIRST_STEP
    while end > least:
        begin = max(least, end - step)
        newest = _newest(flow, target, topic, begin, end)
        if pair in newest:
            return {pair: newest[pair]}
        end, step = begin, min(8 * step, _LARGEST_STEP)
    if beats and least > start:
        raise DeadlineExceeded(
            f"Cluster '{target.alias}': among the newest {_MOST_OFFSETS:,} offsets of {topic} is no heartbeat of {flow.name}, and it takes "
            "too long to read on. How old its newest one is stays unknown.",
            topic=topic,
            partition=0,
            offset=least,
            next="Look at the log of the newest run of the flow's heartbeats DAG; if it is not to beat: emit.heartbeats.enabled=false.",
        )
    return {}


def _newest(flow: "Flow", target: Cluster, topic: str, start: int, end: int) -> dict[Pair, int]:
    beats = read_between(target, flow.client("target", "consumer"), topic, start, end, mm2.decode_heartbeat).records
    return {(beat.source, beat.target): beat.timestamp for beat in beats}


def _paths(flow: "Flow", policy: ReplicationPolicy, topic: str, newest: Mapping[Pair, int], now: datetime) -> list[HeartbeatPath]:
    through = sources(policy, topic)
    paths = []
    for (source, target), time in newest.items():
        moment = datetime.fromtimestamp(time / 1000, UTC)
        path = (source, *([target] if through else []), *reversed(through[:-1]), flow.target)
        paths.append(HeartbeatPath(path, topic, moment, max((now - moment).total_seconds(), 0.0)))
    return paths
