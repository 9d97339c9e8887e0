"""What the drivers of all Spark jobs do alike without Spark, which jobs/spark_job.py imports."""

import logging
import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from kafka_mirror.errors import MirrorError, WorkerUnprepared
from kafka_mirror.spark.files import write_failure
from kafka_mirror.spark.log import log_to_standard_error, wanted_level, write_lines
from kafka_mirror.watchdog.watch import watched

Spread = Callable[[str, Sequence[Any], int], list[Any]]
"""`spread(function, tasks, slices)`: the answers of a function ('module:name') to the tasks, in their order, from so many tasks of Spark. A
job of spark-submit has one, and a session of a Spark Connect server."""
_LOOK_SECONDS = 0.25

log = logging.getLogger(__name__)


def of_prepared_workers(answers: Sequence[Any], say: Callable[[Iterable[Sequence[str]]], None] = write_lines) -> Sequence[Any]:
    """The workers' answers, without the lines of their logs, which `say` takes. Raises WorkerUnprepared if one of them says that its worker
    lacks a module."""
    said = [answer for answer in answers if isinstance(answer, dict)]
    say(answer["log"] for answer in said if "log" in answer)
    for answer in said:
        if "log" not in answer:
            raise WorkerUnprepared(**answer)
    return [answer for answer in answers if not isinstance(answer, dict)]


def wait_while_alive(submitter: int) -> Callable[[float], bool]:
    """A wait for so many seconds that ends at once, as False, when the process that submitted the job is gone, or Spark's own."""
    spark = os.getppid()

    def wait(seconds: float) -> bool:
        """Returns when so many seconds are over, as True, or one of the two processes is gone, as False."""
        deadline = time.monotonic() + seconds
        while os.getppid() == spark and _is_alive(submitter):
            seconds_left = deadline - time.monotonic()
            if seconds_left <= 0:
                return True
            time.sleep(min(seconds_left, _LOOK_SECONDS))
        return False

    return wait


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it runs, as another user
    return True


def exit_code(result_file: str, job: Callable[[Path], None]) -> int:
    """Runs a whole job, which writes its results into the file; 0, or 1 after an error of ours. That is handed back as a value: the exit
    code alone could not say whether to retry. The mirror's lines go to standard error, which is the job's log."""
    log_to_standard_error(wanted_level())
    try:
        with watched("the driver of a Spark job", "The next try or run goes on; the ledger says how far the copy is."):
            job(Path(result_file))
    except MirrorError as error:
        write_failure(Path(result_file), error)
        log.error("%s", error)  # noqa: TRY400 — it is one of ours, and says where it came from
        return 1
    return 0
