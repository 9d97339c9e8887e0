"""What translating group offsets needs to know of a flow, resolved: it travels to Spark workers, which have no configuration.

Both clusters of a flow, opened for its consumer groups.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import topic_selection
from kafka_mirror.config.resolved_flow import ResolvedFlow, resolved_flow
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.ledger.step import run_by_hand
from kafka_mirror.policy import ReplicationPolicy, TopicSelection

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


@dataclass(frozen=True)
class GroupContext(ResolvedFlow):
    """One flow's clusters, names and filters. It holds secrets: never log it, never store it."""

    selection: TopicSelection
    checkpoints_replication_factor: int
    offset_syncs_on_source: bool
    count_max_bytes: int
    count_max_seconds: float
    control_replication_factor: int
    run: str = field(default="", kw_only=True)
    """The name of the run that this is for, where it notes anything."""

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


def group_context(flow: "Flow", run: str = "") -> GroupContext:
    """The flow's for this run, with every reference resolved now. Raises ConfigurationError."""
    return GroupContext(
        **vars(resolved_flow(flow, writes=True)),
        selection=topic_selection(flow),
        checkpoints_replication_factor=flow.value("checkpoints.topic.replication.factor"),
        offset_syncs_on_source=flow.value("offset-syncs.topic.location") == "source",
        count_max_bytes=flow.value("mirror.translation.count.max.bytes"),
        count_max_seconds=flow.value("mirror.translation.count.max.seconds"),
        control_replication_factor=flow.value("mirror.ledger.replication.factor"),
        run=run or run_by_hand("group-offsets"),
    )


def with_share(context: GroupContext, parts: int) -> GroupContext:
    """The context for one of several parts of a step, with its share of what the step may read to count."""
    return replace(context, count_max_bytes=context.count_max_bytes // parts)


@contextmanager
def group_clusters(context: GroupContext) -> Iterator[tuple[Cluster, Cluster, Groups]]:
    """The source, the target, and the source's groups."""
    clients, seconds = context.clients, context.request_seconds
    with (
        Cluster(context.source, clients.source_admin, seconds) as source,
        Cluster(context.target, clients.target_admin, seconds) as target,
    ):
        yield source, target, Groups(source)
