"""JSON of our own: values as documents and back, by the fields and annotations of their classes; and the fields of records, read strictly.

Documents travel through XCom, `--json` and a job's files. Rows of one class are columns: one list a field, all of one length, a fifth of
the size of a list of objects. What stands in records on the clusters is a contract, written by hand and read field by field: what is not
exactly of its type is damage.
"""

import base64
import json
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
_Reader = Callable[[Any], Any]
_PLAIN = frozenset({str, int, float, bool, NoneType})


def to_document(value: Any) -> Any:
    """Plain JSON: a dataclass as its fields by name, a tuple as a list, a set as a sorted list, a moment in UTC to the millisecond; what is
    kept by other keys than strings as a list of pairs."""
    if type(value) in _PLAIN:
        return value
    if is_dataclass(value):
        return {field.name: to_document(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: to_document(member) for key, member in value.items()}
        return [[to_document(key), to_document(member)] for key, member in value.items()]
    if isinstance(value, frozenset):
        return sorted(map(to_document, value), key=str)
    return [to_document(member) for member in value] if isinstance(value, tuple | list) else value


def from_document(kind: type[T], document: Any) -> T:
    """The value of this class whose document it is. A field that is missing has its default, and an unknown one is left out.

    Raises ValueError for anything else.
    """
    return cast("T", _build_reader(cast("Hashable", kind))(document))


def pack(value: Any) -> str:
    """The document of a value as compressed text, for a store that takes little."""
    return base64.b64encode(zlib.compress(json.dumps(to_document(value), separators=(",", ":")).encode())).decode("ascii")


def unpack(kind: type[T], text: Any) -> T:
    """The value of this class that was packed. Raises ValueError for anything else."""
    try:
        document = json.loads(zlib.decompress(base64.b64decode(_check(str, text))))
    except zlib.error as error:
        raise ValueError(f"it is not packed ({error})") from None
    return from_document(kind, document)


# ------------------------------------------------------------ columns


def columns(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """The values at each place of the rows, by the names of the places."""
    rows = list(rows)
    return {name: [to_document(row[place]) for row in rows] for place, name in enumerate(names)}


def to_columns(names: Sequence[str], objects: Iterable[Any]) -> dict[str, list[Any]]:
    """The attributes of these names, of which there are two at least."""
    return columns(names, map(attrgetter(*names), objects))


def from_columns(kind: type[T], columns: Mapping[str, Sequence[Any]]) -> tuple[T, ...]:
    """The values of this class whose columns these are. A field without a column has its default.

    Raises ValueError for columns of another class, and where one is longer than another.
    """
    hints = get_type_hints(kind)
    names = [name for name in hints if name in columns]
    read = [list(map(_build_reader(hints[name]), _check(list, columns[name]))) for name in names]
    try:
        return tuple(kind(**dict(zip(names, row, strict=True))) for row in zip(*read, strict=True))
    except TypeError as error:
        raise ValueError(str(error)) from None


def rows_of(names: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Each row's values, in the order of the names. Raises KeyError where a column is missing, ValueError where one is longer than
    another."""
    return zip(*(columns[name] for name in names), strict=True)


# ------------------------------------------------------------ inside


@cache
def _build_reader(kind: Any) -> _Reader:
    """How a value of this annotation is read."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda document: document
    if kind is datetime:
        return lambda document: datetime.fromisoformat(_check(str, document))
    if is_dataclass(kind):
        return _build_dataclass_reader(cast("type", kind))
    if origin in (Union, UnionType):
        [inner] = [_build_reader(part) for part in parts if part is not NoneType]
        return lambda document: None if document is None else inner(document)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping_reader(*parts)
    if origin is frozenset or (origin is tuple and parts[1:] == (...,)):
        member = _build_reader(parts[0])
        return lambda document: origin(map(member, _check(list, document)))
    if origin is tuple or (isinstance(kind, type) and issubclass(kind, tuple)):
        row = [_build_reader(part) for part in parts or get_type_hints(kind).values()]
        make = tuple if origin is tuple else kind._make
        return lambda document: make(read(part) for read, part in zip(row, _check(list, document), strict=True))
    return lambda document: _check(kind, document)


def _mapping_reader(key_kind: Any, value_kind: Any) -> _Reader:
    key, value = _build_reader(key_kind), _build_reader(value_kind)
    if key_kind is str:
        return lambda document: {name: value(part) for name, part in _check(dict, document).items()}
    return lambda document: {key(name): value(part) for name, part in _check(list, document or [])}


def _build_dataclass_reader(kind: type) -> _Reader:
    hints = get_type_hints(kind)
    readers = {field.name: _build_reader(hints[field.name]) for field in fields(kind)}
    required = {field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING}

    def read(document: Any) -> Any:
        present = _check(dict, document).keys() & readers.keys()
        if missing := required - present:
            raise ValueError(f"{kind.__name__} lacks {', '.join(sorted(missing))}")
        return kind(**{name: readers[name](document[name]) for name in present})

    return read


def _check(kind: Any, document: Any) -> Any:
    """The document itself, if it is of exactly this type; a float may be written as a whole number."""
    if type(document) is kind:
        return document
    if kind is float and type(document) is int:
        return float(document)
    raise ValueError(f"{document!r:.80} is no {kind.__name__}")


def parse_json(data: bytes) -> Any:
    """The JSON value of a record's bytes. Raises ValueError."""
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def whole(number: Any, name: str) -> int:
    """A whole number from 0 up; `name` is for the message. Raises ValueError."""
    if type(number) is not int or number < 0:
        raise ValueError(f"{name} is {number!r}, not a whole number from 0 up")
    return number


def count(fields: Mapping[str, Any], name: str) -> int:
    """A field that is a whole number from 0 up. Raises ValueError or KeyError."""
    return whole(fields[name], name)


def string(fields: Mapping[str, Any], name: str) -> str:
    """A field that is a string, and can be written again. Raises ValueError or KeyError."""
    text = fields[name]
    if type(text) is not str:
        raise ValueError(f"{name} is {text!r}, not a string")
    text.encode()
    return text


def moment(fields: Mapping[str, Any], name: str) -> datetime:
    """A moment with its zone. Raises ValueError or KeyError."""
    text = string(fields, name)
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError(f"the time {text!r} has no zone")
    return time


def moment_text(time: datetime) -> str:
    """A moment in UTC to the millisecond, such as 2026-11-21T08:00:00.000Z."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
