"""Rounds: a run that goes on planning and copying until the flow's next run is due (mirror.rounds.seconds).

They run where Spark is already there: in the driver of the job, or in the task with a session of a Spark Connect server. Each round has a
plan of its own, so what people decide or configure holds from the next round on. One without work starts nothing on Spark. Seconds, bytes
and the throttle are the run's: they hold over all of its rounds together.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mirror.config import Flow, load_again
from mirror.copy.batch_text import count_text
from mirror.copy.model import LaneResult, RoundBudget
from mirror.copy.run_result import RunResult
from mirror.copy.throttle import Throttle, rate_in_force
from mirror.errors import ErrorReport, MirrorError, Overtaken, unexpected
from mirror.offsets.partition import lane_of
from mirror.plan.model import Plan
from mirror.plan.run import PlanContext, plan_context

CopyRound = Callable[[Flow, Plan, RoundBudget], Sequence[LaneResult]]
"""Copies the ranges of one plan."""
Wait = Callable[[float], bool]
"""Waits for so many seconds. False, at once: nobody wants any more rounds."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunTimes:
    """By the monotonic clock of this process: no round begins from `due` on, when the next run is, and none copies past `end`."""

    due: float
    end: float


def run_times(flow: Flow, begun: float) -> RunTimes:
    """The times of a run whose copy began at this moment, in seconds since the epoch, from which Airflow counts intervals too."""
    interval, longest = flow.value("mirror.copy.interval.seconds"), flow.value("mirror.run.max.seconds")
    start = time.monotonic() - (time.time() - begun)
    return RunTimes(start + min(interval - begun % interval, longest), start + longest)


def plan_anew(flow: Flow) -> tuple[Flow, PlanContext]:
    """The flow as it is configured now, and its plan. Raises what both raise."""
    flow = load_again(flow).flow(flow.name)
    return flow, plan_context(flow)


