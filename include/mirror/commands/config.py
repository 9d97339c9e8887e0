"""`config`: what a flow's configuration amounts to, before any broker is asked."""

import argparse
from typing import Any

from mirror.commands.answer import DONE, UNUSABLE, Answer, table
from mirror.config import Flow
from mirror.config.catalogue import CATALOGUE
from mirror.config.flow import CLIENTS
from mirror.config.readable import unreadable
from mirror.config.shown import Shown, shown_client, shown_properties
from mirror.errors import ConfigurationError


def run(flow: Flow, _options: argparse.Namespace) -> Answer:
    """Every property with its value and the key that it came from, and the settings of every client; secrets are hidden.

    What a reference leads to is looked at, so that an unreadable secret shows here, but never printed.
    """
    properties = shown_properties(flow)
    clients = {f"{side} {role}": shown_client(flow, side, role) for side, role in CLIENTS}
    problems = unreadable(flow)
    errors = (ConfigurationError(problems, flow=flow.name).report(),) if problems else ()
    result = {"properties": {name: {"value": each.value, "from": each.origin} for name, each in properties.items()}, "clients": clients}
    return Answer(UNUSABLE if errors else DONE, result, errors, _text(properties, clients))


def _text(properties: dict[str, Shown], clients: dict[str, dict[str, Any]]) -> str:
    telling = {name: each for name, each in properties.items() if each.is_set or not CATALOGUE[name].effect}
    lines = table(("property", "from", "value"), [(name, each.origin, _word(each.value)) for name, each in telling.items()])
    for client, settings in clients.items():
        lines += ["", *table((f"{client} client", "value"), [(name, _word(value)) for name, value in sorted(settings.items())])]
    return "\n".join(lines)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value).replace("\n", "\\n")
