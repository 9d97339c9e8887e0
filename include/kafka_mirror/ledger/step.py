"""A step of the mirror beside the copy: what DAG task and command line run alike, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.words import visible

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


@dataclass(frozen=True)
class StepResult:
    """What a step did, or would do in a dry run; complete even when some of it failed."""

    result: Mapping[str, Any]
    """What XCom and `--json` get: small columns, never a secret."""
    totals: Mapping[str, Any] = field(default_factory=dict)
    """What is left of `result` where it is too large for XCom."""
    lines: tuple[str, ...] = ()
    """The same for people."""
    errors: tuple[ErrorReport, ...] = ()

    is_idle: bool = False
    """Whether the flow takes nothing that the step could work on: then it is not done, and there is nothing to do."""

    def __post_init__(self) -> None:
        """Each line stays one, whatever is in the names that it tells."""
        object.__setattr__(self, "lines", tuple(visible(line, keep="") for line in self.lines))


class Step(Protocol):
    """Runs a step of one flow; raises what concerns the whole of it."""

    def __call__(self, flow: "Flow", dry_run: bool = False) -> StepResult:
        """With `dry_run` nothing is written."""


def run_by_hand(command: str) -> str:
    """The name of a run by hand in the ledger and in notes: which command, and since when."""
    return f"{command} by hand / {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
