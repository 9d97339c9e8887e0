"""What tasks remember beyond their try or their run: Airflow's state stores, or its Variables in Airflow 3.2, which has none.

XCom does not serve for it: Airflow clears a task's XCom before each try, and runs that somebody triggers have no order there.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any, Protocol


class StateStore(Protocol):
    """JSON values by key."""

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key."""

    def set(self, key: str, value: Any) -> None:
        """Writes the value of a key."""

    def delete(self, key: str) -> None:
        """Removes a key; nothing happens if there is none."""


def task_store(context: Any) -> StateStore:
    """The store of a task in its run. It outlives tries, pauses and clears."""
    if "task_state_store" in context:
        return context["task_state_store"]  # type: ignore[no-any-return]
    instance = context["ti"]
    # A Variable's name has at most 250 characters, and the id of a run alone may have as many.
    return _Variables(f"mirror-{instance.dag_id}-{instance.task_id}-{zlib.crc32(instance.run_id.encode()):08x}")


def asset_store(name: str) -> StateStore:
    """The store of an asset. It outlives runs, and any DAG's tasks read it.

    Public: `context["asset_state_store"]`, of the task's own inlets and outlets alone.
    """
    try:
        from airflow.sdk.execution_time.context import AssetStateStoreAccessor
    except ImportError:
        return _Variables(name)
    return AssetStateStoreAccessor(name=name)


@dataclass(frozen=True)
class _Variables:
    """Airflow Variables whose names begin with a prefix."""

    prefix: str

    def get(self, key: str, default: Any = None) -> Any:
        from airflow.sdk import Variable

        return Variable.get(self._name(key), default=default, deserialize_json=True)

    def set(self, key: str, value: Any) -> None:
        from airflow.sdk import Variable

        Variable.set(self._name(key), value, description="Kafka mirror: what a task remembers.", serialize_json=True)

    def delete(self, key: str) -> None:
        from airflow.sdk import Variable

        Variable.delete(self._name(key))

    def _name(self, key: str) -> str:
        return f"{self.prefix}-{key.replace(' ', '-')}"
