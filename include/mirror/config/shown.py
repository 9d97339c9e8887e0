"""A flow's configuration as a person may see it: with the key that each value came from, and without any secret."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mirror.config.catalogue import CATALOGUE
from mirror.config.clients import client_settings
from mirror.config.flow import Flow, Role, Side
from mirror.config.references import has_reference
from mirror.config.setting import DEFAULT, Setting, is_secret
from mirror.errors import ConfigurationError

HIDDEN = "(hidden)"
_DEFAULT = "default"
_SECRETS = ("ssl.key.pem", "sasl.username", "sasl.password", "sasl.oauthbearer.client.secret")


@dataclass(frozen=True)
class Shown:
    """A value, typed (a reference stands as it was written), and where it is from: the user's key, or `default`."""

    value: Any
    origin: str

    @property
    def is_set(self) -> bool:
        """Whether the user set it."""
        return not self.origin.startswith(_DEFAULT)


def shown_properties(flow: Flow) -> dict[str, Shown]:
    """Every property of the catalogue, our own first; those without any value are left out."""
    shown = {name: _shown(flow, name) for name in CATALOGUE}
    return {name: each for name, each in shown.items() if each.value is not None}


def shown_client(flow: Flow, side: Side, role: Role) -> dict[str, Shown]:
    """The settings that a librdkafka client of the flow gets.

    Shown is what comes out of settings that hold neither secrets nor references; of the rest the name is given (and a reference as it was
    written), as far as it is known without a readable secret. Of certificates only their number is given.
    """
    settings = flow.java_settings(side, role)
    try:
        mapped = flow.mapped_client(side, role)
    except ConfigurationError:
        without_references = {name: each for name, each in settings.items() if not has_reference(each.text)}
        mapped = client_settings(without_references, flow.as_client(side, role, files=True))
    written = {each.origin: each.text for each in settings.values()}
    return {name: _of_client(name, value, mapped.origins.get(name, ()), written) for name, value in sorted(mapped.settings.items())}


def _of_client(name: str, value: Any, made_from: tuple[Setting, ...], written: Mapping[str, str]) -> Shown:
    origin = ", ".join(each.origin for each in made_from) or _DEFAULT
    if name in _SECRETS or any(is_secret(each.origin) for each in made_from):
        return Shown(HIDDEN, origin)
    if any(has_reference(written.get(each.origin, "")) for each in made_from):
        return Shown(written[made_from[0].origin] if len(made_from) == 1 else HIDDEN, origin)
    if name.endswith(".pem"):
        return Shown(f"({str(value).count('-----BEGIN CERTIFICATE-----')} certificates)", origin)
    return Shown(value, origin)


def _shown(flow: Flow, name: str) -> Shown:
    definition, setting = CATALOGUE[name], flow.connector.get(name)
    if setting is None and definition.default_from:
        return Shown(_shown(flow, definition.default_from).value, f"{_DEFAULT}: {definition.default_from}")
    if setting is None:
        return Shown(definition.default, _DEFAULT)
    origin = _DEFAULT if setting.origin == DEFAULT else setting.origin
    if is_secret(name) or is_secret(setting.origin):
        return Shown(HIDDEN, origin)
    return Shown(setting.text if has_reference(setting.text) else definition.parse(setting.text), origin)
