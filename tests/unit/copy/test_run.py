"""A lane that fails as nobody foresaw: its answer says where, and its traceback is in the log of the process that ran it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_mirror.copy import run

FAILING = """
from kafka_mirror.copy import run
from tests.unit.copy.test_run import task

class Lane:
    def __init__(self, *_):
        pass

    def run(self):
        return {}["nowhere"]

run.LaneCopy = Lane
print(run.copy_side_by_side([task()])[0].errors[0].message)
"""


def task():
    """A task of which nothing matters but its names."""
    from kafka_mirror.config.resolved_flow import ClientSettings
    from kafka_mirror.copy.model import LaneTask

    return LaneTask("east", "west", 4, ClientSettings({}, {}, {}, {}, {}), 3, "ledger", "id", (), {}, frozenset(), "e", "w")


@pytest.fixture
def failing(monkeypatch):
    """A lane whose run fails two calls deep, for a reason of its own."""

    class Lane:
        def __init__(self, *_):
            pass

        def run(self):
            try:
                self.look_up({})
            except KeyError as error:
                raise RuntimeError("no way on") from error

        def look_up(self, empty):
            return empty["offset"]

    monkeypatch.setattr(run, "LaneCopy", Lane)


def test_the_error_has_every_call_and_what_caused_it(failing, caplog):
    result = run.copy_lane(task())
    (error,) = result.errors
    assert (result.lane, error.code, error.retriable) == (3, "Unexpected", False)
    assert re.match(
        r"Lane 3 failed unexpectedly: RuntimeError: no way on \(kafka_mirror/copy/run\.py:\d+ copy_lane > test_run\.py:\d+ run\)",
        error.message,
    )
    assert ", caused by KeyError: 'offset' (" in error.message
    assert error.message.endswith(" look_up).")
    assert caplog.text.count("Traceback (most recent call last)") == 2, "the failure's, and that of what caused it"
    assert re.search(r'File ".*test_run\.py", line \d+, in look_up', caplog.text)
    assert "RuntimeError: no way on" in caplog.text


def test_a_process_that_has_no_logging_set_up_prints_the_traceback_as_a_spark_worker_does():
    root = Path(__file__).parents[3]
    path = f"{root / 'include'}:{root}"
    ended = subprocess.run([sys.executable, "-c", FAILING], env={"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert "Lane 3 failed unexpectedly: KeyError: 'nowhere' (kafka_mirror/copy/run.py:" in ended.stdout
    assert "Traceback (most recent call last)" in ended.stderr
