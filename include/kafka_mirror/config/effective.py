"""A flow's configuration as a person may see it: with the key that each value came from, and without any secret."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.config.catalogue.values import EARLIEST
from kafka_mirror.config.clients.mapping import client_settings
from kafka_mirror.config.deadlines import DEFAULT_LIMITS, INTERVALS, LEAST_SECONDS, derive_limit
from kafka_mirror.config.flow import Flow, Role, Side
from kafka_mirror.config.references import has_reference
from kafka_mirror.config.setting import DEFAULT, Setting, is_secret
from kafka_mirror.errors import ConfigurationError
from kafka_mirror.logins.token import PROPERTIES

HIDDEN = "(hidden)"
_DEFAULT = "default"
_SECRETS = ("ssl.key.pem", "sasl.username", "sasl.password", "sasl.oauthbearer.client.secret", PROPERTIES)


@dataclass(frozen=True)
class EffectiveValue:
    """A value, typed (a reference stands as it was written), and where it is from: the user's key, or `default`."""

    value: Any
    origin: str
    default: Any = field(default=None, compare=False)
    """What the value is where it is not set, as far as that is known."""

    @property
    def is_set(self) -> bool:
        """Whether the user set it."""
        return not self.origin.startswith(_DEFAULT)

    @property
    def is_changed(self) -> bool:
        """Whether the user set it to something else than the default."""
        return self.is_set and self.value != self.default


def shown_properties(flow: Flow) -> dict[str, EffectiveValue]:
    """Every property of the catalogue, our own first. Left out are those of Kafka Connect that have no value and no effect either."""
    effective = {name: _show(flow, name) for name in CATALOGUE}
    return {name: value for name, value in effective.items() if value.value is not None}


def shown_client(flow: Flow, side: Side, role: Role) -> dict[str, EffectiveValue]:
    """The settings that a librdkafka client of the flow gets.

    Shown is what comes out of settings that hold neither secrets nor references; of the rest the name is given (and a reference as it was
    written), as far as it is known without a readable secret. Of certificates only their number is given.
    """
    settings = flow.java_settings(side, role)
    try:
        mapped = flow.map_client(side, role)
    except ConfigurationError:
        without_references = {name: setting for name, setting in settings.items() if not has_reference(setting.text)}
        mapped = client_settings(without_references, flow.as_client(side, role, files=True))
    written = {setting.origin: setting.text for setting in settings.values()}
    return {name: _show_client(name, value, mapped.origins.get(name, ()), written) for name, value in sorted(mapped.settings.items())}


def _show_client(name: str, value: Any, made_from: tuple[Setting, ...], written: Mapping[str, str]) -> EffectiveValue:
    origin = ", ".join(setting.origin for setting in made_from) or _DEFAULT
    if name in _SECRETS or any(is_secret(setting.origin) for setting in made_from):
        return EffectiveValue(HIDDEN, origin)
    # Out of an Airflow connection, which stands for the cluster.
    if any(setting.hidden and setting.origin not in written for setting in made_from):
        return EffectiveValue(HIDDEN, origin)
    if any(has_reference(written.get(setting.origin, "")) for setting in made_from):
        return EffectiveValue(written[made_from[0].origin] if len(made_from) == 1 else HIDDEN, origin)
    if name.endswith(".pem"):
        return EffectiveValue(f"({str(value).count('-----BEGIN CERTIFICATE-----')} certificates)", origin)
    return EffectiveValue(value, origin)


def _show(flow: Flow, name: str) -> EffectiveValue:
    definition, setting = CATALOGUE[name], flow.connector.get(name)
    without = _show_default(flow, name)
    if setting is None:
        return without
    origin = _DEFAULT if setting.origin == DEFAULT else setting.origin
    if is_secret(name) or is_secret(setting.origin):
        return EffectiveValue(HIDDEN, origin)
    value = setting.text if has_reference(setting.text) else definition.parse(setting.text)
    return EffectiveValue(value, origin, without.value)


def _show_default(flow: Flow, name: str) -> EffectiveValue:
    """What holds where the property is not set: it may follow from others."""
    definition = CATALOGUE[name]
    if name == "mirror.start":  # where a partition begins that is first seen
        reset = flow.java_settings("source", "consumer").get("auto.offset.reset")
        return EffectiveValue((reset.text if reset else EARLIEST.kind,), f"{_DEFAULT}: {reset.origin}" if reset else _DEFAULT)
    if name in DEFAULT_LIMITS:
        made_from = DEFAULT_LIMITS[name]
        is_known = not any(has_reference(flow.connector[other].text) for other in made_from if other in flow.connector)
        value = derive_limit(flow, name) if is_known else f"{INTERVALS} intervals, at least {LEAST_SECONDS}"
        return EffectiveValue(value, f"{_DEFAULT}: {made_from[0]}")
    if definition.default_from:
        return EffectiveValue(_show(flow, definition.default_from).value, f"{_DEFAULT}: {definition.default_from}")
    return EffectiveValue(definition.default, _DEFAULT)
