"""What a backfill takes from the plan of the copy: the ledger as the copy will make it, and why a partition has no offsets.

A partition without offsets is paused by a person, or the plan's errors say why.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import PlanContext
from kafka_mirror.errors import ErrorReport, SourceUnreadable
from kafka_mirror.errors.next_step import the_plan
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.apply_decisions import PartitionFacts, act_on_decisions
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.policy.replication import is_ledger_or_control_topic

NOT_LED = "no leader on the source answers for it"


def select_errors(plan: Plan, partitions: Collection[TopicPartition]) -> list[ErrorReport]:
    """The plan's errors of these partitions, of their topics, and of the flow or its ledger; none if there are no partitions."""
    topics = {tp.topic for tp in partitions}
    return [
        error
        for error in plan.errors
        if (
            partition_of(error) in partitions
            or (error.partition is None and error.topic in topics)
            or (partitions and concerns_flow(error))
        )
    ]


def concerns_flow(error: ErrorReport) -> bool:
    """Whether an error concerns no topic of the source, but the flow, or a lane of its ledger."""
    return error.topic is None or is_ledger_or_control_topic(error.topic)


def partition_of(error: ErrorReport) -> TopicPartition | None:
    """The partition that an error names, if it names one."""
    return None if error.topic is None or error.partition is None else TopicPartition(error.topic, error.partition)


def find_paused(context: PlanContext, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, str]:
    """Those of the partitions that the survey left out because somebody paused them, with the sentence that says who and why."""
    pauses = {tp: context.decisions.find_pause(tp) for tp in partitions if tp not in context.source}
    return {tp: f"{tp} is left out: {pause}" for tp, pause in pauses.items() if pause is not None}


def explain_absence(context: PlanContext, tp: TopicPartition) -> list[ErrorReport]:
    """Why a partition that is not paused cannot be filled just now: what the plan says of it, else SourceUnreadable."""
    if errors := find_errors_of(context, tp):
        return errors
    if tp.topic not in context.topics:
        why = "the source has no such topic any more, or shows it no more"
    else:
        why = "its remote partition does not exist" if tp not in context.source and is_waiting_for_remote(context, tp) else NOT_LED
    return [unreadable(tp, why).report().with_flow(context.plan.flow)]


def find_errors_of(context: PlanContext, tp: TopicPartition) -> list[ErrorReport]:
    """The plan's errors of a partition or its topic; of one that the ledger does not show else those of the ledger, for of a lane that
    cannot be read no partition is known."""
    of_topic = [error for error in context.plan.errors if error.topic == tp.topic and error.partition in (None, tp.partition)]
    if of_topic or tp in context.ledger.records:
        return of_topic
    return [error for error in context.plan.errors if concerns_flow(error)]


def unreadable(tp: TopicPartition, reason: str) -> SourceUnreadable:
    """The error of a partition whose interval is not filled for this reason."""
    return SourceUnreadable(
        f"{tp}: {reason}, so its interval was not filled.",
        topic=tp.topic,
        partition=tp.partition,
        next=("The next run asks again; if it stays, look at the brokers, and at what the plan says: ", *the_plan(), "."),
    )


def is_waiting_for_remote(context: PlanContext, tp: TopicPartition) -> bool:
    """Whether a partition that has a leader has no remote partition yet; refresh-topics creates it."""
    topic, remote = context.topics.get(tp.topic), context.remotes.get(tp.topic)
    led = topic is not None and any(partition.number == tp.partition and partition.leader is not None for partition in topic.partitions)
    return led and (remote is None or tp.partition >= len(remote.partitions))


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


def read_pending_ledger(context: PlanContext) -> PendingLedger:
    """Returns the ledger as the copy will find it once it has acted on its plan."""
    records, begun = dict(context.ledger.records), {}
    for planned in context.plan.ranges:
        tp = planned.topic_partition
        noted = records.get(tp)
        if noted is None:
            begun[tp] = planned.start
        elif planned.decisions:
            partition, remote = context.source[tp], context.remotes.get(tp.topic)
            name, remote_id = (remote.name, remote.id) if remote is not None else ("", None)
            facts = PartitionFacts(partition.topic_id, partition.log_start, name, remote_id, partition.leader_epoch)
            record, _ = act_on_decisions(noted, planned.decisions, facts)
            records[tp] = record
            if (record.live_start, record.source_topic_id) != (noted.live_start, noted.source_topic_id):
                begun[tp] = record.live_start
    return PendingLedger(records, begun)
