"""The cutover DAGs of the trial's flows for its own Airflow: what else waits for people or for a broker waits a second here."""

from datetime import timedelta

from kafka_mirror.airflow.dags import mirror_dags
from kafka_mirror.airflow.work import cutover

cutover.LOOK_AGAIN = timedelta(seconds=1)
dags = mirror_dags(kinds=("cutover", "configuration"))
for dag in dags.values():
    for task in dag.tasks:
        task.retry_delay = timedelta(seconds=1)
globals().update(dags)
