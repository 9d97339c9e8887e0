"""`python -m kafka_mirror copy` as a process tree of its own: the command, the JVM, the Python driver and the Spark workers."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from services.java import ROOT


class CopyProcess:
    """One copy through Spark, which can be killed or frozen as a whole, as a host that dies or hangs does it."""

    def __init__(self, config: Path, log: Path, *options: str, environment: Mapping[str, str] | None = None) -> None:
        """`options` are those of the command."""
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "kafka_mirror", "--config", str(config), "copy", *options],
                env=environment or {**os.environ, "PYTHONPATH": str(ROOT / "include")},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        """Whether the command has not ended."""
        return self._process.poll() is None

    def wait(self, seconds: float = 300) -> int:
        """The command's exit code."""
        return self._process.wait(seconds)

    def kill(self) -> int:
        """SIGKILL for all of them at once; gives how many there were."""
        return self._send(signal.SIGKILL)

    def freeze(self) -> int:
        """SIGSTOP for all of them: alive for the cluster until a timeout says otherwise."""
        return self._send(signal.SIGSTOP)

    def thaw(self) -> int:
        """SIGCONT for all of them: the zombie goes on where it was."""
        return self._send(signal.SIGCONT)

    def kill_workers(self) -> int:
        """SIGKILL for Spark's Python workers alone, as the kernel does it when memory is short; Spark may start its tasks again."""
        return self._send(signal.SIGKILL, lambda process: any("pyspark" in part and "daemon" in part for part in process.cmdline()))

    def kill_driver(self) -> int:
        """SIGKILL for the JVM alone: its Python processes are orphans that go on until they notice."""
        return self._send(signal.SIGKILL, lambda process: process.name() == "java")

    def _send(self, number: signal.Signals, chosen: Callable[[psutil.Process], bool] = lambda _: True) -> int:
        # Spark's daemon makes a process group of its own, so the tree is what counts; the session keeps orphans findable.
        session = os.getsid(self._process.pid) if self.running else self._process.pid
        hit = []
        for process in [process for process in psutil.process_iter() if _session(process) == session]:
            try:
                if chosen(process):
                    process.send_signal(number)
                    hit.append(process)
            except psutil.Error:
                # It ended by itself since it was listed.
                continue
        if number is signal.SIGKILL:
            psutil.wait_procs(hit, timeout=60)
        return len(hit)


def _session(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return -1
