"""Values as JSON documents and back, by the fields and annotations of their classes.

For what travels through XCom, `--json` and a job's files. What stands in records on the clusters is a contract, and is written by hand.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from kafka_mirror.formats.fields import moment_text

T = TypeVar("T")
_Reader = Callable[[Any], Any]


def to_document(value: Any) -> Any:
    """Plain JSON: a dataclass as its fields by name, a tuple as a list, a set as a sorted list, a moment in UTC to the millisecond."""
    if is_dataclass(value):
        return {field.name: to_document(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, Mapping):
        return {key: to_document(member) for key, member in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(to_document, value))
    return [to_document(member) for member in value] if isinstance(value, tuple | list) else value


def from_document(kind: type[T], document: Any) -> T:
    """The value of this class whose document it is. A field that is missing has its default, and an unknown one is left out.

    Raises ValueError for anything else.
    """
    return cast("T", _reader(cast("Hashable", kind))(document))


# ------------------------------------------------------------ inside


@cache
def _reader(kind: Any) -> _Reader:
    """How a value of this annotation is read."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda document: document
    if kind is datetime:
        return lambda document: datetime.fromisoformat(_checked(str, document))
    if is_dataclass(kind):
        return _dataclass_reader(cast("type", kind))
    if origin in (Union, UnionType):
        [inner] = [_reader(part) for part in parts if part is not NoneType]
        return lambda document: None if document is None else inner(document)
    if origin is not None and issubclass(origin, Mapping):
        value = _reader(parts[1])
        return lambda document: {key: value(part) for key, part in _checked(dict, document).items()}
    if origin is frozenset or (origin is tuple and parts[1:] == (...,)):
        member = _reader(parts[0])
        return lambda document: origin(map(member, _checked(list, document)))
    if origin is tuple or (isinstance(kind, type) and issubclass(kind, tuple)):
        row = [_reader(part) for part in parts or get_type_hints(kind).values()]
        make = tuple if origin is tuple else kind._make
        return lambda document: make(read(part) for read, part in zip(row, _checked(list, document), strict=True))
    return lambda document: _checked(kind, document)


def _dataclass_reader(kind: type) -> _Reader:
    hints = get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}
    required = {field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING}

    def read(document: Any) -> Any:
        present = _checked(dict, document).keys() & readers.keys()
        if missing := required - present:
            raise ValueError(f"{kind.__name__} lacks {', '.join(sorted(missing))}")
        return kind(**{name: readers[name](document[name]) for name in present})

    return read


def _checked(kind: Any, document: Any) -> Any:
    """The document itself, if it is of exactly this type; a float may be written as a whole number."""
    if type(document) is kind:
        return document
    if kind is float and type(document) is int:
        return float(document)
    raise ValueError(f"{document!r:.80} is no {kind.__name__}")
