"""A step for many groups as a Spark job, jobs/emit_checkpoints.py: what goes in, what comes out, and how it is started by hand."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mirror.config.connections import handed_over
from mirror.copy.job_files import JobFiles, job_directory, read_answer, write_private
from mirror.copy.spark_start import INCLUDE, LOCAL_MASTER, master_of
from mirror.copy.spark_submit import Job, submit
from mirror.errors import ErrorReport, MirrorError
from mirror.sync.group_work import GroupWork
from mirror.sync.step import Done

if TYPE_CHECKING:
    from mirror.config import Flow

JOB = INCLUDE.parent / "jobs" / "emit_checkpoints.py"
MOST_AT_ONCE = 2_000
"""How many groups one Spark task looks at; what each of them reads of ledger and checkpoints is the same."""


@contextmanager
def group_job(flow: "Flow", step: str, names: Collection[str], dry_run: bool) -> Iterator[tuple[JobFiles, Job]]:
    """The files of a job and how it is called. No secret is in them: the job loads the configuration itself."""
    work = {"flow": flow.name, "step": step, "config": flow.config_hash, "names": sorted(names), "dry_run": dry_run}
    with job_directory(work) as files:
        yield files, Job(JOB, f"mirror {step} {flow.name}", [str(files.plan), str(files.result)])


def submit_by_hand(flow: "Flow", step: str, names: Collection[str], dry_run: bool) -> Done:
    """The step through a Spark job whose driver is on this host. Raises what the job reports, and JobFailed when it ends without a word."""
    connection = flow.value("mirror.spark.connection")
    with group_job(flow, step, names, dry_run) as (files, job):
        master = master_of(connection) if connection else LOCAL_MASTER
        ended = submit(job, files, master, flow.value("mirror.spark.properties.file"), flow.file, handed_over(flow))
        return read_done(files.result, ended)


def chunks(names: Sequence[str], cores: int) -> list[Sequence[str]]:
    """The groups in as many parts as there are cores; more, where a part would be too large."""
    count = min(len(names), max(cores, -(-len(names) // MOST_AT_ONCE)))
    return [names[number::count] for number in range(count)]


def run_part(step: str, work: GroupWork, names: Sequence[str], dry_run: bool) -> Any:
    """A part of the job, on a worker. An error of ours is an answer: Spark would try three times more, and end the job for all."""
    from mirror.sync.checkpoints import Emitted
    from mirror.sync.group_offsets import Synced
    from mirror.sync.group_steps import GROUP_STEPS

    try:
        return GROUP_STEPS[step].run(work, names, dry_run)
    except MirrorError as error:
        reports = (error.report(),)
        return Emitted(errors=reports) if step == "checkpoints" else Synced(errors=reports)


def write_done(path: Path, done: Done) -> None:
    """Hands the step's answer back to the submitter."""
    answer = {"result": done.result, "totals": done.totals, "lines": done.lines, "errors": [asdict(error) for error in done.errors]}
    write_private(path, {"done": answer})


def read_done(path: Path, detail: str) -> Done:
    """The step's answer. Raises ReportedError, and JobFailed with `detail`."""
    answer = read_answer(path, detail)["done"]
    return Done(
        answer["result"], answer["totals"], tuple(answer["lines"]), tuple(ErrorReport.from_dict(error) for error in answer["errors"])
    )
