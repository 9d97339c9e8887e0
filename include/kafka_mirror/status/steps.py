"""The steps beside the copy by the names of their commands and DAGs: which flow has one, and what runs it."""

import importlib
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
_FUNCTIONS: Mapping[str, str] = {
    "refresh-topics": "topics.topics.step",
    "topic-configs": "topics.topic_configs.step",
    "topic-acls": "topics.topic_acls.step",
    "schemas": "topics.schemas.run.step",
    "heartbeats": "topics.heartbeats.step",
    "refresh-groups": "groups.find.step",
    "checkpoints": "groups.job.checkpoints_step",
    "group-offsets": "groups.job.group_offsets_step",
}


def pairs_of(step: str, configuration: "Configuration") -> "Configuration":
    """The configuration with the flows that have this step: for heartbeats, also pairs that are no enabled flows."""
    return configuration.for_heartbeats() if step == "heartbeats" else configuration


def run_step(name: str, flow: "Flow", dry_run: bool = False) -> StepResult:
    """Runs the step of this name for a flow."""
    return step_of(name)(flow, dry_run)


def step_of(name: str) -> Step:
    """The step of this name. Only its own module is imported: each task of a step pays for it. Raises KeyError for another name."""
    module, _, function = _FUNCTIONS[name].rpartition(".")
    step: Step = getattr(importlib.import_module(f"kafka_mirror.{module}"), function)
    return step
