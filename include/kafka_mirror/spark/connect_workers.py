"""Which workers of a Spark Connect server cannot run the tasks that the mirror sends, and for want of what.

What a worker's Python lacks to run any function of `mapInArrow` never reaches our code there, and Spark's error names no host. So the
server is asked once more, in a way that such a worker can answer.
"""

import re
import sys
from contextlib import suppress
from typing import Any

from kafka_mirror.errors import MirrorError, SparkServerRefused, WorkerUnprepared

_VERSION = re.compile(r"Python in worker has different version: (\S+) than")
_MISSING = re.compile(r"No module named '(\w+)")
_TASKS = 64
"""Enough for each worker of most clusters to get one."""
_BEFORE_OUR_CODE = "pyarrow"


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
    return WorkerUnprepared(**_unprepared(session, address, missing[0]))


def _hosts(session: Any) -> list[str]:
    """The hosts that the server runs tasks on, as their own Java names them; none where it does not say so."""
    from pyspark.sql.connect.functions import expr

    with suppress(Exception):
        hosts = session.range(0, _TASKS, 1, _TASKS).select(expr("reflect('java.net.InetAddress', 'getLocalHost')").alias("host"))
        return sorted({str(host).partition("/")[0] for host in hosts.toArrow().column(0).to_pylist()})
    return []


def _unprepared(session: Any, address: str, detail: str) -> dict[str, str]:
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
