"""Stops the worker of an Airflow task in the middle of a wave's step, as a machine stops that stands still, and lets it go on.

The task's process stops itself, with the worker that sends its heartbeats and the watchdog that it started, at the worst moment that there
is: it has just looked whose the wave is, and is about to change something.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from services.waiting import eventually
from tests.patched_imports import write_sitecustomize

_PATCHES = """
import functools, os, signal, time

is_frozen = False


def freeze(moment):
    global is_frozen
    try:
        (HERE / moment).unlink()
    except FileNotFoundError:
        return
    import psutil
    is_frozen = True
    others = [os.getppid(), *(child.pid for child in psutil.Process().children(recursive=True))]
    (HERE / "written").write_text(" ".join(map(str, [os.getpid(), *others])))
    (HERE / "written").rename(HERE / "frozen")
    for process in [*others, os.getpid()]:
        os.kill(process, signal.SIGSTOP)
    time.sleep(0.1)  # another thread may have taken the signal


def of_notes(module):
    notebook = module.ControlNotes
    check, decide = notebook.check, notebook.decide

    @functools.wraps(check)
    def checked(notes):
        check(notes)
        for step, note in notes.record.steps.items():
            if note.state == "running":
                freeze(step + " looked")

    @functools.wraps(decide)
    def decided(notes, decisions):
        freeze("open decides")
        return decide(notes, decisions)

    notebook.check, notebook.decide = checked, decided


def of_run(module):
    run_wave = module.run_wave

    @functools.wraps(run_wave)
    def noted(*arguments, **named):
        try:
            return run_wave(*arguments, **named)
        except BaseException as error:
            if is_frozen:
                (HERE / "said").write_text(f"{type(error).__name__}: {error}")
                (HERE / "said").rename(HERE / "ended")
            raise

    module.run_wave = noted


PATCHES = {"kafka_mirror.cutover.wave.control_notes": of_notes, "kafka_mirror.cutover.wave.run": of_run}
"""


@dataclass(frozen=True)
class Frozen:
    """A task that stands still, and those that stand still with it."""

    directory: Path
    task: int
    others: tuple[int, ...]

    def wake(self) -> str:
        """Lets the task go on, and the others when the wave's step has ended: Airflow would kill it in the middle. Gives its error."""
        ended = self.directory / "ended"
        os.kill(self.task, signal.SIGCONT)
        eventually(lambda: ended.exists() or not psutil.pid_exists(self.task), "the end of the step")
        error = ended.read_text() if ended.exists() else ""
        self.go_on()
        return error

    def go_on(self) -> None:
        """Lets all of them go on that are there."""
        for process in (self.task, *self.others):
            if psutil.pid_exists(process):
                os.kill(process, signal.SIGCONT)
        for name in ("frozen", "ended"):
            (self.directory / name).unlink(missing_ok=True)


class Freezes:
    """Freezes the next task of a wave that comes to a moment: `<step> looked`, or `open decides`, which is behind the ledger's marks."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        write_sitecustomize(directory, _PATCHES)

    def arm(self, moment: str) -> None:
        """The next one is frozen, once."""
        (self.directory / moment).touch()

    def frozen(self, goes_on: Callable[[], bool], seconds: float) -> Frozen:
        """The task that is frozen, once it is; `goes_on`: whether it may still come to that."""
        frozen = self.directory / "frozen"
        eventually(lambda: frozen.exists() or not goes_on(), "a frozen task", seconds)
        assert frozen.exists(), "the run has ended, and no task of it came to the moment"
        task, *others = map(int, frozen.read_text().split())
        eventually(lambda: psutil.Process(task).status() == psutil.STATUS_STOPPED, "its stop")
        return Frozen(self.directory, task, tuple(others))
