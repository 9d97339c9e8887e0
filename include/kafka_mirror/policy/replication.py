"""How remote topics and the mirror's own topics are named (KIP-382, KAFKA-9726, KIP-949), and which clusters a topic came through.

What a policy cannot know is which aliases exist: to the default policy any topic with a separator in it looks mirrored.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from kafka_mirror.errors import ConfigurationError, Problem

_SEPARATOR = "replication.policy.separator"
_INTERNAL_SEPARATOR_ENABLED = "replication.policy.internal.topic.separator.enabled"
_HEARTBEATS = "heartbeats"
_OWN_TOPIC = re.compile(r"mm2-(?:ledger|control)(?P<separator>.+?).+(?P=separator)internal\Z")


class ReplicationPolicy(ABC):
    """Names on both sides of a flow. Derive from it, taking the flow's properties in the constructor, to name topics in another way."""

    internal_separator = "."
    """What stands between the parts of the internal topics' names."""

    @abstractmethod
    def format_remote_topic(self, alias: str, topic: str) -> str:
        """The name that `topic` of the cluster `alias` has on a target."""

    @abstractmethod
    def topic_source(self, topic: str) -> str | None:
        """The alias of the cluster that a topic was mirrored from directly; None if it was not mirrored."""

    @abstractmethod
    def upstream_topic(self, topic: str) -> str | None:
        """The name of a remote topic on the cluster it was mirrored from; None if it was not mirrored."""

    def original_topic(self, topic: str) -> str:
        """The name of a remote topic on the cluster where it began, through any number of mirrors."""
        names = {topic}
        while (upstream := self.upstream_topic(topic)) is not None and upstream not in names:
            names.add(upstream)
            topic = upstream
        return topic

    def heartbeats_topic(self) -> str:
        """The topic that a cluster's own heartbeats go to."""
        return _HEARTBEATS

    def offset_syncs_topic(self, alias: str) -> str:
        """The topic of the offset syncs; `alias` is the cluster at the other end of the flow."""
        return self._name_internal("mm2-offset-syncs", alias)

    def checkpoints_topic(self, alias: str) -> str:
        """The topic of the checkpoints of groups of the cluster `alias`."""
        return f"{alias}{self._find_checkpoints_ending()}"

    def ledger_topic(self, alias: str) -> str:
        """Our own: the topic that says what was copied from the cluster `alias`."""
        return self._name_internal("mm2-ledger", alias)

    def control_topic(self, alias: str) -> str:
        """Our own: the topic of people's decisions about the copy from the cluster `alias`."""
        return self._name_internal("mm2-control", alias)

    def is_heartbeats_topic(self, topic: str) -> bool:
        """Whether it holds heartbeats, of whatever cluster."""
        return self.original_topic(topic) == self.heartbeats_topic()

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Whether it holds checkpoints."""
        return topic.endswith(self._find_checkpoints_ending())

    def is_mm2_internal_topic(self, topic: str) -> bool:
        """Whether MirrorMaker 2, or this mirror, keeps it for itself."""
        return (topic.startswith("mm2") and topic.endswith(f"{self.internal_separator}internal")) or self.is_checkpoints_topic(topic)

    def is_internal_topic(self, topic: str) -> bool:
        """Whether it is internal to MirrorMaker 2 or to the cluster, and therefore never mirrored."""
        return self.is_mm2_internal_topic(topic) or topic.startswith(("__", "."))

    def _name_internal(self, kind: str, alias: str) -> str:
        return f"{kind}{self.internal_separator}{alias}{self.internal_separator}internal"

    def _find_checkpoints_ending(self) -> str:
        return f"{self.internal_separator}checkpoints{self.internal_separator}internal"


class DefaultReplicationPolicy(ReplicationPolicy):
    """`east.orders`: the alias, the separator, the name on the source."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Raises ConfigurationError for an empty separator: single letters would count as aliases then."""
        self.separator = properties.get(_SEPARATOR, ".")
        if not self.separator:
            message = "must not be empty; to keep the names of the source, use IdentityReplicationPolicy"
            raise ConfigurationError([Problem(_SEPARATOR, message)])
        # MM2's policies get the text unparsed, so a blank beside the word switches it off.
        switched_off = properties.get(_INTERNAL_SEPARATOR_ENABLED, "true").lower() != "true"
        self.internal_separator = "." if switched_off else self.separator

    def format_remote_topic(self, alias: str, topic: str) -> str:
        """The alias in front of the name."""
        return f"{alias}{self.separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        """What stands before the first separator, unless nothing but separators follows."""
        first, separator, rest = topic.partition(self.separator)
        return first if separator and rest.replace(self.separator, "") else None

    def upstream_topic(self, topic: str) -> str | None:
        """What follows the first separator."""
        source = self.topic_source(topic)
        return None if source is None else topic[len(source) + len(self.separator) :]


class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """Topics keep their names (KAFKA-9726), but for those that end in `heartbeats`.

    Every topic of the target looks mirrored from the source, and nothing stops a circle of two flows.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(properties)
        self._source = properties.get("source.cluster.alias")

    def format_remote_topic(self, alias: str, topic: str) -> str:
        """The source's name."""
        return super().format_remote_topic(alias, topic) if topic.endswith(_HEARTBEATS) else topic

    def topic_source(self, topic: str) -> str | None:
        """The flow's source, whatever the topic."""
        return super().topic_source(topic) if topic.endswith(_HEARTBEATS) else self._source

    def upstream_topic(self, topic: str) -> str | None:
        """The source's name."""
        return super().upstream_topic(topic) if topic.endswith(_HEARTBEATS) else topic


def is_ledger_of(topic: str, alias: str) -> bool:
    """Whether it is the ledger of a flow from the cluster `alias`, under whatever separator."""
    return re.fullmatch(rf"mm2-ledger(?P<separator>.+?){re.escape(alias)}(?P=separator)internal", topic) is not None


def is_ledger_or_control_topic(topic: str) -> bool:
    """Whether it is a ledger or control topic of this mirror, or a copy of one, under the policy and separator of whatever flow.

    No flow may mirror one: its records mean something about the cluster on which they were written only.
    """
    return _OWN_TOPIC.search(topic) is not None


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
