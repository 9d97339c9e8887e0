"""Runs the two steps that work group by group, `checkpoints` and `group-offsets`: in this process, and for very many groups on Spark."""

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

from kafka_mirror.config import Flow
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.groups import checkpoints, group_offsets
from kafka_mirror.groups.checkpoints import CheckpointsResult
from kafka_mirror.groups.context import GroupContext, group_context
from kafka_mirror.groups.find import KnownGroups, known_groups
from kafka_mirror.groups.group_offsets import GroupOffsetsResult
from kafka_mirror.kafka.polling import repeat_meanwhile
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.spark.run import Spark, SparkRunner, runner_by_hand

MOST_AT_ONCE = 2_000
"""How many groups one Spark task looks at; what each of them reads of ledger and checkpoints is the same."""
ON_WORKERS = "kafka_mirror.groups.job:run_parts"
"""What a worker of Spark runs."""

_PATIENCE_SECONDS = 5.0
"""How long the end of a run waits for checkpoints that are being written. A cluster may not answer, and the next run writes them too."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class GroupWork:
    """A step for these groups, as a job does it. `run` names the run in notes."""

    step: str
    names: tuple[str, ...]
    dry_run: bool = False
    run: str = ""


def run_for_groups(spark: Spark, flow: Flow, work: GroupWork) -> StepResult:
    """The job: the step on the workers of a Spark, which share what it may read to count."""
    context, named = group_context(flow, work.run), chunks(work.names, spark.cores())
    share = replace(context, count_max_bytes=context.count_max_bytes // max(len(named), 1))
    parts = [(work.step, share, part, work.dry_run) for part in named]
    return GROUP_STEPS[work.step].done(reduce(add, spark.run(ON_WORKERS, parts, len(parts))), work.dry_run)


def chunks(names: Sequence[str], cores: int) -> list[Sequence[str]]:
    """The groups in as many parts as there are cores; more, where a part would be too large."""
    count = min(len(names), max(cores, -(-len(names) // MOST_AT_ONCE)))
    return [names[number::count] for number in range(count)]


def run_part(step: str, context: GroupContext, names: Sequence[str], dry_run: bool) -> Any:
    """A part of the job, on a worker. An error of ours is an answer: Spark would try three times more, and end the job for all."""
    try:
        return GROUP_STEPS[step].run(context, names, dry_run)
    except MirrorError as error:
        reports = (error.report(),)
        return CheckpointsResult(errors=reports) if step == "checkpoints" else GroupOffsetsResult(errors=reports)


def run_parts(parts: Iterable[tuple[str, GroupContext, Sequence[str], bool]]) -> Iterator[Any]:
    """Does the parts that a Spark worker was given, one by one, and logs each."""
    for step, context, names, dry_run in parts:
        began = time.monotonic()
        done = run_part(step, context, names, dry_run)
        failed = f", {len(done.errors)} errors" if done.errors else ""
        log.info("%s: %s of %d groups in %.1f s%s.", context.flow, step, len(names), time.monotonic() - began, failed)
        yield done


@dataclass(frozen=True)
class GroupStep:
    """`run` does it for some groups; what it gives can be added up, and `step_result` makes the step's answer of the sum."""

    run: Callable[[GroupContext, Collection[str], bool], Any]
    done: Callable[[Any, bool], StepResult]


GROUP_STEPS: Mapping[str, GroupStep] = {
    "checkpoints": GroupStep(checkpoints.emit, checkpoints.step_result),
    "group-offsets": GroupStep(group_offsets.synchronise, group_offsets.step_result),
}


def run_group_step(
    name: str,
    flow: Flow,
    selected: KnownGroups | None,
    dry_run: bool,
    runner: Callable[[], SparkRunner],
    by: str = "hand",
    most_here: int | None = None,
    run: str = "",
) -> StepResult:
    """Runs the step for the groups that are known, or for those that the source has now: here, or, where they have more partitions than
    `most_here` (None: mirror.checkpoints.spark.threshold), on Spark; `by` as in `SparkRunner.run`. Raises what concerns a cluster as a
    whole."""
    groups = known_groups(flow) if selected is None else selected
    most = flow.value("mirror.checkpoints.spark.threshold") if most_here is None else most_here
    if groups.names and groups.partitions > most:
        done = runner().run(run_for_groups, flow, GroupWork(name, tuple(sorted(groups.names)), dry_run, run), name, by)
    else:
        step = GROUP_STEPS[name]
        done = step.done(step.run(group_context(flow, run), groups.names, dry_run), dry_run)
    more = tuple(error for error in groups.errors if error not in done.errors)
    return replace(done, errors=more + done.errors)


def checkpoints_meanwhile(flow: Flow, due: float) -> AbstractContextManager[None]:
    """Writes checkpoints at once and every emit.checkpoints.interval.seconds while the block lasts, in a thread of its own, until `due` by
    the monotonic clock: then the next run does. What cannot be written is written the next time, or by the DAG `checkpoints`, which is red
    if it cannot either."""
    if not flow.value("emit.checkpoints.enabled"):
        return nullcontext()
    every, otherwise = flow.value("emit.checkpoints.interval.seconds"), "Checkpoints cannot be written just now; they are tried again"
    return repeat_meanwhile("checkpoints", every, CheckpointsOfRun(flow, due).write, otherwise, _PATIENCE_SECONDS, at_once=True)


class CheckpointsOfRun:
    """Writes a flow's checkpoints again and again. It looks for groups as often as the DAG `refresh-groups`; without that, each time."""

    def __init__(self, flow: Flow, due: float, now: Callable[[], float] = time.monotonic) -> None:
        self._flow = flow
        self._due = due
        self._now = now
        self._groups = KnownGroups((), 0)
        self._found_at = -math.inf

    def write(self) -> bool:
        """Writes what is new. Raises what concerns a cluster as a whole. False: the run is due."""
        now = self._now()
        if now >= self._due:
            return False
        errors: tuple[ErrorReport, ...] = ()
        is_kept = self._flow.value("refresh.groups.enabled")
        if not is_kept or now - self._found_at >= self._flow.value("refresh.groups.interval.seconds"):
            self._groups, self._found_at = known_groups(self._flow), now
            errors = self._groups.errors
        done = checkpoints.emit(group_context(self._flow), self._groups.names) if self._groups.names else CheckpointsResult()
        for error in (*errors, *done.errors):
            log.warning("%s", error)
        if done.written:
            log.info("%s: %d checkpoints written, of %d groups.", self._flow.name, done.written, done.groups)
        return True


def checkpoints_step(flow: Flow, dry_run: bool = False) -> StepResult:
    """`checkpoints` as a step, for the groups that the source has now. Raises what concerns a cluster as a whole."""
    return run_group_step("checkpoints", flow, None, dry_run, partial(runner_by_hand, flow))


def group_offsets_step(flow: Flow, dry_run: bool = False) -> StepResult:
    """`group-offsets` as a step, for the groups that the source has now. Raises what concerns a cluster as a whole."""
    return run_group_step("group-offsets", flow, None, dry_run, partial(runner_by_hand, flow))


def group_step_on_master(name: str, flow: Flow, dry_run: bool, master: str) -> StepResult:
    """The step on this Spark cluster, however few groups the source has now. Raises what concerns a cluster as a whole."""
    return run_group_step(name, flow, None, dry_run, partial(runner_by_hand, flow, master), most_here=-1)
