"""A cluster whose settings stand in one Airflow connection of the type `kafka`: `<cluster>.connection`.

Its extra holds librdkafka's names, as Airflow's Kafka provider has them. What connects and logs in becomes the Java setting that the file
could have had, so that one code checks and maps both. What only tunes a client is passed on as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka_mirror.config.clients.catalogue import CLIENT_KEYS, CLIENT_PROPERTIES
from kafka_mirror.config.clients.sasl import jaas_text
from kafka_mirror.config.setting import MappedSettings, Setting
from kafka_mirror.errors import Problem
from kafka_mirror.logins.token import GSSAPI, KEYTAB, PRINCIPAL, SERVICE

CONNECTION = "connection"
"""The key after the cluster's alias."""
CONNECTION_TYPE = "kafka"

_PACKAGE = "org.apache.kafka.common.security."
_MODULES = {
    "PLAIN": f"{_PACKAGE}plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_PACKAGE}scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_PACKAGE}scram.ScramLoginModule",
}
_AS_THEY_ARE = {
    "bootstrap.servers": "bootstrap.servers",
    "security.protocol": "security.protocol",
    "sasl.mechanism": "sasl.mechanism",
    "sasl.mechanisms": "sasl.mechanism",
    SERVICE: SERVICE,
    "sasl.oauthbearer.client.id": "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.secret": "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.scope": "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url": "sasl.oauthbearer.token.endpoint.url",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
    "ssl.key.password": "ssl.key.password",
    "ssl.endpoint.identification.algorithm": "ssl.endpoint.identification.algorithm",
}
"""librdkafka's name -> Java's."""
_FILES = {
    "ssl.ca.location": "ssl.truststore.certificates",
    "ssl.certificate.location": "ssl.keystore.certificate.chain",
    "ssl.key.location": "ssl.keystore.key",
}
"""librdkafka's name of a file in PEM -> Java's of what stands in it."""
_LOGIN = ("sasl.username", "sasl.password")
_KERBEROS = (PRINCIPAL, KEYTAB)
_KERBEROS_MODULE = "com.sun.security.auth.module.Krb5LoginModule"
_METHOD = "sasl.oauthbearer.method"
_OURS = frozenset(
    "group.id auto.offset.reset enable.auto.commit enable.auto.offset.store isolation.level acks enable.idempotence linger.ms batch.size "
    "queue.buffering.max.kbytes message.max.bytes max.in.flight.requests.per.connection compression.level".split()
)
"""What the mirror decides itself, and a connection may have for others."""
_TUNING = frozenset(client_property.librdkafka for client_property in CLIENT_PROPERTIES.values() if client_property.librdkafka)


@dataclass(frozen=True)
class ConnectionSettings:
    """What a connection says of one cluster. It holds secrets."""

    java: Mapping[str, Setting] = field(default_factory=dict, repr=False)
    """What connects and logs in, by Java's names."""
    librdkafka: Mapping[str, tuple[Any, Setting]] = field(default_factory=dict, repr=False)
    """What tunes, by librdkafka's names: the value, and where it is from."""
    problems: tuple[Problem, ...] = ()


