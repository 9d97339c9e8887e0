"""How Spark is started for a job: master, program, properties file, environment; and by hand, through spark-submit on this host.

On a local master the job starts from the tuned Spark home (`kafka-mirror spark tune` builds it), if there is one. It is for
local masters alone: its properties file binds to the loopback address, and `--properties-file` would hide a cluster's spark-defaults.conf.
Imports no Spark.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kafka_mirror.config import Flow
from kafka_mirror.config.flow import hand_over_connections
from kafka_mirror.config.references import Connections
from kafka_mirror.errors import ConfigurationError, JobFailed, Problem
from kafka_mirror.spark.connect_url import SCHEME
from kafka_mirror.spark.files import INCLUDE, JobFiles, package
from kafka_mirror.spark.log import drop_noise, level_for_job

SPARK_CONNECT = "spark_connect"
"""The type of the Airflow connection of a Spark Connect server."""
LOCAL_MASTER = "local[*,4]"
"""All cores of this host, and four attempts at a task as on a cluster (spark.task.maxFailures has no effect on a local master)."""

_HERE_OR_YARN = re.compile(r"local(-cluster)?(\[[^\]]+\])?|yarn")
_MASTER = re.compile(rf"{_HERE_OR_YARN.pattern}|spark://[^/:,]+:[0-9]+(,[^/:,]+:[0-9]+)*|spark://\[[^\]]+\]:[0-9]+|k8s://.+|sc://.+")

_INSTALLED_JOBS = INCLUDE / "kafka_mirror" / "jobs"
JOBS = _INSTALLED_JOBS if _INSTALLED_JOBS.is_dir() else INCLUDE.parent / "jobs"
"""What spark-submit runs: in the package where that is installed, beside include/ in a checkout."""
JOB = JOBS / "spark_job.py"
"""The program of every job. Its arguments are its work file and its result file."""
LOG4J = JOBS / "log4j2.properties"
SETTINGS = {"spark.pyspark.driver.python": sys.executable}
"""What spark-submit gets by --conf for every job, where it wins over the properties file: the driver's Python is ours. The file may name
one that the workers alone have, by spark.pyspark.python."""
TUNED = Path(sys.prefix) / "share" / "mirror" / "spark"
"""Belongs to the Python environment: the class-data archive in it fits this environment's jars and this Java alone."""


@dataclass(frozen=True)
class TunedSpark:
    """A Spark home made for a quick start: `home` for SPARK_HOME, `properties` for --properties-file, `archive` of loaded classes."""

    directory: Path

    @property
    def home(self) -> Path:
        """A SPARK_HOME without pyspark.zip, so that Python takes the environment's compiled modules instead."""
        return self.directory / "home"

    @property
    def archive(self) -> Path:
        """The JVM's class-data archive."""
        return self.directory / "spark.jsa"

    @property
    def properties(self) -> Path:
        """The settings; written last, so where this file is the others are complete."""
        return self.directory / "spark.properties"


def tuned_spark(directory: Path = TUNED) -> TunedSpark | None:
    """The tuned start, or None where the build step has not run (Spark then starts in twice the time)."""
    tuned = TunedSpark(directory)
    return tuned if tuned.properties.exists() else None


def master_by_hand(named: str | None, connection: str) -> str:
    """The Spark cluster of a run by hand: the one that is named, else that of `mirror.spark.connection`, else this host. Raises as
    `master_of`."""
    if named:
        return checked_master(named, "--master", named)
    return master_of(connection) if connection else LOCAL_MASTER


def master_of(connection: str) -> str:
    """The master that an Airflow connection names: by `spark_master`, or of type spark_connect the server's URL, token included.

    For a run by hand. Raises ConfigurationError if the connection cannot be asked for, names no host or leads to no master.
    """
    ask = Connections()
    try:
        host = ask(connection, "host")
        kind = ask.read_type(connection)
    except ValueError as reason:
        problem = Problem("mirror.spark.connection", f"{reason}. Or name the Spark cluster by --master", connection)
        raise ConfigurationError([problem]) from None
    port = _optional(ask, connection, "port")
    if kind != SPARK_CONNECT:
        return spark_master(connection, kind, host, port)
    address = f"{host}:{port}" if port else host
    fields = {"user_id": "login", "token": "password", "use_ssl": "extra.use_ssl"}
    parameters = {name: _optional(ask, connection, field) for name, field in fields.items()}
    of_url = ";".join(f"{name}={quote(value, safe='')}" for name, value in parameters.items() if value)
    return f"{SCHEME}{address.removeprefix(SCHEME)}/;{of_url}"


def spark_master(connection: str, kind: str, host: str, port: str) -> str:
    """The master of an Airflow connection of this type (any but spark_connect), for a run by hand as for a DAG.

    One that was made from a URI (spark://one:7077) has the scheme as its type, and a host without it. Raises ConfigurationError if that is
    no master.
    """
    is_whole = "://" in host or _HERE_OR_YARN.fullmatch(host)
    master = host if is_whole else f"{kind or 'spark'}://{host}"
    return checked_master(f"{master}:{port}" if port else master, "mirror.spark.connection", connection)


