"""How the prefixes of the file become the maps that MirrorMaker 2 hands to its worker, connectors and clients.

The precedence is MM2's (`MirrorMakerConfig`, `MirrorConnectorConfig`), surprises included: `A.consumer.x` beats `A->B.consumer.x`.
"""

import re
from collections.abc import Collection, Mapping

from kafka_mirror.config.clients.airflow_connection import CONNECTION
from kafka_mirror.config.clients.catalogue import CLIENT_KEYS, ROLES
from kafka_mirror.config.setting import DEFAULT, Setting

Settings = dict[str, Setting]

WORKER_PREFIXES = (
    "offset.storage",
    "config.storage",
    "status.storage",
    "key.converter",
    "value.converter",
    "header.converter",
    "task",
    "worker",
    "replication.policy",
)
BYTE_ARRAY_CONVERTER = "org.apache.kafka.connect.converters.ByteArrayConverter"
_ROLE_PREFIX = re.compile("consumer|producer|admin")


def cluster_properties(raw: Mapping[str, Setting], cluster: str) -> Settings:
    """What stands under `<cluster>.`, with the security settings that its producer, consumer and admin inherit (`clusterProps`)."""
    settings = _take_prefixed(raw, cluster + ".")
    for key in CLIENT_KEYS:
        if key in settings:
            for role in ROLES:
                settings.setdefault(f"{role}.{key}", settings[key])
    for key in CLIENT_KEYS:
        if key in raw:
            for name in (*(f"{role}.{key}" for role in ROLES), key):
                settings.setdefault(name, raw[key])
    return settings


def worker_properties(raw: Mapping[str, Setting], source: str, target: str) -> Settings:
    """The Connect worker's map of the flow (`workerConfig`); the data producer's settings come from it. Keys of the flow never reach it."""
    settings = cluster_properties(raw, target)
    settings |= {key: value for key, value in raw.items() if key.startswith(WORKER_PREFIXES)}
    settings |= {key: value for key, value in raw.items() if key.startswith("config.providers")}
    defaults = {
        "client.id": f"{source}->{target}",
        "group.id": f"{source}-mm2",
        "offset.storage.topic": f"mm2-offsets.{source}.internal",
        "status.storage.topic": f"mm2-status.{source}.internal",
        "config.storage.topic": f"mm2-configs.{source}.internal",
        "key.converter": BYTE_ARRAY_CONVERTER,
        "value.converter": BYTE_ARRAY_CONVERTER,
        "header.converter": BYTE_ARRAY_CONVERTER,
    }
    return _add_defaults(settings, defaults)


def connector_properties(
    raw: Mapping[str, Setting], source: str, target: str, defined: Collection[str], connector: str = "MirrorSourceConnector"
) -> Settings:
    """A connector's map of the flow (`connectorBaseConfig`). Of the top level only names in `defined` reach it."""
    settings = {key: value for key, value in raw.items() if key in defined}
    settings |= {key: value for key, value in raw.items() if key.startswith(("config.providers", "replication.policy"))}
    for side, cluster in (("source", source), ("target", target)):
        for key, value in cluster_properties(raw, cluster).items():
            settings[f"{side}.{key}" if _ROLE_PREFIX.match(key) else f"{side}.cluster.{key}"] = value
    settings = _add_defaults(
        settings,
        {
            "name": connector,
            "connector.class": f"org.apache.kafka.connect.mirror.{connector}",
            "source.cluster.alias": source,
            "target.cluster.alias": target,
        },
    )
    settings |= _take_prefixed(raw, f"{source}->{target}.")
    return _add_defaults(settings, {"enabled": "false"})


def client_properties(connector: Mapping[str, Setting], side: str, role: str) -> Settings:
    """Java settings of a connector's own client: `<side>.cluster.` (inherited names only) < `<role>.` < `<side>.<role>.`; and the Airflow
    connection of its cluster."""
    cluster = {key: connector[name] for key in (*CLIENT_KEYS, CONNECTION) if (name := f"{side}.cluster.{key}") in connector}
    return cluster | _take_prefixed(connector, f"{role}.") | _take_prefixed(connector, f"{side}.{role}.")


def data_producer_properties(worker: Mapping[str, Setting], connector: Mapping[str, Setting]) -> Settings:
    """Java settings of the producer of the records: the worker's `producer.` (`T.producer.*`) < the flow's `producer.override.`."""
    bootstrap = {key: worker[key] for key in ("bootstrap.servers", CONNECTION) if key in worker}
    return bootstrap | _take_prefixed(worker, "producer.") | _take_prefixed(connector, "producer.override.")


def _take_prefixed(settings: Mapping[str, Setting], prefix: str) -> Settings:
    return {key[len(prefix) :]: value for key, value in settings.items() if key.startswith(prefix)}


def _add_defaults(settings: Settings, defaults: Mapping[str, str]) -> Settings:
    return {key: Setting(text, DEFAULT) for key, text in defaults.items() if key not in settings} | settings
