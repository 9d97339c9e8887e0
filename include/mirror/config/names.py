"""What a flow is called: towards people, in Airflow, in messages."""

import re
from dataclasses import dataclass

_NOT_FOR_AIRFLOW = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True)
class FlowName:
    """One direction between two clusters. Base of `Flow` and `InvalidFlow`, which thereby have the same DAG ids."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """'east->west', as in the file."""
        return f"{self.source}->{self.target}"

    @property
    def airflow_name(self) -> str:
        """'east-to-west': the name in the characters that Airflow takes; any other became '_'."""
        return _NOT_FOR_AIRFLOW.sub("_", f"{self.source}-to-{self.target}")

    def dag_id(self, what: str) -> str:
        """The id of one of the flow's DAGs, such as 'east-to-west.copy'."""
        return f"{self.airflow_name}.{what}"

    @property
    def pool(self) -> str:
        """The Airflow pool that lets one copy of the flow run at a time."""
        return f"mirror_copy_{self.airflow_name}"

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the flow's DAGs."""
        return ("mirror", self.name)
