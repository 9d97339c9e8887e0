"""Which topics of its source a flow mirrors, and under which names."""

from dataclasses import dataclass

from mirror.policy.filters import TopicFilter
from mirror.policy.replication import ReplicationPolicy, is_ledger_or_control_topic


@dataclass(frozen=True)
class TopicSelection:
    """The filter, the policy and the rules about internal topics and circles together (MM2's `shouldReplicateTopic`)."""

    source: str
    target: str
    policy: ReplicationPolicy
    topic_filter: TopicFilter
    heartbeats: bool = True
    """`heartbeats.replication.enabled` (KIP-1089): heartbeats are mirrored even if the filter leaves them out."""

    def should_replicate(self, topic: str) -> bool:
        """Whether the flow mirrors this topic of its source."""
        if self.policy.is_internal_topic(topic) or is_ledger_or_control_topic(topic) or self._came_from_target(topic):
            return False
        return self.topic_filter.should_replicate(topic) or (self.heartbeats and self.policy.is_heartbeats_topic(topic))

    def remote(self, topic: str) -> str:
        """The name of a source topic on the target."""
        return self.policy.format_remote_topic(self.source, topic)

    def upstream(self, remote: str) -> str | None:
        """The topic of the source that a topic of the target is the mirror of, by its name; None if this flow would not write it.

        Where a policy keeps the name, nothing on the target says that a topic came from the source.
        """
        if self.policy.is_internal_topic(remote) or is_ledger_or_control_topic(remote) or self.policy.topic_source(remote) != self.source:
            return None
        upstream = self.policy.upstream_topic(remote)
        return upstream if upstream is not None and self.should_replicate(upstream) else None

    def _came_from_target(self, topic: str) -> bool:
        """Whether the target is one of the clusters that the topic came through: mirroring it would close a circle."""
        seen: set[str] = set()
        current: str | None = topic
        while current is not None and current not in seen:
            alias = self.policy.topic_source(current)
            if alias is None:
                return False
            if alias == self.target:
                return True
            seen.add(current)
            current = self.policy.upstream_topic(current)
        return False
