"""The task of the `refresh-topics` DAG."""

import logging
from typing import Any

from airflow.sdk import task

from mirror.airflow.context import is_dry_run, leave
from mirror.airflow.errors import as_airflow_errors, raise_errors
from mirror.airflow.xcom import to_xcom
from mirror.config import load

log = logging.getLogger(__name__)


@task(task_id="refresh_topics", show_return_value_in_logs=False)
def refresh(flow_name: str) -> dict[str, Any]:
    """Creates remote topics and partitions, and returns what was (with `dry_run`: would be) done; red with what failed."""
    from mirror.kafka.connect import clusters
    from mirror.sync.topics import refresh_topics

    with as_airflow_errors():
        flow = load().flow(flow_name)
        with clusters(flow) as (source, target):
            done = refresh_topics(flow, source, target, dry_run=is_dry_run())
        changed = {"created": dict(done.created), "extended": dict(done.extended), "deleted_at_source": list(done.deleted_at_source)}
        for what, topics in changed.items():
            log.info("%s: %s", what.replace("_", " "), topics or "none")
        value = to_xcom({**changed, "unchanged": len(done.unchanged)}, {what: len(topics) for what, topics in changed.items()})
        if done.errors:
            leave(value)
        raise_errors(f"{flow_name}: some topics could not be refreshed", done.errors)
    return value
