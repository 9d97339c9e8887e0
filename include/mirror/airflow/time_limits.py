"""How long a task of a flow may take before Airflow ends it (its `execution_timeout`) and tries again."""

from datetime import timedelta

from mirror.config import Flow

BESIDE_COPYING = timedelta(minutes=10)
"""What a copy may take beside copying: until Spark has started, for the last transaction, for the ledger's verdict."""


def copy_limit(flow: Flow) -> timedelta:
    """A copy's limit, and that of a backfill's slice. With rounds too: none of them copies past mirror.run.max.seconds."""
    return timedelta(seconds=flow.value("mirror.run.max.seconds")) + BESIDE_COPYING


def audit_limit(flow: Flow) -> timedelta:
    """An audit's limit."""
    return timedelta(seconds=flow.value("mirror.audit.max.seconds"))


def task_limit(flow: Flow) -> timedelta:
    """The limit of all other tasks."""
    return timedelta(seconds=flow.value("mirror.task.max.seconds"))
