"""A test that freezes its process ends red, with the stack, instead of holding up the run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
FROZEN = """
import ctypes
import pytest
import tests.frozen_process

tests.frozen_process.GRACE_SECONDS = 1.0

def test_before(): pass

@pytest.mark.timeout(1)
def test_that_freezes():
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):  # the second time waits for the first, as a lock of librdkafka does; no signal ends that
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)

def test_behind(): pass
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["one process", "xdist"])
def test_test_that_stands_still_in_c_code_is_red_and_says_where(tmp_path: Path, workers: tuple[str, ...]) -> None:
    (tmp_path / "test_it.py").write_text(FROZEN)
    options = ("-p", "tests.frozen_process", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path), "-o", "timeout=60")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, *workers, "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert "in test_that_freezes" in done.stderr
    assert done.returncode == 1
    if workers:
        assert "crashed while running 'test_it.py::test_that_freezes'" in done.stdout
        assert "1 failed, 2 passed" in done.stdout
