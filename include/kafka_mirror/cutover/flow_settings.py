"""What a flow's properties, decisions and rights say against a wave. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_mirror.cutover.findings import Finding, information, stop, warning
from kafka_mirror.formats.control import HANDED_BACK, THROTTLE, Decision

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


def flow_findings(flow: "Flow", has_groups: bool, decisions: Iterable[tuple[Decision, bool]]) -> Iterator[Finding]:
    """What is said of the flow; of its groups only if the wave has some. `decisions`: those of people, and whether each is in force."""
    if has_groups and not flow.value("emit.checkpoints.enabled"):
        yield stop(
            "no-checkpoints",
            f"{flow.name} writes no checkpoints (emit.checkpoints.enabled=false), so groups have no position on {flow.target} if it comes "
            "to a failover in the middle of the wave.",
            "Set emit.checkpoints.enabled=true, unpause the DAG of checkpoints, and let it run once.",
        )
    if has_groups and flow.value("sync.group.offsets.enabled"):
        yield warning(
            "group-offsets-by-schedule",
            f"{flow.name} commits translated positions on {flow.target} by schedule (sync.group.offsets.enabled=true), also for groups "
            "that were taken back after a move.",
            f"Pause the DAG {flow.dag_id('group-offsets')} from the write fence until the wave is open or taken back.",
        )
    for decision, is_in_force in decisions:
        if is_in_force and decision.decision == THROTTLE:
            yield information("throttled", f"The flow is throttled, so catching up takes longer: {decision}.")
        if is_in_force and decision.decision == HANDED_BACK:
            said = f"The flow is MirrorMaker 2's again: {decision}."
            yield stop("handed-back", said, "Take it over first, or move with MirrorMaker 2's own means.")


@dataclass(frozen=True)
class LackingRight:
    """A right that the mirror does not have: on which cluster, for what, and whether the move can do without it."""

    cluster: str
    operation: str
    resource: str
    purpose: str
    is_optional: bool = False


def right_findings(rights: Iterable[LackingRight]) -> Iterator[Finding]:
    """One sentence a right."""
    for right in rights:
        said = f"Cluster '{right.cluster}' does not let the mirror {right.operation} {right.resource}, which is for {right.purpose}."
        step = f"Give its principal {right.operation} on {right.resource}" + (", or do that by hand." if right.is_optional else ".")
        yield (warning if right.is_optional else stop)("right-missing", said, step)
