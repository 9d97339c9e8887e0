"""What a session of tests has started: its logs are shown with a failed test, and it is stopped whatever the tests did."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from services.airflow import AirflowServices
from services.kafka import KafkaCluster, run_clusters
from services.postgres import PostgresServer

STARTED: dict[str, KafkaCluster | AirflowServices] = {}
"""What runs now, by the name under which its log is shown."""


@contextmanager
def running(*clusters: KafkaCluster) -> Iterator[None]:
    """Runs clusters inside the block, and shows their logs with a test that fails."""
    STARTED.update({cluster.alias: cluster for cluster in clusters})
    try:
        with run_clusters(*clusters):
            yield
    finally:
        for cluster in clusters:
            STARTED.pop(cluster.alias)


@contextmanager
def airflows(directory: Path) -> Iterator[Callable[..., AirflowServices]]:
    """Starts an Airflow with a PostgreSQL of its own: `make("scheduled", environment={"MIRROR_CONFIG": ...})`."""
    made: list[tuple[str, AirflowServices, PostgresServer]] = []

    def make(name: str, **options: Any) -> AirflowServices:
        database = PostgresServer(directory / f"{name}-postgres")
        database.start()
        airflow = AirflowServices(directory / name, database.url, **options)
        made.append((name, airflow, database))
        STARTED[f"Airflow '{name}'"] = airflow
        airflow.start()
        return airflow

    try:
        yield make
    finally:
        for name, airflow, database in made:
            airflow.stop()
            database.remove()
            STARTED.pop(f"Airflow '{name}'", None)
