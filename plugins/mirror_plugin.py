"""The mirror's plugin from a checkout. Where the package is installed, Airflow has it by the package's entry point already."""

from importlib.metadata import PackageNotFoundError, distribution

try:
    distribution("airflow-kafka-mirror")
except PackageNotFoundError:
    from kafka_mirror.plugin import MirrorPlugin as MirrorPlugin
