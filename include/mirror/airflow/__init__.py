"""The mirror's steps as Airflow tasks and DAGs: the only package of the library that imports Airflow (and not before it is used)."""

from mirror.airflow.connections import lookup
from mirror.config.connections import provide

provide(lookup)
