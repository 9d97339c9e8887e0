"""Mirrors Apache Kafka clusters in short, bounded batch jobs. The folders are the steps of the job, in the order of the README's picture."""

__version__ = "0.1.0"
