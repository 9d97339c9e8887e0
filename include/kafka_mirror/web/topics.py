"""The table of topics: one row a topic, and the partitions of the one that is unfolded."""

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_mirror.status.snapshot import FlowSnapshot, PartitionSnapshot, TopicSnapshot
from kafka_mirror.status.status import GONE, INTENDED, NO_REMOTE, OPEN_TRANSACTION, PROGRESSING, UNKNOWN, UP_TO_DATE
from kafka_mirror.web.pagination import Key, Listing, Page, ordered, paged

PREFIX = "t."
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
    listing = Listing.from_parameters(PREFIX, parameters, _TOPICS, SHOWS)
    matching = [topic for topic in snapshot.topics if _matches(topic, listing)]
    page = paged(
        ordered(ordered(matching, _TOPICS["name"], False), _TOPICS[listing.sort], listing.descending), listing.page, len(snapshot.topics)
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
    return paged(ordered(topic.partitions, key, listing.descending and listing.sort in _PARTITIONS), listing.open_page)


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
