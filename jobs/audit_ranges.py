"""The Spark job of a large audit: reads both sides of the stretches that it is given, and compares them. Arguments: work file, result file.

Spark only spreads the tasks: shares of the stretches, each of which does on its own what the task does for a small audit, and parts of
stretches that are too large for one. Nothing is written.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any


def run(document: dict[str, Any]) -> list[Any]:
    """Runs on the driver: the stretches through Spark, their outcomes in any order."""
    from spark_job import run_on_workers, spark_context

    from kafka_mirror.audit.context import audit_context
    from kafka_mirror.audit.job import stretches_of
    from kafka_mirror.audit.parallel import compare_on_spark
    from kafka_mirror.config import load
    from kafka_mirror.plan.checks import check_configuration

    flow = load().flow(document["flow"])
    check_configuration(document["config"], flow.config_hash)
    context, least = audit_context(flow, document["show_payload"]), flow.value("mirror.audit.spark.threshold")
    with spark_context(flow.name) as spark:
        return compare_on_spark(context, stretches_of(document), least, spark.defaultParallelism, partial(run_on_workers, spark))


def main(work_file: str, result_file: str) -> int:
    """The whole job; its exit code."""
    from kafka_mirror.audit.job import write_outcomes
    from kafka_mirror.spark.driver import exit_code

    document = json.loads(Path(work_file).read_text(encoding="utf-8"))
    return exit_code(result_file, lambda result: write_outcomes(result, run(document)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
