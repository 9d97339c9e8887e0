"""Which worker runs what when several share the tests: whole files, as `--dist loadfile` has it, and never two stacks of Airflow at once.

Most tests wait; those below keep the processors busy. So the first worker begins with the busy ones, the longest in front, and the others
begin with those that wait. They go on with the unit tests, which are short, and then help with what is left of the busy ones, the longest
last: the first worker has those, one stack of Airflow after the other.
"""

from typing import Any

from xdist.scheduler import LoadFileScheduling

ONE_STACK = ("tests/airflow/scheduler", "tests/integration/scenarios")
"""Folders whose files share what takes long to start: a folder goes to one worker, as if it were a file."""

ONE_CLUSTER = (
    "tests/faults/test_deposed_leader.py",
    "tests/faults/test_beside_a_deposed_leader.py",
    "tests/faults/test_deposed_source.py",
)
"""Files that share a cluster, likewise."""

LONGEST = (
    "tests/airflow/scheduler",
    "tests/faults/test_deposed_leader.py",
    "tests/airflow/test_spark_standalone.py",
    "tests/ui/test_status_page.py",
    "tests/faults/test_broker_failures.py",
    "tests/faults/test_killed_copies.py",
)

BUSY = ("tests/airflow/", "tests/package/", "tests/ui/", "tests/faults/", "tests/compat/")
SHORT = ("tests/unit/",)


def rank(scope: str) -> int:
    """Where a file or folder stands between the busiest and those that wait."""
    if scope in LONGEST:
        return LONGEST.index(scope)
    return len(LONGEST) + (0 if scope.startswith(BUSY) else 1 if scope.startswith(SHORT) else 2)


def scope(nodeid: str) -> str:
    """What goes to one worker together with this test."""
    file, _, _ = nodeid.partition("::")
    if file in ONE_CLUSTER:
        return ONE_CLUSTER[0]
    shared = (folder for folder in ONE_STACK if nodeid.startswith(f"{folder}/"))
    return next(shared, file)


class Distribution(LoadFileScheduling):
    """Hands out files and ONE_STACK folders: to the first worker from the busy end, to all others from the end of those that wait."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        choose = min if node is self.nodes[0] else max
        self.workqueue.move_to_end(choose(self.workqueue, key=rank), last=False)
        super()._assign_work_unit(node)
