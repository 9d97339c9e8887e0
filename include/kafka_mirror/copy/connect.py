"""The copy on a Spark that stays: in a session of a Spark Connect server, whose client is this process."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from kafka_mirror.config import Flow
from kafka_mirror.copy.follow import Copy
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.copy.run import copy_on_spark
from kafka_mirror.plan.model import Plan
from kafka_mirror.spark.connect import ConnectSession, SayLines, connected
from kafka_mirror.spark.log import write_lines


@contextmanager
def copy_session(flow: Flow, plan: Plan, master: str, say: SayLines = write_lines, run: str = "") -> Iterator[ConnectSession]:
    """The session in which the flow is copied. What an earlier run of the flow still copies on the server is interrupted: its task is gone,
    or it would lose its lanes to this run's fences anyway. With `run`, only what an earlier try of this run does: the run before it hands
    its lanes over. Raises as `connected`."""
    tag = f"mirror copy {flow.name} into {plan.target_cluster_id} {run}".strip().replace(",", " ")  # Spark takes no comma
    with connected(master, flow.value("mirror.installation"), tag, say) as session:
        yield session


def copy_in_session(session: ConnectSession, flow: Flow, plan: Plan, run: str) -> list[LaneResult]:
    """Copies the plan's ranges, and returns what each lane did. `run` names the run in the ledger."""
    return copy_on_spark(flow, plan, run, session.cores, session.run)


@contextmanager
def following_in_session(
    master: str, run: str, opened: Callable[[ConnectSession], None] = lambda _session: None, say: SayLines = write_lines
) -> Iterator[Copy]:
    """The copy by one plan after the other, all of them in one session. It is opened for the first of them, and `opened` gets it.

    It takes half of the server's cores, so that the next run has the other half to take over with. A server with one core has no place for
    both: the lanes end when their run is due.
    """
    with ExitStack() as until_end:
        sessions: list[tuple[ConnectSession, int]] = []

        def copy(flow: Flow, plan: Plan, max_bytes: int) -> list[LaneResult]:
            """Copies by one plan. Where it fails, what still runs on the server is interrupted."""
            if not sessions:
                session = until_end.enter_context(copy_session(flow, plan, master, say, run))
                opened(session)
                sessions.append((session, session.cores))
            session, cores = sessions[0]
            planned = plan if cores > 1 else replace(plan, hand_over_for=0.0)
            try:
                return copy_on_spark(flow, planned, run, max(1, cores // 2), session.run, max_bytes)
            except BaseException:
                session.interrupt()
                raise

        yield copy
