"""What an audit says: for each source partition whether its copy is complete, and if it is not, the first difference.

`mirror.audit.run.audit` makes it; `as_document` is what stands in XCom, in `--json` and in the answer of the Spark job.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from mirror.errors import ErrorReport
from mirror.offsets.intervals import Interval
from mirror.offsets.partition import TopicPartition

EQUAL, DIFFERENT, UNPROVEN = "equal", "different", "could not be had"
"""States of a partition. `could not be had`: nothing of it could be compared; `left_out` and the errors say why."""

MISSING, DOUBLED, SWAPPED, FOREIGN, TRUNCATED = "missing record", "doubled record", "swapped records", "foreign record", "truncated tail"
CHANGED_KEY, CHANGED_VALUE, CHANGED_HEADER, CHANGED_TIMESTAMP = "changed key", "changed value", "changed header", "changed timestamp"
CHANGED = "changed record"
"""Kinds of difference. `changed record`: in more than one respect, so that it may be another record altogether."""


@dataclass(frozen=True)
class Shown:
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


@dataclass(frozen=True)
class Difference:
    """The first difference of a partition: at which offsets it was seen, and the records of both sides (None: there is none)."""

    kind: str
    topic: str
    partition: int
    remote: str
    source_offset: int | None
    target_offset: int | None
    source: Shown | None = None
    target: Shown | None = None

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
class PartitionAudit:
    """What was found of one source partition and one remote topic.

    `source` and `target` are the offsets that were read on each side, `source_records` and `target_records` how many records they held
    and `source_digest` and `target_digest` what they come to (hexadecimal; '' where no digest proves anything, as of compacted topics).
    `tolerated` are records of the target that are no copies and may stand there, `unpaired` records that only one side has any more and
    whose absence is no difference (compaction). `notes` say in words what was compared in another way than record by record.
    """

    topic: str
    partition: int
    remote: str
    state: str
    source: Interval = (0, 0)
    target: Interval = (0, 0)
    source_records: int = 0
    target_records: int = 0
    source_digest: str = ""
    target_digest: str = ""
    tolerated: int = 0
    unpaired: int = 0
    difference: Difference | None = None
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()

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
    """An audit of a flow. `time`: when the ledger was read; what was copied later is not in it. `errors` kept something from being read."""

    flow: str
    time: datetime
    partitions: tuple[PartitionAudit, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = ()
    isolation: str = "read_committed"
    seconds: float = field(default=0.0, compare=False)

    @property
    def state(self) -> str:
        """`different` if any partition is, `equal` if something was compared and all of it is, else `could not be had`."""
        states = {each.state for each in self.partitions}
        if DIFFERENT in states:
            return DIFFERENT
        return EQUAL if EQUAL in states else UNPROVEN

    @property
    def differences(self) -> tuple[Difference, ...]:
        """The first difference of each partition that has one."""
        return tuple(each.difference for each in self.partitions if each.difference is not None)

    @property
    def totals(self) -> dict[str, Any]:
        """What stands beside the columns in XCom, and instead of them where they are too many."""
        return {
            "state": self.state,
            "partitions": len(self.partitions),
            "different": len(self.differences),
            "unproven": sum(1 for each in self.partitions if each.state == UNPROVEN),
            "source_records": sum(each.source_records for each in self.partitions),
            "target_records": sum(each.target_records for each in self.partitions),
            "left_out": sum(len(each.left_out) for each in self.partitions),
            "errors": len(self.errors),
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
            "columns": {name: [getattr(each, name) for each in rows] for name in _COLUMNS},
            "differences": [{"row": number, **asdict(each.difference)} for number, each in enumerate(rows) if each.difference is not None],
            "left_out": [[number, left.start, left.end, left.reason] for number, each in enumerate(rows) for left in each.left_out],
            "notes": [[number, note] for number, each in enumerate(rows) for note in each.notes],
            "notices": list(self.notices),
            "errors": [error.as_dict() for error in self.errors],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "AuditResult":
        """The result of a document that `as_document` made."""
        columns: Mapping[str, Sequence[Any]] = document["columns"]
        differences = {row["row"]: _difference(row) for row in document["differences"]}
        left_out: dict[int, list[LeftOut]] = {}
        for number, *left in document["left_out"]:
            left_out.setdefault(number, []).append(LeftOut(*left))
        notes: dict[int, list[str]] = {}
        for number, note in document["notes"]:
            notes.setdefault(number, []).append(note)
        rows = []
        for number in range(len(columns["topic"])):
            fields = {name: columns[name][number] for name in _COLUMNS}
            rows.append(
                PartitionAudit(
                    **{**fields, "source": tuple(fields["source"]), "target": tuple(fields["target"])},
                    difference=differences.get(number),
                    left_out=tuple(left_out.get(number, ())),
                    notes=tuple(notes.get(number, ())),
                )
            )
        return cls(
            flow=document["flow"],
            time=datetime.fromisoformat(document["time"]).astimezone(UTC),
            partitions=tuple(rows),
            errors=tuple(ErrorReport.from_dict(error) for error in document["errors"]),
            notices=tuple(document["notices"]),
            isolation=document["isolation"],
            seconds=document["seconds"],
        )


def _difference(row: Mapping[str, Any]) -> Difference:
    fields: dict[str, Any] = {name: value for name, value in row.items() if name != "row"}
    for side in ("source", "target"):
        fields[side] = Shown(**row[side]) if row[side] is not None else None
    return Difference(**fields)
