"""What an audit says: for each source partition whether its copy is complete, and if it is not, the first difference.

`kafka_mirror.audit.run.audit` makes it; `as_document` is what stands in XCom, in `--json` and in the answer of the Spark job.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.documents import from_document, rows_of, to_columns, to_document
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import TIMESTAMP_TYPES, Record

EQUAL, DIFFERENT, UNPROVEN = "equal", "different", "could not be had"
"""States of a partition. `could not be had`: nothing of it could be compared; `left_out` and the errors say why."""

MISSING, DOUBLED, SWAPPED, FOREIGN, TRUNCATED = "missing record", "doubled record", "swapped records", "foreign record", "truncated tail"
CHANGED_KEY, CHANGED_VALUE, CHANGED_HEADER, CHANGED_TIMESTAMP = "changed key", "changed value", "changed header", "changed timestamp"
CHANGED = "changed record"
"""Kinds of difference. `changed record`: in more than one respect, so that it may be another record altogether."""

OPEN = "records stand after the copy, and a run is writing, so whether they are all its own was not looked at"
UNREAD = "whether records stand after the copy was not seen in time"
"""Notes of a partition where what stands after the copy was not looked at."""

LONGEST = 200
"""How many characters of a key, a value or all headers are shown."""


@dataclass(frozen=True)
class RecordText:
    """A record as a report shows it: sizes in bytes (None: null), and the payload only where it was asked for. Keys and payload are text
    that is cut where it is long."""

    offset: int
    timestamp: int
    timestamp_type: str
    key: str | None
    key_bytes: int | None
    value_bytes: int | None
    headers: int
    headers_bytes: int
    value: str | None = None
    header_text: str | None = None


def text_of_record(record: Record, payload: bool) -> RecordText:
    """Returns a record as a report shows it; its value and headers only with `payload`."""
    headers = ", ".join(f"{name}={_write_text(value)}" for name, value in record.headers)
    return RecordText(
        offset=record.offset,
        timestamp=record.timestamp,
        timestamp_type=TIMESTAMP_TYPES.get(record.timestamp_type, str(record.timestamp_type)),
        key=_write_text(record.key),
        key_bytes=None if record.key is None else len(record.key),
        value_bytes=None if record.value is None else len(record.value),
        headers=len(record.headers),
        headers_bytes=sum(len(name.encode()) + len(value or b"") for name, value in record.headers),
        value=_write_text(record.value) if payload else None,
        header_text=_cut(headers) if payload else None,
    )


def _write_text(data: bytes | None) -> str | None:
    """Bytes as text where they are text, else in hexadecimal; cut where they are long."""
    if data is None:
        return None
    try:
        decoded = data.decode()
    except UnicodeDecodeError:
        decoded = ""
    return _cut(decoded) if decoded.isprintable() and (decoded or not data) else _cut("0x" + data[:LONGEST].hex())


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


@dataclass(frozen=True)
class Difference:
    """The first difference of a partition: at which offsets it was seen, and the records of both sides (None: there is none)."""

    kind: str
    topic: str
    partition: int
    remote: str
    source_offset: int | None
    target_offset: int | None
    source: RecordText | None = None
    target: RecordText | None = None

    def __str__(self) -> str:
        source = f"source offset {self.source_offset}" if self.source_offset is not None else "no source offset"
        target = f"@{self.target_offset}" if self.target_offset is not None else ""
        return f"{self.topic}-{self.partition}: {self.kind} at {source}, {self.remote}-{self.partition}{target}"


@dataclass(frozen=True)
class LeftOut:
    """Source offsets `[start, end)` that the audit was asked for and says nothing about, and why."""

    start: int
    end: int
    reason: str


@dataclass(frozen=True)
class Backlog:
    """How many source offsets of a partition are not copied yet, so that nothing of them was compared: an upper bound of the records.
    `error` is the code at which the partition is stuck; '' if it is not."""

    topic: str
    partition: int
    offsets: int
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class AuditFigures:
    """What came of comparing offsets of both sides.

    `source_records` and `target_records` are how many records they held and `source_digest` and `target_digest` what they come to
    (hexadecimal; '' where no digest proves anything, as of compacted topics, and where both sides were compared batch by batch).
    `tolerated` are records of the target that are no copies and may stand there, `unpaired` records that only one side has any more and
    whose absence is no difference (compaction). `notes` say in words what was compared in another way than record by record.
    """

    source_records: int = 0
    target_records: int = 0
    source_digest: str = ""
    target_digest: str = ""
    tolerated: int = 0
    unpaired: int = 0
    difference: Difference | None = None
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PartitionAudit(AuditFigures):
    """What was found of one source partition and one remote topic. `source` and `target` are the offsets that were read on each side."""

    topic: str
    partition: int
    remote: str
    state: str
    source: Interval = (0, 0)
    target: Interval = (0, 0)

    @property
    def topic_partition(self) -> TopicPartition:
        """The source partition."""
        return TopicPartition(self.topic, self.partition)


_COLUMNS = (
    *("topic", "partition", "remote", "state", "source", "target", "source_records", "target_records"),
    *("source_digest", "target_digest", "tolerated", "unpaired"),
)


@dataclass(frozen=True)
class AuditResult:
    """An audit of a flow. `time`: when the ledger was read; what was copied later is not in it. `errors` kept something from being read.
    `backlog` and `not_begun` (topics, and new partitions of topics, in words) are what was asked for and is not copied yet."""

    flow: str
    time: datetime
    partitions: tuple[PartitionAudit, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = ()
    isolation: str = "read_committed"
    seconds: float = field(default=0.0, compare=False)
    backlog: tuple[Backlog, ...] = ()
    not_begun: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """`different` if any partition is, `equal` if something was compared and all of it is, else `could not be had`."""
        states = {partition.state for partition in self.partitions}
        if DIFFERENT in states:
            return DIFFERENT
        return EQUAL if EQUAL in states else UNPROVEN

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The first difference of each partition that has one."""
        return tuple(partition.difference for partition in self.partitions if partition.difference is not None)

    @property
    def totals(self) -> dict[str, Any]:
        """What stands beside the columns in XCom, and instead of them where they are too many."""
        return {
            "state": self.state,
            "partitions": len(self.partitions),
            "different": len(self.differences),
            "unproven": sum(1 for partition in self.partitions if partition.state == UNPROVEN),
            "source_records": sum(partition.source_records for partition in self.partitions),
            "target_records": sum(partition.target_records for partition in self.partitions),
            "left_out": sum(len(partition.left_out) for partition in self.partitions),
            "errors": len(self.errors),
            "backlog_offsets": sum(partition.offsets for partition in self.backlog),
            "backlog_partitions": len(self.backlog),
            "backlog_stuck": sum(1 for partition in self.backlog if partition.error),
            "not_begun": len(self.not_begun),
        }

    def as_document(self) -> dict[str, Any]:
        """Plain JSON: the totals, a column for each number of a partition, and rows for what only few partitions have."""
        rows = self.partitions
        return {
            "flow": self.flow,
            "time": self.time.isoformat(),
            "seconds": round(self.seconds, 3),
            "isolation": self.isolation,
            **{f"total_{name}": value for name, value in self.totals.items()},
            "columns": to_columns(_COLUMNS, rows),
            "differences": [
                {"row": number, **to_document(partition.difference)}
                for number, partition in enumerate(rows)
                if partition.difference is not None
            ],
            "left_out": [
                [number, interval.start, interval.end, interval.reason]
                for number, partition in enumerate(rows)
                for interval in partition.left_out
            ],
            "notes": [[number, note] for number, partition in enumerate(rows) for note in partition.notes],
            "notices": list(self.notices),
            "backlog": to_document(self.backlog),
            "not_begun": list(self.not_begun),
            "errors": to_document(self.errors),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "AuditResult":
        """The result of a document that `as_document` made. Raises ValueError or KeyError for another one."""
        partitions: list[dict[str, Any]] = [
            {**dict(zip(_COLUMNS, row, strict=True)), "left_out": [], "notes": []} for row in rows_of(_COLUMNS, document["columns"])
        ]
        for row in document["differences"]:
            partitions[row["row"]]["difference"] = row
        for number, start, end, reason in document["left_out"]:
            partitions[number]["left_out"].append({"start": start, "end": end, "reason": reason})
        for number, note in document["notes"]:
            partitions[number]["notes"].append(note)
        return from_document(cls, {**document, "partitions": partitions})
