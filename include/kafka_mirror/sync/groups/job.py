"""Runs the two steps that work group by group, `checkpoints` and `group-offsets`: in this process, as a Spark job or on a Spark that stays.

The job is jobs/emit_checkpoints.py. DAG tasks, the command line and the job run the same steps, found by name.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.spark.connect_url import is_connect
from kafka_mirror.spark.driver import Spread
from kafka_mirror.spark.files import JobFiles, job_directory, read_answer, write_private
from kafka_mirror.spark.start import JOBS, master_by_hand
from kafka_mirror.spark.submit import Job, submit
from kafka_mirror.sync.groups import checkpoints
from kafka_mirror.sync.groups import offsets as group_offsets
from kafka_mirror.sync.groups.context import GroupContext, group_context, with_share
from kafka_mirror.sync.groups.find import KnownGroups, selected_groups
from kafka_mirror.sync.step import StepResult

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.spark.connect import ConnectSession

JOB = JOBS / "emit_checkpoints.py"
MOST_AT_ONCE = 2_000
"""How many groups one Spark task looks at; what each of them reads of ledger and checkpoints is the same."""
ON_WORKERS = "kafka_mirror.sync.groups.job:run_parts"
"""What a worker of Spark runs."""

log = logging.getLogger(__name__)

Submit = Callable[["Flow", str, Collection[str], bool, str], StepResult]
"""Runs a step for these groups on Spark; the last argument is the name of the run."""


@contextmanager
def group_job(flow: "Flow", step: str, names: Collection[str], dry_run: bool, run: str) -> Iterator[tuple[JobFiles, Job]]:
    """The files of a job and how it is called. No secret is in them: the job loads the configuration itself."""
    document = {"flow": flow.name, "step": step, "config": flow.config_hash, "names": sorted(names), "dry_run": dry_run, "run": run}
    with job_directory(document) as files:
        yield files, Job(JOB, f"mirror {step} {flow.name}", [str(files.plan), str(files.result)])


def submit_by_hand(flow: "Flow", step: str, names: Collection[str], dry_run: bool, run: str = "", named: str | None = None) -> StepResult:
    """The step through a Spark job whose driver is on this host, or on a Spark that stays: on the master that is named, else on that of the
    flow's connection. Raises what the job reports, and JobFailed when it ends without a word."""
    master = master_by_hand(named, flow.value("mirror.spark.connection"))
    if is_connect(master):
        from kafka_mirror.spark.connect import flow_session

        with flow_session(flow, step, "hand", master) as session:
            return group_step_in_session(session, flow, step, names, dry_run, run)
    with group_job(flow, step, names, dry_run, run) as (files, job):
        ended = submit(job, files, flow, master)
        return read_result(files.result, ended)


def group_step_in_session(
    session: "ConnectSession", flow: "Flow", step: str, names: Collection[str], dry_run: bool, run: str = ""
) -> StepResult:
    """The step for these groups on a Spark that stays."""
    return group_step_on_spark(step, group_context(flow, run), sorted(names), dry_run, session.cores, session.run)


def group_step_on_spark(step: str, context: GroupContext, names: Sequence[str], dry_run: bool, cores: int, spread: Spread) -> StepResult:
    """The step for these groups on the workers of a Spark with so many cores, which share what it may read to count."""
    named = chunks(names, cores)
    parts = [(step, with_share(context, len(named)), part, dry_run) for part in named]
    return GROUP_STEPS[step].done(reduce(add, spread(ON_WORKERS, parts, len(parts))), dry_run)


def chunks(names: Sequence[str], cores: int) -> list[Sequence[str]]:
    """The groups in as many parts as there are cores; more, where a part would be too large."""
    count = min(len(names), max(cores, -(-len(names) // MOST_AT_ONCE)))
    return [names[number::count] for number in range(count)]


def run_part(step: str, context: GroupContext, names: Sequence[str], dry_run: bool) -> Any:
    """A part of the job, on a worker. An error of ours is an answer: Spark would try three times more, and end the job for all."""
    from kafka_mirror.sync.groups.checkpoints import CheckpointsResult
    from kafka_mirror.sync.groups.offsets import GroupOffsetsResult

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


def write_result(path: Path, done: StepResult) -> None:
    """Hands the step's answer back to the submitter."""
    write_private(path, {"done": to_document(done)})


def read_result(path: Path, detail: str) -> StepResult:
    """The step's answer. Raises ReportedError, and JobFailed with `detail`."""
    return from_document(StepResult, read_answer(path, detail)["done"])


def checkpoints_step(flow: "Flow", dry_run: bool = False) -> StepResult:
    """`checkpoints` as a step, for the groups that the source has now. Raises what concerns a cluster as a whole."""

    return run_group_step("checkpoints", flow, None, dry_run, submit_by_hand)


def group_offsets_step(flow: "Flow", dry_run: bool = False) -> StepResult:
    """`group-offsets` as a step, for the groups that the source has now. Raises what concerns a cluster as a whole."""

    return run_group_step("group-offsets", flow, None, dry_run, submit_by_hand)


def group_step_on_master(name: str, flow: "Flow", dry_run: bool, master: str) -> StepResult:
    """The step on this Spark cluster, however few groups the source has now. Raises what concerns a cluster as a whole."""
    return run_group_step(name, flow, None, dry_run, partial(submit_by_hand, named=master), most_here=-1)


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
    flow: "Flow",
    known_groups: KnownGroups | None,
    dry_run: bool,
    submit: Submit,
    most_here: int | None = None,
    run: str = "",
) -> StepResult:
    """Runs the step for the groups that are known, or for those that the source has now: here, or, where they have more partitions than
    `most_here` (None: mirror.checkpoints.spark.threshold), on Spark. Raises what concerns a cluster as a whole."""
    if known_groups is None:
        selected = selected_groups(flow)
        known_groups = KnownGroups(tuple(sorted(selected.offsets)), selected.partitions, selected.errors)
    most = flow.value("mirror.checkpoints.spark.threshold") if most_here is None else most_here
    if known_groups.names and known_groups.partitions > most:
        done = submit(flow, name, known_groups.names, dry_run, run)
    else:
        step = GROUP_STEPS[name]
        done = step.done(step.run(group_context(flow, run), known_groups.names, dry_run), dry_run)
    more = tuple(error for error in known_groups.errors if error not in done.errors)
    return replace(done, errors=more + done.errors)
