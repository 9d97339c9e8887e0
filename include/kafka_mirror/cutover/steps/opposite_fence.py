"""The ACLs that write fences of the opposite flow's waves set on the target of this wave.

They kept producers from topics that moved away. When the topics move back, the producers come back, and would be refused for ever. The
opposite flow's control topic, which stands on this flow's source, names each of them.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kafka_mirror.cutover.steps.acl_fence import change_acls, settle_acls
from kafka_mirror.cutover.steps.fence_acls import Acls, acls_of
from kafka_mirror.cutover.steps.opposite_flow import OppositeFlow
from kafka_mirror.cutover.steps.shared_fence import claimed_beside
from kafka_mirror.cutover.wave.control_notes import WaveStore
from kafka_mirror.cutover.wave.findings import Finding, stop, warning
from kafka_mirror.cutover.wave.ownership import Mended, owning
from kafka_mirror.cutover.wave.record import OPENED, UNDER_WAY, WaveRecord
from kafka_mirror.cutover.wave.step import FENCE, OPEN, WaveNotes
from kafka_mirror.errors import AuthorizationRefused, FenceOfAnotherFlow, FenceOfEarlierWave
from kafka_mirror.errors.words import first_few
from kafka_mirror.kafka.acls import topic_acls
from kafka_mirror.kafka.cluster import Cluster


@dataclass(frozen=True)
class OppositeFence:
    """The bindings to take back from the target, and what keeps the mirror from that."""

    acls: Acls = ()
    findings: tuple[Finding, ...] = ()


def survey_opposite_fence(opposite: OppositeFlow | None, topics: Collection[str], source: Cluster, target: Cluster) -> OppositeFence:
    """What earlier waves of the opposite flow left on the wave's topics. Changes nothing. Raises ControlUnreadable, and what the clusters
    answer to anything but a question for ACLs."""
    noted = fence_acls(WaveStore(opposite.flow, source).read().waves.values(), topics) if opposite is not None else ()
    if not noted:
        return OppositeFence()
    try:
        there = topic_acls(target) or frozenset()
    except AuthorizationRefused:
        why = "nobody knows whether they still do, for the cluster does not let the mirror DESCRIBE it"
        return OppositeFence(findings=(warning(FenceOfEarlierWave(_names(noted), target.alias, why)),))
    standing = tuple(acl for acl in noted if acl in there)
    if standing and "ALTER" not in target.operations():
        why = f"{first_few(standing)}. The cluster does not let the mirror ALTER it, so it cannot take them back"
        return OppositeFence(findings=(stop(FenceOfEarlierWave(_names(standing), target.alias, why)),))
    claimed = claimed_beside(opposite.flow) if opposite is not None and standing else frozenset()
    shared = tuple(acl for acl in standing if acl in claimed)
    if shared:
        return OppositeFence(findings=(stop(FenceOfAnotherFlow(_names(shared), target.alias, first_few(shared))),))
    return OppositeFence(standing)


def fence_acls(waves: Iterable[WaveRecord], topics: Collection[str]) -> Acls:
    """What the fences of open waves set on these topics. A wave that is not open yet still needs its fence."""
    opened = [wave for wave in waves if wave.state == OPENED or wave.is_done(OPEN)]
    return tuple(dict.fromkeys(acl for acl in _noted(opened) if acl.topic in topics))


def take_back_opposite_fence(
    opposite: OppositeFlow | None, notes: WaveNotes, source: Cluster, target: Cluster, acls: Acls
) -> tuple[str, ...]:
    """Removes them, and waits until a broker shows it; gives a line each. Raises what the target answers: then it is simply run again."""
    if not acls or opposite is None:
        return ()
    opposite_flow = opposite.flow

    def put_back() -> Mended:
        """By now a wave of the opposite flow may be under way, and have a fence of its own."""
        waves = [wave for wave in WaveStore(opposite_flow, source).read().waves.values() if wave.state == UNDER_WAY]
        return settle_acls(target, acls, _noted(waves))

    with owning(notes, put_back):
        change_acls(target, remove=acls)
    return tuple(f"{acl.topic}: {acl} of an earlier wave removed from {target.alias}" for acl in acls)


def _noted(waves: Iterable[WaveRecord]) -> Acls:
    return tuple(acl for wave in waves if FENCE in wave.steps for acl in acls_of(wave.steps[FENCE].facts))


def _names(acls: Acls) -> str:
    return first_few(sorted({acl.topic for acl in acls}))
