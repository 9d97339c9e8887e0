"""The flow of the opposite direction: what it copies once a wave is open, and the ACLs that the write fences of its waves left.

These ACLs kept producers from topics that moved away. When the topics move back, the producers come back with them, and the ACLs would
refuse them for ever. The opposite flow's control topic, which stands on this flow's source, names each of the ACLs.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_mirror.config import load_again
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.cutover.steps.fence_acls import change_acls, change_owned_acls, find_claimed_beside
from kafka_mirror.cutover.wave.control_notes import WaveStore
from kafka_mirror.cutover.wave.record import OPENED, UNDER_WAY, Acls, WaveNotes, WaveRecord
from kafka_mirror.cutover.wave.step import OPEN, Finding, stop, warning
from kafka_mirror.errors import (
    AuthorizationRefused,
    FenceOfAnotherFlow,
    FenceOfEarlierWave,
    TopicGoesRound,
    UsageError,
    WayBackOfMergedTopic,
    WayBackTooOld,
)
from kafka_mirror.errors.words import first_few
from kafka_mirror.kafka.acls import topic_acls
from kafka_mirror.kafka.cluster import Cluster

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


@dataclass(frozen=True)
class OppositeFlow:
    """The flow of the opposite direction with the wave's topics that it copies.

    `same`: topics that have one name on both clusters in both directions: the way back goes on after what was copied. `own`: topics
    that producers begin on the target, under the name that they had on the source; the remote topics of this flow never flow back.
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


def find_opposite_flow(flow: "Flow", topics: tuple[str, ...]) -> OppositeFlow | None:
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


def check_age(opposite: OppositeFlow | None, flow: "Flow", source: Cluster) -> list[Finding]:
    """That there can be no way back to a source to which the mirror cannot write."""
    if opposite is None or not opposite.topics or source.takes_batches:
        return []
    return [stop(WayBackTooOld(opposite.flow.name, flow.source))]


def check_merging(opposite: OppositeFlow, flow: "Flow") -> list[Finding]:
    """What is said against a way back through topics that others may write to: it is unknown which records there came from where."""
    return [
        stop(WayBackOfMergedTopic(topic, merging.name, opposite.flow.name))
        for topic in opposite.same
        for merging in (flow, opposite.flow)
        if merging.per_topic("mirror.on.unexplained.target", topic) == "append"
    ]


def survey_opposite_fence(
    opposite: OppositeFlow | None, topics: Collection[str], source: Cluster, target: Cluster
) -> tuple[Acls, tuple[Finding, ...]]:
    """What earlier waves of the opposite flow left on the wave's topics and is to be taken back from the target, and what keeps the mirror
    from that. Changes nothing. Raises ControlUnreadable, and what the clusters answer to anything but a question for ACLs."""
    noted = list_fence_acls(WaveStore(opposite.flow, source).read().waves.values(), topics) if opposite is not None else ()
    if opposite is None or not noted:
        return (), ()
    try:
        there = topic_acls(target) or frozenset()
    except AuthorizationRefused:
        why = "it is unknown whether they still do, for the cluster does not let the mirror DESCRIBE it"
        return (), (warning(FenceOfEarlierWave(_names(noted), target.alias, why)),)
    standing = tuple(acl for acl in noted if acl in there)
    if standing and "ALTER" not in target.list_operations():
        why = f"{first_few(standing)}. The cluster does not let the mirror ALTER it, so it cannot take them back"
        return (), (stop(FenceOfEarlierWave(_names(standing), target.alias, why)),)
    claimed = find_claimed_beside(opposite.flow) if standing else frozenset()
    if shared := tuple(acl for acl in standing if acl in claimed):
        return (), (stop(FenceOfAnotherFlow(_names(shared), target.alias, first_few(shared))),)
    return standing, ()


def list_fence_acls(waves: Iterable[WaveRecord], topics: Collection[str]) -> Acls:
    """What the fences of open waves set on these topics. A wave that is not open yet still needs its fence."""
    opened = [wave for wave in waves if wave.state == OPENED or wave.is_done(OPEN)]
    return tuple(dict.fromkeys(acl for wave in opened for acl in wave.fence_acls if acl.topic in topics))


def take_back_opposite_fence(
    opposite: OppositeFlow | None, notes: WaveNotes, source: Cluster, target: Cluster, acls: Acls
) -> tuple[str, ...]:
    """Removes them, and waits until a broker shows it; gives a line each. Raises what the target answers: then it is simply run again."""
    if not acls or opposite is None:
        return ()
    store = WaveStore(opposite.flow, source)

    def find_claimed() -> Acls:
        """By now a wave of the opposite flow may be under way, and have a fence of its own."""
        return tuple(acl for wave in store.read().waves.values() if wave.state == UNDER_WAY for acl in wave.fence_acls)

    with change_owned_acls(notes, target, acls, find_claimed):
        change_acls(target, remove=acls)
    return tuple(f"{acl.topic}: {acl} of an earlier wave removed from {target.alias}" for acl in acls)


def _names(acls: Acls) -> str:
    return first_few(sorted({acl.topic for acl in acls}))
