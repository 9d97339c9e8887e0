"""The Airflow pools that flows name by `mirror.copy.pool`, as `airflow pools import` reads them."""

from collections.abc import Iterable
from typing import Any

from kafka_mirror.config.flow import Flow

DEFAULT_POOL = "default_pool"
"""The pool that every Airflow has."""

SLOTS_TO_FOLLOW = 4
"""The slots of a flow whose runs follow: two for runs that hand over to each other, and one each for a backfill's live part and history."""


def pools(flows: Iterable[Flow], team: str = "") -> dict[str, dict[str, Any]]:
    """Each pool that these flows name, with the slots of all that name it. With a `team` only its DAGs may use them."""
    sharing: dict[str, list[Flow]] = {}
    for flow in flows:
        sharing.setdefault(flow.value("mirror.copy.pool"), []).append(flow)
    sharing.pop(DEFAULT_POOL, None)
    return {
        name: {
            "slots": sum(map(slots_of, its)),
            "description": f"Copies of {', '.join(flow.name for flow in its)}",
            "include_deferred": False,
            **({"team_name": team} if team else {}),
        }
        for name, its in sharing.items()
    }


def slots_of(flow: Flow) -> int:
    """How many slots a flow needs. One where its runs end with their plans: its copies, live and backfill, wait for each other."""
    return SLOTS_TO_FOLLOW if flow.value("mirror.follow.seconds") else 1
