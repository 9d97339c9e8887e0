"""What translating group offsets needs of a flow: its settings, its two clusters, and its control topic.

The settings are resolved, for they travel to Spark workers, which have no configuration.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kafka_mirror.config.policies import topic_selection
from kafka_mirror.config.resolved_flow import ResolvedFlow, resolved_flow
from kafka_mirror.formats.offsets.partition import TopicPartition, deciders_id
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.control import Control
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


class GroupClusters(NamedTuple):
    """Both clusters, and the groups of each."""

    source: Cluster
    target: Cluster
    source_groups: Groups
    target_groups: Groups


@contextmanager
def group_clusters(context: GroupContext) -> Iterator[GroupClusters]:
    """Both clusters of a flow with their groups."""
    clients, seconds = context.clients, context.request_seconds
    with (
        Cluster(context.source, clients.source_admin, seconds) as source,
        Cluster(context.target, clients.target_admin, seconds) as target,
    ):
        yield GroupClusters(source, target, Groups(source), Groups(target))


Offsets = Mapping[str, Mapping[TopicPartition, Committed]]
"""What groups committed, by group."""


def open_control(context: GroupContext, target: Cluster) -> Control:
    """The flow's control topic."""
    topic, clients = context.policy.control_topic(context.source), context.clients
    return Control(topic, target, clients.target_consumer, clients.target_producer, deciders_id(context.source, context.lanes))
