"""A job of spark-submit on this host, with what is common to all of ours: which modules its driver and its workers import, and where."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.spark.files import INCLUDE
from kafka_mirror.spark.start import JOBS, environment, program, properties_file, tuned_spark
from tests.spark_stranger import refusals

MASTER = "local[2]"
JOB = """
import json, os, sys
from pathlib import Path
import psutil
from spark_job import run_on_workers, spark_context
from tests.spark_stranger import ask_all, listening

with spark_context("east->west", ["imported_once", "not_there"]) as spark:
    parents = run_on_workers(spark, "imported_once:process_and_parent", [1, 2], 2)
    level = spark.getConf().get("spark.log.level")
    here = psutil.Process()
    strangers = ask_all(listening([here, here.parent(), *here.parent().children(recursive=True)]))
    after = run_on_workers(spark, "imported_once:process_and_parent", [3], 1)
Path(sys.argv[1]).write_text(json.dumps({"workers": parents, "modules": sorted(sys.modules), "level": level,
    "strangers": strangers, "after": len(after)}))
"""
IMPORTED_ONCE = """
import os

IMPORTED_IN = os.getpid()

def process_and_parent(tasks):
    return [[IMPORTED_IN, os.getpid(), os.getppid()] for _ in tasks]
"""


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What such a job wrote down."""
    directory, tuned = tmp_path_factory.mktemp("job"), tuned_spark()
    (directory / "imported_once.py").write_text(IMPORTED_ONCE)
    (directory / "job.py").write_text(JOB)
    standard, settings = properties_file(MASTER, "", tuned), directory / "spark.properties"
    settings.write_text((Path(standard).read_text() if standard else "spark.ui.enabled false") + "\nspark.log.level ERROR\n")
    paths = os.pathsep.join(map(str, (INCLUDE, JOBS, directory, Path(__file__).parents[2])))
    command = [program(MASTER, "spark-submit", tuned), "--master", MASTER, "--properties-file", str(settings)]
    done = subprocess.run(
        [*command, str(directory / "job.py"), str(directory / "answer.json")],
        env={**os.environ, **environment(MASTER, (), tuned, directory), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    document: dict[str, Any] = json.loads((directory / "answer.json").read_text())
    return document


def test_the_workers_share_what_their_daemon_imported(answer: dict[str, Any]) -> None:
    """A module that is not there keeps neither daemon nor workers from working."""
    assert [[daemon, process != daemon] for daemon, process, _parent in answer["workers"]] == [
        [parent, True] for _daemon, _process, parent in answer["workers"]
    ]


def test_the_driver_needs_no_numpy_and_no_pandas(answer: dict[str, Any]) -> None:
    """py4j would import them to ask whether a number or a text is one of theirs: 50 MB and half a second of CPU time."""
    assert {"numpy", "pandas", "pyarrow", "unittest"}.isdisjoint(answer["modules"])


def test_the_level_of_sparks_log_is_that_of_the_properties_file(answer: dict[str, Any]) -> None:
    assert answer["level"] == "ERROR"


def test_no_port_of_a_job_answers_a_client_without_a_secret(answer: dict[str, Any]) -> None:
    """Two of them are Spark's own, the driver's and that of its blocks. The job goes on."""
    assert refusals(answer["strangers"]) == 2
    assert answer["after"] == 1
