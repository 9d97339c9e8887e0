"""What may be missing on the target once the source is lost: found from what was known of its end, kept in the wave's record, shown. Pure.

    copied                 may be missing                    unknown
    ───────────── watermark ───────────── last known end ─────────────────→
                                          known at a time, from the ledger or a group's checkpoint

The ledger's end is complete: all that the source had acknowledged by its time lies before it. A checkpoint only tells that a group had
read that far.

The wave's record keeps columns, and no more rows than it has room for. Partitions that are known to lack records come first, so the first
ones without room are those that were copied to their last known end.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from kafka_mirror.cutover.wave.step import Finding, information, warning
from kafka_mirror.errors import RecordsMayBeMissing
from kafka_mirror.formats.documents import from_document, moment_text, to_document
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import LedgerRecord

LEDGER = "the ledger"
MISSING = "missing"
"""The fact's name: written by the first step of a failover, and once more by the last one, which knows it for good."""
MAX_BYTES = 600_000
"""How much of a wave's record the columns take at most."""
_HEAD = (
    "| partition | copied up to | may be missing | at most | end known at | from | unknown is what was written after |",
    "|---|---|---|---|---|---|---|",
)


@dataclass(frozen=True)
class EndSighting:
    """An end of the source that was seen at a time, and from where that is known."""

    offset: int
    time: datetime | None
    origin: str = LEDGER


@dataclass(frozen=True)
class MissingRecords:
    """What one partition may lack on the target: source offsets `[watermark, end.offset)`, and all that was written after `complete_until`
    (None: it was not noted how far the source reached)."""

    source: TopicPartition
    watermark: int
    end: EndSighting
    complete_until: datetime | None = None

    @property
    def offsets(self) -> int:
        """How many offsets lie between the watermark and the last known end: an upper bound of the records that are known to be missing."""
        return max(self.end.offset - self.watermark, 0)

    def __str__(self) -> str:
        if self.complete_until is None:
            unknown = "how far the source reached was not noted, so what was written after that is unknown"
        else:
            unknown = f"what was written after {show_moment(self.complete_until)} is unknown"
        if not self.offsets:
            return f"{self.source}: everything in front of offset {self.watermark:,} is copied; {unknown}"
        first, last = f"{self.watermark:,}", f"{self.end.offset - 1:,}"
        places = f"records {first}..{last}" if self.offsets > 1 else f"record {first}"
        when = "" if self.end.time is None else f" at {show_moment(self.end.time)}"
        return f"{self.source}: {places} may be missing (end known{when} from {self.end.origin}); {unknown}"

    def as_document(self) -> dict[str, object]:
        """As JSON takes it; times in ISO 8601."""
        return {
            "topic": self.source.topic,
            "partition": self.source.partition,
            "watermark": self.watermark,
            "end": self.end.offset,
            "offsets": self.offsets,
            "end_known_at": _iso_text(self.end.time),
            "end_known_from": self.end.origin,
            "complete_until": _iso_text(self.complete_until),
        }


@dataclass(frozen=True)
class UnlistedPartitions:
    """The partitions without room: how many, how many offsets may be missing in them, and after which time writes are unknown."""

    partitions: int = 0
    offsets: int = 0
    complete_until: datetime | None = None


