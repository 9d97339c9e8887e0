"""One error of each class, made from its signature."""

import inspect
from collections.abc import Collection, Sequence
from typing import Any

from kafka_mirror.errors import MirrorError
from kafka_mirror.errors.configuration import Problem
from kafka_mirror.errors.runbook import classes

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


def sample(each: type[MirrorError]) -> MirrorError:
    """An error of the class: every parameter without a default by its type, and what names a producer, which brings a command."""
    parameters = inspect.signature(each, eval_str=True).parameters.values()
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = {p.name: _VALUES[p.annotation] for p in parameters if p.default is p.empty and p.kind == positional}
    return each(**given, **({"holder": "app-1"} if "holder" in {p.name for p in parameters} else {}))


def samples() -> dict[str, MirrorError]:
    return {code: sample(each) for code, each in classes().items()}
