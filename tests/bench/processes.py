"""What processes cost: CPU seconds and memory of a command with everything that it starts, and of processes that go on running.

`python -m tests.bench.processes FILE COMMAND …` runs the command and writes what it cost into the file. It adopts what the command leaves
behind, and looks at Spark's Python workers while they run: their parent never waits for them, so the kernel adds them to nobody's account.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from services.java import ROOT

_PR_SET_CHILD_SUBREAPER = 36
_LOOK_EVERY_SECONDS = 0.02
_PARENT_OF_WORKERS = "pyspark.daemon"


@dataclass(frozen=True)
class Cost:
    """Wall seconds, CPU seconds (user and system) and the largest resident memory of one Python process, in megabytes."""

    seconds: float
    cpu: float
    python_megabytes: float
    output: str = ""


def cost_of(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Runs a command to its end, which has to be a good one, and gives what it and its descendants cost."""
    with TemporaryDirectory(prefix="mirror-cost-") as directory:
        answer = Path(directory) / "cost.json"
        wrapped = [sys.executable, "-m", "tests.bench.processes", str(answer), *command]
        done = subprocess.run(wrapped, env={**os.environ, **(environment or {})}, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-5000:]}")
        return Cost(**json.loads(answer.read_text()), output=done.stdout)


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system seconds that running processes have used so far."""
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return sum(each.user + each.system for each in times)


def _run(command: Sequence[str]) -> tuple[int, dict[str, float]]:
    """In the wrapper: the command's exit code and what it cost."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    began = time.monotonic()
    process = subprocess.Popen(command)
    watch = _Watch()
    watch.start()
    code = process.wait()
    seconds = time.monotonic() - began
    with suppress(ChildProcessError):
        while True:
            os.wait()
    watch.ended.set()
    watch.join()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime + sum(watch.workers.values())
    return code, {"seconds": seconds, "cpu": cpu, "python_megabytes": watch.largest / 1024}


class _Watch(threading.Thread):
    """Looks at all descendants now and then: the CPU seconds of Spark's Python workers, and the largest peak of memory of any that is no
    JVM, which the kernel keeps. What a worker does after the last look is lost, a fiftieth of a second at most."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest = 0
        self.workers: dict[int, float] = {}
        self.ended = threading.Event()
        self._daemons: set[int] = set()

    def run(self) -> None:
        while not self.ended.wait(_LOOK_EVERY_SECONDS):
            for child in psutil.Process().children(recursive=True):
                with suppress(psutil.Error, OSError):
                    self._look(child)

    def _look(self, child: psutil.Process) -> None:
        with child.oneshot():
            if child.name() == "java":
                return
            self.largest = max(self.largest, _peak_kilobytes(child.pid))
            if child.ppid() in self._daemons:
                times = child.cpu_times()
                self.workers[child.pid] = times.user + times.system
            elif _PARENT_OF_WORKERS in child.cmdline():
                self._daemons.add(child.pid)


def _peak_kilobytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


if __name__ == "__main__":
    exit_code, figures = _run(sys.argv[2:])
    Path(sys.argv[1]).write_text(json.dumps(figures))
    sys.exit(exit_code)