@dataclass(frozen=True)
class MissingListing:
    """What a record keeps of it."""

    partitions: tuple[MissingRecords, ...]
    left_out: UnlistedPartitions = UnlistedPartitions()

    def as_document(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {"partitions": [row.as_document() for row in self.partitions], "left_out": to_document(self.left_out)}


def find_missing_records(
    records: Mapping[TopicPartition, LedgerRecord], positions: Mapping[TopicPartition, Iterable[EndSighting]]
) -> tuple[MissingRecords, ...]:
    """What each partition of the ledger may lack, in order. `positions`: how far groups had read, as their checkpoints say."""
    missing = []
    for tp, record in sorted(records.items()):
        noted = record.source_end
        end = EndSighting(record.watermark, None) if noted is None else EndSighting(noted.offset, noted.time)
        furthest = max((end, *positions.get(tp, ())), key=lambda sighting: sighting.offset)
        if furthest.offset < record.watermark:
            furthest = EndSighting(record.watermark, end.time)
        missing.append(MissingRecords(tp, record.watermark, furthest, end.time))
    return tuple(missing)


def report_missing(missing: Iterable[MissingRecords], last_beat: datetime | None) -> Iterator[Finding]:
    """A sentence for each partition of which records are known to be missing, one for all others, and one for the last heartbeat."""
    complete = []
    for partition in missing:
        if partition.offsets:
            yield warning(RecordsMayBeMissing(partition.source.topic, str(partition)))
        else:
            complete.append(partition)
    if complete:
        times = [partition.complete_until for partition in complete if partition.complete_until is not None]
        oldest = f" What was written since then is unknown; the oldest of these times is {show_moment(min(times))}." if times else ""
        said = f"{len(complete)} partitions were copied up to their last known end.{oldest}"
        yield information("NothingKnownToBeMissing", said)
    if last_beat is not None:
        said = f"The newest heartbeat that came from the source is of {show_moment(last_beat)}: until then it was alive, and mirrored."
        yield information("LastHeartbeat", said)


def show_moment(time: datetime) -> str:
    """A moment for people, in UTC."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _iso_text(time: datetime | None) -> str | None:
    return None if time is None else moment_text(time)


def write_missing(missing: Iterable[MissingRecords], max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """The columns as JSON takes them: topics with their number of rows, and for each row the partition, its watermark, how many offsets
    after that may be missing, and which entry of `known` says from where and since when that is known."""
    rows = sorted(missing, key=lambda row: (not row.offsets, row.source))
    count = len(rows)
    while True:
        document = _make_columns(rows[:count], rows[count:])
        size = len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())
        if size <= max_bytes or not count:
            return document
        count = min(count - 1, count * max_bytes // size)


def read_missing(document: Mapping[str, Any]) -> MissingListing:
    """The partitions that the columns of a wave's record list, and the sum of those without room."""
    topics = [topic for topic, rows in document["topics"] for _ in range(rows)]
    sightings = [(_parse_time(end), origin, _parse_time(complete)) for end, origin, complete in document["known"]]
    columns = zip(topics, document["partition"], document["watermark"], document["offsets"], document["known_by"], strict=True)
    partitions = []
    for topic, partition, watermark, offsets, place in columns:
        end, origin, complete = sightings[place]
        sighting = EndSighting(watermark + offsets, end, origin)
        partitions.append(MissingRecords(TopicPartition(topic, partition), watermark, sighting, complete))
    return MissingListing(tuple(partitions), from_document(UnlistedPartitions, document["left_out"]))


def _make_columns(rows: Sequence[MissingRecords], unlisted: Sequence[MissingRecords]) -> dict[str, Any]:
    places: dict[tuple[str | None, str, str | None], int] = {}
    times = [row.complete_until for row in unlisted if row.complete_until is not None]
    by = [places.setdefault((_iso_text(row.end.time), row.end.origin, _iso_text(row.complete_until)), len(places)) for row in rows]
    return {
        "topics": [[topic, sum(1 for _ in of_topic)] for topic, of_topic in groupby(row.source.topic for row in rows)],
        "partition": [row.source.partition for row in rows],
        "watermark": [row.watermark for row in rows],
        "offsets": [row.offsets for row in rows],
        "known_by": by,
        "known": [list(entry) for entry in places],
        "left_out": to_document(UnlistedPartitions(len(unlisted), sum(row.offsets for row in unlisted), min(times, default=None))),
    }


def _parse_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def show_missing(missing: MissingListing, max_rows: int) -> Iterator[str]:
    """The lines: a table with at most `max_rows` rows, and a sentence for all that has no row."""
    rows, unlisted = missing.partitions[:max_rows], missing.left_out
    yield from ("", "## What may be missing on the target", "", *_HEAD)
    for of in rows:
        places = f"{of.watermark}..{of.end.offset - 1}" if of.offsets else "–"
        end_time = "–" if of.end.time is None else show_moment(of.end.time)
        unknown = "not noted" if of.complete_until is None else show_moment(of.complete_until)
        yield f"| {of.source} | {of.watermark} | {places} | {of.offsets:,} | {end_time} | {of.end.origin} | {unknown} |"
    more = len(missing.partitions) - len(rows)
    if more:
        yield f"\n{more:,} more partitions are in the JSON of this report."
    if unlisted.partitions:
        since = (
            "" if unlisted.complete_until is None else f"; what was written there after {show_moment(unlisted.complete_until)} is unknown"
        )
        said = f"The wave's record has no room for {unlisted.partitions:,} more partitions"
        yield f"\n{said}: at most {unlisted.offsets:,} records are known to be missing in them{since}."
