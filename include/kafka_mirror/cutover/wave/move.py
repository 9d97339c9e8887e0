"""What every step of a cutover works on: the flow, the wave, its topics, both clusters, and what the control topic notes of the wave."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_mirror.cutover.wave.selection import Wave, WaveTopics, select_topics
from kafka_mirror.cutover.wave.step import FAILOVER, PLANNED
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.context import GroupClusters, GroupContext, group_clusters, group_context
from kafka_mirror.ledger.clusters import read_state

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


@dataclass(frozen=True)
class Move:
    """One wave of one flow while its steps run. `names`: every topic that the source shows; `topics`: those of the wave, with what its
    patterns do not take."""

    flow: "Flow"
    wave: Wave
    context: GroupContext
    sides: GroupClusters
    names: frozenset[str]
    topics: WaveTopics

    def list_partitions(self) -> list[TopicPartition]:
        """The wave's partitions on the source, in order. Raises what the cluster answers."""
        topics = self.sides.source.topics(self.topics.names)
        return sorted(TopicPartition(name, partition.number) for name, topic in topics.items() for partition in topic.partitions)


@contextmanager
def open_move(flow: "Flow", wave: Wave, mode: str = PLANNED) -> Iterator[Move]:
    """A wave with both clusters open. Of one whose source is lost the topics are those of the ledger that no wave moved, and the source is
    not asked. Raises ConfigurationError, and what a cluster answers that does not serve, or what is wrong with a lane of the ledger."""
    context = group_context(flow)
    with group_clusters(context) as sides:
        if mode == FAILOVER:
            state = read_state(flow, sides.target)
            names = frozenset(tp.topic for tp in state.records) - state.decisions.moved_topics.keys()
        else:
            names = frozenset(sides.source.names())
        yield Move(flow, wave, context, sides, names, select_topics(wave, names, context.selection))