class Rounds:
    """The rounds of one try of a run. `result` is what came of them so far; a try that goes on behind an earlier one begins with that."""

    def __init__(
        self,
        flow: Flow,
        result: RunResult,
        run: str,
        times: RunTimes,
        wait: Wait,
        *,
        plan: Plan | None = None,
        anew: Callable[[Flow], tuple[Flow, PlanContext]] = plan_anew,
        keep: Callable[[RunResult], None] = lambda _result: None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`plan` is what the first round copies; None: it plans. `keep` is called with what came of each round that had work."""
        self.flow = flow
        self.plan = plan
        self.result = result
        self._run = run
        self._times = times
        self._wait = wait
        self._anew = anew
        self._keep = keep
        self._now = now
        self._begun = now()
        self._busy = 0
        self._bytes_before = result.bytes
        decisions = plan.decisions if plan else result.plan.decisions
        self._throttle = Throttle(rate_in_force(decisions, flow.value("mirror.max.bytes.per.second")), now=now)

    def await_work(self) -> bool:
        """Makes rounds until one has work, which is left to the caller. False: none had any, or planning failed."""
        while self.plan is None or not self.plan.has_work:
            if not self._goes_on():
                return False
        return True

    def run(self, copy: CopyRound) -> RunResult:
        """Makes all rounds. What fails is in the result and ends them; what was copied before stays there."""
        goes_on = True
        while goes_on:
            goes_on = self._copied(copy) and self._goes_on()
        return self.result

    def followed_by(self, job: Callable[[Flow, Plan], RunResult]) -> RunResult:
        """Leaves the work that there is to a job that makes further rounds itself."""
        if self.plan is not None:
            try:
                self.result = self.result.then(job(self.flow, self.plan))
            except Exception as failure:  # noqa: BLE001 — as above
                self._failed(self.plan, failure)
        return self.result

    def _goes_on(self) -> bool:
        """Plans the next round when it is due. False: there is none."""
        begin = self._now() if self.plan is None else max(self._now(), self._begun + self.flow.value("mirror.rounds.seconds"))
        if why := self._why_over(begin):
            return self._ends(why)
        if not self._wait(max(0.0, begin - self._now())):
            return self._ends("the task was ended")
        self._begun = self._now()
        try:
            self.flow, context = self._anew(self.flow)
        except Exception as failure:  # noqa: BLE001 — it is reported, and the run is red
            self.result = replace(self.result, failure=_report(failure, "The next round of a copy"))
            return self._ends("the next round could not be planned")
        self._take(context)
        return self._wait(0) or self._ends("the task was ended")

    def _why_over(self, begin: float) -> str:
        if self.plan is not None and not self.flow.value("mirror.rounds.seconds"):
            return "mirror.rounds.seconds is 0 now"
        if self._bytes_left() == 0:
            return "mirror.run.max.bytes are copied"
        if begin < self._times.due:
            return ""
        return "mirror.run.max.seconds are over" if self._times.due >= self._times.end else "the next run is due"

    def _take(self, context: PlanContext) -> None:
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
        elsewhere = self.result.elsewhere(plan, runs, self._run, lanes)
        self.result = self.result.at_rest(plan, lanes).planned(plan).copied(replace(plan, ranges=()), elsewhere)
        self.plan = plan

    def _copied(self, copy: CopyRound) -> bool:
        """Copies what the newest plan has. False: there shall be no further round."""
        plan, flow = self.plan, self.flow
        if plan is None or not plan.has_work:
            return True
        self._throttle.change(rate_in_force(plan.decisions, flow.value("mirror.max.bytes.per.second")))
        if self._throttle.wait_seconds():
            return True  # what the rounds before copied is still too much for the throttle
        began = self._now()
        budget = RoundBudget(self.result.rounds, max(0.0, self._times.end - began), self._bytes_left())
        try:
            answers = list(copy(flow, plan, budget))
        except Exception as failure:  # noqa: BLE001 — it is reported, and judged by the ledger
            return self._failed(plan, failure)
        self._busy += 1
        self.result = self.result.copied(plan, answers)
        self._keep(self.result)
        self._account(answers, self._now() - began)
        if any(error.kind is Overtaken for answer in answers for error in answer.errors):
            return self._ends("another attempt has the lane, or the target forgot this one")
        return True

    def _failed(self, plan: Plan, failure: Exception) -> bool:
        """Notes why nobody knows what became of a plan's ranges, with the first one's lane: it counts unless the ledger has all of them."""
        planned = plan.ranges[0]
        lane = lane_of(planned.topic, planned.partition, self.flow.value("mirror.lanes"))
        report = _report(failure, f"Round {self.result.rounds} of a copy")
        self.result = self.result.copied(plan, [LaneResult(lane, errors=(report,))])
        return self._ends("the copy failed")

    def _account(self, answers: Sequence[LaneResult], seconds: float) -> None:
        """Takes down and says what a round copied."""
        records, size = sum(answer.records for answer in answers), sum(mark.bytes for answer in answers for mark in answer.watermarks)
        self._throttle.copied(size, seconds)
        partitions = count_text(sum(bool(mark.records) for answer in answers for mark in answer.watermarks), "partition")
        errors = f"; {count_text(failed, 'error')}" if (failed := sum(len(answer.errors) for answer in answers)) else ""
        copied = f"{count_text(records, 'record')}, {size:,} bytes of {partitions}"
        log.info("Round %d copied %s in %.1f s%s.", self.result.rounds, copied, seconds, errors)

    def _bytes_left(self) -> int:
        most = self.flow.value("mirror.run.max.bytes")
        return max(0, most - self.result.bytes + self._bytes_before) if most >= 0 else -1

    def _ends(self, why: str) -> bool:
        rounds = count_text(self.result.rounds, "round")
        log.info("%s: %s, %d of them with work; there is no other one in this run: %s.", self.flow.name, rounds, self._busy, why)
        return False


def _report(failure: Exception, what: str) -> ErrorReport:
    if isinstance(failure, MirrorError):
        return failure.report()
    return unexpected(what, failure, "Report it with this message; the ledger is consistent.")
