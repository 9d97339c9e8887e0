"""What all tasks share: the run that they belong to, their arguments, values in XCom, and errors that Airflow retries or not.

XCom is neither masked nor encrypted, so no secret is ever in it.
"""

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowFailException, AirflowRuntimeError, AirflowSkipException, AirflowTaskTimeout

from kafka_mirror.airflow import compat
from kafka_mirror.errors import ErrorReport, MirrorError, ReportedError
from kafka_mirror.formats.documents import from_document, pack, unpack
from kafka_mirror.watchdog.watch import kill_if_hung

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

FAILURE = "failure"
"""The key in XCom under which a task leaves the code of the error with which it failed, for its link to the runbook."""

SPARK_UI = "spark_ui"
"""The key in XCom under which a task leaves the address of Spark's page while its job runs, and '' afterwards."""


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


def clear_number(run: Any) -> int:
    """How often somebody cleared the run: what it pushed before counts no more."""
    return int(run.clear_number or 0)


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


def skip(reason: str) -> NoReturn:
    """Ends the task as skipped, and logs the reason, which Airflow's own line does not say. Raises AirflowSkipException."""
    log.info("Skipped: %s", reason)
    raise AirflowSkipException(reason)


def push_return_value(value: Any) -> None:
    """Pushes the return value of a task that is about to fail: others read what it did all the same."""
    get_current_context()["ti"].xcom_push("return_value", value)


def leave(key: str, value: str) -> None:
    """Leaves a value in XCom for a link of the task. Nothing hangs on it: a task that cannot leave it goes on."""
    with suppress(RuntimeError, KeyError, AirflowRuntimeError):
        get_current_context()["ti"].xcom_push(key, value)


def split_names(names: str | Iterable[str] | None) -> tuple[str, ...]:
    """Names that stand in a list, or between commas in one text: a template gives text."""
    texts = names.split(",") if isinstance(names, str) else names or ()
    return tuple(filter(None, (str(text).strip() for text in texts)))


def is_true(value: Any) -> bool:
    """Whether a value means yes: a template gives the text 'True', 'False' or nothing."""
    return str(value).strip().lower() in ("true", "1", "yes") if isinstance(value, str) else bool(value)


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


def read_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """What a trigger did. Raises the error that ended it; a retry goes on after a pause."""
    if "error" in event:
        raise ReportedError(from_document(ErrorReport, event["error"]))
    return dict(event)


@contextmanager
def task_body() -> Iterator[None]:
    """What each task that works with clusters does around its work. Airflow retries what is retriable. A task that hangs in C code, which
    Airflow's own limit cannot end, ends its process; one that takes too long says what follows."""
    try:
        task: Any = get_current_context()["ti"]
        name, limit = f"the task {task.task_id} of {run_name()}", task.task.execution_timeout
    except (RuntimeError, AttributeError, KeyError):
        name, limit = "a task", None
    seconds = None if limit is None else limit.total_seconds()
    tries = tries_left()
    again = f"Airflow starts try {tries[0] + 1} of {tries[1]}" if tries is not None and tries[0] < tries[1] else "The next run goes on"
    then = f"{again}; what was not committed is aborted then, and nothing is lost or doubled: the ledger says how far the copy is."
    try:
        with kill_if_hung(name, then, None if seconds is None else seconds + ENDING_SECONDS), as_airflow_errors():
            yield
    except AirflowTaskTimeout:
        ends = "took longer than it may (execution_timeout, %s s), and is ended with what it started"
        log.error(f"Too long: %s {ends}. %s", name, seconds, then)  # noqa: TRY400 — Airflow logs the traceback
        raise


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
            match tries_left():
                case (this, last) if this < last:
                    lines = [*lines, f"Try {this} of {last} failed, and Airflow tries again after a pause, longer each time."]
            _log_expected(error, lines)
            raise
        fail(str(error), lines)


def fail(message: str, lines: Sequence[str] = ()) -> NoReturn:
    """Fails the task at once, and logs the message in lines, or these lines, without a traceback. Raises AirflowFailException."""
    failure = AirflowFailException(message)
    _log_expected(failure, lines or message.splitlines())
    raise failure from None


def _log_expected(error: Exception, lines: Sequence[str]) -> None:
    """Logs the lines of an error that is about to end the task. Airflow's own line about it comes without the traceback then, which would
    say nothing to a person on call."""
    log_lines(lines)
    log.debug("Where it was raised:", exc_info=True)
    compat.log_without_traceback(error)


def log_lines(lines: Iterable[object], level: int = logging.ERROR) -> None:
    """Logs these lines, as what is wrong unless the level says otherwise."""
    for line in lines:
        log.log(level, "%s", line)


def return_or_raise(value: Any, summary: str, errors: Sequence[ErrorReport], retriable: bool | None = None) -> Any:
    """The value that a task returns. With errors it goes into XCom all the same, for others read what the task did. Raises as
    `raise_errors`."""
    if errors:
        push_return_value(value)
    raise_errors(summary, errors, retriable)
    return value


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
