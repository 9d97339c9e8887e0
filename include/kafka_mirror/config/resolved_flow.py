"""What Spark workers and steps need of a flow, resolved: it travels to workers, which have no configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafka_mirror.config.flow import Flow


@dataclass(frozen=True)
class ClientSettings:
    """Resolved librdkafka settings of both clusters. They hold secrets: never shown, logged or written to a file."""

    source_admin: Mapping[str, Any] = field(repr=False)
    source_consumer: Mapping[str, Any] = field(repr=False)
    target_admin: Mapping[str, Any] = field(repr=False)
    target_consumer: Mapping[str, Any] = field(repr=False)
    target_producer: Mapping[str, Any] = field(repr=False, default_factory=dict)
    """Empty where the flow is only read."""


@dataclass(frozen=True)
class ResolvedFlow:
    """A flow's clusters with every reference resolved. Base of what a lane, an audit and a step for groups are given."""

    source: str
    target: str
    lanes: int
    clients: ClientSettings
    read_committed: bool = field(default=True, kw_only=True)
    """Whether the flow copies only what is committed on the source (isolation.level)."""
    request_seconds: float = field(default=30.0, kw_only=True)
    """After how long a request to a cluster is given up (admin.timeout.ms)."""

    @property
    def flow(self) -> str:
        """The flow's name."""
        return f"{self.source}->{self.target}"


def resolved_flow(flow: "Flow", *, writes: bool) -> ResolvedFlow:
    """The flow's, with every reference resolved now. Without `writes` nothing that a producer needs is resolved, or handed to anybody.

    Raises ConfigurationError.
    """
    clients = ClientSettings(
        source_admin=flow.client("source", "admin"),
        source_consumer=flow.client("source", "consumer"),
        target_admin=flow.client("target", "admin"),
        target_consumer=flow.client("target", "consumer"),
        target_producer=flow.client("target", "producer") if writes else {},
    )
    return ResolvedFlow(
        flow.source,
        flow.target,
        flow.value("mirror.lanes"),
        clients,
        read_committed=flow.reads_committed,
        request_seconds=flow.request_seconds,
    )
