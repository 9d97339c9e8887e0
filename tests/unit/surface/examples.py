"""An example of any dataclass of ours, with every field set, so that the document that is made of it shows every key."""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from kafka_mirror.ledger.control_records import Decision
from tests.unit.decision_records import decision

_TIME = datetime(2026, 11, 21, 8, tzinfo=UTC)
_PLAIN: dict[Any, Any] = {
    str: "text",
    int: 7,
    float: 0.5,
    bool: True,
    bytes: b"bytes",
    Any: "anything",
    datetime: _TIME,
    timedelta: timedelta(seconds=7),
    Decision: decision("pause", who="ana@ops", why="because", when=_TIME),
}


def example(kind: Any) -> Any:
    """A value of this type: of an optional one the value, of a sequence or mapping one member, of a dataclass every field."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if get_origin(kind) is not None:
        return _generic(get_origin(kind), get_args(kind))
    if issubclass(kind, Enum):
        return next(iter(kind))
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind) if each.init] if is_dataclass(kind) else list(hints)
    return kind(**{name: example(hints[name]) for name in names})


def _generic(origin: Any, arguments: tuple[Any, ...]) -> Any:
    if origin is Literal:
        return arguments[0]
    if origin in (Union, types.UnionType):
        return example(next(each for each in arguments if each is not type(None)))
    if issubclass(origin, Mapping):
        return {example(arguments[0]): example(arguments[1]) if arguments[1:] else 1}
    if origin is tuple and arguments[1:] != (...,):
        return tuple(map(example, arguments))
    return origin([example(arguments[0])]) if origin in (list, set, frozenset) else (example(arguments[0]),)
