"""Up to where a wave was audited, and whether that still counts: an audit speaks for the ends that it saw. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka_mirror.formats.offsets.partition import TopicPartition

AUDITED = "audited"
"""Name of the fact: `{topic: {partition: [start, source end, target end, generation]}}`."""


@dataclass(frozen=True)
class PartitionEnds:
    """One source partition as both clusters and the ledger show it now. `watermark` is None if the ledger does not have it; `generation`
    changes with either topic, and with a person's decision about its offsets."""

    start: int
    source_end: int
    watermark: int | None = None
    target_end: int | None = None
    generation: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be copied, and nothing was."""
        return self.watermark is None and self.start == self.source_end


@dataclass(frozen=True)
class AuditedPartition:
    """Source offsets `[start, end)` that were equal, and where the target ended then."""

    start: int
    end: int
    target_end: int
    generation: str


Ends = Mapping[TopicPartition, PartitionEnds]
Evidence = Mapping[TopicPartition, AuditedPartition]


def audit_starts(evidence: Evidence, ends: Ends) -> dict[TopicPartition, int]:
    """From which source offset on each partition has to be audited; one that is absent, whole."""
    return {tp: audited.end for tp, audited in evidence.items() if tp in ends and _counts(audited, ends[tp])}


def is_current(evidence: Evidence, ends: Ends, whole: bool) -> bool:
    """Whether nothing came since on either side. `whole`: only if the partitions were audited from the beginning."""
    return all(end.is_empty or (tp in evidence and _is_current(evidence[tp], end, whole)) for tp, end in ends.items())


def evidence_of(before: Evidence, starts: Mapping[TopicPartition, int], ends: Ends) -> dict[TopicPartition, AuditedPartition]:
    """What is proven after a good audit from `starts` on, up to the watermarks that `ends` had before it."""
    return {
        tp: AuditedPartition(before[tp].start if tp in starts else 0, end.watermark, end.target_end, end.generation)
        for tp, end in ends.items()
        if end.watermark is not None and end.target_end is not None
    }


def evidence_as_fact(evidence: Evidence) -> dict[str, dict[str, list[Any]]]:
    """The evidence as JSON takes it."""
    topics: dict[str, dict[str, list[Any]]] = {}
    for tp, audited in sorted(evidence.items()):
        topics.setdefault(tp.topic, {})[str(tp.partition)] = [audited.start, audited.end, audited.target_end, audited.generation]
    return topics


def evidence_from_facts(facts: Mapping[str, Any]) -> dict[TopicPartition, AuditedPartition]:
    """The opposite of `evidence_as_fact`, from the step's facts."""
    topics: Mapping[str, Mapping[str, list[Any]]] = facts.get(AUDITED, {})
    return {TopicPartition(topic, int(number)): AuditedPartition(*row) for topic, rows in topics.items() for number, row in rows.items()}


def _counts(audited: AuditedPartition, end: PartitionEnds) -> bool:
    """Whether the copy went on behind what was audited, on the same topics: a log that lost its end is audited whole."""
    return audited.generation == end.generation and end.source_end >= audited.end and (end.target_end or 0) >= audited.target_end


def _is_current(audited: AuditedPartition, end: PartitionEnds, whole: bool) -> bool:
    same = (audited.end, audited.end, audited.target_end) == (end.source_end, end.watermark, end.target_end)
    return same and audited.generation == end.generation and not (whole and audited.start)
