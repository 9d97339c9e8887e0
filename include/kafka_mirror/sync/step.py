"""A step of the mirror beside the copy: what DAG task and command line run alike, and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.display import visible

if TYPE_CHECKING:
    from kafka_mirror.config import Configuration, Flow

STEPS: Mapping[str, str] = {
    "refresh-topics": "kafka_mirror.sync.topics.step",
    "topic-configs": "kafka_mirror.sync.topic_configs.step",
    "topic-acls": "kafka_mirror.sync.topic_acls.step",
    "schemas": "kafka_mirror.schemas.run.step",
    "heartbeats": "kafka_mirror.sync.heartbeats.step",
    "refresh-groups": "kafka_mirror.sync.groups.find.step",
    "checkpoints": "kafka_mirror.sync.groups.job.checkpoints_step",
    "group-offsets": "kafka_mirror.sync.groups.job.group_offsets_step",
}
"""The steps by name, with the function that runs each; imported when it is wanted."""

SWITCHES: Mapping[str, str] = {
    "refresh-topics": "refresh.topics.enabled",
    "topic-configs": "sync.topic.configs.enabled",
    "topic-acls": "sync.topic.acls.enabled",
    "schemas": "mirror.schemas.source.url",
    "heartbeats": "emit.heartbeats.enabled",
    "refresh-groups": "refresh.groups.enabled",
    "checkpoints": "emit.checkpoints.enabled",
    "group-offsets": "sync.group.offsets.enabled",
}
"""The property of each step that says whether a flow has it."""


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


def pairs_of(step: str, configuration: "Configuration") -> "Configuration":
    """The configuration with the flows that have this step: for heartbeats, also pairs that are no enabled flows."""
    return configuration.for_heartbeats() if step == "heartbeats" else configuration


def run_by_hand(command: str) -> str:
    """The name of a run by hand in the ledger and in notes: which command, and since when."""
    return f"{command} by hand / {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def run_step(name: str, flow: "Flow", dry_run: bool = False) -> StepResult:
    """Runs the step of this name for a flow."""
    module, _, function = STEPS[name].rpartition(".")
    step: Step = getattr(import_module(module), function)
    return step(flow, dry_run)
