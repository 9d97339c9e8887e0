"""One pass of the flow's own copy over the partitions of a wave: planned, copied, published and judged as every run is."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kafka_mirror.config import Flow
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.copy.publish import publish
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.copy.verdict import Verdict, verdict
from kafka_mirror.cutover.catch_up_forecast import WaveLag
from kafka_mirror.cutover.findings import Finding, stop
from kafka_mirror.cutover.move import Move
from kafka_mirror.cutover.steps import StepOptions
from kafka_mirror.errors import ErrorReport, NotCopied
from kafka_mirror.errors.words import first_few
from kafka_mirror.offsets.partition import TopicPartition
from kafka_mirror.plan.model import Plan
from kafka_mirror.plan.run import plan_context

Copier = Callable[[Flow, Plan, str], list[LaneResult]]
"""Copies a plan under the name of a run: `copy_in_process`, or on Spark as the caller has it."""


@dataclass(frozen=True)
class WavePlan:
    """What a pass would copy of the wave, how far it is behind, and what is wrong with it."""

    plan: Plan
    sample: WaveLag
    errors: tuple[ErrorReport, ...]
    unseen: tuple[TopicPartition, ...]
    """Partitions of the wave that the plan says nothing about: paused, without a leader, or without a remote partition."""

    @property
    def stops(self) -> tuple[Finding, ...]:
        """What no further pass would mend."""
        return (*_final(self.errors), *_unseen(self.unseen, self.plan))


def plan_wave(move: Move, dry_run: bool) -> WavePlan:
    """Plans the flow's copy, and takes of it what is the wave's. Raises what concerns the whole flow."""
    wave = frozenset(move.topics.names)
    context = plan_context(move.flow, dry_run, by_person=True)
    plan = replace(context.plan, ranges=tuple(planned for planned in context.plan.ranges if planned.topic in wave))
    starts = {planned.topic_partition: planned.start for planned in plan.ranges}
    records = {tp: record.watermark for tp, record in context.ledger.records.items() if tp.topic in wave}
    ends = {tp: partition.end for tp, partition in context.source.items() if tp.topic in wave}
    sample = WaveLag(time.monotonic(), {tp: mark for tp, mark in {**starts, **records}.items() if tp in ends}, ends)
    unseen = tuple(tp for tp in move.source_partitions() if tp not in sample.watermarks)
    return WavePlan(plan, sample, of_wave(plan.errors, wave), unseen)


def copy_wave(move: Move, planned: WavePlan, options: StepOptions, step: str, copy: Copier = copy_in_process) -> Verdict:
    """One pass: copies what was planned, writes the offset syncs, and judges by the ledger; the errors are those of the wave."""
    run = f"{step} of the wave {options.wave} / {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    results = copy(move.flow, planned.plan, run)
    judged = verdict(planned.plan, results, publish(move.flow, planned.plan, results, run=run))
    return replace(judged, errors=of_wave(judged.errors, frozenset(move.topics.names)))


def of_wave(errors: Collection[ErrorReport], topics: Collection[str]) -> tuple[ErrorReport, ...]:
    """The errors of these topics, and those of the whole flow."""
    return tuple(error for error in dict.fromkeys(errors) if error.topic is None or error.topic in topics)


def red(errors: Collection[ErrorReport]) -> tuple[Finding, ...]:
    """The stops of a copy that stays red, whether or not its errors may mend themselves."""
    return tuple(stop(error) for error in errors)


def _final(errors: Collection[ErrorReport]) -> tuple[Finding, ...]:
    return red([error for error in errors if not error.retriable])


def _unseen(partitions: Collection[TopicPartition], plan: Plan) -> tuple[Finding, ...]:
    """What is said of partitions that are not planned, with the plan's notices about their topics, which say why."""
    if not partitions:
        return ()
    topics = {tp.topic for tp in partitions}
    why = "".join(f" {notice}" for notice in plan.notices if any(notice.startswith(topic) for topic in topics))
    return (stop(NotCopied(first_few(sorted(partitions)), why)),)
