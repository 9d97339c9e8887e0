"""What failures of the Spark Connect client become."""

from types import SimpleNamespace

import pytest

from kafka_mirror.errors import JobFailed, MirrorError, SparkJobInterrupted, SparkServerRefused, SparkServerUnavailable
from kafka_mirror.spark.connect_errors import translate_failure


class ClientFailure(Exception):
    def __init__(self, text: str, status: str = "") -> None:
        super().__init__(text)
        self.status = status

    def code(self) -> SimpleNamespace:
        return SimpleNamespace(name=self.status)


@pytest.mark.parametrize(
    ("text", "status", "expected"),
    [
        ("no token", "UNAUTHENTICATED", SparkServerRefused),
        ("connection refused", "UNAVAILABLE", SparkServerUnavailable),
        ("[INVALID_HANDLE.SESSION_CHANGED]", "INTERNAL", SparkServerUnavailable),
        ("[RESPONSE_ALREADY_RECEIVED]", "", SparkServerUnavailable),
        ("no threads", "RESOURCE_EXHAUSTED", SparkServerUnavailable),
        ("Cannot call methods on a stopped SparkContext.", "INTERNAL", SparkServerUnavailable),
        ("gRPC message exceeds maximum size 134217728: 134217900", "RESOURCE_EXHAUSTED", SparkServerRefused),
        ("Ssl handshake failed: CERTIFICATE_VERIFY_FAILED: self-signed certificate", "UNAVAILABLE", SparkServerRefused),
        ("java.lang.OutOfMemoryError: Java heap space", "INTERNAL", SparkServerUnavailable),
        ("[OPERATION_CANCELED] by a user", "INTERNAL", SparkJobInterrupted),
        ("anything else", "INTERNAL", JobFailed),
    ],
)
def test_failure_is_an_error_that_names_the_server(text: str, status: str, expected: type[MirrorError]) -> None:
    error = translate_failure("127.0.0.1:15002", ClientFailure(text, status))
    assert type(error) is expected
    assert "127.0.0.1:15002" in str(error)
    assert error.retriable == (expected is not SparkServerRefused)


IN_A_WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "worker.py", line 3602, in main
    func, profiler, deserializer, serializer = read_udfs(
                                               ^^^^^^^^^^
ModuleNotFoundError: No module named 'pyarrow'
 SQLSTATE: 38000"""
WITHOUT_PYTHON = """Job aborted: Lost task 0.3 in stage 39.0 (TID 147) (10.0.0.7 executor 0): org.apache.spark.SparkException:
Error from python worker:
  /opt/python: not found
PYTHONPATH was:
  pyspark.zip"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (IN_A_WORKER, "failed: ModuleNotFoundError: No module named 'pyarrow'"),
        (WITHOUT_PYTHON, "failed on 10.0.0.7: /opt/python: not found"),
        ("Traceback (most recent call last):", "failed: Traceback (most recent call last):"),
        ("\n  one\ntwo", "failed: one"),
        ('<_InactiveRpcError of RPC that terminated with:\n\tstatus = x\n\tdetails = "no route"\n>', "failed: no route"),
    ],
    ids=["in a worker", "without Python", "cut off", "plain", "of gRPC"],
)
def test_what_failed_on_a_worker_is_said_with_its_cause_and_host(text: str, said: str) -> None:
    assert (
        translate_failure("127.0.0.1:15002", ClientFailure(text, "INTERNAL")).message
        == f"The job on the Spark server at 127.0.0.1:15002 {said}"
    )
