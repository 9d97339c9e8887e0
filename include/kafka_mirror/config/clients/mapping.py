"""From the settings of a Java client to those of librdkafka.

`security.protocol` and what hangs on it: with PLAINTEXT Java ignores `ssl.*` and `sasl.*`, and so do we.
"""

from collections.abc import Mapping
from typing import Any

from kafka_mirror.config.catalogue.values import parse_list
from kafka_mirror.config.clients.airflow_connection import CONNECTION, ConnectionSettings, refuse_both, tune
from kafka_mirror.config.clients.catalogue import CLIENT_KEYS, CLIENT_PROPERTIES, SECURITY_PROPERTIES, ClientProperty
from kafka_mirror.config.clients.sasl import sasl_settings
from kafka_mirror.config.clients.tls import tls_settings
from kafka_mirror.config.setting import Client, MappedSettings, Setting

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

# `admin.timeout.ms`, `consumer.poll.timeout.ms` and `<role>.override.*` belong to connectors; MM2 hands them to its clients all the same.
_CONNECTORS_OWN = ("timeout.ms", "poll.timeout.ms")

DEFAULT_CODEC = "lz4"
"""Unless set: MM2 writes uncompressed by default, which would inflate a compressed source."""


def client_settings(settings: Mapping[str, Setting], client: Client, connection: ConnectionSettings | None = None) -> MappedSettings:
    """librdkafka's settings for a client, by the Java settings that MM2 would give it. Never raises: problems are in the result.

    `connection`: what the cluster's Airflow connection says, where the settings name one and it was asked for."""
    mapped = MappedSettings(client, {**settings, **(connection.java if connection else {})})
    if CONNECTION in settings:
        refuse_both(mapped, settings)
    if connection is not None:
        mapped.problems += connection.problems
    if "bootstrap.servers" in mapped.java:
        mapped.take("bootstrap.servers", mapped.java["bootstrap.servers"], _check_addresses)
    elif CONNECTION not in settings or connection is not None:
        mapped.refuse("bootstrap.servers", "is missing; it has to say where the brokers of this cluster are: host:port, …")
    _map_security(mapped)
    for name, setting in mapped.java.items():
        client_property = CLIENT_PROPERTIES.get(name)
        if client_property and client.role in client_property.roles:
            _map_one(mapped, client_property, setting)
    if connection is not None:
        tune(mapped, connection)
    _agree(mapped.settings)
    _add_defaults(mapped.settings, client)
    return mapped


def _map_security(mapped: MappedSettings) -> None:
    """Map `security.protocol`, `ssl.*` and `sasl.*`."""
    setting = mapped.java.get("security.protocol")
    if setting is None or setting.unresolved:
        return
    protocol = setting.text.strip().upper()
    if protocol not in PROTOCOLS:
        mapped.refuse(setting, f"must be one of {', '.join(PROTOCOLS)}")
        return
    mapped.put("security.protocol", protocol.lower(), setting)
    tls, sasl = protocol.endswith("SSL"), protocol.startswith("SASL_")
    if tls:
        tls_settings(mapped)
    if sasl:
        sasl_settings(mapped)
    for name, setting in mapped.java.items():
        client_property = SECURITY_PROPERTIES.get(name)
        if client_property and client_property.effect and ((tls and name.startswith("ssl.")) or (sasl and name.startswith("sasl."))):
            mapped.without_effect[setting.origin] = client_property.effect


def is_known(name: str, role: str) -> bool:
    """Whether Java's client of this role has a setting of this name (or MM2 hands it one that is not meant for it)."""
    client_property = CLIENT_PROPERTIES.get(name)
    return name in CLIENT_KEYS or name in _CONNECTORS_OWN or (client_property is not None and role in client_property.roles)


def _map_one(mapped: MappedSettings, client_property: ClientProperty, setting: Setting) -> None:
    if client_property.librdkafka:
        mapped.take(client_property.librdkafka, setting, client_property.convert)
    elif client_property.refuse and not setting.unresolved:
        complaint = client_property.refuse.check(setting.text)
        if complaint:
            mapped.refuse(setting, complaint)
    elif client_property.effect and client_property.noticed:
        mapped.without_effect[setting.origin] = client_property.effect


def _check_addresses(text: str) -> str:
    addresses = parse_list(text)
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError("must be a list of host:port")
    if not addresses:
        raise ValueError("is empty; it must be a list of host:port")
    return ",".join(addresses)


def _agree(settings: dict[str, Any]) -> None:
    """Settings that librdkafka wants to agree with each other, where Java's client does not mind or adapts them itself."""
    for least, most in (("reconnect.backoff.ms", "reconnect.backoff.max.ms"), ("retry.backoff.ms", "retry.backoff.max.ms")):
        if most in settings:
            settings.setdefault(least, min(100, settings[most]))
        if least in settings:
            settings[most] = max(settings.get(most, 0), settings[least])


def _add_defaults(settings: dict[str, Any], client: Client) -> None:
    # As in MM2: a connector's clients put theirs after the configured one, the producer of the records takes it as it is, so that quotas
    # can be set for it; not configured, each lane names its own.
    if (client.side, client.role) != ("target", "producer"):
        own = f"{client.flow}|mirror|{client.side}-{client.role}"
        settings["client.id"] = f"{settings['client.id']}|{own}" if "client.id" in settings else own
    if client.role == "consumer":
        settings.setdefault("isolation.level", "read_committed")
    if client.role == "producer":
        settings.setdefault("compression.type", DEFAULT_CODEC)
