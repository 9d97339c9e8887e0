"""The Airflow pools that the DAGs use, as `airflow pools import` reads them."""

from collections.abc import Iterable
from typing import Any

from kafka_mirror.config.flow import Flow, FlowName

SPARK_POOL = "mirror_spark"
SPARK_DRIVERS = 2
"""How many Spark drivers run at once beside the copies: a driver takes about half a gigabyte."""


SLOTS_TO_FOLLOW = 4
"""The slots of a flow whose runs follow: two for runs that hand over to each other, and one each for a backfill's live part and history."""


def pools(flows: Iterable[FlowName], team: str = "") -> dict[str, dict[str, Any]]:
    """One pool per flow, and one for all other Spark jobs. A flow whose runs end with their plans has one slot, so that its copies (live
    and backfill) wait for each other.

    With a `team` only its DAGs may use the flows' pools; all teams share the other one.

    They spare work that would only be fenced; correctness needs none of them. A task whose pool is missing never starts.
    """
    of_team = {"team_name": team} if team else {}
    return {
        SPARK_POOL: _describe_pool(SPARK_DRIVERS, "Spark jobs of the mirror other than copies"),
        **{flow.pool: {**_describe_pool(slots_of(flow), f"Copies of {flow.name}"), **of_team} for flow in flows},
    }


def slots_of(flow: FlowName) -> int:
    """How many slots the pool of a flow needs. An invalid flow copies nothing, and has one."""
    return SLOTS_TO_FOLLOW if isinstance(flow, Flow) and flow.value("mirror.follow.seconds") else 1


def _describe_pool(slots: int, description: str) -> dict[str, Any]:
    return {"slots": slots, "description": description, "include_deferred": False}
