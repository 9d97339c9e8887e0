"""What audits found, remembered until an audit finds it mended: an audit may look at some topics or intervals alone."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mirror.alerts.problems import Place, Problem, by_topic
from mirror.alerts.seen import Seen
from mirror.audit.model import DIFFERENT, EQUAL, AuditResult, PartitionAudit
from mirror.offsets.partition import TopicPartition
from mirror.report.status import GONE

MISMATCH = "AuditMismatch"

COUNTED = 100
"""How many runs are known to be counted."""

KEPT = 1000
"""How many mismatches are remembered, the newest: an alert shows ten of a topic."""


@dataclass(frozen=True)
class Mismatch:
    """A difference that an audit of `[start, end)` of a source partition found; `offset` is where, if that is known."""

    topic: str
    partition: int
    remote: str
    start: int
    end: int
    offset: int | None
    line: str

    def is_answered_by(self, other: PartitionAudit) -> bool:
        """Whether a later audit of the partition looked at the same place."""
        if (other.topic, other.partition, other.remote) != (self.topic, self.partition, self.remote):
            return False
        start, end = other.source
        return start <= self.offset < end if self.offset is not None else start <= self.start and self.end <= end


@dataclass(frozen=True)
class Audits:
    """The mismatches that stand. `counted`: the audits that are in it, by the run that made each, with their times."""

    mismatches: tuple[Mismatch, ...] = ()
    counted: Mapping[str, str] = field(default_factory=dict)

    def plus(self, run: str, document: Mapping[str, Any]) -> "Audits":
        """With what an audit found, as `AuditResult.as_document` gives it; one that is in it already changes nothing."""
        if self.counted.get(run) == document["time"]:
            return self
        result = AuditResult.from_document(document)
        answered = [each for each in result.partitions if each.state in (EQUAL, DIFFERENT)]
        kept = [old for old in self.mismatches if not any(old.is_answered_by(each) for each in answered)]
        found = [_mismatch(each, result.time.strftime("%Y-%m-%d %H:%M UTC")) for each in answered if each.state == DIFFERENT]
        counted = {**self.counted, run: document["time"]}
        newest = sorted(counted, key=lambda each: counted[each])[-COUNTED:]
        return Audits((*kept, *found)[-KEPT:], {each: counted[each] for each in newest})

    def still_there(self, seen: Seen) -> "Audits":
        """Without the places of which the source has nothing any more (they are deleted, or the topic was created anew and does not reach
        so far), or which the flow no longer mirrors: no audit can look there. All of them while the clusters cannot be compared."""
        if not seen.comparable:
            return self
        ends = {each.topic_partition: each.end for each in seen.status.partitions if each.state != GONE}

        def is_there(each: Mismatch) -> bool:
            tp, last = TopicPartition(each.topic, each.partition), each.end - 1 if each.offset is None else each.offset
            if tp not in ends or last < seen.log_starts.get(tp, 0):
                return False
            end = ends[tp]
            return end is None or last < end

        return replace(self, mismatches=tuple(filter(is_there, self.mismatches)))

    def problems(self, flow: str, patience: float) -> list[Problem]:
        """One for each topic whose copy is not equal."""
        places = [Place(each.topic, each.partition, each.line) for each in self.mismatches]
        advice = {
            each.topic: f"python -m mirror audit --flow '{flow}' --topics {each.topic} (in Airflow, the DAG audit with the parameter "
            f"topics = {each.topic}) shows both records; nothing was changed."
            for each in self.mismatches
        }
        said = "The copy of {} is not equal to its source."
        return by_topic(MISMATCH, places, said=said, next=advice, patience=patience, severity="critical")

    def as_document(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"counted": dict(self.counted), "mismatches": [asdict(each) for each in self.mismatches]}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Audits":
        """What `as_document` gave. Raises KeyError or TypeError for another document."""
        found: Iterable[Mapping[str, Any]] = document["mismatches"]
        return cls(tuple(Mismatch(**each) for each in found), dict(document["counted"]))


def _mismatch(each: PartitionAudit, when: str) -> Mismatch:
    difference = each.difference
    line = (
        str(difference)
        if difference is not None
        else f"{each.topic_partition}: {each.source_records:,} and {each.target_records:,} records"
    )
    offset = difference.source_offset if difference is not None else None
    return Mismatch(each.topic, each.partition, each.remote, *each.source, offset, f"{line} (audit of {when})")
