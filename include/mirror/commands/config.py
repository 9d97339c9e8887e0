"""`config`: what a flow's configuration amounts to, before any broker is asked."""

import argparse
from typing import Any

from mirror.commands.answer import DONE, UNUSABLE, Answer, table
from mirror.config import Flow
from mirror.config.catalogue import CATALOGUE, CONNECTORS, read_by
from mirror.config.flow import CLIENTS
from mirror.config.readable import unreadable
from mirror.config.shown import Shown, shown_client, shown_properties
from mirror.errors import ConfigurationError


def run(flow: Flow, _options: argparse.Namespace) -> Answer:
    """Every property with its value, the key that it came from and which of MirrorMaker 2's connectors reads it, and the settings of every
    client; secrets are hidden.

    What a reference leads to is looked at, so that an unreadable secret shows here, but never printed. All keys are those of one file, for
    a flow may stand in one alone.
    """
    properties = shown_properties(flow)
    clients = {f"{side} {role}": shown_client(flow, side, role) for side, role in CLIENTS}
    problems = unreadable(flow)
    errors = (ConfigurationError(problems, flow=flow.name).report(),) if problems else ()
    result = {
        "file": flow.file,
        "properties": {name: {**_document(each), "read_by": list(read_by(name))} for name, each in properties.items()},
        "clients": {client: {name: _document(each) for name, each in settings.items()} for client, settings in clients.items()},
    }
    return Answer(UNUSABLE if errors else DONE, result, errors, _text(flow, properties, clients))


def _document(shown: Shown) -> dict[str, Any]:
    return {"value": shown.value, "from": shown.origin}


def _text(flow: Flow, properties: dict[str, Shown], clients: dict[str, dict[str, Shown]]) -> str:
    telling = {name: each for name, each in properties.items() if each.is_set or not CATALOGUE[name].effect}
    head = ("property", "connectors", "from", "value")
    rows = [(name, _readers(name), each.origin, _word(each.value)) for name, each in telling.items()]
    lines = [f"file: {flow.file}", "", *table(head, rows)]
    for client, settings in clients.items():
        rows_of_client = [(name, each.origin, _word(each.value)) for name, each in settings.items()]
        lines += ["", *table((f"{client} client", "from", "value"), rows_of_client)]
    return "\n".join(lines)


def _readers(name: str) -> str:
    readers = read_by(name)
    return "all" if readers == CONNECTORS else ", ".join(readers)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value).replace("\n", "\\n")
