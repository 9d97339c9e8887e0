"""What comparing needs to know of a flow, resolved: it travels to Spark workers, which have no configuration."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_mirror.config.resolved_flow import ResolvedFlow, resolved_flow

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_LEAST_SECONDS = 30.0


@dataclass(frozen=True)
class AuditContext(ResolvedFlow):
    """One flow's clusters as an audit reads them. It holds secrets: never log it, never store it."""

    show_payload: bool = False

    @property
    def seconds(self) -> float:
        """For how long a cluster may be silent."""
        return max(self.request_seconds, _LEAST_SECONDS)


def audit_context(flow: "Flow", show_payload: bool) -> AuditContext:
    """The flow's, with every reference resolved now. Raises ConfigurationError."""
    return AuditContext(**vars(resolved_flow(flow, writes=False)), show_payload=show_payload)
