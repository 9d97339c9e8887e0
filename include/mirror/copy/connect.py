"""The copy on a Spark that stays: in a session of a Spark Connect server, whose client is this process."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mirror.config import Flow
from mirror.copy.budget import copy_in_rounds
from mirror.copy.model import LaneResult, LaneTask
from mirror.copy.run import LANES_AT_ONCE, lane_tasks
from mirror.plan.model import Plan
from mirror.spark.connect import ConnectSession, SayLines, connected
from mirror.spark.log import write_lines

log = logging.getLogger(__name__)


@contextmanager
def copy_session(flow: Flow, plan: Plan, master: str, say: SayLines = write_lines) -> Iterator[ConnectSession]:
    """The session in which the flow is copied. What an earlier run of the flow still copies on the server is interrupted: its task is gone,
    or it would lose its lanes to this run's fences anyway. Raises as `connected`."""
    tag = f"mirror copy {flow.name} into {plan.target_cluster_id}"
    with connected(master, flow.value("mirror.installation"), tag, say) as session:
        yield session


def copy_in_session(session: ConnectSession, flow: Flow, plan: Plan, run: str) -> list[LaneResult]:
    """Copies the plan's ranges, and returns what each lane did. `run` names the run in the ledger."""
    cores = session.cores

    def copy(tasks: Sequence[LaneTask]) -> list[LaneResult]:
        # As jobs/copy_ranges.py: a task of Spark for each core, and more where they would hold too many lanes.
        slices = min(len(tasks), max(cores, -(-len(tasks) // LANES_AT_ONCE)))
        log.info("Lanes with work: %d; tasks of Spark: %d, each with up to %d lanes side by side.", len(tasks), slices, LANES_AT_ONCE)
        return session.run("mirror.copy.run:copy_side_by_side", tasks, slices)

    return copy_in_rounds(lane_tasks(flow, plan, run), cores * LANES_AT_ONCE, copy)
