"""Jobs of spark-submit without Spark: their drivers run in the process of the test, for tests of what comes of a job."""

import json
from pathlib import Path
from typing import Any

from kafka_mirror.formats.documents import from_document
from kafka_mirror.spark.run import Job, find_function, work_type
from tests.spark_session import SparkOfThisProcess


def submit(hook: Any, application: str = "", **_: Any) -> None:
    """In the place of `JobHook.submit`: the whole driver, with workers that are this process."""
    from airflow.sdk.exceptions import AirflowException

    code = SparkOfThisProcess().drive(*hook._application_args, hook._environment)
    if code:
        raise AirflowException(f"Cannot execute: spark-submit. Error code is: {code}.")


def told(work_file: Path) -> tuple[Job, Any]:
    """What a driver is told: its job, and the work of that."""
    job = from_document(Job, json.loads(work_file.read_text()))
    return job, from_document(work_type(find_function(job.function)), job.work)