def checked_master(master: str, name: str, value: str) -> str:
    """The master, if it is one. Raises ConfigurationError, which names property or option and its value: Spark itself takes half a minute
    to say no, and does not say where."""
    if _MASTER.fullmatch(master):
        return master
    where = "write it into the connection's host (and its port)" if name == "mirror.spark.connection" else "name one"
    kinds = "local[…], yarn, spark://host:port, k8s://https://host:port or sc://host:port"
    raise ConfigurationError([Problem(name, f"'{master}' is no Spark master: it must be {kinds}; {where}", value)])


def _optional(ask: Connections, connection: str, field: str) -> str:
    """The value of a connection's field, '' where it has none."""
    try:
        return ask(connection, field)
    except ValueError:
        return ""


def is_local(master: str) -> bool:
    """Whether driver and workers all run in this host's one JVM; `local-cluster[…]` is a cluster."""
    return master == "local" or master.startswith("local[")


def properties_file(master: str, configured: str, tuned: TunedSpark | None) -> str | None:
    """The file for --properties-file: `mirror.spark.properties.file` if set, else the tuned one on a local master.

    Raises ConfigurationError when the configured file does not exist.
    """
    if configured:
        if not Path(configured).is_file():
            raise ConfigurationError([Problem("mirror.spark.properties.file", "there is no such file", configured)])
        return configured
    return str(tuned.properties) if tuned and is_local(master) else None


def program(master: str, wanted: str, tuned: TunedSpark | None) -> str:
    """The spark-submit to run. On a local master ours; elsewhere the `wanted` one if it is on PATH, where a cluster's own Spark may be."""
    if is_local(master) and tuned:
        return str(tuned.home / "bin" / "spark-submit")
    if not is_local(master) and (wanted != "spark-submit" or shutil.which(wanted)):
        return wanted
    return str(installed_spark() / "bin" / "spark-submit")


def installed_spark() -> Path:
    """The Spark that came with this environment's pyspark, found without importing it. Raises JobFailed when there is none."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise JobFailed(
            f"pyspark is not installed in {sys.prefix}.",
            next='Install the package with Spark: pip install "airflow-kafka-mirror[spark]" (in a checkout: make install).',
        )
    return Path(spec.origin).parent


def environment(master: str, files: Sequence[str], tuned: TunedSpark | None, scratch: Path) -> dict[str, str]:
    """What the job's process needs beyond our own environment; no secret. `files`: of the configuration of its flow, if it has one.

    `scratch` is where Spark puts its temporary files on a local master: for a moment the lanes' tasks with their secrets are among them.
    On a cluster the workers' Python is the cluster's business (spark.pyspark.python, PYSPARK_PYTHON).
    """
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, (str(INCLUDE), os.environ.get("PYTHONPATH", ""))))}
    if files:
        variables["MIRROR_CONFIG"] = ",".join(files)
    if is_local(master):
        variables["PYSPARK_PYTHON"] = sys.executable
        variables["SPARK_LOCAL_DIRS"] = str(scratch)
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
        variables.update(_configure_log4j())
        variables["SPARK_HOME"] = str(tuned.home if tuned else installed_spark())
        # For the JVM that only prints the command line of the one that works.
        variables["SPARK_LAUNCHER_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    return variables


def _configure_log4j() -> dict[str, str]:
    """Has Spark log what needs somebody's attention, by jobs/log4j2.properties; nothing where the user has a log4j configuration: in
    SPARK_CONF_DIR or in SPARK_SUBMIT_OPTS. One that spark.driver.extraJavaOptions names comes later on the command line, and wins."""
    options, configured = os.environ.get("SPARK_SUBMIT_OPTS", ""), os.environ.get("SPARK_CONF_DIR", "")
    if "log4j" in options or (configured and any(Path(configured).glob("log4j2.*"))):
        return {}
    return {"SPARK_SUBMIT_OPTS": f"{options} -Dlog4j2.configurationFile={LOG4J.as_uri()}".strip()}


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
        *(part for name, value in SETTINGS.items() for part in ("--conf", f"{name}={value}")),
        *(() if is_local(master) else ("--py-files", str(package(files.directory)))),
        *map(str, (JOB, files.work, files.result)),
    ]
    variables = {**os.environ, **level_for_job(), **environment(master, flow.files, tuned, files.directory), **hand_over_connections(flow)}
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, env=variables, text=True, pass_fds=(files.lock,), **pipes) as job:
        try:
            for line in drop_noise(job.stdout or ()):
                sys.stderr.write(line)
            return f"spark-submit ended with exit code {job.wait()}."
        except BaseException:
            # Interrupted: the workers end with the JVM, and what they had not committed is aborted by the next run.
            job.kill()
            raise
