"""Runs the mirror's steps as Airflow tasks and DAGs: the only package that imports Airflow, and not before it is used.

`dags` makes the DAGs of a configuration, one file for each kind; `tasks` what all tasks share.

`__main__` and `client` may import it; DAG files and the plugin do.
"""

from kafka_mirror.airflow.connections import lookup
from kafka_mirror.config import references
from kafka_mirror.status.alerts import channels


def _channel(connection: str) -> channels.Channel:
    # What sends is not needed by those who only read DAG files.
    from kafka_mirror.airflow.alert_channels import channel

    return channel(connection)


references.provide(lookup)
channels.provide(_channel)
