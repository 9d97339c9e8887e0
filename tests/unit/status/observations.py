"""What a check may have seen, briefly."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from kafka_mirror.errors import ErrorReport
from kafka_mirror.ledger.record import Writer
from kafka_mirror.status.observation import Beats, CheckObservation
from kafka_mirror.status.status import BEHIND, NO_LEADER, UP_TO_DATE, PartitionStatus, Status

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """So many seconds after the first check."""
    return START + timedelta(seconds=seconds)


def partition(watermark: int | None, end: int, number: int = 0, topic: str = "orders", **fields: Any) -> PartitionStatus:
    """A partition whose source ends there, all of it readable; by default its oldest record is as old as can be."""
    begin = watermark if watermark is not None else 0
    state = BEHIND if begin < end else UP_TO_DATE
    age = 1e9 if begin < end else None
    known: dict[str, Any] = {"state": state, "last_stable": end, "end": end, "lag": end - begin, "oldest_seconds": age}
    return PartitionStatus(topic, number, watermark=watermark, **{**known, **fields})


def hidden(number: int = 0, topic: str = "orders", state: str = NO_LEADER) -> PartitionStatus:
    """A partition whose source could not be read."""
    return PartitionStatus(topic, number, state, watermark=5)


def seen(seconds: float, *partitions: PartitionStatus, errors: Iterable[ErrorReport] = (), **fields: Any) -> CheckObservation:
    """What a check at this time saw; both sides answered, and no heartbeats were there, unless it says otherwise."""
    status = Status("east->west", at(seconds), partitions, tuple(errors))
    return CheckObservation(status, **{"comparable": True, "beats": [], **fields})


def written(seconds: float) -> Writer:
    """That the ledger was written at this time."""
    return Writer(installation="", host="host", run="run", time=at(seconds))


def error(code: str, topic: str | None = None, partition: int | None = None, retriable: bool = False) -> ErrorReport:
    """An error of a partition, a topic or the flow."""
    return ErrorReport(code, f"{code} of {topic}-{partition}.", topic, partition, retriable=retriable, next=f"mend {topic}")


def beats(way: str, seconds: float, mirrored: bool = True) -> Beats:
    """A way with its newest beat."""
    return Beats(way, at(seconds), mirrored)
