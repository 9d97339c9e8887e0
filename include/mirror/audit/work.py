"""What comparing needs to know of a flow, resolved: it travels to Spark workers, which have no configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mirror.audit.model import Difference, LeftOut
from mirror.audit.stretch import Stretch
from mirror.errors import ErrorReport

if TYPE_CHECKING:
    from mirror.config import Flow

_LEAST_SECONDS = 30.0


@dataclass(frozen=True)
class AuditWork:
    """One flow's clusters as an audit reads them. It holds secrets: never log it, never store it."""

    source: str
    target: str
    committed: bool
    """Whether the source is read as far as it is committed; the target always is."""
    seconds: float
    """For how long a cluster may be silent."""
    show_payload: bool
    source_consumer: Mapping[str, Any] = field(repr=False)
    target_consumer: Mapping[str, Any] = field(repr=False)
    source_admin: Mapping[str, Any] = field(repr=False)
    target_admin: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Outcome:
    """What was found of one stretch. `error`: it was not compared."""

    stretch: Stretch
    source_records: int = 0
    target_records: int = 0
    source_digest: str = ""
    target_digest: str = ""
    tolerated: int = 0
    unpaired: int = 0
    difference: Difference | None = None
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    error: ErrorReport | None = None


def audit_work(flow: "Flow", show_payload: bool) -> AuditWork:
    """The flow's, with every reference resolved now. Raises ConfigurationError."""
    source = flow.client("source", "consumer")
    return AuditWork(
        source=flow.source,
        target=flow.target,
        committed=source.get("isolation.level") != "read_uncommitted",
        seconds=max(flow.value("admin.timeout.ms") / 1000, _LEAST_SECONDS),
        show_payload=show_payload,
        source_consumer=source,
        target_consumer=flow.client("target", "consumer"),
        source_admin=flow.client("source", "admin"),
        target_admin=flow.client("target", "admin"),
    )
