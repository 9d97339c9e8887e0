"""The two steps that work group by group, by name: what DAG tasks, the command line and the Spark job run alike."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mirror.sync import checkpoints, group_offsets
from mirror.sync.group_work import GroupWork, group_work
from mirror.sync.groups import KnownGroups, selected_groups
from mirror.sync.step import Done

if TYPE_CHECKING:
    from mirror.config import Flow


@dataclass(frozen=True)
class GroupStep:
    """`run` does it for some groups; what it gives can be added up, and `done` makes the step's answer of the sum."""

    run: Callable[[GroupWork, Collection[str], bool], Any]
    done: Callable[[Any, bool], Done]


GROUP_STEPS: Mapping[str, GroupStep] = {
    "checkpoints": GroupStep(checkpoints.emit, checkpoints.done),
    "group-offsets": GroupStep(group_offsets.synchronise, group_offsets.done),
}


Submit = Callable[["Flow", str, Collection[str], bool], Done]
"""Runs a step for these groups as a Spark job."""


def run_group_step(name: str, flow: "Flow", known: KnownGroups | None, dry_run: bool, submit: Submit) -> Done:
    """Runs the step for the groups that are known, or for those that the source has now: here, or, where they are many
    (mirror.checkpoints.spark.threshold), by a Spark job. Raises what concerns a cluster as a whole."""
    if known is None:
        found = selected_groups(flow)
        known = KnownGroups(tuple(sorted(found.offsets)), found.partitions, found.errors)
    if known.partitions > flow.value("mirror.checkpoints.spark.threshold"):
        done = submit(flow, name, known.names, dry_run)
    else:
        step = GROUP_STEPS[name]
        done = step.done(step.run(group_work(flow), known.names, dry_run), dry_run)
    more = tuple(error for error in known.errors if error not in done.errors)
    return replace(done, errors=more + done.errors)
