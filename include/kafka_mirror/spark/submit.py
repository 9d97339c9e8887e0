"""A Spark job by hand: through spark-submit on this host, without Airflow."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from kafka_mirror.config import Flow
from kafka_mirror.config.flow import handed_over
from kafka_mirror.spark.files import JobFiles
from kafka_mirror.spark.log import level_for_job, without_noise
from kafka_mirror.spark.package import package
from kafka_mirror.spark.start import JOB, LOCAL_MASTER, environment, is_local, program, properties_file, tuned_spark


def submit(name: str, files: JobFiles, flow: Flow, master: str = LOCAL_MASTER) -> str:
    """Runs the job of these files to its end on the Spark cluster `master`, its driver on this host, and says how spark-submit ended.
    `name` is the job's on Spark's page.

    The job finds the flow's files in MIRROR_CONFIG, and what it needs of Airflow's connections in its environment. Its output goes to our
    standard error. Raises ConfigurationError with every reference that cannot be read.
    """
    properties = flow.value("mirror.spark.properties.file")
    tuned = None if properties else tuned_spark()
    file = properties_file(master, properties, tuned)
    command: Sequence[str] = [
        program(master, "spark-submit", tuned),
        *("--master", master),
        *("--deploy-mode", "client"),
        *("--name", name),
        *(("--properties-file", file) if file else ()),
        *(() if is_local(master) else ("--py-files", str(package(files.directory)))),
        *map(str, (JOB, files.work, files.result)),
    ]
    variables = {**os.environ, **level_for_job(), **environment(master, flow.files, tuned, files.directory), **handed_over(flow)}
    code = _run(command, files.lock, variables)
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
