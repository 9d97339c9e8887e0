"""`config`, `pools` and `spark`: what the configuration amounts to, which Airflow pools it names, and a Spark that stays or starts faster.
None asks a broker."""

import argparse
import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from kafka_mirror.cli.answer import DONE, UNUSABLE, Answer, Piece, table
from kafka_mirror.cli.arguments import TOKEN_FILE
from kafka_mirror.config import Configuration, Flow
from kafka_mirror.config.catalogue import CATALOGUE, CONNECTORS, connectors_reading
from kafka_mirror.config.deadlines import pools
from kafka_mirror.config.effective import EffectiveValue, shown_client, shown_properties
from kafka_mirror.config.flow import CLIENTS
from kafka_mirror.config.unknown_keys import nearest
from kafka_mirror.config.validate import unreadable
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.next_step import flow_command
from kafka_mirror.spark.serve import ConnectServer, serve, token_of
from kafka_mirror.spark.tune import tune

Values = dict[str, EffectiveValue]


def show_config(flow: Flow, options: argparse.Namespace) -> Answer:
    """Every property with its value, the key that it came from and which of MirrorMaker 2's connectors reads it, and the settings of every
    client, or those that are asked for; secrets are hidden.

    What a reference leads to is looked at, so that an unreadable secret shows here, but never printed. All keys are those of one file, for
    a flow may stand in one alone. Raises UsageError for a pattern that nothing matches.
    """
    everything = {
        "": shown_properties(flow),
        **{f"{side} {role}": shown_client(flow, side, role) for side, role in CLIENTS},
    }
    parts = {part: _match(values, options.pattern) for part, values in everything.items()}
    if options.pattern and not any(parts.values()):
        near = next(filter(None, (nearest(pattern, CATALOGUE) for pattern in options.pattern)), None)
        raise UsageError(
            f"No property or client setting of {flow.name} matches {' or '.join(map(repr, options.pattern))}.",
            next=(f"Did you mean '{near}'? " if near else "", "All of them: ", flow_command("config"), "."),
        ).with_flow(flow.name)
    if options.changed:
        parts = {part: {name: value for name, value in values.items() if value.is_changed} for part, values in parts.items()}
    properties, clients = parts.pop(""), parts
    problems = unreadable(flow)
    errors = (flow.unusable(problems).report(),) if problems else ()
    result = {
        "file": flow.file,
        "properties": {
            name: {"value": value.value, "from": value.origin, "read_by": list(connectors_reading(name))}
            for name, value in properties.items()
        },
        "clients": {
            client: {name: {"value": value.value, "from": value.origin} for name, value in settings.items()}
            for client, settings in clients.items()
        },
    }
    if not options.pattern:
        properties = {name: value for name, value in properties.items() if value.is_set or not CATALOGUE[name].effect}
    return Answer(UNUSABLE if errors else DONE, result, errors, _text(flow, properties, clients, options))


def show_pools(configuration: Configuration, options: argparse.Namespace) -> Answer:
    """The pools as `airflow pools import` takes them."""
    document = pools(configuration.flows, options.team)
    return Answer(DONE, document, text=json.dumps(document, indent=2))


def run_spark(options: argparse.Namespace) -> int:
    """`serve` runs a Spark that stays, in the foreground, for copies that begin at once; `tune` trains its start by spark-submit. Gives the
    exit code. Needs no configuration."""
    if options.action == "tune":
        print(tune())  # noqa: T201 — the command's answer
        return 0
    token, source = token_of(Path(options.token_file) if options.token_file else Path.home() / TOKEN_FILE)
    return serve(ConnectServer(options.port, options.cores, options.memory, token), source, options.show_token)


def _match(values: Values, patterns: list[str]) -> Values:
    """The values that one of the patterns is for; all of them without a pattern."""
    if not patterns:
        return values
    wanted = [pattern.lower() if set(pattern) & set("*?[") else f"*{pattern.lower()}*" for pattern in patterns]
    return {
        name: value
        for name, value in values.items()
        if any(fnmatchcase(text.lower(), pattern) for text in (name, value.origin if value.is_set else name) for pattern in wanted)
    }


def _text(flow: Flow, properties: Values, clients: Mapping[str, Values], options: argparse.Namespace) -> list[Piece]:
    head = ("property", "connectors", "from", "value")
    readers = {name: connectors_reading(name) for name in properties}
    named = {name: "all" if those == CONNECTORS else ", ".join(those) for name, those in readers.items()}
    rows = [(name, named[name], value.origin, _word(value.value)) for name, value in properties.items()]
    tables = [table(head, rows)]
    for client, settings in clients.items():
        rows_of_client = [(name, value.origin, _word(value.value)) for name, value in settings.items()]
        tables.append(table((f"{client} client", "from", "value"), rows_of_client))
    pieces: list[Piece] = [piece for lines in tables if lines for piece in ("", *lines)]
    nothing = f"Nothing{' that matches' if options.pattern else ''} differs from the defaults."
    return [f"file: {flow.file}", *(pieces or [nothing])]


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(value) if isinstance(value, tuple) else str(value).replace("\n", "\\n")
