"""A Spark job by hand, that of a copy above all: through spark-submit on this host, without Airflow."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mirror.spark.files import JobFiles
from mirror.spark.log import level_for_job, without_noise
from mirror.spark.package import package
from mirror.spark.start import LOCAL_MASTER, environment, is_local, program, properties_file, tuned_spark


@dataclass(frozen=True)
class Job:
    """A Spark job: its file in jobs/, its name on Spark's page, its own arguments."""

    program: Path
    name: str
    arguments: Sequence[str]


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
