"""A large audit on Spark: when it is one, and what its job does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from kafka_mirror.audit.compare_ranges import compare_audit_ranges
from kafka_mirror.audit.context import AuditContext, audit_context
from kafka_mirror.audit.parallel import compare_on_spark
from kafka_mirror.audit.range import AuditRange, Outcome
from kafka_mirror.audit.run import Compare
from kafka_mirror.config import Flow
from kafka_mirror.spark.driver import Spark
from kafka_mirror.spark.run import SparkRunner, runner_by_hand


@dataclass(frozen=True)
class AuditWork:
    """What a job compares."""

    stretches: tuple[AuditRange, ...]
    show_payload: bool = False


def compare_stretches(spark: Spark, flow: Flow, work: AuditWork) -> tuple[Outcome, ...]:
    """The job: compares the stretches on the workers of a Spark; their outcomes in any order."""
    context, least = audit_context(flow, work.show_payload), flow.value("mirror.audit.spark.threshold")
    return tuple(compare_on_spark(context, work.stretches, least, spark))


def by_size(flow: Flow, on_spark: Compare, in_process: Compare = compare_audit_ranges) -> Compare:
    """Compares in this process what is small, and on Spark what is more than mirror.audit.spark.threshold."""

    def compare(context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
        few = sum(stretch.offsets for stretch in stretches) <= flow.value("mirror.audit.spark.threshold")
        return in_process(context, stretches) if few else on_spark(context, stretches)

    return compare


def on_spark(flow: Flow, runner: Callable[[], SparkRunner], by: str) -> Compare:
    """Compares by a job; `by` as in `SparkRunner.run`. Raises what that raises."""

    def compare(context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
        return list(runner().run(compare_stretches, flow, AuditWork(tuple(stretches), context.show_payload), "audit", by))

    return compare


def by_hand(flow: Flow, master: str | None, by: str) -> Compare:
    """Compares by a job on the Spark that the command or the flow names, where `by` says which command it is."""
    return on_spark(flow, partial(runner_by_hand, flow, master), f"hand: {by}")
