"""The steps of a cutover, in their order, and what each of them answers. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from mirror.cutover.findings import STOP, Finding

PREFLIGHT, CATCH_UP, FENCE, LAST_COPY = "preflight", "catch-up", "fence", "last-copy"
AUDIT_GATE, MOVE_GROUPS, OPEN = "audit-gate", "move-groups", "open"
STEPS = (PREFLIGHT, CATCH_UP, FENCE, LAST_COPY, AUDIT_GATE, MOVE_GROUPS, OPEN)
"""A planned wave's, in the order in which they run."""
FAILOVER_STEPS = (PREFLIGHT, MOVE_GROUPS, OPEN)
"""Those of a wave whose source is lost: nobody can be fenced there, and nothing copied."""

DONE, WAITING, STOPPED = "done", "waiting", "stopped"
"""How a step ended: it is done; it waits for people or for the clusters, and is run again as it is; or something has to be mended first."""


@dataclass(frozen=True)
class StepOutcome:
    """What a step of a cutover did.

    `facts` is what the wave's record keeps of it, as JSON takes it: what a roll back takes back, and what the report says. `lines` say the
    same to people.
    """

    step: str
    state: str
    lines: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Whether the next step may begin."""
        return self.state == DONE


def ended(
    step: str, findings: tuple[Finding, ...] = (), lines: tuple[str, ...] = (), facts: Mapping[str, Any] | None = None
) -> StepOutcome:
    """The outcome of a step that did what it could: stopped if any of its findings is a stop, else done."""
    is_stopped = any(finding.kind == STOP for finding in findings)
    return StepOutcome(step, STOPPED if is_stopped else DONE, lines, findings, facts or {})


class WaveNotes(Protocol):
    """What the control topic keeps of a wave.

    A step notes what it is going to do before it does it, so that whoever runs it again or takes it back knows all that may be done.
    """

    def of_step(self, step: str) -> Mapping[str, Any]:
        """What was noted of a step; empty if nothing was."""

    def keep(self, step: str, facts: Mapping[str, Any]) -> None:
        """Notes facts of a step in the place of those before; it is acknowledged by all replicas when this returns.

        Raises DecidedMeanwhile if somebody else wrote to the control topic since it was read.
        """

    def of_group(self, group: str) -> Mapping[str, Any]:
        """What was noted of a consumer group; empty if nothing was."""

    def keep_group(self, group: str, facts: Mapping[str, Any]) -> None:
        """The same as `keep`, for a group."""
