"""A page of a long table. The URL says what to search, sort and unfold; the server does it, and not the browser."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Row = TypeVar("Row")
Key = Callable[[Row], Any]
"""The value that a column is sorted by; rows with None come last in either direction."""

ROWS = 25
"""How many rows a page has."""


@dataclass(frozen=True)
class Listing:
    """How a table is searched, sorted and paged. `prefix` tells its parameters from those of the other table in the URL."""

    prefix: str
    search: str = ""
    show: str = ""
    sort: str = ""
    descending: bool = True
    page: int = 1
    open: str = ""
    """The one row that is unfolded, by its name, and which page of what it holds."""
    open_page: int = 1

    @classmethod
    def from_parameters(cls, prefix: str, parameters: Mapping[str, str], sorts: Iterable[str], shows: Iterable[str] = ()) -> "Listing":
        """Reads the parameters of a URL. It sorts by the first of `sorts` unless the URL names another; what makes no sense is ignored."""
        values = {name.removeprefix(prefix): value for name, value in parameters.items() if name.startswith(prefix)}
        columns = list(sorts)
        order = values.get("sort", "")
        sort = order.removeprefix("-").removeprefix("+")
        return cls(
            prefix=prefix,
            search=values.get("q", "").strip()[:249],
            show=values.get("show", "") if values.get("show", "") in shows else "",
            sort=sort if sort in columns else columns[0],
            descending=not order.startswith("+") if sort in columns else True,
            page=_page(values.get("page")),
            open=values.get("open", ""),
            open_page=_page(values.get("opage")),
        )

    @property
    def order(self) -> str:
        """The column and the direction, as in the URL."""
        return f"{'-' if self.descending else '+'}{self.sort}"

    def other_order(self, column: str) -> str:
        """The order that a click on this column asks for: numbers downwards, names upwards, and the other way the second time."""
        if column == self.sort:
            return f"{'+' if self.descending else '-'}{column}"
        return f"{'+' if column == 'name' else '-'}{column}"

    def aria(self, column: str) -> str:
        """The `aria-sort` of a column."""
        if column != self.sort:
            return "none"
        return "descending" if self.descending else "ascending"

    def parameters(self) -> dict[str, str]:
        """The parameters of a URL that asks for the same."""
        values = {
            "q": self.search,
            "show": self.show,
            "sort": self.order,
            "page": str(self.page) if self.page > 1 else "",
            "open": self.open,
            "opage": str(self.open_page) if self.open_page > 1 else "",
        }
        return {f"{self.prefix}{name}": value for name, value in values.items() if value}


@dataclass(frozen=True)
class Page(Generic[Row]):
    """The rows of one page, and where it stands: of `matched` rows in `pages` pages, out of `total`."""

    rows: tuple[Row, ...]
    number: int
    pages: int
    matched: int
    total: int

    @property
    def first(self) -> int:
        """The number of its first row, from 1; 0 if it has none."""
        return (self.number - 1) * ROWS + 1 if self.rows else 0

    @property
    def last(self) -> int:
        """The number of its last row."""
        return (self.number - 1) * ROWS + len(self.rows)


def paged(rows: Sequence[Row], number: int, total: int | None = None) -> Page[Row]:
    """One page of the rows; the last one if there are not so many."""
    pages = max(-(-len(rows) // ROWS), 1)
    number = min(number, pages)
    start = (number - 1) * ROWS
    return Page(tuple(rows[start : start + ROWS]), number, pages, len(rows), len(rows) if total is None else total)


def ordered(rows: Iterable[Row], key: Key[Row], descending: bool) -> list[Row]:
    """The rows, sorted by a column. Equal rows keep their order; rows without a value come last."""
    with_value: list[tuple[Any, Row]] = []
    without_value: list[Row] = []
    for row in rows:
        value = key(row)
        if value is None:
            without_value.append(row)
        else:
            with_value.append((value, row))
    with_value.sort(key=lambda pair: pair[0], reverse=descending)
    return [row for _, row in with_value] + without_value


def _page(text: str | None) -> int:
    return max(int(text), 1) if text and text.isascii() and text.isdecimal() and len(text) < 8 else 1
