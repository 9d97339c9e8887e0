"""A run that follows: lanes copy by a plan and go on, and where something was decided or is new, the run plans again.

It runs where Spark is already there: in the driver of the job, or in the process with a session of a Spark Connect server, or that copies
itself. Before anything is to be copied it only waits, and holds no Spark; a little can be copied without Spark, a minute at a time. Seconds
and bytes are those of the whole run.

Lanes on Spark's workers cannot see the files of the configuration, but all of them watch the end of the control topic. So the process that
can see the files announces a change there, and the lanes end for the next plan, as after a decision.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from kafka_mirror.config import Flow, load_again
from kafka_mirror.config.policies import replication_policy
from kafka_mirror.copy.follow_turn import Discovery, known_topics
from kafka_mirror.copy.model import HANDED_OVER, NEWS, LaneResult
from kafka_mirror.copy.next_transaction import estimate_bytes
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import PlanContext, plan_context
from kafka_mirror.copy.publish import sync_meanwhile
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.errors import ErrorReport, MirrorError, report_unexpected
from kafka_mirror.errors.words import count_text
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.polling import repeat_meanwhile
from kafka_mirror.ledger.clusters import clusters, control_of

Copy = Callable[[Flow, Plan, int], Sequence[LaneResult]]
"""Copies by a plan and follows. The number is how many bytes the run has left; -1: no limit."""
Wait = Callable[[float], bool]
"""Waits for this many seconds. False, at once: the run is to stop."""
Ends = dict[TopicPartition, int]
Stamps = list[tuple[int, int, int] | None]

_SECONDS_WORTH_A_PLAN = 2.0
_MINUTE = 60.0
_LOOK_SECONDS = 0.25
"""How often files are looked at, by their times and sizes."""

log = logging.getLogger(__name__)


def due_time(flow: Flow, begun: float) -> float:
    """When a run ends whose copy began at this moment, in seconds since the epoch, from which Airflow counts intervals too: when the next
    run is due, or its own seconds are over. By the monotonic clock of this process."""
    interval, longest = flow.value("mirror.copy.interval.seconds"), flow.value("mirror.run.max.seconds")
    return float(time.monotonic() - (time.time() - begun) + min(interval - begun % interval, longest))


def plan_anew(flow: Flow, by_person: bool, follow_for: float) -> tuple[Flow, PlanContext]:
    """The flow as it is configured now, and its plan. Raises what both raise."""
    flow = load_again(flow).flow(flow.name)
    return flow, plan_context(flow, by_person=by_person, follow_for=follow_for)


class ChangedFiles:
    """Compares the files with the flow as it was loaded."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._judged: Stamps = []
        self._last: Stamps | None = None

    def mean_another_flow(self) -> bool:
        """Whether the files now configure the flow in another way, or no longer. It reads them only after a change, and only once they were
        the same twice: somebody may be writing. Files that cannot be loaded do not count; the log says so."""
        last, self._last = self._last, [_stamp(file) for file in self._flow.files]
        if self._last != last or self._last == self._judged:
            return False
        self._judged = self._last
        try:
            now = load_again(self._flow)
            is_gone = self._flow.name not in {flow.name for flow in (*now.flows, *now.invalid)} and not now.unreadable
            return is_gone or now.flow(self._flow.name).config_hash != self._flow.config_hash
        except Exception as failure:  # noqa: BLE001 — a run goes on as it was planned; the next one fails, and says why
            log.warning("%s: its configuration was changed and cannot be loaded; the run goes on without it: %s", self._flow.name, failure)
            return False


def announce_meanwhile(flow: Flow, seconds: float = _LOOK_SECONDS) -> AbstractContextManager[None]:
    """Looks at the files while the block lasts, in a thread of its own, and announces the first change in the control topic, again and
    again until the target takes it."""
    files, is_changed = ChangedFiles(flow), False

    def announce() -> bool:
        """Whether to look again."""
        nonlocal is_changed
        is_changed = is_changed or files.mean_another_flow()
        if not is_changed:
            return True
        with clusters(flow) as (_, target):
            control_of(flow, target).announce_configuration()
        log.info("%s: its configuration was changed; lanes end, and the run plans with it.", flow.name)
        return False

    otherwise = f"{flow.name}: its configuration was changed, which cannot be announced to the lanes just now"
    return repeat_meanwhile("configuration", seconds, announce, otherwise, flow.request_seconds)


def _stamp(file: str) -> tuple[int, int, int] | None:
    try:
        stat = Path(file).stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


