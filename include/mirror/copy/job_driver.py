"""What the drivers of all Spark jobs do alike. Imports no Spark: jobs/ does that, and hands its objects in."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mirror.copy.job_files import write_failure
from mirror.copy.job_log import log_to_standard_error, wanted_level, write_lines
from mirror.errors import MirrorError, PlanMismatch, WorkerUnprepared

log = logging.getLogger(__name__)


def settled(settings: Any) -> Any:
    """A SparkConf with what every job of ours needs of it."""
    # Speculation would run side effects twice. The fencing would bear it, but it costs the work of one of the two.
    return settings.set("spark.speculation", "false").set("spark.task.maxFailures", "4").setIfMissing("spark.log.level", "WARN")


def of_prepared_workers(answers: Sequence[Any]) -> Sequence[Any]:
    """The workers' answers, without the lines of their logs, which go into the driver's. Raises WorkerUnprepared if one of them says that
    its worker lacks a module."""
    said = [answer for answer in answers if isinstance(answer, dict)]
    write_lines(answer["log"] for answer in said if "log" in answer)
    for answer in said:
        if "log" not in answer:
            raise WorkerUnprepared(**answer)
    return [answer for answer in answers if not isinstance(answer, dict)]


def stop(context: Any) -> None:
    """Ends a SparkContext, the JVM's side alone: its own stop would wait another second for its server of accumulators, which nobody uses
    here."""
    context._jsc.stop()


def check_configuration(planned: str, found: str) -> None:
    """Raises PlanMismatch if the job has another configuration than whoever submitted it."""
    if planned != found:
        raise PlanMismatch(planned, found)


def exit_code(result_file: str, job: Callable[[Path], None]) -> int:
    """Runs a whole job, which writes its results into the file; 0, or 1 after an error of ours. That is handed back as a value: the exit
    code alone could not say whether to retry. The mirror's lines go to standard error, which is the job's log."""
    log_to_standard_error(wanted_level())
    try:
        job(Path(result_file))
    except MirrorError as error:
        write_failure(Path(result_file), error)
        log.error("%s", error)  # noqa: TRY400 — it is one of ours, and says where it came from
        return 1
    return 0
