"""The mirror's errors as Airflow understands them: only what is retriable is retried."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowFailException

from mirror.airflow.context import tries_left
from mirror.errors import ErrorReport, MirrorError, ReportedError

SHOWN = 20
"""How many errors an exception lists; all of them are in the log before it."""

log = logging.getLogger(__name__)


@contextmanager
def as_airflow_errors() -> Iterator[None]:
    """Lets a retriable error pass as an ordinary failure, which Airflow retries; any other one of ours fails the task at once."""
    try:
        yield
    except MirrorError as error:
        if error.retriable:
            _tell_of_retry(error)
            raise
        raise AirflowFailException(str(error)) from None


def _tell_of_retry(error: MirrorError) -> None:
    tries = tries_left()
    if tries is not None and tries[0] < tries[1]:
        log.warning(
            "Try %d of %d failed, and Airflow tries again after a pause, longer each time: %s",
            *tries,
            str(error).splitlines()[0].rstrip(":"),
        )


def raise_errors(summary: str, errors: Sequence[ErrorReport]) -> None:
    """Raises one error that lists all of these, if there are any; it is retriable if one of them is."""
    if not errors:
        return
    for each in errors:
        log.error("%s", each)
    listed = "".join(f"\n- {each}" for each in errors[:SHOWN])
    more = f"\n… and {len(errors) - SHOWN} more, all of them in the log above." if len(errors) > SHOWN else ""
    raise ReportedError(ErrorReport(errors[0].code, f"{summary}:{listed}{more}", retriable=any(each.retriable for each in errors)))
