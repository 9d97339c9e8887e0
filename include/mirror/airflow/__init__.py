"""The mirror's steps as Airflow tasks and DAGs: the only package of the library that imports Airflow (and not before it is used)."""

from mirror.airflow.connections import lookup
from mirror.alerts import notify
from mirror.config import connections


def _channel(connection: str) -> notify.Channel:
    # What sends is not needed by those who only read DAG files.
    from mirror.airflow.alert_channels import channel

    return channel(connection)


connections.provide(lookup)
notify.provide(_channel)
