"""Runs the mirror's steps as Airflow tasks and DAGs: the only package that imports Airflow, and not before it is used.

`dags` makes the DAGs of a configuration, one file for each kind; `operators` are for people's own DAGs; `work` is what tasks do once they
run, and `tasks` what all of them share.

`__main__` and `client` may import it; DAG files and the plugin do.
"""

from kafka_mirror.airflow.connections import lookup, require_airflow
from kafka_mirror.config import references
from kafka_mirror.errors import AlertConnectionUnusable
from kafka_mirror.status.alerts import channels


def _open_channel(connection: str) -> channels.Channel:
    """The channel of an Airflow connection or a notifier. What sends is not needed by those who only read DAG files."""
    try:
        require_airflow()
    except ValueError as error:
        raise AlertConnectionUnusable(connection, str(error)) from None
    from kafka_mirror.airflow.alert_channels import channel

    return channel(connection)


references.provide(lookup)
channels.provide(_open_channel)
