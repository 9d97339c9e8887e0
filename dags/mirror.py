"""All DAGs of all flows. A part of them: `mirror_dags(flows="east->west", kinds=("copy", "freshness"))`."""

from kafka_mirror.airflow.dags import mirror_dags

globals().update(mirror_dags())
