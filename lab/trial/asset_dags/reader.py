"""The backfill of the trial's flow, and a DAG that starts by each day that is complete."""

import os
from datetime import timedelta

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Asset, PartitionedAssetTimetable

from kafka_mirror.airflow.dags import mirror_dags

dags = mirror_dags(kinds=("backfill", "configuration"))
for dag in dags.values():
    for task in dag.tasks:
        task.retry_delay = timedelta(seconds=1)
globals().update(dags)

with DAG("reader", schedule=PartitionedAssetTimetable(assets=Asset(os.environ["TRIAL_ASSET"]))):
    EmptyOperator(task_id="read")
