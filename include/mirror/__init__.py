"""Mirrors Apache Kafka clusters in short, bounded batch jobs. The folders are named after the steps of the job."""

__version__ = "0.1.0"
