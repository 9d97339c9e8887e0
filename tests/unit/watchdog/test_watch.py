"""The watchdog, by processes that really hang: a thread that sleeps in C and keeps Python's lock, as librdkafka's binding can."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mirror.watchdog.watch import WatchedWork
from tests.waiting import PATIENCE, eventually

INCLUDE = Path(__file__).resolve().parents[3] / "include"
PROGRAM = """
import ctypes, os, subprocess, sys, threading, time
from mirror.watchdog.watch import watched

def hang_with_the_lock():
    ctypes.PyDLL(None).sleep(1000)

def hang_without_the_lock():
    ctypes.CDLL(None).sleep(1000)

"""
TEXT = "The work hangs: for 1 s no line of its Python ran, so C code holds Python's lock, most likely the Kafka client."

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program to its end, as the leader of a process group or not."""

    def ended(program: str, leads: bool = True) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(INCLUDE)}
        return subprocess.run(
            [sys.executable, "-c", PROGRAM + program],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            start_new_session=leads,
        )

    return ended


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return b"\nState:\tZ" in Path(f"/proc/{process}/status").read_bytes()


@pytest.mark.parametrize("leads", [True, False])
def test_thread_that_keeps_pythons_lock_in_c_ends_its_process_which_says_why_and_where_it_hung(run: Run, leads: bool) -> None:
    done = run(
        """
with watched("The work", "It begins anew.", silence=1.0):
    hanging = threading.Thread(target=hang_with_the_lock)
    hanging.start()
    hanging.join()
""",
        leads,
    )
    assert done.returncode == -signal.SIGQUIT
    words, _, stacks = done.stderr.partition("\n")
    assert words.startswith(TEXT)
    assert words.endswith(" It begins anew. The stacks of its threads follow.")
    assert "in hang_with_the_lock" in stacks
    assert "in <module>" in stacks, "the stack of each thread"


def test_process_whose_starter_blocks_the_signal_says_where_it_hung_as_well(run: Run) -> None:
    done = run(
        """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGQUIT})  # as Java does, of which Spark starts its Python
with watched("The work", "It begins anew.", silence=1.0):
    hang_with_the_lock()
"""
    )
    assert "in hang_with_the_lock" in done.stderr


def test_what_the_process_started_ends_with_it(run: Run) -> None:
    done = run(
        """
started = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(started.pid, flush=True)
with watched("The work", "It begins anew.", silence=1.0):
    hang_with_the_lock()
"""
    )
    eventually(lambda: is_gone(int(done.stdout)), "the end of what it started")


def test_work_that_takes_longer_than_it_may_ends_though_its_process_lives(run: Run) -> None:
    done = run(
        """
with watched("The work", "It begins anew.", seconds=1.0, silence=1000.0):
    hang_without_the_lock()
"""
    )
    assert done.returncode == -signal.SIGQUIT
    assert done.stderr.startswith("The work is ended: it may take 1 s, and did not end by itself.")
    assert "in hang_without_the_lock" in done.stderr


def test_python_that_is_busy_or_waits_lives_and_so_does_whoever_is_watched_no_more(run: Run) -> None:
    done = run(
        """
with watched("The work", "", seconds=1000.0, silence=1.0):
    with watched("A part of it", "", seconds=1.5, silence=1.0):
        pass
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        pass
    time.sleep(1.5)
ctypes.PyDLL(None).sleep(2)
with watched("More work", "", silence=1.0):
    time.sleep(1.5)
print("done")
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_fork_is_not_watched_and_does_not_keep_the_watchdog_from_seeing_the_end(run: Run) -> None:
    done = run(
        """
with watched("The work", "", silence=1.0):
    child = os.fork()
    if not child:
        hang_with_the_lock() if ctypes.PyDLL(None).sleep(2) else os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
with watched("Other work", "", silence=1.0):
    if not os.fork():
        os.closerange(0, 3)
        time.sleep(20)
        os._exit(0)
"""
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_process_that_ends_takes_its_watchdog_with_it(run: Run) -> None:
    done = run(
        """
with watched("The work", ""):
    own = os.getpid()
    print(open(f"/proc/{own}/task/{own}/children").read(), flush=True)
    os.kill(os.getpid(), 9)
"""
    )
    eventually(lambda: is_gone(int(done.stdout)), "the end of the watchdog")


def test_limit_that_is_nearer_than_silence_is_what_the_watchdog_waits_for() -> None:
    now = time.monotonic()
    watched = WatchedWork("The copy", "Airflow tries again.", silence=120.0, seconds=900.0, ends=now + 900.0)
    assert watched.patience(now)[0] == 120.0
    seconds, text = watched.patience(now + 850.0)
    assert (round(seconds), "may take 900 s" in text) == (50, True)
    assert watched.patience(now + 1000.0)[0] == 0.0
