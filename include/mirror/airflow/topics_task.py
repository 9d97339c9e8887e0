"""The task of the `refresh-topics` DAG."""

from __future__ import annotations

import logging
from typing import Any

from airflow.sdk import task

from mirror.airflow.copy_tasks import is_dry_run
from mirror.airflow.errors import as_airflow_errors, raise_errors
from mirror.config import load

log = logging.getLogger(__name__)


@task(task_id="refresh_topics")
def refresh(flow_name: str) -> dict[str, Any]:
    """Creates remote topics and partitions, and returns what was (with `dry_run`: would be) done; red with what failed."""
    from mirror.kafka.connect import clusters
    from mirror.sync.topics import refresh_topics

    with as_airflow_errors():
        flow = load().flow(flow_name)
        with clusters(flow) as (source, target):
            done = refresh_topics(flow, source, target, dry_run=is_dry_run())
        log.info("%s", done)
        raise_errors(f"{flow_name}: some topics could not be refreshed", done.errors)
    return {
        "created": dict(done.created),
        "extended": dict(done.extended),
        "deleted_at_source": sorted(done.deleted_at_source),
        "unchanged": done.unchanged,
    }
