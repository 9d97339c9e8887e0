"""From a plan to lane tasks, and from tasks to results: in this process, or as a job on Spark, by one plan or following.

The lanes share the run's budget. An idle lane is done in a second, and a backlog may take all day: so each lane has an equal share of the
seconds and bytes first, and what is left goes to the lanes that only the budget stopped.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import replication_policy, topic_selection
from kafka_mirror.config.resolved_flow import resolved_flow
from kafka_mirror.copy.follow import Following, poll_seconds
from kafka_mirror.copy.follow_turn import SharedTurn, known_topics
from kafka_mirror.copy.history import add_history_advice
from kafka_mirror.copy.lane import LaneCopy
from kafka_mirror.copy.model import LaneResult, LaneTask
from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, Plan, Range, sort_by_lane
from kafka_mirror.copy.run_result import RunResult, growth, join_results
from kafka_mirror.copy.throttle import divide_rate
from kafka_mirror.errors import JobFailed, MirrorError, report_unexpected
from kafka_mirror.formats.offsets.partition import transactional_id
from kafka_mirror.ledger.checks import check_configuration
from kafka_mirror.spark.run import Spark, SparkRunner
from kafka_mirror.watchdog.watch import kill_if_hung

STEP = "copy"
LANES_AT_ONCE = 8
"""How many lanes one process copies at once; most of a lane's time is waiting for brokers, the more so the farther they are."""
BESIDE_COPYING_SECONDS = 600
"""Beyond its budget, how long a lane may take before its process is ended: fences, the last transaction, what it waits for brokers."""
ON_WORKERS = "kafka_mirror.copy.run:copy_side_by_side"
"""What a worker of Spark runs."""
DRIVER_DIED = JobFailed(
    "The Spark job ended while its lanes copied or followed.",
    next="Look at the job's output above; what was committed is in the ledger, and the next run goes on after it.",
).report()
_NEXT_ATTEMPT = (
    "Spark, Airflow or the next run begins the lane again, fences this attempt and goes on at the ledger's watermarks: nothing is lost "
    "or doubled."
)
_SECONDS_WORTH_A_SHARE = 1.0

log = logging.getLogger(__name__)

Copy = Callable[[Sequence[LaneTask]], Sequence[LaneResult]]
"""Copies lanes, a few side by side, and answers in their order."""


def copy_in_shares(tasks: Sequence[LaneTask], at_once: int, copy: Copy, now: Callable[[], float] = time.monotonic) -> list[LaneResult]:
    """Copies the lanes, `at_once` of them side by side. Each task comes with the budget of the whole run, which is the same for all."""
    if not tasks:
        return []
    deadline, max_bytes = now() + tasks[0].max_seconds, tasks[0].max_bytes
    results: dict[int, LaneResult] = {}
    while tasks:
        seconds = deadline - now()
        bytes_left = max(0, max_bytes - sum(result.bytes for result in results.values())) if max_bytes >= 0 else -1
        if results and (seconds < _SECONDS_WORTH_A_SHARE or bytes_left == 0):
            break
        answers = list(copy(_share(tasks, at_once, seconds, bytes_left)))
        for answer in answers:
            results[answer.lane] = join_results(results[answer.lane], answer) if answer.lane in results else answer
        tasks = [
            replace(task, ranges=ranges) for task, answer in zip(tasks, answers, strict=True) if (ranges := list_unfinished(task, answer))
        ]
    return list(results.values())


def list_unfinished(task: LaneTask, result: LaneResult) -> tuple[Range, ...]:
    """The ranges that nothing but the budget kept from being copied to their end."""
    if not result.transactions or result.ended_for or any(error.topic is None for error in result.errors):
        return ()
    failed = {(error.topic, error.partition) for error in result.errors}
    reached = {(mark.topic, mark.partition): mark.source_offset for mark in result.watermarks}
    copied = growth(result)
    ranges = []
    for planned in task.ranges:
        tp = planned.topic_partition
        if tp in failed or (tp.topic, None) in failed or reached.get(tp, planned.start) >= planned.end:
            continue
        records, size = copied.get(tp, (0, 0))
        passed = planned.reason == BLOCKED and reached.get(tp, planned.start) > planned.start
        reason = BEHIND if passed else planned.reason
        ranges.append(replace(planned, reason=reason, records=planned.records + records, bytes=planned.bytes + size))
    return tuple(ranges)


