"""When people on call get an alert, and how: `mirror.deadline.*` and `mirror.alert.*`.

Notifiers are named as Python writes a call, and nothing of it is run:

`airflow.providers.slack.notifications.slack.SlackNotifier(slack_conn_id="slack", text="{{ alert.text }}"), our.package.Pager`
"""

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_mirror.config.catalogue.values import Property, Valid, between

_FORM = 'must be import paths of classes, with keyword arguments at most: package.module.Class(name="value"), package.module.Other'


@dataclass(frozen=True)
class NotifierCall:
    """One notifier: its class, its arguments, and the name by which its alerts are kept until it takes them."""

    path: str
    arguments: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """They may hold what a reference led to."""
    name: str = ""


def parse_notifiers(text: str) -> tuple[NotifierCall, ...]:
    """The notifiers of a property's text, in its order. Raises ValueError, which quotes no argument."""
    try:
        tree = ast.parse(f"[{text}]", mode="eval").body
    except (SyntaxError, ValueError):
        raise ValueError(_FORM) from None
    if not isinstance(tree, ast.List):
        raise ValueError(_FORM)
    counts: Counter[str] = Counter()
    calls = []
    for node in tree.elts:
        path, arguments = _parse_call(node)
        counts[path] += 1
        number = f" {counts[path]}" if counts[path] > 1 else ""
        calls.append(NotifierCall(path, arguments, f"notifier {path}{number}"))
    return tuple(calls)


def check_notifiers(text: str) -> str | None:
    """The complaint about a property's text; None if it is right. No class is imported: that is for when an alert is sent."""
    try:
        parse_notifiers(text)
    except ValueError as error:
        return str(error)
    return None


def is_notifier(name: str) -> bool:
    """Whether it is the name of a notifier, and not of an Airflow connection: those have no blanks."""
    return name.startswith("notifier ")


def _parse_call(node: ast.expr) -> tuple[str, dict[str, Any]]:
    if not isinstance(node, ast.Call):
        return _read_path(node), {}
    if node.args or any(keyword.arg is None for keyword in node.keywords):
        raise ValueError(_FORM)
    path = _read_path(node.func)
    try:
        return path, {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
    except ValueError:
        raise ValueError(f"{path}: an argument must be a text, a number, a list or a dictionary as Python writes it") from None


def _read_path(node: ast.expr) -> str:
    words = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or not words:
        raise ValueError(_FORM)
    return ".".join([node.id, *reversed(words)])


_OF_COPY = "By default three copy intervals, and 900 at least. -1: never an alert."

ALERTS = (
    Property(
        "mirror.deadline.run.seconds",
        "LONG",
        900,
        "How long a run of one of the flow's DAGs may take, waiting included; a copy has mirror.run.max.seconds in addition. "
        "-1: never an alert.",
        between(-1),
    ),
    Property(
        "mirror.deadline.lag.seconds",
        "LONG",
        None,
        f"How long a record may wait on the source before it is copied. {_OF_COPY}",
        between(-1),
    ),
    Property(
        "mirror.deadline.lag.records",
        "LONG",
        -1,
        "How many records the flow may be behind, all partitions together. -1: any number.",
        between(-1),
    ),
    Property(
        "mirror.deadline.progress.seconds",
        "LONG",
        None,
        f"For how long the watermark of a partition may stand still while its source has records to copy. {_OF_COPY}",
        between(-1),
    ),
    Property(
        "mirror.deadline.copy.seconds",
        "LONG",
        None,
        f"For how long nothing at all may be copied while there is work, for whatever reason. {_OF_COPY}",
        between(-1),
    ),
    Property(
        "mirror.deadline.heartbeats.seconds",
        "LONG",
        None,
        "How old the newest heartbeat may be, for each way on which heartbeats came to the target before. By default three intervals of "
        "copies or beats, whichever are longer, and 900 at least. -1: never an alert.",
        between(-1),
    ),
    Property(
        "mirror.deadline.unreachable.seconds",
        "LONG",
        300,
        "For how long a cluster may not answer, a partition of the source have no leader, or another error last of those that usually end "
        "by themselves. -1: never an alert.",
        between(-1),
    ),
    Property(
        "mirror.alert.connections", "LIST", (), "The Airflow connections by which alerts are sent; empty: they are shown and not sent."
    ),
    Property(
        "mirror.alert.notifiers",
        "STRING",
        "",
        "Airflow notifiers by which alerts are sent too: import paths of classes, with keyword arguments where they take some.",
        Valid("import paths of classes", check_notifiers),
    ),
    Property(
        "mirror.alert.lasting.seconds",
        "LONG",
        30,
        "How long a problem must last before it is an alert, and be gone before the alert is over.",
        between(0),
    ),
    Property("mirror.alert.repeat.seconds", "LONG", -1, "After how long an alert that lasts is sent again. -1: never.", between(-1)),
    Property(
        "mirror.alert.growth.factor",
        "INT",
        4,
        "How many times as big as when sent an alert must have become to be sent again. Below 2: never.",
        between(-1),
    ),
)
