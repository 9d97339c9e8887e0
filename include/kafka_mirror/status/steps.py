"""The steps beside the copy by the names of their commands and DAGs: which flow has one, and what runs it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafka_mirror.ledger.step import Step, StepResult

if TYPE_CHECKING:
    from kafka_mirror.config import Configuration, Flow

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
STEPS = tuple(SWITCHES)


def pairs_of(step: str, configuration: "Configuration") -> "Configuration":
    """The configuration with the flows that have this step: for heartbeats, also pairs that are no enabled flows."""
    return configuration.for_heartbeats() if step == "heartbeats" else configuration


def run_step(name: str, flow: "Flow", dry_run: bool = False) -> StepResult:
    """Runs the step of this name for a flow."""
    return step_of(name)(flow, dry_run)


def step_of(name: str) -> Step:
    """The step of this name. Only its own module is imported: each task of a step pays for it. Raises KeyError for another name."""
    match name:
        case "refresh-topics":
            from kafka_mirror.topics.topics import step
        case "topic-configs":
            from kafka_mirror.topics.topic_configs import step
        case "topic-acls":
            from kafka_mirror.topics.topic_acls import step
        case "schemas":
            from kafka_mirror.topics.schemas.run import step
        case "heartbeats":
            from kafka_mirror.topics.heartbeats import step
        case "refresh-groups":
            from kafka_mirror.groups.find import step
        case "checkpoints":
            from kafka_mirror.groups.job import checkpoints_step as step
        case "group-offsets":
            from kafka_mirror.groups.job import group_offsets_step as step
        case _:
            raise KeyError(name)
    return step
