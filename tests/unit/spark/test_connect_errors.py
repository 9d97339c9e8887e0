"""What failures of the Spark Connect client become."""

from types import SimpleNamespace

import pytest

from mirror.errors import JobFailed, MirrorError, SparkJobInterrupted, SparkServerRefused, SparkServerUnavailable
from mirror.spark.connect_errors import our_error


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
        ("[PYTHON_VERSION_MISMATCH] 3.12", "INTERNAL", SparkServerRefused),
        ("connection refused", "UNAVAILABLE", SparkServerUnavailable),
        ("[INVALID_HANDLE.SESSION_CHANGED]", "INTERNAL", SparkServerUnavailable),
        ("[RESPONSE_ALREADY_RECEIVED]", "", SparkServerUnavailable),
        ("too large", "RESOURCE_EXHAUSTED", SparkServerUnavailable),
        ("java.lang.OutOfMemoryError: Java heap space", "INTERNAL", SparkServerUnavailable),
        ("[OPERATION_CANCELED] by a user", "INTERNAL", SparkJobInterrupted),
        ("anything else", "INTERNAL", JobFailed),
    ],
)
def test_failure_is_an_error_that_names_the_server(text: str, status: str, expected: type[MirrorError]) -> None:
    error = our_error("127.0.0.1:15002", ClientFailure(text, status))
    assert type(error) is expected
    assert "127.0.0.1:15002" in str(error)
    assert error.retriable == (expected is not SparkServerRefused)
