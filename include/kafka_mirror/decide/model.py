"""How a partition stands about which a person decides, and what comes of it."""

from dataclasses import dataclass

from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.apply_decisions import PartitionFacts
from kafka_mirror.ledger.control_records import Decision
from kafka_mirror.ledger.record import LedgerRecord


@dataclass(frozen=True)
class PartitionState:
    """One source partition with its ledger record and its remote partition, as far as each exists."""

    tp: TopicPartition
    record: LedgerRecord | None
    source: SourceOffsets | None
    remote: str
    remote_id: str | None = None
    remote_end: int | None = None
    remote_stable: int | None = None
    """The last stable offset of the remote partition."""
    unexplained: bool = False
    """Whether the remote partition holds records that neither the ledger nor an earlier decision accounts for."""

    @property
    def facts(self) -> PartitionFacts:
        """Returns the facts that decisions about the partition are held against."""
        source = self.source
        if source is None:
            return PartitionFacts("", None, self.remote, self.remote_id)
        return PartitionFacts(source.topic_id, source.log_start, self.remote, self.remote_id, source.leader_epoch)


@dataclass(frozen=True)
class DecisionWithEffect:
    """A decision and what the next run does with it, in words."""

    decision: Decision
    effect: str
