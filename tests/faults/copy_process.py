"""`python -m mirror copy` as a process tree of its own: the command, the JVM, the Python driver and the Spark workers."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from services.java import ROOT


class CopyProcess:
    """One copy through Spark, which can be killed or frozen as a whole, as a host that dies or hangs does it."""

    def __init__(self, config: Path, log: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "include")}
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "mirror", "--config", str(config), "copy"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        """Whether the command has not ended."""
        return self._process.poll() is None

    def wait(self, seconds: float = 120) -> int:
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

    def _send(self, number: signal.Signals) -> int:
        # Spark's daemon makes a process group of its own, so the tree is what counts; the session keeps orphans findable.
        session = os.getsid(self._process.pid) if self.running else self._process.pid
        tree = [process for process in psutil.process_iter() if _session(process) == session]
        for process in tree:
            try:
                process.send_signal(number)
            except psutil.NoSuchProcess:
                continue
        if number is signal.SIGKILL:
            psutil.wait_procs(tree, timeout=20)
        return len(tree)


def _session(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return -1
