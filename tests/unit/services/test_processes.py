"""Server processes."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from services.processes import Server, ServiceFailed
from services.waiting import PATIENCE

SLEEP = ["sleep", "60"]
STUBBORN = ["sh", "-c", "trap '' TERM; sleep 60 & wait; wait"]


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_process_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    """A broker that a timer brings back must stay: Linux would kill it with the timer's thread."""
    server = Server("sleeper", tmp_path)
    thread = threading.Thread(target=server.start, args=(SLEEP,))
    thread.start()
    thread.join()
    process = psutil.Process(server.pid)
    with pytest.raises(psutil.TimeoutExpired):
        process.wait(0.3)
    assert server.running
    server.stop()


def test_stop_kills_a_process_that_ignores_term_and_its_children(tmp_path: Path) -> None:
    server = Server("stubborn", tmp_path)
    server.start(STUBBORN)
    leader = psutil.Process(server.pid)
    while not leader.children():
        time.sleep(0.01)
    [child] = leader.children()
    server.stop(timeout=0.2)
    assert not server.running
    while not gone(child.pid):
        time.sleep(0.01)


def test_stop_ends_a_paused_process(tmp_path: Path) -> None:
    server = Server("paused", tmp_path)
    server.start(SLEEP)
    server.send(signal.SIGSTOP)
    server.stop()
    assert not server.running


def test_a_later_server_object_finds_the_process_again(tmp_path: Path) -> None:
    Server("sleeper", tmp_path, on_parent_death=None).start(SLEEP)
    found = Server("sleeper", tmp_path)
    assert found.running
    found.stop()
    assert not found.running


def test_a_recycled_process_id_is_never_signalled(tmp_path: Path) -> None:
    (tmp_path / "other.pid").write_text(f'{{"pid": {os.getpid()}, "created": 1.0}}')
    server = Server("other", tmp_path)
    assert not server.running
    server.stop()


def test_process_ends_with_the_program_that_started_it(tmp_path: Path) -> None:
    program = f"""
import os, pathlib
from services.processes import Server
server = Server('orphan', pathlib.Path({str(tmp_path)!r}))
server.start(['sleep', '60'])
print(server.pid)
os._exit(1)
"""
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=root)
    deadline = time.monotonic() + PATIENCE
    while not gone(int(done.stdout)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert gone(int(done.stdout))


def test_waiting_for_a_process_that_ended_shows_its_last_words(tmp_path: Path) -> None:
    server = Server("short", tmp_path)
    server.start(["sh", "-c", "echo no such disk; exit 3"])
    with pytest.raises(ServiceFailed, match="short ended while it was starting") as failure:
        server.wait(lambda: False, 10)
    assert "no such disk" in str(failure.value)


def test_waiting_too_long_says_for_what(tmp_path: Path) -> None:
    server = Server("silent", tmp_path)
    server.start(SLEEP)
    with pytest.raises(ServiceFailed, match=r"silent did not listen within 0\.1 s"):
        server.wait(lambda: False, 0.1, "listen")
    server.kill()


def test_interrupt_while_starting_leaves_a_process_that_can_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = subprocess.Popen

    def interrupted(*arguments: object, **options: object) -> object:
        child = started(*arguments, **options)
        signal.raise_signal(signal.SIGINT)
        return child

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    # A shell that starts the tests in the background makes them ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            Server("sleeper", tmp_path).start(SLEEP)
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    found = Server("sleeper", tmp_path)
    assert found.running
    found.stop()