def _share(tasks: Sequence[LaneTask], at_once: int, seconds: float, size: int) -> list[LaneTask]:
    turns = -(-len(tasks) // at_once)
    share = size // len(tasks) if size >= 0 else -1
    rates = divide_rate([task.ranges for task in tasks], at_once)
    return [
        replace(task, max_seconds=seconds / turns, max_bytes=share, throttle_share=rate) for task, rate in zip(tasks, rates, strict=True)
    ]


def lane_tasks(flow: Flow, plan: Plan, run: str = "", max_bytes: int | None = None) -> list[LaneTask]:
    """One task for each lane that has work, in the plan's order. The tasks hold resolved secrets: never log or store them.

    Each has the budget of the whole run, or the bytes that are left of it; `copy_in_shares` shares it. Raises PlanMismatch if the plan was
    made with another configuration.
    """
    check_configuration(plan.config_hash, flow.config_hash)
    tasks = _build_tasks(flow, plan, run, sort_by_lane(plan.ranges, flow.value("mirror.lanes")))
    return tasks if max_bytes is None else [replace(task, max_bytes=max_bytes) for task in tasks]


def lane_task(flow: Flow, plan: Plan, lane: int, run: str = "") -> LaneTask:
    """The task of one lane without any work, to write its ledger in another way than by copying. It holds resolved secrets, too."""
    return _build_tasks(flow, plan, run, {lane: ()})[0]


def _build_tasks(flow: Flow, plan: Plan, run: str, by_lane: Mapping[int, Sequence[Range]]) -> list[LaneTask]:
    selection, resolved, policy = topic_selection(flow), resolved_flow(flow, writes=True), replication_policy(flow)
    remote_topics = {planned.topic: selection.remote(planned.topic) for ranges in by_lane.values() for planned in ranges}
    into = {**remote_topics, **plan.into}
    # Where records that the ledger does not explain may stand; in a topic of its own history stands alone.
    append_to = {
        topic
        for topic, remote in remote_topics.items()
        if into[topic] == remote and flow.per_topic("mirror.on.unexplained.target", topic) == "append"
    }
    source_topics = known_topics(flow, plan.source_topics)
    return [
        LaneTask(
            **vars(resolved),
            lane=lane,
            ledger_topic=policy.ledger_topic(flow.source),
            transactional_id=transactional_id(flow.source, resolved.lanes, lane),
            ranges=tuple(ranges),
            remote_topics={planned.topic: into[planned.topic] for planned in ranges},
            append_to=frozenset(planned.topic for planned in ranges if planned.topic in append_to),
            source_cluster_id=plan.source_cluster_id,
            target_cluster_id=plan.target_cluster_id,
            control_topic=policy.control_topic(flow.source),
            max_bytes_per_second=flow.value("mirror.max.bytes.per.second"),
            transaction_max_bytes=flow.value("mirror.transaction.max.bytes"),
            transaction_timeout_ms=flow.value("mirror.transaction.timeout.ms"),
            max_seconds=plan.follow_for + plan.hand_over_for or flow.value("mirror.run.max.seconds"),
            hand_over_seconds=plan.hand_over_for,
            follow_seconds=poll_seconds(flow) if plan.follow_for else 0.0,
            control_end=plan.control_end,
            known_topics=source_topics,
            max_bytes=flow.value("mirror.run.max.bytes"),
            installation=flow.value("mirror.installation"),
            run=run,
            planned=plan.time,
            interval_seconds=flow.value("mirror.copy.interval.seconds"),
            skip_refused=flow.value("errors.tolerance") == "all",
            ledger_id=plan.ledger_id,
            decisions=plan.decisions,
            history=bool(plan.into),
            in_time_order=plan.in_time_order,
            engine=flow.value("mirror.engine"),
            unpacked_max_bytes=flow.value("mirror.unpacked.batch.max.bytes"),
        )
        for lane, ranges in by_lane.items()
    ]


def copy_lane(task: LaneTask, stop: threading.Event | None = None, shared: SharedTurn | None = None) -> LaneResult:
    """Copies one lane, which ends after its open transaction once `stop` is set; `shared` as in `LaneState`. Never raises: in a Spark
    job, one lane that fails would end the job for all of them."""
    try:
        with kill_if_hung(f"lane {task.lane} of {task.flow}", _NEXT_ATTEMPT, task.max_seconds + BESIDE_COPYING_SECONDS):
            result = LaneCopy(task, stop, shared).run()
    except MirrorError as error:
        result = LaneResult(task.lane, errors=(error.report(),))
    except Exception as failure:  # noqa: BLE001 — the lane's answer to whatever happens; it is reported, and the run is red
        report = report_unexpected(f"Lane {task.lane}", failure, "Report it with this message; the ledger is consistent.")
        result = LaneResult(task.lane, errors=(report,))
    errors = (error.with_flow(task.flow) for error in result.errors)
    if task.history:
        errors = (add_history_advice(error, task.remote_topics.get(error.topic or "", "that topic")) for error in errors)
    return replace(result, errors=tuple(errors))


def copy_in_process(
    flow: Flow, plan: Plan, run: str = "", max_bytes: int | None = None, stop: threading.Event | None = None
) -> list[LaneResult]:
    """Copies all lanes in this process, a few at a time. Once `stop` is set, each ends after its open transaction. `max_bytes` as in
    `lane_tasks`."""
    tasks = lane_tasks(flow, plan, run, max_bytes)
    return copy_in_shares(tasks, _count_at_once(tasks), partial(copy_side_by_side, stop=stop))


def copy_on_spark(flow: Flow, plan: Plan, run: str, spark: Spark, max_bytes: int | None = None) -> list[LaneResult]:
    """Copies all lanes on the workers of a Spark. `max_bytes` as in `lane_tasks`."""

    def copy(tasks: Sequence[LaneTask]) -> list[LaneResult]:
        """Spreads lanes over Spark's tasks."""
        # As many Spark tasks as there are cores, if there are that many lanes; more when they would otherwise hold too many. Lanes that
        # follow all run at the same time.
        slices = min(len(tasks), max(cores, 0 if plan.follow_for else -(-len(tasks) // LANES_AT_ONCE)))
        at_once = -(-len(tasks) // slices) if plan.follow_for else LANES_AT_ONCE
        log.info("Lanes with work: %d; tasks of Spark: %d, each with up to %d lanes side by side.", len(tasks), slices, at_once)
        return spark.run(ON_WORKERS, tasks, slices)

    tasks, cores = lane_tasks(flow, plan, run, max_bytes), spark.cores()
    return copy_in_shares(tasks, max(_count_at_once(tasks), cores * LANES_AT_ONCE), copy)


def copy_side_by_side(tasks: Sequence[LaneTask], stop: threading.Event | None = None) -> list[LaneResult]:
    """Copies lanes in this process, a few at a time, and gives their results in the same order."""
    if not tasks:
        return []
    shared = SharedTurn(tasks[0]) if tasks[0].follow_seconds else None
    try:
        with ThreadPoolExecutor(max_workers=_count_at_once(tasks), thread_name_prefix="lane") as threads:
            return list(threads.map(partial(copy_lane, stop=stop, shared=shared), tasks))
    finally:
        if shared:
            shared.close()


def _count_at_once(tasks: Sequence[LaneTask]) -> int:
    """How many of these lanes one process copies at the same time: those that follow do not wait for each other to end."""
    return len(tasks) if any(task.follow_seconds for task in tasks) else min(len(tasks), LANES_AT_ONCE)


@dataclass(frozen=True)
class CopyWork:
    """What a job copies. `run` names the run in the ledger."""

    plan: Plan
    run: str = ""


@dataclass(frozen=True)
class FollowWork(CopyWork):
    """What a job copies first, before it follows `until` a time, in seconds since the epoch."""

    until: float = 0.0


def copy_plan(spark: Spark, flow: Flow, work: CopyWork) -> tuple[LaneResult, ...]:
    """The job: copies the plan's ranges, and says what each lane did."""
    return tuple(copy_on_spark(flow, work.plan, work.run, spark))


def follow_plans(spark: Spark, flow: Flow, work: FollowWork) -> RunResult:
    """The job of a run that follows: what came of all of its plans. Should its driver die, its submitter knows what it was to copy.

    On a Spark that stays it takes half of the cores, so that the next run has the other half to take over with. One core is no place for
    both: there the lanes end when their run is due.
    """

    def copy(now: Flow, planned: Plan, max_bytes: int) -> Sequence[LaneResult]:
        if not spark.is_shared:
            return copy_on_spark(now, planned, work.run, spark, max_bytes)
        cores = spark.cores()
        half = replace(spark, cores=lambda: max(1, cores // 2))
        return copy_on_spark(now, planned if cores > 1 else replace(planned, hand_over_for=0.0), work.run, half, max_bytes)

    following = Following(
        *(flow, RunResult(work.plan), work.run, work.until - time.time() + time.monotonic(), spark.wait),
        plan=work.plan,
        hand_over=work.plan.hand_over_for,
        keep=lambda result: spark.keep(replace(result, failure=DRIVER_DIED)),
    )
    return following.run(copy)


def copy_with_spark(runner: SparkRunner, flow: Flow, plan: Plan, run: str) -> list[LaneResult]:
    """Copies the plan's ranges by a job, and returns what each lane did. Raises as `SparkRunner.run`."""
    return list(runner.run(copy_plan, flow, CopyWork(plan, run), STEP))


def follow_with_spark(runner: SparkRunner, flow: Flow, plan: Plan, run: str, due: float) -> RunResult:
    """Copies and follows by a job until `due`, by the monotonic clock. The run before it hands its lanes over, so only an earlier try of
    this run is interrupted. Raises as `SparkRunner.run`."""
    return runner.run(follow_plans, flow, FollowWork(plan, run, time.time() + due - time.monotonic()), STEP, run)
