"""What a check saw as packed text in XCom, for a status page whose api-server reaches no broker.

It has what page and metrics show of partitions; their errors stand in the flow's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka_mirror.formats.documents import from_columns, pack, to_columns, unpack
from kafka_mirror.ledger.record import Writer
from kafka_mirror.status.observation import CheckObservation, LatePartition
from kafka_mirror.status.status import PartitionStatus

MAX_BYTES = 48_000
"""A check that takes more is left out: a row of Airflow's database is written at each run. A thousand partitions take less."""

_PARTITION = ("topic", "partition", "state", "watermark", "last_stable", "end", "lag", "oldest_seconds", "records", "bytes", "note")
_LATE = ("records", "seconds", "still_seconds")


@dataclass(frozen=True)
class _CheckDocument:
    check: CheckObservation
    """Without its partitions."""
    partitions: Mapping[str, Any]
    late: Mapping[str, Any]
    late_partitions: tuple[int, ...]
    """Their places in the status."""
    written: Writer | None = None
    """Who wrote to the ledger last; and where."""
    written_place: int = -1


@dataclass(frozen=True)
class _Late:
    records: int
    seconds: float
    still_seconds: float


def pack_check(check: CheckObservation) -> str | None:
    """The check as text; None if that would be too long."""
    places = {partition.topic_partition: place for place, partition in enumerate(check.status.partitions)}
    newest = check.status.written
    document = _CheckDocument(
        replace(check, status=replace(check.status, partitions=()), log_starts={}, late=(), memory=None),
        to_columns(_PARTITION, (_round_age(partition) for partition in check.status.partitions)),
        to_columns(_LATE, (replace(late, seconds=round(late.seconds), still_seconds=round(late.still_seconds)) for late in check.late)),
        tuple(places[late.status.topic_partition] for late in check.late),
        newest,
        next((place for place, partition in enumerate(check.status.partitions) if partition.written == newest is not None), -1),
    )
    text = pack(document)
    return text if len(text) <= MAX_BYTES else None


def read_check(text: Any) -> CheckObservation | None:
    """The check of such a text; None if there is none, or it cannot be read."""
    try:
        document = unpack(_CheckDocument, text)
        errors = {(error.topic, error.partition): error for error in reversed(document.check.status.errors)}
        partitions = tuple(
            replace(
                partition,
                written=document.written if place == document.written_place else None,
                error=errors.get((partition.topic, partition.partition)),
            )
            for place, partition in enumerate(from_columns(PartitionStatus, document.partitions))
        )
        rows = zip(document.late_partitions, from_columns(_Late, document.late), strict=True)
        late = tuple(LatePartition(partitions[place], row.records, row.seconds, row.still_seconds) for place, row in rows)
    except (ValueError, IndexError):
        return None
    return replace(document.check, status=replace(document.check.status, partitions=partitions), late=late)


def _round_age(partition: PartitionStatus) -> PartitionStatus:
    return partition if partition.oldest_seconds is None else replace(partition, oldest_seconds=round(partition.oldest_seconds))
