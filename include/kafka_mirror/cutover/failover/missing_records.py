"""What may be missing on the target once the source is lost: what was known of its end, held against what was copied. Pure.

    copied                 may be missing                    nobody knows
    ───────────── watermark ───────────── last known end ─────────────────→
                                          known at a time, from the ledger or a group's checkpoint

The ledger's end is complete: all that the source had acknowledged by its time lies in front of it. A checkpoint only tells that a group had
read so far.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_mirror.cutover.wave.findings import Finding, information, warning
from kafka_mirror.errors import RecordsMayBeMissing
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import LedgerRecord

LEDGER = "the ledger"


@dataclass(frozen=True)
class EndSighting:
    """That the source reached so far at a time, and from where that is known."""

    offset: int
    time: datetime | None
    origin: str = LEDGER


@dataclass(frozen=True)
class MissingRecords:
    """What one partition may lack on the target: source offsets `[watermark, end.offset)`, and all that was written after `complete_until`
    (None: nobody noted how far the source reached)."""

    source: TopicPartition
    watermark: int
    end: EndSighting
    complete_until: datetime | None = None

    @property
    def offsets(self) -> int:
        """How many offsets lie between the watermark and the last known end: an upper bound of the records that are known to be missing."""
        return max(self.end.offset - self.watermark, 0)

    def __str__(self) -> str:
        after = "when it was last asked" if self.complete_until is None else moment_of(self.complete_until)
        if self.complete_until is None:
            unknown = "how far the source reached was not noted, so nobody knows what was written after that"
        else:
            unknown = f"what was written after {after} nobody knows"
        if not self.offsets:
            return f"{self.source}: everything in front of offset {self.watermark:,} is copied; {unknown}"
        first, last = f"{self.watermark:,}", f"{self.end.offset - 1:,}"
        places = f"records {first}..{last}" if self.offsets > 1 else f"record {first}"
        when = "" if self.end.time is None else f" at {moment_of(self.end.time)}"
        return f"{self.source}: {places} may be missing (end known{when} from {self.end.origin}); {unknown}"

    def as_document(self) -> dict[str, object]:
        """As JSON takes it; times in ISO 8601."""
        return {
            "topic": self.source.topic,
            "partition": self.source.partition,
            "watermark": self.watermark,
            "end": self.end.offset,
            "offsets": self.offsets,
            "end_known_at": iso_text(self.end.time),
            "end_known_from": self.end.origin,
            "complete_until": iso_text(self.complete_until),
        }


def missing_records(
    records: Mapping[TopicPartition, LedgerRecord], positions: Mapping[TopicPartition, Iterable[EndSighting]]
) -> tuple[MissingRecords, ...]:
    """What each partition of the ledger may lack, in order. `positions`: how far groups had read, as their checkpoints say."""
    return tuple(_of_partition(tp, record, positions.get(tp, ())) for tp, record in sorted(records.items()))


def _of_partition(tp: TopicPartition, record: LedgerRecord, positions: Iterable[EndSighting]) -> MissingRecords:
    noted = record.source_end
    end = EndSighting(record.watermark, None) if noted is None else EndSighting(noted.offset, noted.time)
    furthest = max((end, *positions), key=lambda sighting: sighting.offset)
    if furthest.offset < record.watermark:
        furthest = EndSighting(record.watermark, end.time)
    return MissingRecords(tp, record.watermark, furthest, None if noted is None else noted.time)


def missing_findings(missing: Iterable[MissingRecords], last_beat: datetime | None) -> Iterator[Finding]:
    """A sentence for each partition of which records are known to be missing, one for all others, and one for the last heartbeat."""
    complete = []
    for partition in missing:
        if partition.offsets:
            yield warning(RecordsMayBeMissing(partition.source.topic, str(partition)))
        else:
            complete.append(partition)
    if complete:
        times = [partition.complete_until for partition in complete if partition.complete_until is not None]
        oldest = f" What was written since then nobody knows; the oldest of these times is {moment_of(min(times))}." if times else ""
        said = f"{len(complete)} partitions were copied up to their last known end.{oldest}"
        yield information("NothingKnownToBeMissing", said)
    if last_beat is not None:
        said = f"The newest heartbeat that came from the source is of {moment_of(last_beat)}: until then it was alive, and mirrored."
        yield information("LastHeartbeat", said)


def moment_of(time: datetime) -> str:
    """A moment for people, in UTC."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def iso_text(time: datetime | None) -> str | None:
    """A moment as JSON has it."""
    return None if time is None else time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
