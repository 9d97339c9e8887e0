"""The table of topics: one row a topic, and the partitions of the one that is unfolded."""

from collections.abc import Mapping
from dataclasses import dataclass

from mirror.report.snapshot import FlowSnapshot, PartitionSnapshot, TopicSnapshot
from mirror.report.status import GONE, NO_LEADER, NO_REMOTE, OPEN_TRANSACTION, PAUSED, PROGRESSING, UNKNOWN, UP_TO_DATE
from mirror.web.listing import Key, Listing, Page, ordered, paged

PREFIX = "t."
PROBLEMS, BEHIND, SCHEMAS = "problems", "behind", "schemas"
_WAITING = {OPEN_TRANSACTION, NO_REMOTE, NO_LEADER}
"""States that end without a person: by a producer, a broker, or the next `refresh-topics`."""
_NOT_COPIED = {GONE, PAUSED, UNKNOWN}
SHOWS = (PROBLEMS, BEHIND, SCHEMAS)


@dataclass(frozen=True)
class TopicTable:
    """A page of topics; `partitions` is a page of those of the unfolded one."""

    asked: Listing
    page: Page[TopicSnapshot]
    partitions: Page[PartitionSnapshot] | None = None


def topic_table(snapshot: FlowSnapshot, parameters: Mapping[str, str]) -> TopicTable:
    """The topics that the address asks for."""
    asked = Listing.of(PREFIX, parameters, _TOPICS, SHOWS)
    found = [topic for topic in snapshot.topics if _wanted(topic, asked)]
    page = paged(ordered(ordered(found, _TOPICS["name"], False), _TOPICS[asked.sort], asked.descending), asked.page, len(snapshot.topics))
    opened = next((topic for topic in page.rows if topic.topic == asked.open), None)
    return TopicTable(asked, page, None if opened is None else _partitions(opened, asked))


def state_of(topic: TopicSnapshot) -> str:
    """The state of its partitions in a word or two: that of all, or how many need somebody."""
    states = topic.states
    if len(states) == 1:
        return next(iter(states))
    stuck = {state: count for state, count in states.items() if state not in PROGRESSING}
    shown = stuck or {state: count for state, count in states.items() if state != UP_TO_DATE}
    return ", ".join(f"{count} {state}" for state, count in sorted(shown.items(), key=lambda pair: -pair[1]))


def level(states: Mapping[str, int]) -> str:
    """How a set of states is marked: `fine`, `behind`, `stuck`, or `unknown`."""
    known = set(states) - _NOT_COPIED
    if not known:
        return "unknown"
    if known - PROGRESSING - _WAITING:
        return "stuck"
    return "fine" if known <= {UP_TO_DATE} else "behind"


def records_of(topic: TopicSnapshot) -> int | None:
    """How many records of the topic were copied in all."""
    known = [each.status.records for each in topic.partitions if each.status.records is not None]
    return sum(known) if known else None


def _wanted(topic: TopicSnapshot, asked: Listing) -> bool:
    if asked.search and asked.search.lower() not in topic.topic.lower() and asked.search.lower() not in topic.remote.lower():
        return False
    if asked.show == PROBLEMS:
        return topic.problems > 0
    if asked.show == BEHIND:
        return bool(topic.lag)
    return asked.show != SCHEMAS or topic.schema_ids is not None


def _partitions(topic: TopicSnapshot, asked: Listing) -> Page[PartitionSnapshot]:
    key = _PARTITIONS.get(asked.sort, _PARTITIONS["name"])
    return paged(ordered(topic.partitions, key, asked.descending and asked.sort in _PARTITIONS), asked.open_page)


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
    "state": lambda each: (each.status.state not in PROGRESSING, each.status.lag or 0),
    "name": lambda each: each.partition,
    "lag": lambda each: each.status.lag,
    "oldest": lambda each: each.status.oldest_seconds,
    "bytes": lambda each: each.bytes_behind,
    "rate": lambda each: each.throughput.records,
    "copied": lambda each: each.status.records,
    "written": lambda each: each.status.written.time if each.status.written else None,
}
