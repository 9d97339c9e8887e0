"""The result of comparing a topic with its mirror, and how it shows a difference to a person."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

_WIDTH = 76


@dataclass(frozen=True)
class PartitionComparison:
    """One partition: how many records each side gave, how many were equal before the first difference, and what differs there."""

    partition: int
    equal: int
    source_records: int
    target_records: int
    on_source: bool
    on_target: bool
    difference: str | None
    rows: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Account:
    """One partition, counted: `lost` records are missing on the target, `doubled` ones are there too often, `foreign` ones are not the
    source's (or were aborted there). `disordered`: how many must move to restore the source's order."""

    partition: int
    source_records: int
    target_records: int
    lost: int
    doubled: int
    foreign: int
    disordered: int


@dataclass(frozen=True)
class Comparison:
    """A topic and its mirror. As text: one line when they are equal, else both sides around the first difference of each partition."""

    source: str
    target: str
    partitions: tuple[PartitionComparison, ...]

    @classmethod
    def of(cls, answer: Iterable[dict[str, Any]], source: str, target: str) -> Self:
        """Builds it from the oracle's answer."""
        return cls(source, target, tuple(PartitionComparison(**{**row, "rows": tuple(row["rows"])}) for row in answer))

    @property
    def equal(self) -> bool:
        """Whether both sides hold the same records in the same order, and as many partitions."""
        return all(p.difference is None and p.on_source == p.on_target for p in self.partitions)

    @property
    def records(self) -> int:
        """Records that the source gave, over all partitions."""
        return sum(p.source_records for p in self.partitions)

    def __str__(self) -> str:
        if self.equal:
            return f"{self.source} and {self.target} are equal: {self.records} records in {len(self.partitions)} partitions."
        different = [p for p in self.partitions if p.difference is not None or p.on_source != p.on_target]
        lines = [f"{self.target} is not the mirror of {self.source}: {len(different)} of {len(self.partitions)} partitions differ."]
        for partition in different[:5]:
            lines += _show(partition)
        return "\n".join(lines)


def _show(partition: PartitionComparison) -> list[str]:
    counts = f"{partition.source_records} records on the source, {partition.target_records} on the target"
    lines = ["", f"partition {partition.partition}: {counts}; {partition.equal} equal, then {partition.difference or 'nothing more'}"]
    if partition.on_source != partition.on_target:
        lines.append(f"  the partition exists only on the {'source' if partition.on_source else 'target'}")
    lines += [f"    {'source':{_WIDTH}} | target"] if partition.rows else []
    for row in partition.rows:
        mark = ">>" if row["differs"] else "  "
        lines += [
            f" {mark} {source:{_WIDTH}} | {target}" for source, target in zip(_cells(row["source"]), _cells(row["target"]), strict=True)
        ]
    return lines


def _cells(record: dict[str, Any] | None) -> list[str]:
    """A record as three lines that align with those of the other side."""
    if record is None:
        return ["(no record)", "", ""]
    headers = ", ".join(f"{name!r}={_text(value)}" for name, value in record["headers"])
    return [
        _cut(f"@{record['offset']} timestamp {record['timestamp']} key {_text(record['key'])}"),
        _cut(f"  value {_text(record['value'])}"),
        _cut(f"  headers [{headers}]"),
    ]


def _text(hexadecimal: str | None) -> str:
    if hexadecimal is None:
        return "null"
    head, dots, length = hexadecimal.partition("...")
    return repr(bytes.fromhex(head))[1:] + dots + length


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."
