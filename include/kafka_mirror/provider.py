"""What Airflow shows of this package among its providers."""

from typing import Any

from kafka_mirror import __version__


def get_provider_info() -> dict[str, Any]:
    """The entry point `apache_airflow_provider`. Airflow calls it in most of its processes, so it imports nothing else.

    There is no connection type of our own, for the mirror reads connections of Airflow's own types, and no section of `airflow.cfg`.
    """
    return {
        "package-name": "airflow-kafka-mirror",
        "name": "Kafka mirror",
        "versions": [__version__],
        "description": "Mirrors Apache Kafka clusters as MirrorMaker 2 does, in DAGs that run short, bounded Spark jobs.",
        "operators": [{"integration-name": "Kafka mirror", "python-modules": ["kafka_mirror.airflow.operators"]}],
        "sensors": [{"integration-name": "Kafka mirror", "python-modules": ["kafka_mirror.airflow.operators"]}],
        "triggers": [
            {
                "integration-name": "Kafka mirror",
                "python-modules": ["kafka_mirror.airflow.complete_trigger", "kafka_mirror.airflow.heartbeat_trigger"],
            }
        ],
        "hooks": [{"integration-name": "Kafka mirror", "python-modules": ["kafka_mirror.airflow.operators"]}],
        "extra-links": [f"kafka_mirror.airflow.links.{name}" for name in ("StatusPageLink", "RunbookLink", "SparkLink")],
        "plugins": [{"name": "mirror", "plugin-class": "kafka_mirror.plugin.MirrorPlugin"}],
        "integrations": [{"integration-name": "Kafka mirror", "external-doc-url": "https://kafka.apache.org/", "tags": ["apache"]}],
        "notifications": ["kafka_mirror.airflow.webhook_notifier.WebhookNotifier"],
    }
