"""A failure that no class of ours stands for, as a value: with the whole way to where it happened, for it will not be seen twice."""

import logging
import traceback
from pathlib import PurePath

from kafka_mirror.errors.base import ErrorReport, Runbook

log = logging.getLogger(__name__)

UNEXPECTED = "Unexpected"
"""The code of such an error."""

RUNBOOK = Runbook(
    "The mirror itself has a mistake.",
    "No. The ledger is consistent, whatever happened.",
    "Report it with its message, which has file, line and function of every call. The whole traceback is in the task's log, or in the "
    "standard error of a Spark cluster's executor.",
)

_FRAMES = 12
_PACKAGES = PurePath(__file__).parents[2]


def report_unexpected(what: str, failure: BaseException, next: str) -> ErrorReport:
    """The error of what failed, and its traceback in the log.

    A worker's log may stand on another host than the task's, so the error itself has file, line and function of every call, outermost
    first, and those of what caused it.
    """
    log.error("%s failed unexpectedly", what, exc_info=failure)
    return ErrorReport(UNEXPECTED, f"{what} failed unexpectedly: {_chain(failure)}.", next=next)


def _chain(failure: BaseException) -> str:
    cause = failure.__cause__ or (None if failure.__suppress_context__ else failure.__context__)
    line = f"{type(failure).__name__}: {failure} ({_stack(failure)})"
    return f"{line}, caused by {_chain(cause)}" if cause is not None else line


def _stack(failure: BaseException) -> str:
    frames = traceback.extract_tb(failure.__traceback__)[-_FRAMES:]
    return " > ".join(f"{_file(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames) or "nowhere"


def _file(path: str) -> str:
    """The file as it is called in the package, or its name: where a host keeps it is not for the log."""
    file = PurePath(path)
    return file.relative_to(_PACKAGES).as_posix() if file.is_relative_to(_PACKAGES / "kafka_mirror") else file.name