def connection_settings(extra: Mapping[str, Any], connection: Setting) -> ConnectionSettings:
    """Reads the extra of the connection that a setting names, and the files that it names. Never raises: problems are in the result."""
    java: dict[str, Setting] = {}
    tuning: dict[str, tuple[Any, Setting]] = {}
    problems: list[Problem] = []
    for name, value in extra.items():
        setting = Setting(_write_text(value), f"{connection.origin} (extra.{name})", hidden=True)
        if name in _AS_THEY_ARE:
            is_off = name == "ssl.endpoint.identification.algorithm" and setting.text.strip().lower() == "none"
            java[_AS_THEY_ARE[name]] = setting._replace(text="") if is_off else setting
        elif name in _FILES:
            java[_FILES[name]] = _read_content(setting, problems)
        elif name in _TUNING - _OURS:
            tuning[name] = (_read_number(value), setting)
        elif complaint := _explain(name, setting.text):
            problems.append(Problem(setting.origin, complaint))
    mechanism = java["sasl.mechanism"].text.strip().upper() if "sasl.mechanism" in java else ""
    if mechanism in _MODULES and any(name in extra for name in _LOGIN):
        options = {name.removeprefix("sasl."): _write_text(extra[name]) for name in _LOGIN if name in extra}
        java["sasl.jaas.config"] = _build_jaas(_MODULES[mechanism], options, connection, _LOGIN)
    elif mechanism == GSSAPI:
        by_keytab = {"useKeyTab": "true", "keyTab": _write_text(extra.get(KEYTAB)), "principal": _write_text(extra.get(PRINCIPAL, ""))}
        # By the keytab if there is one, else by the ticket of the process.
        options = by_keytab if extra.get(KEYTAB) else {"useTicketCache": "true"}
        java["sasl.jaas.config"] = _build_jaas(_KERBEROS_MODULE, options, connection, _KERBEROS)
    for part in ("truststore", "keystore"):
        if any(name.startswith(f"ssl.{part}.") for name in java):
            java[f"ssl.{part}.type"] = Setting("PEM", connection.origin, hidden=True)
    return ConnectionSettings(java, tuning, tuple(problems))


def refuse_both(mapped: MappedSettings, settings: Mapping[str, Setting]) -> None:
    """Notes what the file says of a cluster although its connection says all of it."""
    for name in CLIENT_KEYS:
        if name in settings:
            mapped.refuse(
                settings[name],
                f"and {settings[CONNECTION].origin} both say how to reach this cluster; leave one of them out: a connection holds all of "
                "bootstrap.servers, security.protocol, ssl.* and sasl.*",
            )


def tune(mapped: MappedSettings, connection: ConnectionSettings) -> None:
    """Passes on what of the connection is meant for a client of this role, and notes what the file says too."""
    of_role = {one.librdkafka for one in CLIENT_PROPERTIES.values() if mapped.client.role in one.roles}
    for name, (value, setting) in connection.librdkafka.items():
        if name in mapped.origins:
            mapped.refuse(
                setting,
                f"and {', '.join(java_setting.origin for java_setting in mapped.origins[name])} say the same; leave one of them out",
            )
        elif name in of_role:
            mapped.put(name, value, setting)


def _write_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read_number(value: Any) -> Any:
    """As the mapping of Java's settings has it: whole numbers and truths are no texts."""
    text = _write_text(value).strip()
    return {"true": True, "false": False}.get(text.lower(), int(text) if text.lstrip("-").isdecimal() else text)


def _read_content(setting: Setting, problems: list[Problem]) -> Setting:
    """What stands in the file; one that cannot be read is noted, and nothing more is said of it."""
    try:
        return setting._replace(text=Path(setting.text).read_text("utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is no text"
        problems.append(Problem(setting.origin, f"{setting.text} cannot be read: {reason}"))
        return setting._replace(unresolved=True)


def _build_jaas(module: str, options: Mapping[str, str], connection: Setting, made_from: tuple[str, str]) -> Setting:
    origin = f"{connection.origin} ({', '.join(f'extra.{name}' for name in made_from)})"
    return Setting(jaas_text(module, options), origin, hidden=True)


def _explain(name: str, text: str) -> str:
    if name in (*_LOGIN, *_KERBEROS) or name in _OURS or (name == _METHOD and text.strip().lower() == "oidc"):
        return ""
    if name == _METHOD:
        return "must be oidc, with sasl.oauthbearer.token.endpoint.url; other tokens need their settings in the file"
    return f"is not passed on by the mirror; it knows {', '.join((*_AS_THEY_ARE, *_FILES, *_LOGIN, *_KERBEROS))} and what tunes a client"
