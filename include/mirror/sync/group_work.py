"""What translating group offsets needs to know of a flow, resolved: it travels to Spark workers, which have no configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from mirror.policy import ReplicationPolicy, TopicSelection, topic_selection

if TYPE_CHECKING:
    from mirror.config import Flow


@dataclass(frozen=True)
class GroupWork:
    """One flow's clusters, names and filters. It holds secrets: never log it, never store it."""

    source: str
    target: str
    seconds: float
    lanes: int
    selection: TopicSelection
    checkpoints_replication_factor: int
    offset_syncs_on_source: bool
    committed: bool
    """Whether the flow copies only what is committed on the source (isolation.level)."""
    count_max_bytes: int
    count_max_seconds: float
    source_admin: Mapping[str, Any] = field(repr=False)
    source_consumer: Mapping[str, Any] = field(repr=False)
    target_admin: Mapping[str, Any] = field(repr=False)
    target_consumer: Mapping[str, Any] = field(repr=False)
    target_producer: Mapping[str, Any] = field(repr=False)

    @property
    def flow(self) -> str:
        """The flow's name."""
        return f"{self.source}->{self.target}"

    @property
    def policy(self) -> ReplicationPolicy:
        """How remote topics are named."""
        return self.selection.policy

    @property
    def checkpoints_topic(self) -> str:
        """On the target."""
        return self.policy.checkpoints_topic(self.source)

    @property
    def offset_syncs_topic(self) -> str:
        """On the source or on the target; it is named after the other one."""
        return self.policy.offset_syncs_topic(self.target if self.offset_syncs_on_source else self.source)

    def upstream_of(self, topic: str) -> str | None:
        """The name on the target of a topic that the source has from there (KIP-1098); None for every other topic."""
        return self.selection.from_target(topic)


def group_work(flow: "Flow") -> GroupWork:
    """The flow's, with every reference resolved now. Raises ConfigurationError."""
    source_consumer = flow.client("source", "consumer")
    return GroupWork(
        source=flow.source,
        target=flow.target,
        seconds=flow.value("admin.timeout.ms") / 1000,
        lanes=flow.value("mirror.lanes"),
        selection=topic_selection(flow),
        checkpoints_replication_factor=flow.value("checkpoints.topic.replication.factor"),
        offset_syncs_on_source=flow.value("offset-syncs.topic.location") == "source",
        committed=source_consumer.get("isolation.level") != "read_uncommitted",
        count_max_bytes=flow.value("mirror.translation.count.max.bytes"),
        count_max_seconds=flow.value("mirror.translation.count.max.seconds"),
        source_admin=flow.client("source", "admin"),
        source_consumer=source_consumer,
        target_admin=flow.client("target", "admin"),
        target_consumer=flow.client("target", "consumer"),
        target_producer=flow.client("target", "producer"),
    )


def with_share(work: GroupWork, parts: int) -> GroupWork:
    """The same for one of so many parts of a step, with its share of what the step may read to count."""
    return replace(work, count_max_bytes=work.count_max_bytes // parts)