@contextmanager
def watch_idle(flow: Flow, plan: Plan, ends_told: Ends) -> Iterator[Callable[[], bool]]:
    """Gives a function that asks whether anything changed since a plan without work: the ends of its partitions, the decisions, the
    configuration, the topics of the source. An end that it has reported, which is in `ends_told` then, is no second change. Raises what
    the clusters answer."""
    ends = {planned.topic_partition: planned.end for planned in plan.ranges}
    control = TopicPartition(replication_policy(flow).control_topic(flow.source), 0)
    discovery, files = Discovery(known_topics(flow, plan.source_topics)), ChangedFiles(flow)
    with clusters(flow) as (source, target):

        def has_changed() -> bool:
            """Asks each leader once."""
            now = source.ends(ends, {}, flow.reads_committed)
            moved = {tp: end.offset for tp, end in now.items() if end.offset not in (ends[tp], ends_told.get(tp))}
            ends_told.update(moved)
            decided = target.offsets([control], "latest", committed=True).get(control, 0) > plan.control_end
            return decided or bool(moved) or files.mean_another_flow() or discovery.has_news(source)

        yield has_changed


@contextmanager
def work_beside(flow: Flow, plan: Plan) -> Iterator[None]:
    """What a run does in threads of its own while its lanes copy: offset syncs, and a look at the files of its configuration."""
    with sync_meanwhile(flow, plan), announce_meanwhile(flow):
        yield


