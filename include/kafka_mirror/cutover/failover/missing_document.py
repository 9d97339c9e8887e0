"""What may be missing on the target as a wave's record keeps it: columns, and no more rows than the record has room for. Pure.

Partitions that are known to lack records come first. So the first ones without room are those that were copied to their last known end.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from kafka_mirror.cutover.failover.missing_records import EndSighting, MissingRecords, iso_text
from kafka_mirror.formats.offsets.partition import TopicPartition

MISSING = "missing"
"""The fact's name: of a failover's first step, and behind its last one of that one, which knows it for good."""
MAX_BYTES = 600_000
"""How much of a wave's record the columns take at most."""


@dataclass(frozen=True)
class UnlistedPartitions:
    """The partitions without room: how many, how many offsets may be missing in them, and since when at the latest nobody knows more."""

    partitions: int = 0
    offsets: int = 0
    complete_until: datetime | None = None

    def as_document(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {"partitions": self.partitions, "offsets": self.offsets, "complete_until": iso_text(self.complete_until)}


@dataclass(frozen=True)
class MissingListing:
    """What a record keeps of it."""

    partitions: tuple[MissingRecords, ...]
    left_out: UnlistedPartitions = UnlistedPartitions()


def missing_document(missing: Iterable[MissingRecords], max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """The columns as JSON takes them: topics with their number of rows, and for each row the partition, its watermark, how many offsets
    behind that may be missing, and which entry of `known` says from where and since when that is known."""
    rows = sorted(missing, key=lambda row: (not row.offsets, row.source))
    count = len(rows)
    while True:
        document = _columns(rows[:count], rows[count:])
        size = len(json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())
        if size <= max_bytes or not count:
            return document
        count = min(count - 1, count * max_bytes // size)


def read_missing(document: Mapping[str, Any]) -> MissingListing:
    """The opposite of `missing_document`."""
    topics = [topic for topic, rows in document["topics"] for _ in range(rows)]
    sightings = [(_time(end), origin, _time(complete)) for end, origin, complete in document["known"]]
    columns = zip(topics, document["partition"], document["watermark"], document["offsets"], document["known_by"], strict=True)
    partitions = []
    for topic, partition, watermark, offsets, place in columns:
        end, origin, complete = sightings[place]
        sighting = EndSighting(watermark + offsets, end, origin)
        partitions.append(MissingRecords(TopicPartition(topic, partition), watermark, sighting, complete))
    unlisted = document["left_out"]
    rest = UnlistedPartitions(unlisted["partitions"], unlisted["offsets"], _time(unlisted["complete_until"]))
    return MissingListing(tuple(partitions), rest)


def _columns(rows: Sequence[MissingRecords], unlisted: Sequence[MissingRecords]) -> dict[str, Any]:
    places: dict[tuple[str | None, str, str | None], int] = {}
    by = [places.setdefault((iso_text(row.end.time), row.end.origin, iso_text(row.complete_until)), len(places)) for row in rows]
    return {
        "topics": [[topic, sum(1 for _ in of_topic)] for topic, of_topic in groupby(row.source.topic for row in rows)],
        "partition": [row.source.partition for row in rows],
        "watermark": [row.watermark for row in rows],
        "offsets": [row.offsets for row in rows],
        "known_by": by,
        "known": [list(entry) for entry in places],
        "left_out": _summary(unlisted).as_document(),
    }


def _summary(unlisted: Sequence[MissingRecords]) -> UnlistedPartitions:
    times = [row.complete_until for row in unlisted if row.complete_until is not None]
    return UnlistedPartitions(len(unlisted), sum(row.offsets for row in unlisted), min(times, default=None))


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
