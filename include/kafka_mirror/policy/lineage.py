"""Which clusters a topic came through, by its name alone: MirrorMaker 2's `MirrorClient`, without a cluster."""

from collections.abc import Iterable

from kafka_mirror.policy.replication import ReplicationPolicy


def sources(policy: ReplicationPolicy, topic: str) -> tuple[str, ...]:
    """The clusters that a topic came through, the nearest first; none for one that was not mirrored. A circle is followed once."""
    aliases: list[str] = []
    current: str | None = topic
    while current is not None:
        alias = policy.topic_source(current)
        if alias is None or alias in aliases:
            break
        aliases.append(alias)
        current = policy.upstream_topic(current)
    return tuple(aliases)


def hops(policy: ReplicationPolicy, topic: str, alias: str) -> int | None:
    """How many mirrors lie between the cluster `alias` and this topic: 1 if it was mirrored from there directly, None if never."""
    aliases = sources(policy, topic)
    return aliases.index(alias) + 1 if alias in aliases else None


def fewest_hops(policy: ReplicationPolicy, topics: Iterable[str], alias: str) -> int | None:
    """The shortest way from the cluster `alias`, as the heartbeat topics among these show it; None if there is no way."""
    counts = [hops(policy, topic, alias) for topic in topics if policy.is_heartbeats_topic(topic)]
    return min((count for count in counts if count is not None), default=None)


def upstream_clusters(policy: ReplicationPolicy, topics: Iterable[str]) -> frozenset[str]:
    """Every cluster that the heartbeat topics among these came through."""
    return frozenset(alias for topic in topics if policy.is_heartbeats_topic(topic) for alias in sources(policy, topic))


def remote_topics(policy: ReplicationPolicy, topics: Iterable[str], source: str | None = None) -> frozenset[str]:
    """Those of the topics that were mirrored, from the cluster `source` directly if it is given."""
    aliases = {topic: policy.topic_source(topic) for topic in topics if not policy.is_internal_topic(topic)}
    return frozenset(topic for topic, alias in aliases.items() if alias is not None and source in (None, alias))
