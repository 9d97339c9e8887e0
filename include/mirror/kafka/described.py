"""What the admin client describes, as our values: topics with their ids, config entries."""

from typing import Any

from confluent_kafka.admin import ConfigSource

from mirror.kafka.model import ConfigEntry, Partition, Topic

_URL_SAFE = str.maketrans("+/", "-_")


def topic_of(described: Any) -> Topic:
    """A topic, its partitions in the order of their numbers."""
    partitions = tuple(
        Partition(
            number=p.id,
            leader=p.leader.id if p.leader is not None and p.leader.id >= 0 else None,
            replicas=tuple(node.id for node in p.replicas),
            isr=tuple(node.id for node in p.isr),
        )
        for p in sorted(described.partitions, key=lambda p: p.id)
    )
    return Topic(described.name, kafka_uuid(str(described.topic_id)), partitions)


def kafka_uuid(text: str) -> str:
    """A topic id as Kafka's own tools write it: URL-safe base64 (org.apache.kafka.common.Uuid). The client has the standard alphabet, whose
    `+` and `/` stand where Kafka has `-` and `_`."""
    return text.translate(_URL_SAFE)


def config_entry_of(entry: Any) -> ConfigEntry:
    """A config entry, with the broker's word for where its value comes from."""
    return ConfigEntry(entry.name, entry.value, ConfigSource(entry.source).name, bool(entry.is_read_only), bool(entry.is_sensitive))
