"""The log of a Spark job: from the driver and its workers to its submitter, line by line, each with its level.

    21:40:24.651 WARNING kafka_mirror.copy.lane: lane 3: attempt 1 of 4 failed, trying again in 0.5 s: ClusterUnreachable: …

The driver and, on a local master, the workers write such lines to their standard error, which is the submitter's. A cluster's workers
write to their executor's; so they hand their lines to the driver too, with their answers. The submitter logs each line again, at its level.
Imports no Spark, Airflow or Kafka client.
"""

import contextlib
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from kafka_mirror.errors import WorkerUnprepared

SayLines = Callable[[Iterable[Sequence[str]]], None]
"""Takes the lines that several workers logged."""
LEVEL = "MIRROR_LOG_LEVEL"
"""The variable that tells a job from which level on to log; INFO without it."""
UI = "Spark's page: "
"""What a driver's line begins with that tells the address of its page."""
_LOGGER = "kafka_mirror"
_MOST_LINES = 5_000
"""What a worker hands over at most; beyond it, its executor's own log has all."""
_LATE_SECONDS = 10.0
_LEVELS = "|".join(("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
_LINE = re.compile(rf"^(?P<time>\d\d:\d\d:\d\d)\.\d{{3}} (?P<level>{_LEVELS}) (?P<name>{_LOGGER}[\w.]*): (?P<text>.*)$")
_CONTINUED = "    | "
# What JVM and Spark say at every start, before any setting of theirs is read, and what needs no action.
_NOISE = re.compile(
    r"^WARNING: Using incubator modules: |^Using Spark's default log4j profile: |^Setting Spark log level to |"
    r"^Setting default log level to |^To adjust logging level use |WARN NativeCodeLoader: Unable to load native-hadoop library|"
    r"INFO SparkContext: (?:Running Spark version|OS info|Java version) "
)

log = logging.getLogger(__name__)


class _Formatter(logging.Formatter):
    """One line a record; of a traceback each line is marked as a continuation."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03d %(levelname)s %(name)s: %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\n", f"\n{_CONTINUED}")


class _Collector(logging.Handler):
    """Keeps lines, for a worker whose standard error is not its driver's."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if len(self.lines) < _MOST_LINES:
            self.lines += self.format(record).split("\n")
        elif len(self.lines) == _MOST_LINES:
            self.lines.append(f"{_CONTINUED}More lines than a worker hands over; its executor's own log has all.")


def level_for_job() -> dict[str, str]:
    """The environment of a job that is to log what this process logs: more than INFO only where somebody wants to debug."""
    return {LEVEL: "DEBUG" if logging.getLogger(_LOGGER).isEnabledFor(logging.DEBUG) else "INFO"}


def wanted_level() -> str:
    """From which level on this process logs."""
    level = os.environ.get(LEVEL, "INFO")
    return level if level in _LEVELS.split("|") else "INFO"


def log_to_standard_error(level: str) -> None:
    """Has this process, a driver or a worker, write the lines of the mirror's loggers to its standard error; once, however often called."""
    logger = logging.getLogger(_LOGGER)
    logger.setLevel(level)
    logger.propagate = False
    if not any(isinstance(existing.formatter, _Formatter) for existing in logger.handlers):
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Formatter())
        logger.addHandler(handler)


@contextlib.contextmanager
def worker_log(level: str, hand_over: bool) -> Iterator[list[str]]:
    """A worker's log while it works: to standard error, and with `hand_over` in the list too, for the driver."""
    log_to_standard_error(level)
    collector = _Collector()
    collector.setFormatter(_Formatter())
    if hand_over:
        logging.getLogger(_LOGGER).addHandler(collector)
    try:
        yield collector.lines
    finally:
        logging.getLogger(_LOGGER).removeHandler(collector)


def write_lines(workers: Iterable[Sequence[str]]) -> None:
    """Runs on the driver: writes what several workers handed over, in the order of time."""
    for text in _sort_by_time(workers):
        print(text, file=sys.stderr)  # noqa: T201 — the job's log


def require_prepared_workers(answers: Sequence[Any], say: SayLines = write_lines) -> Sequence[Any]:
    """The workers' answers, without the lines of their logs, which `say` takes. Raises WorkerUnprepared if one of them says that its worker
    lacks a module."""
    said = [answer for answer in answers if isinstance(answer, dict)]
    say(answer["log"] for answer in said if "log" in answer)
    for answer in said:
        if "log" not in answer:
            raise WorkerUnprepared(**answer)
    return [answer for answer in answers if not isinstance(answer, dict)]


def log_lines(workers: Iterable[Sequence[str]]) -> None:
    """Logs what several workers handed over, in the order of time, each line at its level."""
    for line in relay_log(line for text in _sort_by_time(workers) for line in text.split("\n")):
        log.info("%s", line)


def _sort_by_time(workers: Iterable[Sequence[str]]) -> list[str]:
    records: list[list[str]] = []
    for lines in workers:
        for line in lines:
            if _LINE.match(line) or not records:
                records.append([line])
            else:
                records[-1].append(line)
    return ["\n".join(record) for record in sorted(records, key=lambda time_and_line: time_and_line[0][:12])]


def drop_noise(lines: Iterable[str]) -> Iterator[str]:
    """The lines but for those that Spark says at every start."""
    return (line for line in lines if not _NOISE.search(line))


def relay_log(lines: Iterable[str]) -> Iterator[str]:
    """Logs the lines of a job that are the mirror's own, each at its level, and gives the others, but for what Spark says at every start.

    The time of a line is that of the log it goes to; one that comes late, as a cluster's workers' do, keeps it.
    """
    logger, level = log, logging.INFO
    for line in lines:
        text = line.rstrip("\r\n")
        if text.startswith(_CONTINUED):
            logger.log(level, "%s", text)
        elif (match := _LINE.match(text)) is not None:
            # A name of its own: librdkafka's logger has a filter, which these lines have passed.
            logger, level = (
                logging.getLogger(f"{_LOGGER}.job{match['name'].removeprefix(_LOGGER)}"),
                logging.getLevelNamesMapping()[match["level"]],
            )
            late = _is_late(match["time"])
            logger.log(level, "%s", f"[{match['time']} UTC] {match['text']}" if late else match["text"])
        elif not _NOISE.search(text):
            yield line


def _is_late(clock: str) -> bool:
    now = datetime.now(UTC)
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    age = (now.hour - hours) * 3600 + (now.minute - minutes) * 60 + now.second - seconds
    return age % 86_400 > _LATE_SECONDS
