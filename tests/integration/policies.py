"""Replication policies as users write them."""

from kafka_mirror.policy import DefaultReplicationPolicy


class Fragile(DefaultReplicationPolicy):
    """Fails at names that its author did not expect, and gives two topics one name, and some a name that Kafka does not take."""

    def format_remote_topic(self, alias: str, topic: str) -> str:
        if topic.startswith("raises"):
            raise KeyError(topic)
        if topic.startswith(("same", "twin")):
            return f"{alias}.same{topic[4:]}"
        return f"{alias}/{topic}" if topic.startswith("slash") else super().format_remote_topic(alias, topic)

    def topic_source(self, topic: str) -> str | None:
        return super().topic_source(topic) if "unknown" not in topic else [][0]