class Following:
    """One try of a run. `result` is what came of it so far; a try that goes on after an earlier one begins with that."""

    def __init__(
        self,
        flow: Flow,
        result: RunResult,
        run: str,
        due: float,
        wait: Wait,
        *,
        plan: Plan | None = None,
        hand_over: float = 0.0,
        anew: Callable[[Flow, bool, float], tuple[Flow, PlanContext]] | None = None,
        watch: Callable[[Flow, Plan, Ends], AbstractContextManager[Callable[[], bool]]] | None = None,
        beside: Callable[[Flow, Plan], AbstractContextManager[None]] | None = None,
        keep: Callable[[RunResult], None] = lambda _result: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`due`: when it ends, by `now`, but for lanes, which the next run then has `hand_over` seconds to take over. `plan` is what it
        copies first; None: it plans. `keep` is called before and after each copy, with what would be known if this process ended then."""
        self.flow = flow
        self.plan = plan
        self.result = result
        self.due = due
        self._hand_over = hand_over
        self._run = run
        self._wait = wait
        self._anew = anew or plan_anew
        self._watch = watch or watch_idle
        self._beside = beside or work_beside
        self._keep = keep
        self._now = now
        self._bytes_before = result.bytes
        self._ends_told: Ends = {}

    def await_work(self) -> bool:
        """Waits until a plan has work, which is left to the caller. False: the run ended before, or planning failed."""
        while self.plan is None or self.plan.is_idle:
            if not (self.plan is None or self._await_change(self.plan)) or not self._plan_again():
                return False
        return True

    def run(self, copy: Copy) -> RunResult:
        """Copies and follows to the end of the run. What fails is in the result and ends it; what was copied before stays there."""
        while (self.plan is not None and self.plan.ranges) or self.await_work():
            if not self._copy(copy) or not self._plan_again():
                break
        return self.result

    def copy_little(self, copy: Copy, most: int) -> bool:
        """Copies and follows a minute at a time, as long as none brings more than `most` bytes. True: there is work left, which the caller
        must do. False: the run ended."""
        while self.await_work():
            assert self.plan is not None
            if sum(estimate_bytes(planned.offsets, planned.records, planned.bytes) for planned in self.plan.ranges) > most:
                return True
            began, before = self._now(), self.result.bytes
            if not self._copy(copy, _MINUTE if self.due - began >= 2 * _MINUTE else math.inf) or not self._plan_again():
                return False
            if self.result.bytes - before > most * max(self._now() - began, _MINUTE) / _MINUTE:
                return self.await_work()
        return False

    def hand_to(self, job: Callable[[Flow, Plan], RunResult]) -> RunResult:
        """Leaves the work that there is to a job that runs to the end itself."""
        if self.plan is not None:
            try:
                self.result = self.result.merge(job(self.flow, replace(self.plan, hand_over_for=self._hand_over)))
            except Exception as failure:  # noqa: BLE001 — it is reported, and judged by the ledger
                self._note_failure(self.plan, failure)
        return self.result

    def _await_change(self, plan: Plan) -> bool:
        try:
            with self._watch(self.flow, plan, self._ends_told) as has_changed:
                while self._wait(min(poll_seconds(self.flow), max(self.due - self._now(), 0.0))):
                    if self._now() >= self.due:
                        return self._end("its time is over")
                    if has_changed():
                        return True
        except Exception as failure:  # noqa: BLE001 — it is reported, and the run is red
            self.result = replace(self.result, failure=_report(failure, "Waiting for something to copy"))
            return self._end("it could not be asked whether there is anything to copy")
        return self._end("it was asked to stop")

    def _plan_again(self) -> bool:
        """Makes the next plan. False: there is none."""
        seconds = self.due - self._now()
        if not self._wait(0):
            return self._end("it was asked to stop")
        if self.plan is not None and (seconds < _SECONDS_WORTH_A_PLAN or self._count_bytes_left() == 0):
            return self._end("its time is over" if seconds < _SECONDS_WORTH_A_PLAN else "mirror.run.max.bytes are copied")
        try:
            self.flow, context = self._anew(self.flow, self.result.plan.by_person, max(seconds, _SECONDS_WORTH_A_PLAN))
        except Exception as failure:  # noqa: BLE001 — as above
            self.result = replace(self.result, failure=_report(failure, "The next plan of a copy"))
            return self._end("the next plan failed")
        self._take_plan(context)
        return self._wait(0) or self._end("it was asked to stop")

    def _take_plan(self, context: PlanContext) -> None:
        """Takes over a new plan, and says what is new about what cannot be copied."""
        plan, before = context.plan, self.result.plan
        of_lanes = (error for result in self.result.results for error in result.errors)
        earlier = {(error.code, error.topic, error.partition) for error in (*before.errors, *of_lanes)}
        for line in (
            *(error for error in plan.errors if (error.code, error.topic, error.partition) not in earlier),
            *(notice for notice in plan.notices if notice not in before.notices),
        ):
            log.warning("%s", line)
        runs = {tp: record.writer.run for tp, record in context.ledger.records.items()}
        lanes = self.flow.value("mirror.lanes")
        elsewhere = self.result.find_copied_elsewhere(plan, runs, self._run, lanes)
        self.result = self.result.drop_idle_lane_errors(plan, lanes).with_plan(plan).with_results(replace(plan, ranges=()), elsewhere)
        self.plan = plan

    def _copy(self, copy: Copy, seconds: float = math.inf) -> bool:
        """Copies by the newest plan until its lanes end, or for this many seconds. False: nothing more is to be planned."""
        assert self.plan is not None
        began = self._now()
        is_last = seconds >= self.due - began
        follow_for = max(self.due - began, _SECONDS_WORTH_A_PLAN) if is_last else seconds
        plan = replace(self.plan, follow_for=follow_for, hand_over_for=self._hand_over if is_last else 0.0)
        self._keep(self.result.with_results(plan, ()))
        try:
            with self._beside(self.flow, plan):
                answers = list(copy(self.flow, plan, self._count_bytes_left()))
        except Exception as failure:  # noqa: BLE001 — it is reported, and judged by the ledger
            return self._note_failure(plan, failure)
        self.result = self.result.with_results(plan, answers)
        self._keep(self.result)
        self._report_copied(answers, self._now() - began)
        reasons = {answer.ended_for for answer in answers}
        if HANDED_OVER in reasons:
            return self._end("the next run has its lanes")
        is_cut = not is_last and self._now() - began >= seconds and not any(answer.errors for answer in answers)
        return NEWS in reasons or is_cut or self._end("its lanes ended, for their time or budget is over or an error stopped them")

    def _note_failure(self, plan: Plan, failure: Exception) -> bool:
        report = _report(failure, "A copy that follows")
        self.result = self.result.with_failure(plan, report, self.flow.value("mirror.lanes"), is_followed=True)
        return self._end("the copy failed")

    def _report_copied(self, answers: Sequence[LaneResult], seconds: float) -> None:
        marks = [mark for answer in answers for mark in answer.watermarks if mark.records]
        copied = f"{count_text(sum(mark.records for mark in marks), 'record')}, {sum(mark.bytes for mark in marks):,} bytes"
        errors = f"; {count_text(failed, 'error')}" if (failed := sum(len(answer.errors) for answer in answers)) else ""
        partitions = count_text(len(marks), "partition")
        log.info("By plan %d %s of %s were copied in %.1f s%s.", self.result.plans, copied, partitions, seconds, errors)

    def _count_bytes_left(self) -> int:
        most = self.flow.value("mirror.run.max.bytes")
        return max(0, most - self.result.bytes + self._bytes_before) if most >= 0 else -1

    def _end(self, why: str) -> bool:
        log.info("%s: the run no longer follows, after %s: %s.", self.flow.name, count_text(self.result.plans, "plan"), why)
        return False


def poll_seconds(flow: Flow) -> float:
    """How often the source is asked for new records."""
    return float(flow.value("mirror.follow.seconds") or 1)


def _report(failure: Exception, what: str) -> ErrorReport:
    if isinstance(failure, MirrorError):
        return failure.report()
    return report_unexpected(what, failure, "Report it with this message; the ledger is consistent.")
