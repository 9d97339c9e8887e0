"""One flow of a running Airflow, as a test sees it."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from kafka_mirror.formats.offsets.partition import lane_of
from services.airflow_api import AirflowApi
from services.flows import ClusterPair
from services.oracle import Oracle, Side
from services.waiting import eventually

TASKS = ("plan", "copy")
GREEN = dict.fromkeys(TASKS, "success")


@dataclass(frozen=True)
class InAirflow:
    """One flow of the running Airflow, and the witness."""

    pair: ClusterPair
    api: AirflowApi
    oracle: Oracle

    @property
    def dag(self) -> str:
        return f"{self.pair.source}-to-{self.pair.target}.copy"

    def create_topic(self, name: str) -> str:
        topic = self.pair.topic(name)
        self.oracle.create_topic(self.pair.source_bootstrap, topic, partitions=3)
        return topic

    def produce(self, topic: str, records: int, **options: Any) -> None:
        self.oracle.produce(self.pair.source_bootstrap, topic, records, **options)

    def mirrored(self, topic: str) -> int:
        """How many records the remote topic shows now."""
        return sum(self._by_partition(topic))

    def has_begun(self, topic: str, lanes: int) -> bool:
        """Whether each lane with partitions of the topic has copied something."""
        records = Counter[int]()
        for partition, count in enumerate(self._by_partition(topic)):
            records[lane_of(topic, partition, lanes)] += count
        return min(records.values(), default=0) > 0

    def _by_partition(self, topic: str) -> list[int]:
        remote = self.pair.remote(topic)
        if self.oracle.topic_id(self.pair.target_bootstrap, remote) is None:
            return []
        return [count.records for count in self.oracle.count(self.pair.target_bootstrap, remote)]

    def assert_mirrored(self, topic: str) -> int:
        """The witness finds both sides equal; gives how many records there are."""
        target = Side(self.pair.target_bootstrap, self.pair.remote(topic))
        return self.oracle.assert_mirrored(Side(self.pair.source_bootstrap, topic), target).records

    def ended_runs(self) -> dict[str, dict[str, Any]]:
        """The runs that have ended by their ids, the oldest first."""
        return {run["dag_run_id"]: run for run in reversed(self.api.runs(self.dag)) if run["state"] in ("success", "failed")}

    def next_run(self, known: Collection[str], verdict: str) -> dict[str, Any]:
        """The first run beside those known that ended with this verdict."""

        def found() -> dict[str, Any] | None:
            runs = self.ended_runs().items()
            return next((run for name, run in runs if name not in known and self.xcom(name, "copy")["state"] == verdict), None)

        return eventually(found, f"a run whose verdict is {verdict}", longest=1)

    def states(self, run: str) -> dict[str, str | None]:
        return self.api.states(self.dag, run)

    def ended(self, run: str) -> str:
        """The state in which a run ends."""
        return str(self.api.wait_for_run(self.dag, run)["state"])

    def xcom(self, run: str, task: str) -> Any:
        return self.api.xcom(self.dag, run, task)


def checked(api: AirflowApi, dag: str) -> dict[str, Any]:
    """What a run of the freshness DAG that ends green leaves in XCom."""
    run = api.trigger(dag)
    assert api.wait_for_run(dag, run)["state"] == "success"
    found: dict[str, Any] = api.xcom(dag, run, "freshness")
    return found
