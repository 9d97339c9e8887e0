"""The ledger as the copy will make it: with the decisions that stand in its plan, and with the partitions that it begins."""

from collections.abc import Mapping
from dataclasses import dataclass

from mirror.formats.ledger import LedgerRecord
from mirror.offsets.partition import TopicPartition
from mirror.plan.acting import acted_on
from mirror.plan.model import Standing
from mirror.plan.run import Survey


@dataclass(frozen=True)
class Ahead:
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


def ahead(found: Survey) -> Ahead:
    """What the copy will find in the ledger once it has acted on its plan."""
    records, begun = dict(found.ledger.records), {}
    for planned in found.plan.ranges:
        tp = planned.topic_partition
        known = records.get(tp)
        if known is None:
            begun[tp] = planned.start
        elif planned.decisions:
            record, _ = acted_on(known, planned.decisions, _standing(found, tp))
            records[tp] = record
            if (record.live_start, record.source_topic_id) != (known.live_start, known.source_topic_id):
                begun[tp] = record.live_start
    return Ahead(records, begun)


def _standing(found: Survey, tp: TopicPartition) -> Standing:
    partition, remote = found.source[tp], found.remotes.get(tp.topic)
    name, remote_id = (remote.name, remote.id) if remote is not None else ("", None)
    return Standing(partition.topic_id, partition.log_start, name, remote_id, partition.leader_epoch)
