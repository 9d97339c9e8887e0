"""The Airflow pools that the DAGs use, as `airflow pools import` reads them."""

from collections.abc import Iterable
from typing import Any

from kafka_mirror.config.flow import FlowName

SPARK_POOL = "mirror_spark"
SPARK_DRIVERS = 2
"""How many Spark drivers run at once beside the copies: a driver takes about half a gigabyte."""


def pools(flows: Iterable[FlowName], team: str = "") -> dict[str, dict[str, Any]]:
    """One pool with one slot per flow, so that its copies (live and backfill) wait for each other, and one for all other Spark jobs.

    With a `team` only its DAGs may use the flows' pools; all teams share the other one.

    They spare work that would only be fenced; correctness needs none of them. A task whose pool is missing never starts.
    """
    of_team = {"team_name": team} if team else {}
    return {
        SPARK_POOL: _pool(SPARK_DRIVERS, "Spark jobs of the mirror other than copies"),
        **{flow.pool: {**_pool(1, f"One copy of {flow.name} at a time"), **of_team} for flow in flows},
    }


def _pool(slots: int, description: str) -> dict[str, Any]:
    return {"slots": slots, "description": description, "include_deferred": False}
