"""Heartbeats that reached the target through a flow: on which way, and how old the newest one is."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mirror.formats import heartbeat
from mirror.formats.heartbeat import Heartbeat
from mirror.kafka.cluster import Cluster
from mirror.kafka.mm2_topics import read_between
from mirror.offsets.partition import TopicPartition
from mirror.policy import ReplicationPolicy, replication_policy
from mirror.policy.lineage import sources
from mirror.report.snapshot import HeartbeatPath

if TYPE_CHECKING:
    from mirror.config import Flow

_LAST_OFFSETS = 200
"""How much of the end of a heartbeats topic is read: a beat of each pair that beats there, markers between them."""


def heartbeat_paths(flow: "Flow", target: Cluster) -> tuple[HeartbeatPath, ...]:
    """The newest beat of each way on which beats reach the target through the flow, the shortest ways first; and the flow's own beat, which
    is written to the target itself. Raises what concerns the target as a whole."""
    policy = replication_policy(flow)
    topics = [name for name in target.names() if policy.is_heartbeats_topic(name) and sources(policy, name)[:1] in ((), (flow.source,))]
    partitions = [TopicPartition(name, 0) for name in topics]
    ends = target.offsets(partitions, "latest")
    found: list[HeartbeatPath] = []
    for tp in sorted(ends):
        settings = flow.client("target", "consumer")
        beats = read_between(target, settings, tp.topic, max(0, ends[tp] - _LAST_OFFSETS), ends[tp], heartbeat.decode).records
        found += _paths(flow, policy, tp.topic, beats, datetime.now(UTC))
    return tuple(sorted(found, key=lambda each: (len(each.path), each.path)))


def _paths(flow: "Flow", policy: ReplicationPolicy, topic: str, beats: tuple[Heartbeat, ...], now: datetime) -> list[HeartbeatPath]:
    newest = {(beat.source, beat.target): beat.timestamp for beat in beats}
    through = sources(policy, topic)
    if not through:
        newest = {pair: time for pair, time in newest.items() if pair == (flow.source, flow.target)}
    paths = []
    for (source, target), time in newest.items():
        moment = datetime.fromtimestamp(time / 1000, UTC)
        path = (source, *([target] if through else []), *reversed(through[:-1]), flow.target)
        paths.append(HeartbeatPath(path, topic, moment, max((now - moment).total_seconds(), 0.0)))
    return paths
