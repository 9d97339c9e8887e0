"""The demo's DAGs: all of the mirror, and one that reads what it copies, hour by hour."""

from typing import Any

from airflow.sdk import DAG, PartitionedAssetTimetable, task

from kafka_mirror.airflow.assets import asset_of
from kafka_mirror.airflow.dags import mirror_dags
from kafka_mirror.config import load

globals().update(mirror_dags())

DOC = """
Starts when an hour of `clicks` is complete and audited on west: the run's partition key is the hour, in UTC. The mirror's backfill
announces it (`mirror.assets.events = hours`), once for each hour.
"""
clicks = asset_of(load().flow("east->west"), "east.clicks")

with DAG("clicks-of-an-hour", schedule=PartitionedAssetTimetable(assets=clicks), doc_md=DOC):

    @task
    def count(partition_key: Any = None, triggering_asset_events: Any = None) -> int:
        """How many offsets the hour has in all partitions."""
        hour = triggering_asset_events[clicks][-1].extra["keys"][partition_key]
        return sum(end - start for start, end in hour["offsets"].values())

    count()
