"""What processes cost: CPU seconds and memory of a command with everything that it starts, and of processes that go on running.

`python -m lab.bench.processes FILE [--memory] COMMAND …` runs the command and writes what it cost into the file. It adopts the
processes that outlive the command, and looks at Spark's Python workers while they run: their parent never waits for them, so the kernel
adds their CPU seconds to no other process.
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
from typing import Self

import psutil

from kafka_mirror.spark import worker
from services.java import ROOT

ENVIRONMENT = {"PYTHONPATH": f"{ROOT / 'include'}{os.pathsep}{ROOT}"}
"""With it a process imports the mirror and the lab of this checkout."""
_PR_SET_CHILD_SUBREAPER = 36
_LOOK_EVERY_SECONDS = 0.02
_LOOK_AT_ALL_EVERY = 5
"""One look in how many is at all processes: it takes milliseconds, and the machine has other things to do."""
_PARENTS_OF_WORKERS = {"pyspark.daemon", worker.MODULE}
_MEMORY = "--memory"
_LISTS_OF_CHILDREN = Path(f"/proc/self/task/{os.getpid()}/children").exists()


@dataclass(frozen=True)
class Cost:
    """Wall seconds, CPU seconds (user and system), the largest resident memory of one Python process, and, where it was asked for, the
    memory of all processes together at the peak (each page that several of them map counted once) and of the JVMs among them then; all in
    megabytes. `spark_cpu` is the part of `cpu` that a Spark that stays used."""

    seconds: float
    cpu: float
    python_megabytes: float
    megabytes: float = 0.0
    java_megabytes: float = 0.0
    spark_cpu: float = 0.0
    output: str = ""


def cost_of(command: Sequence[str], environment: Mapping[str, str] | None = None, *, memory: bool = False) -> Cost:
    """Runs a command, and gives what it and its descendants cost. `memory` measures that of all of them together too, which takes CPU time
    from them. Raises RuntimeError if the command fails."""
    with TemporaryDirectory(prefix="mirror-cost-") as directory:
        answer = Path(directory) / "cost.json"
        wrapped = [sys.executable, "-m", "lab.bench.processes", str(answer), *([_MEMORY] if memory else []), *command]
        done = subprocess.run(
            wrapped, env={**os.environ, **ENVIRONMENT, **(environment or {})}, cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-5000:]}")
        return Cost(**json.loads(answer.read_text()), output=done.stdout)


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system seconds that running processes have used so far."""
    times = [psutil.Process(pid).cpu_times() for pid in pids]
    return float(sum(used.user + used.system for used in times))


def cpu_with_children(process: psutil.Process) -> float:
    """User and system seconds that a process and the children that it has waited for have used so far."""
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


class RunningTree:
    """A process that goes on running, with everything below it; a context manager."""

    def __init__(self, pid: int, *, memory: bool = False) -> None:
        self._root = psutil.Process(pid)
        self._watch = Watch(self._root, memory=memory)

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.end()

    @property
    def cpu(self) -> float:
        """CPU seconds so far, of processes that have ended too."""
        self._watch.look_at_all()
        workers, total = dict(self._watch.workers), 0.0
        for process in [self._root, *self._root.children(recursive=True)]:
            if process.pid not in workers:
                with suppress(psutil.Error):  # it has ended, and its parent has waited for it or will
                    total += cpu_with_children(process)
        return total + sum(workers.values())

    @property
    def megabytes(self) -> float:
        """The memory of all of them together at its peak so far; only with `memory`."""
        return self._watch.megabytes

    @property
    def java_megabytes(self) -> float:
        """What the JVMs among them held then."""
        return self._watch.java_megabytes

    @property
    def python_megabytes(self) -> float:
        """The largest resident memory so far of a process that is no JVM."""
        return self._watch.largest / 1024


