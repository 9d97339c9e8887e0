"""What a failure of the Spark Connect client means, as an error of ours.

What a worker's Python lacks to run any function of `mapInArrow` never reaches our code there, and Spark's error names no host. So the
server is asked once more, in a way that such a worker can answer.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kafka_mirror.errors import JobFailed, MirrorError, SparkJobInterrupted, SparkServerRefused, SparkServerUnavailable, WorkerUnprepared
from kafka_mirror.spark.connect_url import ConnectUrl

_LOST = (
    "SESSION_CHANGED",
    "SESSION_NOT_FOUND",
    "SESSION_CLOSED",
    "OPERATION_NOT_FOUND",
    "OPERATION_ABANDONED",
    "RESPONSE_ALREADY_RECEIVED",
    "stopped SparkContext",
)
_INTERRUPTED = ("OPERATION_CANCELED", "OPERATION_CANCELLED", "cancelled", "canceled")
_HANDSHAKE = re.compile(r"CERTIFICATE_VERIFY_FAILED(: [\w -]+)?|WRONG_VERSION_NUMBER|Hostname Verification Check failed")
_DETAILS = re.compile(r'^\tdetails = "(.+)"$', re.MULTILINE)
"""As a call of gRPC that failed shows itself."""
_TOO_LARGE = ("larger than max", "exceeds maximum size")
_EXECUTOR = re.compile(r"\((\S+) executor \S+\): ")
"""Where a task of Spark ran, as Spark says it of a task that failed."""
_FULL = ("OutOfMemoryError", "Java heap space", "No space left on device")
_VERSION = re.compile(r"Python in worker has different version: (\S+) than")
_MISSING = re.compile(r"No module named '(\w+)")
_TASKS = 64
"""Enough for each worker of most clusters to get one."""
_BEFORE_OUR_CODE = "pyarrow"


@contextmanager
def as_our_errors(url: ConnectUrl, closed: type[Exception] | None = None) -> Iterator[None]:
    """What pyspark's client raises inside as an error of ours: SparkServerUnavailable, SparkServerRefused, SparkJobInterrupted, JobFailed.
    With `closed` a session that the server closed is raised as that."""
    try:
        yield
    except MirrorError:
        raise
    except Exception as failure:  # noqa: BLE001 — the client raises its own, gRPC's and plain ones; each is raised as ours
        if closed is not None and "SESSION_CLOSED" in str(failure):
            raise closed from None
        raise translate_failure(url.address, failure) from None


def translate_failure(address: str, failure: Exception) -> MirrorError:
    """What a failure of the client means."""
    status, text, line = _status(failure), str(failure), cause(failure)
    if status in ("UNAUTHENTICATED", "PERMISSION_DENIED"):
        return SparkServerRefused.for_its_token(address)
    if handshake := _HANDSHAKE.search(text):
        return SparkServerRefused.for_its_certificate(address, handshake[0])
    if any(word in text for word in _TOO_LARGE):
        return SparkServerRefused.for_its_message_size(address, line)
    if status == "UNAVAILABLE" or any(word in text for word in _LOST):
        return SparkServerUnavailable(address, line)
    if status == "RESOURCE_EXHAUSTED" or any(word in text for word in _FULL):
        return SparkServerUnavailable(address, f"it has no room, {line}")
    if status == "CANCELLED" or any(word in text for word in _INTERRUPTED):
        return SparkJobInterrupted(address)
    host = f" on {executor[1]}" if (executor := _EXECUTOR.search(text)) else ""
    return JobFailed(
        f"The job on the Spark server at {address} failed{host}: {line}", next="Look at the server's log; the next run goes on."
    )


def is_handshake_failure(text: str) -> bool:
    """Whether a failure of the client, as it says itself, is that of a TLS handshake."""
    return _HANDSHAKE.search(text) is not None


def _status(failure: Exception) -> str:
    """gRPC's status code of a failure, by its name; '' where there is none."""
    for name in ("code", "getGrpcStatusCode"):
        code = getattr(failure, name, None)
        if callable(code):
            return str(getattr(code(), "name", ""))
    return ""


def first_line(failure: Exception) -> str:
    """The beginning of what a failure says, for a sentence; of gRPC's, its details."""
    details = _DETAILS.search(text := str(failure))
    return next((line.strip() for line in (details[1] if details else text).splitlines() if line.strip()), type(failure).__name__)[:300]


def cause(failure: Exception) -> str:
    """What a failure says of its cause, for a sentence: the error below a Python traceback, else what a worker's Python wrote when it could
    not start, else the first line."""
    lines = str(failure).splitlines()
    for number, line in enumerate(lines):
        if line.endswith("Traceback (most recent call last):"):
            errors = (below.strip() for below in lines[number + 1 :] if below.strip() and _indent(below) <= _indent(line))
            return next(errors, first_line(failure))[:300]
        if line.strip() == "Error from python worker:" and lines[number + 1 :] and not lines[number + 1].strip().startswith("Traceback"):
            return lines[number + 1].strip()[:300]
    return first_line(failure)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def worker_error(session: Any, address: str, failure: Exception) -> MirrorError | None:
    """The error of a job that failed because a worker's Python is of another version or has no pyarrow; None if it failed otherwise."""
    text = str(failure)
    if "PYTHON_VERSION_MISMATCH" in text:
        version = _VERSION.search(text)
        client = f"{sys.version_info.major}.{sys.version_info.minor}"
        return SparkServerRefused.for_its_workers_python(address, version[1] if version else "?", client, _hosts(session))
    missing = _MISSING.search(text)
    if missing is None or missing[1] != _BEFORE_OUR_CODE:
        return None
    return WorkerUnprepared(**_find_unprepared(session, address, missing[0]))


def _hosts(session: Any) -> list[str]:
    """The hosts that the server runs tasks on, as their own Java names them; none where it does not say so."""
    from pyspark.sql.connect.functions import expr

    with suppress(Exception):
        hosts = session.range(0, _TASKS, 1, _TASKS).select(expr("reflect('java.net.InetAddress', 'getLocalHost')").alias("host"))
        return sorted({str(host).partition("/")[0] for host in hosts.toArrow().column(0).to_pylist()})
    return []


def _find_unprepared(session: Any, address: str, detail: str) -> dict[str, str]:
    """Module, host, python and detail of a worker that lacks the module. Asked by a function of Spark that needs no pyarrow."""
    from pyspark.sql.connect.functions import udf
    from pyspark.sql.types import MapType, StringType

    module = _BEFORE_OUR_CODE

    def lacks(_number: int) -> dict[str, str]:
        """Runs on a worker, which may lack the library: it travels by value."""
        import importlib
        import socket
        import sys

        try:
            importlib.import_module(module)
        except ImportError as error:
            return {"module": module, "host": socket.gethostname(), "python": sys.executable, "detail": str(error)}
        return {}

    with suppress(Exception):
        ask: Any = udf(lacks, MapType(StringType(), StringType()), useArrow=False)
        table = session.range(0, _TASKS, 1, _TASKS).select(ask("id").alias("lacks")).toArrow()
        for answer in table.column(0).to_pylist():
            if answer:
                return dict(answer)

    return {"module": module, "host": f"a host of the server at {address}", "python": "its Python", "detail": detail}
