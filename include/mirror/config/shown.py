"""A flow's configuration as a person may see it: with the key that each value came from, and without any secret."""

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


def shown_client(flow: Flow, side: Side, role: Role) -> dict[str, Any]:
    """The settings that a librdkafka client of the flow gets.

    Shown is only what comes out of the settings that hold neither secrets nor references; of the rest the name is given (and a reference
    as it was written), as far as it is known without a readable secret.
    """
    settings = flow.java_settings(side, role)
    client = flow.as_client(side, role, files=True)
    open_settings = client_settings({name: each for name, each in settings.items() if _is_open(name, each)}, client).settings
    try:
        complete = flow.client(side, role)
    except ConfigurationError:
        complete = open_settings
    as_written = {name: each.text for name, each in settings.items() if not is_secret(name) and not is_secret(each.origin)}
    return {
        name: value if name in open_settings and open_settings[name] == value else as_written.get(name, HIDDEN)
        for name, value in complete.items()
    }


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


def _is_open(name: str, setting: Setting) -> bool:
    return not (is_secret(name) or is_secret(setting.origin) or has_reference(setting.text))
