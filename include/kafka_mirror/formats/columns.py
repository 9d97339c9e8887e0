"""Rows as JSON takes them in XCom and in a job's files: one list a field, all of one length, a fifth of the size of a list of objects."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any


def columns(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """The values at each place of the rows, by the names of the places."""
    rows = list(rows)
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def columns_of(names: Sequence[str], objects: Iterable[Any]) -> dict[str, list[Any]]:
    """The attributes of these names, of which there are two at least."""
    return columns(names, map(attrgetter(*names), objects))


def rows_of(names: Sequence[str], columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Each row's values, in the order of the names. Raises KeyError where a column is missing, ValueError where one is longer than
    another."""
    return zip(*(columns[name] for name in names), strict=True)
