"""From the settings of a Java client to those of librdkafka."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mirror.config.catalogue_clients import CLIENT_PROPERTIES, ClientProperty
from mirror.config.client_keys import CLIENT_KEYS
from mirror.config.security import security_settings
from mirror.config.setting import Setting
from mirror.config.values import parse_list
from mirror.errors import Problem

_CODECS = ("gzip", "lz4", "zstd")
# `admin.timeout.ms`, `consumer.poll.timeout.ms` and `<role>.override.*` belong to connectors; MM2 hands them to its clients all the same.
_CONNECTORS_OWN = ("timeout.ms", "poll.timeout.ms")


@dataclass
class Mapped:
    """What a Java client's settings became."""

    settings: dict[str, Any] = field(default_factory=dict, repr=False)
    problems: list[Problem] = field(default_factory=list)
    without_effect: dict[str, str] = field(default_factory=dict)
    """Key of the user -> why it has no meaning here."""

    def take(self, name: str, setting: Setting, convert: Callable[[str], Any]) -> None:
        """Set `name` to the converted text, or note why that is impossible; what is not resolved yet is left for later."""
        if setting.unresolved:
            return
        try:
            self.settings[name] = convert(setting.text)
        except ValueError as error:
            self.problems.append(Problem(setting.origin, str(error), setting.shown))


def client_settings(settings: Mapping[str, Setting], flow: str, side: str, role: str, transaction_timeout_ms: int = 60000) -> Mapped:
    """librdkafka's settings for a client, by the Java settings that MM2 would give it. Never raises: problems are in the result."""
    mapped = Mapped()
    _bootstrap(mapped, settings.get("bootstrap.servers"), flow, side)
    security_settings(mapped, settings)
    for name, setting in settings.items():
        known = CLIENT_PROPERTIES.get(name)
        if known and role in known.roles:
            _one(mapped, known, setting)
    _agree(mapped, role, transaction_timeout_ms)
    _defaults(mapped, flow, side, role)
    return mapped


def is_known(name: str, role: str) -> bool:
    """Whether Java's client of this role has a setting of this name (or MM2 hands it one that is not meant for it)."""
    known = CLIENT_PROPERTIES.get(name)
    return name in CLIENT_KEYS or name in _CONNECTORS_OWN or (known is not None and role in known.roles)


def _one(mapped: Mapped, known: ClientProperty, setting: Setting) -> None:
    if known.librdkafka:
        mapped.take(known.librdkafka, setting, known.convert)
    elif known.refuse and not setting.unresolved:
        complaint = known.refuse(setting.text)
        if complaint:
            mapped.problems.append(Problem(setting.origin, complaint, setting.shown))
    elif known.effect not in ("", "-"):
        mapped.without_effect[setting.origin] = known.effect


def _bootstrap(mapped: Mapped, setting: Setting | None, flow: str, side: str) -> None:
    if setting is None:
        alias = flow.split("->")[0 if side == "source" else 1]
        mapped.problems.append(Problem(f"{alias}.bootstrap.servers", "is missing: where are the brokers of this cluster?"))
        return
    mapped.take("bootstrap.servers", setting, _addresses)


def _addresses(text: str) -> str:
    addresses = parse_list(text)
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError("has to be a list of host:port")
    if not addresses:
        raise ValueError("is empty; it has to be a list of host:port")
    return ",".join(addresses)


def _agree(mapped: Mapped, role: str, transaction_timeout_ms: int) -> None:
    """Settings that librdkafka wants to agree with each other, where Java's client does not mind or adapts them itself."""
    found = mapped.settings
    levels = {codec: found.pop(codec) for codec in _CODECS if codec in found}
    if found.get("compression.type") in levels:
        found["compression.level"] = levels[found["compression.type"]]
    for least, most in (("reconnect.backoff.ms", "reconnect.backoff.max.ms"), ("retry.backoff.ms", "retry.backoff.max.ms")):
        if least in found:
            found[most] = max(found.get(most, 0), found[least])
    if role == "consumer" and "fetch.wait.max.ms" in found:
        found["socket.timeout.ms"] = max(found.get("socket.timeout.ms", 60_000), found["fetch.wait.max.ms"] + 1_000)
    if role == "producer" and "socket.timeout.ms" in found:
        found["socket.timeout.ms"] = min(found["socket.timeout.ms"], transaction_timeout_ms)


def _defaults(mapped: Mapped, flow: str, side: str, role: str) -> None:
    found = mapped.settings
    own = f"{flow}|mirror|{side}-{role}"
    if (side, role) != ("target", "producer") and found.get("client.id"):
        own = f"{found['client.id']}|{own}"
    found["client.id"] = own if (side, role) != ("target", "producer") else found.get("client.id") or own
    if role == "consumer":
        # librdkafka's Python client insists on a group, but offsets are never committed to it.
        found |= {"group.id": "mirror", "enable.auto.commit": False, "enable.auto.offset.store": False, "allow.auto.create.topics": False}
        found.setdefault("isolation.level", "read_committed")
        found.setdefault("check.crcs", True)
    if role == "producer":
        found |= {"acks": "all", "enable.idempotence": True}
        found.setdefault("compression.type", "lz4")
        # How large a record may be is for the target's topic to say, not for this client.
        found.setdefault("message.max.bytes", 100_000_000)
