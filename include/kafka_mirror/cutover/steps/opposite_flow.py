"""The way back of a wave: the flow of the opposite direction, if the configuration has one, and what it copies once the wave is open."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kafka_mirror.config import load_again
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.cutover.wave.findings import Finding, stop
from kafka_mirror.errors import TopicGoesRound, UsageError, WayBackOfMergedTopic, WayBackTooOld

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


class Writable(Protocol):
    """What is asked of a cluster before anything is written to it."""

    @property
    def takes_batches(self) -> bool:
        """Whether the mirror can write to it."""


@dataclass(frozen=True)
class OppositeFlow:
    """The flow of the opposite direction with the wave's topics that it copies.

    `same`: topics that have one name on both clusters in both directions: the way back goes on behind what was copied. `own`: topics
    that producers begin anew on the target, under the name that they had on the source; the remote topics of this flow never flow back.
    `not_replicated`: topics that the opposite flow does not replicate.
    """

    flow: "Flow"
    same: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    not_replicated: tuple[str, ...] = ()

    @property
    def topics(self) -> tuple[str, ...]:
        """All that it copies."""
        return (*self.same, *self.own)


def opposite_flow(flow: "Flow", topics: tuple[str, ...]) -> OppositeFlow | None:
    """The flow of the opposite direction; None if none is enabled.

    Raises ConfigurationError if there is one, and it is wrong; TopicGoesRound if it is no way back and takes what this flow copies.
    """
    name = f"{flow.target}->{flow.source}"
    try:
        opposite = load_again(flow).flow(name)
    except UsageError:
        return None
    here, there = topic_selection(flow), topic_selection(opposite)
    for refusal in (selection.refusal(topic) for selection in (here, there) for topic in topics):
        if isinstance(refusal, TopicGoesRound):
            raise refusal
    taken = [topic for topic in topics if there.topic_filter.should_replicate(topic) and there.takes(topic)]
    same = tuple(topic for topic in taken if here.remote(topic) == topic == there.remote(topic))
    own = tuple(topic for topic in taken if topic not in same)
    return OppositeFlow(opposite, same, own, tuple(topic for topic in topics if topic not in taken))


def age_findings(opposite: OppositeFlow | None, flow: "Flow", source: Writable) -> list[Finding]:
    """That there can be no way back to a source to which the mirror cannot write."""
    if opposite is None or not opposite.topics or source.takes_batches:
        return []
    return [stop(WayBackTooOld(opposite.flow.name, flow.source))]


def append_findings(opposite: OppositeFlow, flow: "Flow") -> list[Finding]:
    """What is said against a way back through topics that others may write to as well: nobody knows there which records came from where."""
    return [
        stop(WayBackOfMergedTopic(topic, merging.name, opposite.flow.name))
        for topic in opposite.same
        for merging in (flow, opposite.flow)
        if merging.per_topic("mirror.on.unexplained.target", topic) == "append"
    ]
