"""A plan and a lane of the running Airflow that hang once: in C code, with Python's lock kept, as librdkafka can.

Only the flow `hanging` has an impatient watchdog.
"""

from pathlib import Path

from tests.patched_imports import write_sitecustomize

FLOW = "hanging"
_PATCHES = """
import ctypes


def hang_with_the_lock(what):
    try:
        (HERE / what).unlink()
    except FileNotFoundError:
        return
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):  # the second time waits for the first; no signal ends that
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)


def of_watch(module):
    kill_if_hung = module.kill_if_hung
    module.kill_if_hung = lambda work, then, seconds=None: kill_if_hung(work, then, seconds, 4.0 if "hanging-from" in work else None)


def of_plan(module):
    plan = module.plan

    def hanging(flow, **options):
        if flow.source == "hanging-from":
            hang_with_the_lock("plan")
        return plan(flow, **options)

    module.plan = hanging


def of_lane(module):
    run = module.LaneCopy.run

    def hanging(lane):
        if lane._task.flow.startswith("hanging-from"):
            hang_with_the_lock("copy")
        return run(lane)

    module.LaneCopy.run = hanging


PATCHES = {"kafka_mirror.watchdog.watch": of_watch, "kafka_mirror.copy.plan.run": of_plan, "kafka_mirror.copy.lane": of_lane}

"""


class Hangs:
    """Lets the next `plan` or the next lane (`copy`) of the flow hang."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        write_sitecustomize(directory, _PATCHES)

    def arm(self, task: str) -> None:
        """The next one hangs, once."""
        (self.directory / task).touch()

    def has_hung(self, task: str) -> bool:
        """Whether it did."""
        return not (self.directory / task).exists()