class Watch(threading.Thread):
    """Looks at all descendants of a process now and then: the CPU seconds of Spark's Python workers, the largest peak of memory of any that
    is no JVM, which the kernel keeps, and with `memory` what all of them hold together. What a worker does after the last look is lost, a
    fiftieth of a second at most."""

    def __init__(self, root: psutil.Process, *, memory: bool = False, with_root: bool = True) -> None:
        super().__init__(daemon=True)
        self.largest = 0
        self.megabytes = self.java_megabytes = 0.0
        self.workers: dict[int, float] = {}
        self._root = root
        self._memory = memory
        self._with_root = with_root
        self._ended = threading.Event()
        self._daemons: dict[int, psutil.Process] = {}

    def run(self) -> None:
        looks = 0
        while not self._ended.wait(_LOOK_EVERY_SECONDS):
            if looks % _LOOK_AT_ALL_EVERY == 0:
                self.look_at_all()
            else:
                self._look_at_workers()
            looks += 1

    def end(self) -> None:
        """Stops looking."""
        self._ended.set()
        self.join()

    def look_at_all(self) -> None:
        """One look at every process."""
        processes = self._root.children(recursive=True)
        for process in processes:
            with suppress(psutil.Error, OSError):
                self._look(process)
        self._look_at_workers()
        if self._memory:
            self._look_at_memory([*processes, self._root] if self._with_root else processes)

    def _look_at_memory(self, processes: Sequence[psutil.Process]) -> None:
        java = other = 0
        for process in processes:
            with suppress(psutil.Error, OSError):  # it has ended
                kilobytes = _kilobytes(process.pid, "smaps_rollup", "Pss")
                java, other = (java + kilobytes, other) if process.name() == "java" else (java, other + kilobytes)
        if (java + other) / 1024 > self.megabytes:
            self.megabytes, self.java_megabytes = (java + other) / 1024, java / 1024

    def _look(self, process: psutil.Process) -> None:
        with process.oneshot():
            if process.name() == "java":
                return
            self.largest = max(self.largest, _kilobytes(process.pid, "status", "VmHWM"))
            if (
                process.pid not in self._daemons
                and process.ppid() not in self._daemons
                and not _PARENTS_OF_WORKERS.isdisjoint(process.cmdline())
            ):
                self._daemons[process.pid] = process

    def _look_at_workers(self) -> None:
        for daemon in list(self._daemons.values()):
            with suppress(psutil.Error, OSError):
                for pid in _children(daemon):
                    times = psutil.Process(pid).cpu_times()
                    self.workers[pid] = times.user + times.system


def _run(command: Sequence[str], memory: bool) -> tuple[int, dict[str, float]]:
    """In the wrapper: the command's exit code and what it cost."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    began = time.monotonic()
    process = subprocess.Popen(command)
    watch = Watch(psutil.Process(), memory=memory, with_root=False)
    watch.start()
    code = process.wait()
    seconds = time.monotonic() - began
    adopted = set()
    with suppress(ChildProcessError):
        while True:
            adopted.add(os.wait()[0])
    watch.end()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    # A worker that outlived its parent is on this process's account.
    cpu = used.ru_utime + used.ru_stime + sum(own for pid, own in watch.workers.items() if pid not in adopted)
    memory_figures = {"megabytes": watch.megabytes, "java_megabytes": watch.java_megabytes, "python_megabytes": watch.largest / 1024}
    return code, {"seconds": seconds, "cpu": cpu, **memory_figures}


def _children(process: psutil.Process) -> list[int]:
    """The children of a process of one thread. The kernel's list is soon read; not every kernel has one."""
    if _LISTS_OF_CHILDREN:
        return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    return [child.pid for child in process.children()]


def _kilobytes(pid: int, file: str, field: str) -> int:
    lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)


if __name__ == "__main__":
    with_memory = sys.argv[2] == _MEMORY
    exit_code, figures = _run(sys.argv[2 + with_memory :], with_memory)
    Path(sys.argv[1]).write_text(json.dumps(figures))
    sys.exit(exit_code)
