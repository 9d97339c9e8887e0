"""The ledger as the copy will make it: with the decisions that stand in its plan, and with the partitions that it begins."""

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_mirror.copy.plan.run import PlanContext
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.apply_decisions import PartitionFacts, acted_on
from kafka_mirror.ledger.record import LedgerRecord


@dataclass(frozen=True)
class PendingLedger:
    """`records` are the ledger's, with the decisions that the copy has not acted on yet.

    `begun` says where the copy begins a partition that the ledger does not know, or knows with another beginning or of another topic. Until
    it has done so, no watermark says anything about them.
    """

    records: Mapping[TopicPartition, LedgerRecord]
    begun: Mapping[TopicPartition, int]

    @property
    def starts(self) -> dict[TopicPartition, int]:
        """Where the live part of each partition begins; below it lies history."""
        return {tp: record.live_start for tp, record in self.records.items()} | dict(self.begun)


def pending_ledger_of(context: PlanContext) -> PendingLedger:
    """Returns the ledger as the copy will find it once it has acted on its plan."""
    records, begun = dict(context.ledger.records), {}
    for planned in context.plan.ranges:
        tp = planned.topic_partition
        noted = records.get(tp)
        if noted is None:
            begun[tp] = planned.start
        elif planned.decisions:
            record, _ = acted_on(noted, planned.decisions, _find_facts(context, tp))
            records[tp] = record
            if (record.live_start, record.source_topic_id) != (noted.live_start, noted.source_topic_id):
                begun[tp] = record.live_start
    return PendingLedger(records, begun)


def _find_facts(context: PlanContext, tp: TopicPartition) -> PartitionFacts:
    partition, remote = context.source[tp], context.remotes.get(tp.topic)
    name, remote_id = (remote.name, remote.id) if remote is not None else ("", None)
    return PartitionFacts(partition.topic_id, partition.log_start, name, remote_id, partition.leader_epoch)
