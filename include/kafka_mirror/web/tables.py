"""The tables of topics and of groups: searched, sorted, paged and unfolded by the server, as the URL says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kafka_mirror.errors.words import count_text
from kafka_mirror.status.snapshot import FlowSnapshot, GroupSnapshot, GroupsSnapshot, PartitionSnapshot, TopicSnapshot
from kafka_mirror.status.status import GONE, INTENDED, NO_REMOTE, OPEN_TRANSACTION, PROGRESSING, UNKNOWN, UP_TO_DATE
from kafka_mirror.web.formatting import number

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

        def read_page(name: str) -> int:
            text = values.get(name, "")
            return max(int(text), 1) if text.isascii() and text.isdecimal() and len(text) < 8 else 1

        order = values.get("sort", "")
        sort = order.removeprefix("-").removeprefix("+")
        return cls(
            prefix=prefix,
            search=values.get("q", "").strip()[:249],
            show=values.get("show", "") if values.get("show", "") in shows else "",
            sort=sort if sort in columns else columns[0],
            descending=not order.startswith("+") if sort in columns else True,
            page=read_page("page"),
            open=values.get("open", ""),
            open_page=read_page("opage"),
        )

    @property
    def order(self) -> str:
        """The column and the direction, as in the URL."""
        return f"{'-' if self.descending else '+'}{self.sort}"

    def turn_order(self, column: str) -> str:
        """The order that a click on this column asks for: numbers downwards, names upwards, and the other way the second time."""
        is_upwards = self.descending if column == self.sort else column == "name"
        return f"{'+' if is_upwards else '-'}{column}"

    def describe_sort(self, column: str) -> str:
        """The `aria-sort` of a column."""
        return ("descending" if self.descending else "ascending") if column == self.sort else "none"

    @property
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


def cut_page(rows: Sequence[Row], number: int, total: int | None = None) -> Page[Row]:
    """One page of the rows; the last one if there are fewer."""
    pages = max(-(-len(rows) // ROWS), 1)
    number = min(number, pages)
    start = (number - 1) * ROWS
    return Page(tuple(rows[start : start + ROWS]), number, pages, len(rows), len(rows) if total is None else total)


def sort_rows(rows: Iterable[Row], key: Key[Row], descending: bool) -> list[Row]:
    """The rows, sorted by a column. Equal rows keep their order; rows without a value come last."""
    values = [(key(row), row) for row in rows]
    with_value = sorted((pair for pair in values if pair[0] is not None), key=lambda pair: pair[0], reverse=descending)
    return [row for _, row in with_value] + [row for value, row in values if value is None]


PROBLEMS, BEHIND, SCHEMAS = "problems", "behind", "schemas"
_WAITING = {OPEN_TRANSACTION, NO_REMOTE}
"""States that end without a person: by a producer, or the next `refresh-topics`."""
_NOT_COPIED = INTENDED | {GONE, UNKNOWN}
SHOWS = (PROBLEMS, BEHIND, SCHEMAS)


@dataclass(frozen=True)
class TopicTable:
    """A page of topics; `partitions` is a page of those of the unfolded one."""

    listing: Listing
    page: Page[TopicSnapshot]
    partitions: Page[PartitionSnapshot] | None = None


def topic_table(snapshot: FlowSnapshot, parameters: Mapping[str, str]) -> TopicTable:
    """The topics that the URL asks for."""
    listing = Listing.from_parameters("t.", parameters, _TOPICS, SHOWS)
    matching = [topic for topic in snapshot.topics if _matches(topic, listing)]
    page = cut_page(
        sort_rows(sort_rows(matching, _TOPICS["name"], False), _TOPICS[listing.sort], listing.descending),
        listing.page,
        len(snapshot.topics),
    )
    unfolded = next((topic for topic in page.rows if topic.topic == listing.open), None)
    return TopicTable(listing, page, None if unfolded is None else _partitions(unfolded, listing))


def state_of(topic: TopicSnapshot) -> str:
    """The state of a topic's partitions in a few words: the one of all, or how many are in which."""
    states = topic.states
    if len(states) == 1:
        return next(iter(states))
    stuck = {state: count for state, count in states.items() if state not in PROGRESSING}
    relevant = stuck or {state: count for state, count in states.items() if state != UP_TO_DATE}
    return ", ".join(f"{count} {state}" for state, count in sorted(relevant.items(), key=lambda pair: -pair[1]))


