"""One error of each class, made from its signature."""

import inspect
from collections.abc import Collection, Sequence
from typing import Any

from kafka_mirror.errors import MirrorError
from kafka_mirror.errors.base import CLASSES
from kafka_mirror.errors.configuration import Problem

_VALUES: dict[Any, Any] = {
    str: "orders",
    int: 3,
    float: 2.5,
    bool: True,
    int | None: 3,
    float | None: 2.5,
    str | None: "orders",
    tuple[str, ...]: ("worker-1",),
    tuple[int, int]: (3, 9),
    tuple[str, int]: ("east.orders", 3),
    Collection[str]: ("orders",),
    Sequence[str]: ("orders",),
    Sequence[Problem]: [Problem("west.acks", "has to be all", "1")],
}

_NAMED = {"holder": "app-1", "missing": "fence"}
"""Parameters whose value has to be one of few, or brings a command."""


def sample(each: type[MirrorError]) -> MirrorError:
    """An error of the class: every parameter without a default by its type or its name."""
    parameters = inspect.signature(each, eval_str=True).parameters.values()
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = {p.name: _VALUES[p.annotation] for p in parameters if p.default is p.empty and p.kind == positional}
    named = {p.name: _NAMED[p.name] for p in parameters if p.name in _NAMED}
    return each(**{**given, **named})


def samples() -> dict[str, MirrorError]:
    return {code: sample(each) for code, each in CLASSES.items()}
