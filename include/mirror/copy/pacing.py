"""How much of a partition one transaction may hold after the target refused a batch of it.

A broker that refuses a batch does not say for which record. So first what precedes the batch is copied, then the next record alone, then
two, four … while that goes well; a single record that is refused is the poison.
"""

from dataclasses import dataclass, field

from mirror.copy.engine import BatchRefused, PoisonRecord
from mirror.offsets.partition import TopicPartition

_UNLIMITED_FROM = 1024


@dataclass
class Pacing:
    """The limits in force, by partition; kept over the attempts of one run."""

    stops: dict[TopicPartition, int] = field(default_factory=dict)
    records: dict[TopicPartition, int] = field(default_factory=dict)

    def refused(self, refusal: BatchRefused) -> PoisonRecord | None:
        """Narrows the partition's limits after a refusal; gives the poison record once it stands alone."""
        tp = refusal.source
        if refusal.first > refusal.start:
            self.stops[tp] = refusal.first
            return None
        if refusal.records == 1:
            return PoisonRecord(refusal.first, refusal.detail)
        self.records[tp] = 1
        return None

    def committed(self, tp: TopicPartition, watermark: int) -> None:
        """Widens the partition's limits after a transaction that went well."""
        if self.stops.get(tp) == watermark:
            del self.stops[tp]
            self.records[tp] = 1
        elif tp in self.records:
            self.records[tp] *= 2
            if self.records[tp] >= _UNLIMITED_FROM:
                del self.records[tp]

    def end(self, tp: TopicPartition, end: int) -> int:
        """The end up to which the partition may be copied for now."""
        return min(end, self.stops.get(tp, end))
