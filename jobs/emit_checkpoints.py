"""The Spark job for very many consumer groups: translates their offsets, and writes checkpoints or commits on the target, part by part.

Arguments: work file, result file. Spark only spreads the groups; each part does on its own what the task does for few groups.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any


def run(document: dict[str, Any]) -> Any:
    """Runs on the driver: the groups through Spark, their answers as one."""
    from spark_job import run_on_workers, spark_context

    from kafka_mirror.config import load
    from kafka_mirror.plan.checks import check_configuration
    from kafka_mirror.sync.groups.context import group_context
    from kafka_mirror.sync.groups.job import group_step_on_spark

    flow = load().flow(document["flow"])
    check_configuration(document["config"], flow.config_hash)
    step, names, dry_run = document["step"], document["names"], document["dry_run"]
    context = group_context(flow, document["run"])
    with spark_context(flow.name) as spark:
        return group_step_on_spark(step, context, names, dry_run, spark.defaultParallelism, partial(run_on_workers, spark))


def main(work_file: str, result_file: str) -> int:
    """The whole job; its exit code."""
    from kafka_mirror.spark.driver import exit_code
    from kafka_mirror.sync.groups.job import write_result

    document = json.loads(Path(work_file).read_text(encoding="utf-8"))
    return exit_code(result_file, lambda result: write_result(result, run(document)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
