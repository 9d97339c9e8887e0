"""What a flow's properties, decisions and rights say against a wave. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_mirror.cutover.wave.findings import Finding, information, stop, warning
from kafka_mirror.errors import GroupOffsetsBySchedule, HandedBack, NoCheckpoints, RightMissing
from kafka_mirror.formats.fields import moment_text
from kafka_mirror.ledger.control_records import HANDED_BACK, THROTTLE, Decision

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


def flow_findings(flow: "Flow", has_groups: bool, decisions: Iterable[tuple[Decision, bool]]) -> Iterator[Finding]:
    """What is said of the flow; of its groups only if the wave has some. `decisions`: those of people, and whether each is in force."""
    if has_groups and not flow.value("emit.checkpoints.enabled"):
        yield stop(NoCheckpoints(flow.name, flow.target))
    if has_groups and flow.value("sync.group.offsets.enabled"):
        yield warning(GroupOffsetsBySchedule(flow.name, flow.target, flow.dag_id("group-offsets")))
    for decision, is_in_force in decisions:
        if is_in_force and decision.decision == THROTTLE:
            yield information("Throttled", f"The flow is throttled, so catching up takes longer: {decision}.")
        if is_in_force and decision.decision == HANDED_BACK:
            yield stop(HandedBack(decision.who, moment_text(decision.when)))


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
        instead = ", or do that by hand" if right.is_optional else ""
        error = RightMissing(right.cluster, right.operation, right.resource, right.purpose, instead)
        yield warning(error) if right.is_optional else stop(error)
