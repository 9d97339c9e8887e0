"""Notifiers as `mirror.alert.notifiers` names them: Python import paths of classes, with keyword arguments where they take some.

`airflow.providers.slack.notifications.slack.SlackNotifier(slack_conn_id="slack", text="{{ alert.text }}"), our.package.Pager`

The text is read as Python writes a call, and nothing of it is run.
"""

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
