"""What all tasks share: the run that they belong to, values in XCom, errors that Airflow retries or not, and the task of a single step.

XCom is neither masked nor encrypted, so no secret is ever in it.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NoReturn

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException, AirflowTaskTimeout

from kafka_mirror.airflow import compat
from kafka_mirror.airflow.alert_store import remember_step, store_of
from kafka_mirror.airflow.flow_files import configuration_of
from kafka_mirror.airflow.flow_operator import FAILURE, flow_task, leave
from kafka_mirror.config.flow import FlowName
from kafka_mirror.errors import ErrorReport, MirrorError, ReportedError
from kafka_mirror.errors.base import report_unexpected
from kafka_mirror.formats.documents import pack, unpack
from kafka_mirror.watchdog.watch import kill_if_hung

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.spark.run import SparkRunner

log = logging.getLogger(__name__)

PLAIN_BYTES = 48_000
"""A document of at most this size goes into XCom as it is."""

PACKED_BYTES = 1_000_000
"""A packed document of at most this size goes into XCom. Of a larger one only totals do: readers read the ledger again."""

_PACKED = "zlib+base64"

ENDING_SECONDS = 60
"""Airflow's own limit is a signal, and Python takes it up when a call into C returns. For so long the watchdog leaves that to it."""

MAX_LISTED_ERRORS = 20
"""How many errors an exception lists; the log has all of them, in front of it."""


class RunsOnSpark:
    """What an operator inherits that may run a job on Spark."""

    _runner: "SparkRunner | None" = None

    def spark_runner(self, flow: "Flow") -> "SparkRunner":
        """What runs the task's job, on the Spark of the flow's connection. Raises ConfigurationError."""
        from kafka_mirror.airflow.spark_hook import TaskRunner

        self._runner = TaskRunner(flow)
        return self._runner

    def on_kill(self) -> None:
        """Ends the job, if there is one: what it has not committed is aborted by the next one."""
        if self._runner is not None:
            self._runner.end()


def is_dry_run() -> bool:
    """Whether the run was started with `dry_run`."""
    return bool(get_current_context()["params"].get("dry_run"))


def is_by_person() -> bool:
    """Whether a person started the run (in Airflow's UI, by its API or its command line), and not the schedule."""
    return bool(get_current_context()["dag_run"].run_type == "manual")


def run_name() -> str:
    """The run's name in the ledger, in logs and on the page: `<DAG id> / <run id>`. Scheduled runs of two DAGs may have the same run id."""
    run: Any = get_current_context()["dag_run"]
    return f"{run.dag_id} / {run.run_id}"


def try_number() -> int:
    """Which try of the task this is; 1 is the first."""
    return int(get_current_context()["ti"].try_number)


def tries_left() -> tuple[int, int] | None:
    """Which try of the task this is, and how many there may be; None outside of a task."""
    try:
        instance: Any = get_current_context()["ti"]
        return int(instance.try_number), int(instance.max_tries) + 1
    except (RuntimeError, AttributeError, TypeError):
        return None


def pull(task_id: str) -> Any:
    """What a task of this run returned; None if it returned nothing."""
    return get_current_context()["ti"].xcom_pull(task_ids=task_id)


def newest_xcom(dag_id: str, task_id: str) -> Any:
    """What a task of another DAG returned in the newest run in which it succeeded; None if there is none.

    Runs are ordered by logical date. A run without one, triggered by hand, does not count: PostgreSQL would sort it as the newest for ever.
    """
    run_id = compat.success_before(dag_id, task_id, datetime.now(UTC) + timedelta(days=1))
    return None if run_id is None else get_current_context()["ti"].xcom_pull(dag_id=dag_id, task_ids=task_id, run_id=run_id)


def skip(reason: str) -> NoReturn:
    """Ends the task as skipped, and logs the reason, which Airflow's own line does not say. Raises AirflowSkipException."""
    log.info("Skipped: %s", reason)
    raise AirflowSkipException(reason)


def push_return_value(value: Any) -> None:
    """Pushes the return value of a task that is about to fail: others read what it did all the same."""
    get_current_context()["ti"].xcom_push("return_value", value)


def to_xcom(document: Mapping[str, Any], totals: Mapping[str, Any]) -> dict[str, Any]:
    """The document as it is, packed, or left out, by its size (PLAIN_BYTES, PACKED_BYTES). A packed one has `totals` beside it."""
    text = json.dumps(document, separators=(",", ":")).encode()
    if len(text) <= PLAIN_BYTES:
        return dict(document)
    packed = pack(document)
    return {"totals": dict(totals), _PACKED: packed} if len(packed) <= PACKED_BYTES else {"totals": dict(totals)}


