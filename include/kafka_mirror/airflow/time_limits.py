"""How long a task of a flow may take before Airflow ends it (its `execution_timeout`) and tries again."""

from datetime import timedelta

from kafka_mirror.config import Flow
from kafka_mirror.cutover.wave.step import AUDIT_GATE, CATCH_UP, LAST_COPY

BESIDE_COPYING = timedelta(minutes=10)
"""What a copy may take beside copying: until Spark has started, for the last transaction, for the ledger's verdict."""

LONGEST_QUIET = timedelta(minutes=10)
"""For how long a cutover's fence may watch that no producer writes; so long a step may wait beside what it does."""


def copy_limit(flow: Flow) -> timedelta:
    """A copy's limit, and that of a backfill's slice. One that follows ends after mirror.run.max.seconds too."""
    return timedelta(seconds=flow.value("mirror.run.max.seconds")) + BESIDE_COPYING


def audit_limit(flow: Flow) -> timedelta:
    """An audit's limit."""
    return timedelta(seconds=flow.value("mirror.audit.max.seconds"))


def task_limit(flow: Flow) -> timedelta:
    """The limit of all other tasks."""
    return timedelta(seconds=flow.value("mirror.task.max.seconds"))


def step_limit(flow: Flow, step: str) -> timedelta:
    """The limit of a cutover's step. One that copies ends the pass that it began in time; catching up and the audit gate have one whole
    audit in them."""
    if step == AUDIT_GATE:
        return audit_limit(flow)
    if step == CATCH_UP:
        return LONGEST_QUIET + copy_limit(flow) + audit_limit(flow)
    return LONGEST_QUIET + (copy_limit(flow) if step == LAST_COPY else task_limit(flow))
