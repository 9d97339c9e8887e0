"""A Spark job by hand, that of a copy above all: through spark-submit on this host, without Airflow."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mirror.copy.job_files import JobFiles, job_files, read_results
from mirror.copy.job_log import level_for_job, without_noise
from mirror.copy.model import LaneResult
from mirror.copy.spark_start import INCLUDE, LOCAL_MASTER, environment, is_local, package, program, properties_file, tuned_spark
from mirror.plan.model import Plan

JOB = INCLUDE.parent / "jobs" / "copy_ranges.py"


@dataclass(frozen=True)
class Job:
    """A Spark job: its file in jobs/, its name on Spark's page, its own arguments."""

    program: Path
    name: str
    arguments: Sequence[str]


def arguments(files: JobFiles, flow: str, run: str) -> list[str]:
    """The job's own arguments. `run` names the run in the ledger."""
    return [str(files.plan), str(files.result), flow, run]


def copy_with_spark(
    plan: Plan,
    *,
    master: str = LOCAL_MASTER,
    run: str = "",
    properties: str = "",
    config: str = "",
    connections: Mapping[str, str] | None = None,
) -> list[LaneResult]:
    """Copies the plan's ranges through a Spark job whose driver is on this host, and returns what each lane did.

    `master` is the Spark cluster, `properties` mirror.spark.properties.file, `config` what the job shall find in MIRROR_CONFIG ('': what we
    have there), `connections` what it needs of Airflow's connections (`handed_over`). The job's output goes to our standard error. Raises
    what the job reports, and JobFailed when it ends without a result.
    """
    with job_files(plan) as files:
        job = Job(JOB, f"mirror copy {plan.flow}", arguments(files, plan.flow, run))
        return read_results(files.result, submit(job, files, master, properties, config, connections))


def submit(
    job: Job,
    files: JobFiles,
    master: str = LOCAL_MASTER,
    properties: str = "",
    config: str = "",
    connections: Mapping[str, str] | None = None,
) -> str:
    """Runs a job to its end and says how spark-submit ended; the rest as in `copy_with_spark`."""
    tuned = None if properties else tuned_spark()
    file = properties_file(master, properties, tuned)
    command: Sequence[str] = [
        program(master, "spark-submit", tuned),
        *("--master", master),
        *("--deploy-mode", "client"),
        *("--name", job.name),
        *(("--properties-file", file) if file else ()),
        *(() if is_local(master) else ("--py-files", str(package(files.directory)))),
        str(job.program),
        *job.arguments,
    ]
    code = _run(
        command, files.lock, {**os.environ, **level_for_job(), **environment(master, config, tuned, files.directory), **(connections or {})}
    )
    return f"spark-submit ended with exit code {code}."


def _run(command: Sequence[str], lock: int, variables: Mapping[str, str]) -> int:
    with subprocess.Popen(
        command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, pass_fds=(lock,)
    ) as job:
        try:
            for line in without_noise(job.stdout or ()):
                sys.stderr.write(line)
            return job.wait()
        except BaseException:
            # Interrupted: the workers end with the JVM, and what they had not committed is aborted by the next run.
            job.kill()
            raise