def level(states: Mapping[str, int], young: bool = False) -> str:
    """How a set of states is marked: `fine`, `behind`, `stuck`, or `unknown`. `young`: what is missing is no older than the flow's rhythm
    allows."""
    relevant = set(states) - _NOT_COPIED
    if not relevant:
        return "unknown"
    if relevant - PROGRESSING - _WAITING:
        return "stuck"
    return "fine" if relevant <= {UP_TO_DATE, OPEN_TRANSACTION} or young else "behind"


def records_of(topic: TopicSnapshot) -> int | None:
    """How many records of the topic were copied in all."""
    counts = [partition.status.records for partition in topic.partitions if partition.status.records is not None]
    return sum(counts) if counts else None


def _matches(topic: TopicSnapshot, listing: Listing) -> bool:
    if listing.search and listing.search.lower() not in topic.topic.lower() and listing.search.lower() not in topic.remote.lower():
        return False
    if listing.show == PROBLEMS:
        return topic.problems > 0
    if listing.show == BEHIND:
        return bool(topic.lag)
    return listing.show != SCHEMAS or topic.schema_ids is not None


def _partitions(topic: TopicSnapshot, listing: Listing) -> Page[PartitionSnapshot]:
    key = _PARTITIONS.get(listing.sort, _PARTITIONS["name"])
    return cut_page(sort_rows(topic.partitions, key, listing.descending and listing.sort in _PARTITIONS), listing.open_page)


_TOPICS: Mapping[str, Key[TopicSnapshot]] = {
    "state": lambda topic: (topic.problems, topic.lag or 0),
    "name": lambda topic: topic.topic,
    "partitions": lambda topic: len(topic.partitions),
    "lag": lambda topic: topic.lag,
    "oldest": lambda topic: topic.oldest_seconds,
    "bytes": lambda topic: topic.bytes_behind,
    "rate": lambda topic: topic.throughput.records,
    "copied": records_of,
    "written": lambda topic: topic.written.time if topic.written else None,
}
_PARTITIONS: Mapping[str, Key[PartitionSnapshot]] = {
    "state": lambda partition: (partition.status.needs_help, partition.status.lag or 0),
    "name": lambda partition: partition.partition,
    "lag": lambda partition: partition.status.lag,
    "oldest": lambda partition: partition.status.oldest_seconds,
    "bytes": lambda partition: partition.bytes_behind,
    "rate": lambda partition: partition.throughput.records,
    "copied": lambda partition: partition.status.records,
    "written": lambda partition: partition.status.written.time if partition.status.written else None,
}


@dataclass(frozen=True)
class GroupTable:
    """A page of groups."""

    listing: Listing
    page: Page[GroupSnapshot]
    ahead: bool
    """Whether a group on the page has read records that are not copied yet."""


def group_table(groups: GroupsSnapshot, parameters: Mapping[str, str]) -> GroupTable:
    """The groups that the URL asks for."""
    listing = Listing.from_parameters("g.", parameters, _GROUPS, ("inexact",))
    search = listing.search.lower()
    matching = [group for group in groups.groups if search in group.group.lower() and not (listing.show and group.is_exact)]
    rows = sort_rows(sort_rows(matching, _GROUPS["name"], False), _GROUPS[listing.sort], listing.descending)
    page = cut_page(rows, listing.page, len(groups.groups))
    return GroupTable(listing, page, any(group.ahead for group in page.rows))


def failover(group: GroupSnapshot) -> str:
    """What a failover now would mean for the group, in words."""
    of_all = f"of {count_text(group.partitions, 'partition')}"
    if group.is_exact:
        place = f"exact; counted beyond the offset map in {group.beyond_map} {of_all}" if group.beyond_map else "exact"
    else:
        parts = (
            (group.unanswered, f"no position in {group.unanswered} {of_all}"),
            (group.incomplete, f"records were never mirrored in {group.incomplete} {of_all}"),
            (group.reread, f"reads at most {number(group.reread)} records again"),
            (group.reread_unknown, f"reads records again in {group.reread_unknown} {of_all}, how many is unknown"),
            (group.over_budget, f"not counted in {group.over_budget} {of_all}, for that would have cost too much"),
        )
        place = "; ".join(words for count, words in parts if count) or f"early in {group.early} {of_all}"
    return f"{place}; {number(group.ahead)} ahead of the copy" if group.ahead else place


_GROUPS: Mapping[str, Key[GroupSnapshot]] = {
    "failover": lambda group: (group.unanswered, group.incomplete, group.reread_unknown, group.reread or 0),
    "name": lambda group: group.group,
    "partitions": lambda group: group.partitions,
    "exact": lambda group: group.exact,
    "reread": lambda group: group.reread,
}
