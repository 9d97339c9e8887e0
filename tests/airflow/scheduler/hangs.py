"""A plan and a lane of the running Airflow that hang once: in C code, with Python's lock kept, as librdkafka can.

Airflow forks its tasks and Spark starts Python anew, so both are patched by a `sitecustomize` in the way of all of them. It patches modules
when they are imported, and only the flow `hanging` has an impatient watchdog.
"""

from pathlib import Path

FLOW = "hanging"
_SITECUSTOMIZE = """
import ctypes, importlib.abc, importlib.machinery, pathlib, sys

ARMED = pathlib.Path(__file__).parent


def hang_with_the_lock(what):
    try:
        (ARMED / what).unlink()
    except FileNotFoundError:
        return
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):  # the second time waits for the first; no signal ends that
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)


def of_watch(module):
    watched = module.watched
    module.watched = lambda work, then, seconds=None: watched(work, then, seconds, 4.0 if "hanging-from" in work else None)


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


PATCHES = {"mirror.watchdog.watch": of_watch, "mirror.plan.run": of_plan, "mirror.copy.lane": of_lane}


class Patching(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in PATCHES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        execute = spec.loader.exec_module

        def patched(module):
            execute(module)
            PATCHES[name](module)

        spec.loader.exec_module = patched
        return spec


sys.meta_path.insert(0, Patching())
"""


class Hangs:
    """Lets the next `plan` or the next lane (`copy`) of the flow hang."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        (directory / "sitecustomize.py").write_text(_SITECUSTOMIZE)

    def arm(self, task: str) -> None:
        """The next one hangs, once."""
        (self.directory / task).touch()

    def has_hung(self, task: str) -> bool:
        """Whether it did."""
        return not (self.directory / task).exists()
