"""Server processes: each in a process group of its own, its output in a file, stopped politely and then for good.

A process is known by its id *and* its start time, kept in a file beside its log: so a later command (`make stop`) finds it again, and an
id that the system has given to another process is never signalled.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

_PR_SET_PDEATHSIG = 1

_starter = ThreadPoolExecutor(1, thread_name_prefix="starter")
"""Linux ties a child to the thread that started it, not to the process: one that is started by a passing thread would die with it."""


class ServiceFailed(RuntimeError):
    """Raised when a service did not start or did not answer; the message ends with what it logged last."""


class Server:
    """One server process, with `<name>.log` and `<name>.pid` in its directory."""

    def __init__(self, name: str, directory: Path, *, on_parent_death: signal.Signals | None = signal.SIGKILL) -> None:
        """`on_parent_death`: the signal that it gets when this process ends, however that happens; None lets it live on (the demo)."""
        self.name = name
        self.log = directory / f"{name}.log"
        self._on_parent_death = on_parent_death
        self._pid_file = directory / f"{name}.pid"
        self._child: subprocess.Popen[bytes] | None = None

    def start(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        user: int | None = None,
    ) -> None:
        """Starts the command unless it runs already; does not wait until it answers."""
        if self.running:
            return
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output, _defer_interrupt():
            self._child = _starter.submit(
                subprocess.Popen,
                list(command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=None if env is None else dict(env),
                cwd=cwd,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
                start_new_session=True,
                preexec_fn=self._tie_to_parent() if sys.platform == "linux" else None,
            ).result()
            created = psutil.Process(self._child.pid).create_time()
            self._pid_file.write_text(json.dumps({"pid": self._child.pid, "created": created}))

    @property
    def pid(self) -> int | None:
        """Its process id; None if it does not run."""
        process = self._process()
        return process.pid if process else None

    @property
    def running(self) -> bool:
        """Whether it runs, started by this Python process or by an earlier one."""
        return self._process() is not None

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the whole process group."""
        process = self._process()
        if process:
            os.killpg(process.pid, number)

    def stop(self, timeout: float = 20.0, number: signal.Signals = signal.SIGTERM) -> None:
        """A signal to the leader, which ends its children in its own order; after `timeout` seconds SIGKILL to the rest of the group."""
        process = self._process()
        if process:
            os.killpg(process.pid, signal.SIGCONT)
            process.send_signal(number)
            _wait(lambda: not self.running, timeout)
        self.kill()

    def kill(self) -> None:
        """SIGKILL to the whole group, and waits until the process is gone."""
        group = self._read_group()
        if group is not None:
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
            _wait(lambda: not self.running, 10.0)
        self._pid_file.unlink(missing_ok=True)

    def wait(self, ready: Callable[[], bool], timeout: float, what: str = "") -> None:
        """Returns when `ready()` is true; raises ServiceFailed when the process ends before, or after `timeout` seconds."""
        deadline, pause = time.monotonic() + timeout, 0.02
        while not ready():
            if not self.running:
                raise ServiceFailed(f"{self.name} ended while it was starting.\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise ServiceFailed(f"{self.name} did not {what or 'answer'} within {timeout:g} s.\n{self.log_tail()}")
            time.sleep(pause)
            pause = min(1.3 * pause, 0.4)  # each look takes processor time from what is starting

    def log_tail(self, lines: int = 30) -> str:
        """The last lines that it logged, under the log's path."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join([f"--- {self.log}", *(text.splitlines()[-lines:] or ["(nothing was logged)"])])

    def _tie_to_parent(self) -> Callable[[], None] | None:
        """What runs in the child before its program: asks the kernel for the signal. The library is loaded here, before the fork."""
        number = self._on_parent_death
        prctl = ctypes.CDLL(None).prctl
        return None if number is None else lambda: prctl(_PR_SET_PDEATHSIG, number)

    def _process(self) -> psutil.Process | None:
        try:
            recorded = json.loads(self._pid_file.read_text())
            process = psutil.Process(recorded["pid"])
            if process.create_time() != recorded["created"]:
                return None
            if self._child is not None and self._child.pid == process.pid:
                # The leader of a killed process can be a zombie while its other threads still hold ports; only waitpid knows the end.
                return process if self._child.poll() is None else None
            return process if process.status() != psutil.STATUS_ZOMBIE else None
        except (FileNotFoundError, psutil.NoSuchProcess):
            return None

    def _read_group(self) -> int | None:
        """The process group to clean up: of the process, or of what it started, while its own id is unused; None if there is none."""
        if not self._pid_file.exists():
            return None
        pid = int(json.loads(self._pid_file.read_text())["pid"])
        return pid if self.running or not psutil.pid_exists(pid) else None


@contextmanager
def _defer_interrupt() -> Iterator[None]:
    """Ctrl-C takes effect after the block: a process that was started and not yet written down could never be stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


def _wait(done: Callable[[], bool], timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not done() and time.monotonic() < deadline:
        time.sleep(0.02)
