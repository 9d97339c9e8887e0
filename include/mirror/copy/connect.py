"""The copy on a Spark that stays: in a session of a Spark Connect server, whose client is this process."""

from collections.abc import Iterator
from contextlib import contextmanager

from mirror.config import Flow
from mirror.copy.model import LaneResult
from mirror.copy.run import copy_on_spark
from mirror.plan.model import Plan
from mirror.spark.connect import ConnectSession, SayLines, connected
from mirror.spark.log import write_lines


@contextmanager
def copy_session(flow: Flow, plan: Plan, master: str, say: SayLines = write_lines) -> Iterator[ConnectSession]:
    """The session in which the flow is copied. What an earlier run of the flow still copies on the server is interrupted: its task is gone,
    or it would lose its lanes to this run's fences anyway. Raises as `connected`."""
    tag = f"mirror copy {flow.name} into {plan.target_cluster_id}"
    with connected(master, flow.value("mirror.installation"), tag, say) as session:
        yield session


def copy_in_session(session: ConnectSession, flow: Flow, plan: Plan, run: str) -> list[LaneResult]:
    """Copies the plan's ranges, and returns what each lane did. `run` names the run in the ledger."""
    return copy_on_spark(flow, plan, run, session.cores, session.run)
