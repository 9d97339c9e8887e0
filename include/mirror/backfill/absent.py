"""Partitions that a survey has no offsets of: whether a person paused them, and if not, the errors that say why."""

from collections.abc import Collection, Iterable

from mirror.errors import ErrorReport, SourceUnreadable
from mirror.errors.next_step import PLAN
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Plan
from mirror.plan.run import Survey
from mirror.policy.replication import is_ledger_or_control_topic

NOT_LED = "no leader on the source answers for it"


def concerning(plan: Plan, partitions: Collection[TopicPartition]) -> list[ErrorReport]:
    """The plan's errors of these partitions, of their topics, and of the flow or its ledger; none if there are no partitions."""
    topics = {tp.topic for tp in partitions}
    return [
        error
        for error in plan.errors
        if (partition_of(error) in partitions or (error.partition is None and error.topic in topics) or (partitions and of_flow(error)))
    ]


def of_flow(error: ErrorReport) -> bool:
    """Whether an error concerns no topic of the source, but the flow, or a lane of its ledger."""
    return error.topic is None or is_ledger_or_control_topic(error.topic)


def partition_of(error: ErrorReport) -> TopicPartition | None:
    """The partition that an error names, if it names one."""
    return None if error.topic is None or error.partition is None else TopicPartition(error.topic, error.partition)


def paused(found: Survey, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, str]:
    """Those of the partitions that the survey left out because somebody paused them, with the sentence that says who and why."""
    pauses = {tp: found.decisions.pause(tp) for tp in partitions if tp not in found.source}
    return {tp: f"{tp} is left out: {pause}" for tp, pause in pauses.items() if pause is not None}


def why_absent(found: Survey, tp: TopicPartition) -> list[ErrorReport]:
    """Why a partition that nobody paused cannot be filled just now: what the plan says of it, else SourceUnreadable."""
    return told_of(found, tp) or [unreadable(tp, _reason(found, tp)).report().of_flow(found.plan.flow)]


def told_of(found: Survey, tp: TopicPartition) -> list[ErrorReport]:
    """The plan's errors of a partition or its topic; of one that the ledger does not show else those of the ledger, for of a lane that
    cannot be read no partition is known."""
    own = [error for error in found.plan.errors if error.topic == tp.topic and error.partition in (None, tp.partition)]
    if own or tp in found.ledger.records:
        return own
    return [error for error in found.plan.errors if of_flow(error)]


def unreadable(tp: TopicPartition, reason: str) -> SourceUnreadable:
    """The error of a partition whose interval is not filled for this reason."""
    return SourceUnreadable(
        f"{tp}: {reason}, so its interval was not filled.",
        topic=tp.topic,
        partition=tp.partition,
        next=f"The next run asks again; if it stays, look at the brokers, and at what the plan says: {PLAN}.",
    )


def waits_for_remote(found: Survey, tp: TopicPartition) -> bool:
    """Whether a partition that has a leader has no remote partition yet; refresh-topics creates it."""
    topic, remote = found.topics.get(tp.topic), found.remotes.get(tp.topic)
    led = topic is not None and any(each.number == tp.partition and each.leader is not None for each in topic.partitions)
    return led and (remote is None or tp.partition >= len(remote.partitions))


def _reason(found: Survey, tp: TopicPartition) -> str:
    if tp.topic not in found.topics:
        return "the source has no such topic any more, or shows it no more"
    if tp not in found.source and waits_for_remote(found, tp):
        return "its remote partition does not exist"
    return NOT_LED
