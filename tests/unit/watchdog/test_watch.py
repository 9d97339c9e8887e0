"""The watchdog, by processes that really hang: a thread that sleeps in C and keeps Python's lock, as librdkafka's binding can."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_mirror.watchdog.watch import WatchedWork, last_words
from services.waiting import PATIENCE, eventually

INCLUDE = Path(__file__).resolve().parents[3] / "include"
PROGRAM = """
import ctypes, os, subprocess, sys, threading, time
from kafka_mirror.watchdog.watch import kill_if_hung

def hang(library):
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):  # the second time waits for the first; no signal ends that
        library.pthread_mutex_lock(mutex)

def hang_with_the_lock():
    hang(ctypes.PyDLL(None))

def hang_without_the_lock():
    hang(ctypes.CDLL(None))

"""
TEXT = " hangs (the work): for 1 s no line of its Python ran, so C code holds Python's lock, most likely the Kafka client. "

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
with kill_if_hung("the work", "It begins anew.", silence=1.0):
    hanging = threading.Thread(target=hang_with_the_lock)
    hanging.start()
    hanging.join()
""",
        leads,
    )
    assert done.returncode == -signal.SIGKILL
    words, _, stacks = done.stderr.partition("\n")
    assert TEXT in words
    assert words.endswith(" It begins anew. The stacks of its threads follow.")
    assert "in hang_with_the_lock" in stacks
    assert "in <module>" in stacks, "the stack of each thread"


def test_process_whose_starter_has_other_uses_for_the_signal_says_where_it_hung_as_well(run: Run) -> None:
    done = run(
        """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGQUIT})  # as Java does, of which Spark starts its Python
signal.signal(signal.SIGQUIT, lambda *_: None)  # as Airflow's scheduler has it, which forks the tasks
with kill_if_hung("the work", "It begins anew.", silence=1.0):
    hang_with_the_lock()
"""
    )
    assert "in hang_with_the_lock" in done.stderr


def test_what_the_process_started_ends_with_it(run: Run) -> None:
    done = run(
        """
started = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(started.pid, flush=True)
with kill_if_hung("the work", "It begins anew.", silence=1.0):
    hang_with_the_lock()
"""
    )
    assert eventually(lambda: is_gone(int(done.stdout)), "the end of what it started")


def test_work_that_takes_longer_than_it_may_ends_though_its_process_lives(run: Run) -> None:
    done = run(
        """
with kill_if_hung("the work", "It begins anew.", seconds=1.0, silence=1000.0):
    hang_without_the_lock()
"""
    )
    assert done.returncode == -signal.SIGKILL
    assert " is ended (the work): it may take 1 s, and did not end by itself. " in done.stderr
    assert "in hang_without_the_lock" in done.stderr


def test_python_that_is_busy_or_waits_lives_and_so_does_whoever_is_watched_no_more(run: Run) -> None:
    done = run(
        """
with kill_if_hung("the work", "", seconds=1000.0, silence=1.0):
    with kill_if_hung("A part of it", "", seconds=1.5, silence=1.0):
        pass
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        pass
    time.sleep(1.5)
ctypes.PyDLL(None).sleep(2)
with kill_if_hung("More work", "", silence=1.0):
    time.sleep(1.5)
print("done")
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_fork_is_not_watched_and_does_not_keep_the_watchdog_from_seeing_the_end(run: Run) -> None:
    done = run(
        """
with kill_if_hung("the work", "", silence=1.0):
    child = os.fork()
    if not child:
        hang_with_the_lock() if ctypes.PyDLL(None).sleep(2) else os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
with kill_if_hung("Other work", "", silence=1.0):
    if not os.fork():
        os.closerange(0, 3)
        time.sleep(20)
        os._exit(0)
"""
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_fork_that_leaves_the_work_writes_into_no_file_and_waits_for_no_thread(run: Run, tmp_path: Path) -> None:
    done = run(
        """
from kafka_mirror.watchdog import watch

held, forked = threading.Event(), threading.Event()

def hold():
    with watch._of_this_process._changed:
        held.set()
        forked.wait()

child = 0
with kill_if_hung("the work", ""):
    threading.Thread(target=hold).start()
    held.wait()
    child = os.fork()
    if child:
        forked.set()
    else:
        files = [open(f"file-{number}", "w") for number in range(8)]  # one of them has the descriptor that led to the watchdog
if not child:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [file.read_text() for file in sorted(tmp_path.glob("file-*"))] == [""] * 8


def test_process_that_ends_takes_its_watchdog_with_it(run: Run) -> None:
    done = run(
        """
with kill_if_hung("the work", ""):
    own = os.getpid()
    print(open(f"/proc/{own}/task/{own}/children").read(), flush=True)
    os.kill(os.getpid(), 9)
"""
    )
    assert eventually(lambda: is_gone(int(done.stdout)), "the end of the watchdog")


def test_limit_that_is_nearer_than_silence_is_what_the_watchdog_waits_for() -> None:
    task = WatchedWork("the task", "Airflow tries again.", silence=120.0, seconds=None, ends=None)
    lane = WatchedWork("lane 3", "Spark tries again.", silence=120.0, seconds=900.0, ends=900.0)
    seconds, text = last_words([task, lane], 0.0)
    assert (seconds, "hangs (the task; lane 3): for 120 s" in text, "Spark tries again." in text) == (120.0, True, True)
    seconds, text = last_words([task, lane], 850.0)
    assert (seconds, "is ended (lane 3): it may take 900 s" in text) == (50.0, True)
    assert last_words([task, lane], 1000.0)[0] == 0.0