def from_xcom(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """The document of a value; None if it was too large, and only its totals are there."""
    if _PACKED in value:
        return unpack(dict, value[_PACKED])
    return None if "totals" in value else dict(value)


@contextmanager
def task_body() -> Iterator[None]:
    """What each task that works with clusters does around its work: it ends if it hangs, and Airflow retries what is retriable."""
    with watched_task(), as_airflow_errors():
        yield


@contextmanager
def watched_task() -> Iterator[None]:
    """Ends the task's process if it hangs in C code, which Airflow's own limit cannot, and says what follows if the task takes too long."""
    limit = _limit_seconds()
    then = _explain_next()
    try:
        with kill_if_hung(_name_for_log(), then, None if limit is None else limit + ENDING_SECONDS):
            yield
    except AirflowTaskTimeout:
        ends = "took longer than it may (execution_timeout, %s s), and is ended with what it started"
        log.error(f"Too long: %s {ends}. %s", _name_for_log(), limit, then)  # noqa: TRY400 — Airflow logs the traceback
        raise


def _name_for_log() -> str:
    try:
        return f"the task {get_current_context()['ti'].task_id} of {run_name()}"
    except (RuntimeError, AttributeError, KeyError):
        return "a task"


def _limit_seconds() -> float | None:
    """The task's execution_timeout; None without one, or outside of a task."""
    try:
        limit: timedelta | None = get_current_context()["ti"].task.execution_timeout
    except (RuntimeError, AttributeError, KeyError):
        return None
    return None if limit is None else limit.total_seconds()


def _explain_next() -> str:
    tries = tries_left()
    again = f"Airflow starts try {tries[0] + 1} of {tries[1]}" if tries is not None and tries[0] < tries[1] else "The next run goes on"
    return f"{again}; what was not committed is aborted then, and nothing is lost or doubled: the ledger says how far the copy is."


@contextmanager
def as_airflow_errors() -> Iterator[None]:
    """Lets Airflow retry what is retriable: any other error of ours fails the task at once, as an AirflowFailException.

    Such an error is expected, so the log has its lines, and no traceback unless it shows DEBUG.
    """
    try:
        yield
    except MirrorError as error:
        report = error.report()
        leave(FAILURE, report.code)
        is_list = isinstance(error, ReportedError) and error.parts != (error.reported,)  # `raise_errors` has logged its parts
        lines = [f"{report.message.splitlines()[0]} each error above has its next step."] if is_list else report.lines
        if error.retriable:
            _log_expected(error, [*lines, *_retry_line()])
            raise
        fail(str(error), lines)


def fail(message: str, lines: Sequence[str] = ()) -> NoReturn:
    """Fails the task at once, and logs the message in lines, or these lines, without a traceback. Raises AirflowFailException."""
    failure = AirflowFailException(message)
    _log_expected(failure, lines or message.splitlines())
    raise failure from None


def _retry_line() -> list[str]:
    match tries_left():
        case (this, last) if this < last:
            return [f"Try {this} of {last} failed, and Airflow tries again after a pause, longer each time."]
    return []


def _log_expected(error: Exception, lines: Sequence[str]) -> None:
    """Logs the lines of an error that is about to end the task. Airflow's own line about it comes without the traceback then, which would
    say nothing to a person on call."""
    log_lines(lines)
    log.debug("Where it was raised:", exc_info=True)
    compat.log_without_traceback(error)


def log_lines(lines: Iterable[str]) -> None:
    """Logs what is wrong, a line each."""
    for line in lines:
        log.error("%s", line)


def raise_errors(summary: str, errors: Sequence[ErrorReport], retriable: bool | None = None) -> None:
    """Logs all errors and raises one ReportedError that lists them. Without errors it does nothing. `retriable` says whether Airflow tries
    again; None: if one of the errors is."""
    if not errors:
        return
    for error in errors:
        log_lines(error.lines)
    listed = "".join(f"\n- {error}" for error in errors[:MAX_LISTED_ERRORS])
    more = f"\n… and {len(errors) - MAX_LISTED_ERRORS} more, all of them in the log above." if len(errors) > MAX_LISTED_ERRORS else ""
    retries = any(error.retriable for error in errors) if retriable is None else retriable
    whole = ErrorReport(errors[0].code, f"{summary}:{listed}{more}", retriable=retries)
    raise ReportedError(whole, tuple(errors))


@contextmanager
def report_to_freshness(flow_name: str, step: str, *, is_told: bool = True) -> Iterator[None]:
    """Keeps the errors with which a run of a step ends, or that it ended without any: they are alerts of the flow for as long."""

    def tell(errors: Sequence[ErrorReport]) -> None:
        if is_told:
            remember_step(_name(flow_name), step, run_name(), errors)

    try:
        yield
    except MirrorError as error:
        tell(error.parts if isinstance(error, ReportedError) else (error.report(),))
        raise
    except AirflowException:
        raise
    except Exception as failure:
        tell([replace(report_unexpected(f"{step} of {flow_name}", failure, "Look at the log of its newest run."), retriable=True)])
        raise
    tell(())


def _name(flow: str) -> FlowName:
    return FlowName(*flow.split("->"))


def step_task(flow_name: str, step: str) -> Any:
    """The task of a DAG that runs one step of a flow. It returns what the step did (`dry_run`: would do), and fails with what failed."""

    @flow_task(task_id=step.replace("-", "_"), inlets=[store_of(_name(flow_name))])
    def run() -> dict[str, Any]:
        """Runs the step and logs its lines. The result goes into XCom even if a part of the step failed."""
        from kafka_mirror.status.steps import pairs_of, run_step

        with task_body(), report_to_freshness(flow_name, step, is_told=not is_dry_run()):
            result = run_step(step, pairs_of(step, configuration_of(flow_name)).flow(flow_name), is_dry_run())
            for line in result.lines:
                log.info("%s", line)
            value = to_xcom(result.result, result.totals)
            if result.errors:
                push_return_value(value)
            raise_errors(f"{flow_name}: {step} failed in part", result.errors)
        return value

    return run()
