"""A flow without brokers: a source, a ledger, a Spark and a clock that live in an object, for rounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from mirror.config import Flow
from mirror.copy.model import LaneResult, RoundBudget, Watermark
from mirror.copy.publish import compared
from mirror.copy.rounds import Rounds, RunTimes
from mirror.copy.run_result import RunResult
from mirror.copy.verdict import verdict
from mirror.errors import ErrorReport
from mirror.formats.ledger import Writer
from mirror.kafka.ledger import LedgerView
from mirror.offsets.partition import TopicPartition, lane_of
from mirror.plan.model import BEHIND, Plan, Range
from mirror.plan.run import PlanContext
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

RUN = "east-to-west.copy / run"
START, RECORD_BYTES = 1000.0, 10
CONFIGURATION = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
east->west.mirror.rounds.seconds = 5
"""


@dataclass
class Mirror:
    """A source that gets records as the clock says, and a copy that takes all of them in a second."""

    configured: Callable[..., Flow]
    arrivals: dict[float, dict[str, int]] = field(default_factory=dict)
    clock: float = START
    ends: dict[str, int] = field(default_factory=dict)
    copied: dict[str, int] = field(default_factory=dict)
    """How far each topic is in the ledger."""
    writers: dict[str, str] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    errors: list[ErrorReport] = field(default_factory=list)
    notices: tuple[str, ...] = ()
    plans: list[float] = field(default_factory=list)
    budgets: list[RoundBudget] = field(default_factory=list)
    happenings: dict[int, Callable[[], Any]] = field(default_factory=dict)
    """What happens before the plan of a number, counted from 0; an exception is how that plan fails."""
    broken: dict[int, Exception] = field(default_factory=dict)
    """Which copies fail, counted from 0."""
    answers: dict[int, list[ErrorReport]] = field(default_factory=dict)
    """Which copies copy nothing and answer with these errors."""
    stopped_at: float = float("inf")
    throttle: tuple[Any, ...] = ()
    kept: list[RunResult] = field(default_factory=list)

    def now(self) -> float:
        return self.clock

    def wait(self, seconds: float) -> bool:
        if self.clock + seconds >= self.stopped_at:
            self.clock = max(self.clock, self.stopped_at)
            return False
        self.clock += seconds
        return True

    def flow(self) -> Flow:
        return self.configured()

    def plan(self) -> Plan:
        for moment in [moment for moment in self.arrivals if moment <= self.clock]:
            for topic, records in self.arrivals.pop(moment).items():
                self.ends[topic] = self.ends.get(topic, 0) + records
        ranges = tuple(
            Range(topic, 0, "id", start, end, BEHIND, records=start, bytes=start * RECORD_BYTES)
            for topic, end in sorted(self.ends.items())
            if (start := self.copied.get(topic, 0)) < end and topic not in self.paused
        )
        return Plan("east->west", ranges, tuple(self.errors), self.notices, decisions=self.throttle)

    def anew(self, flow: Flow) -> tuple[Flow, PlanContext]:
        assert flow.name == "east->west"
        number = len(self.plans)
        self.plans.append(self.clock - START)
        if number in self.happenings:
            self.happenings[number]()
        return self.flow(), PlanContext(self.plan(), LedgerView(self.ledger()), {}, {})

    def ledger(self) -> dict[TopicPartition, Any]:
        return {TopicPartition(topic, 0): self.record(topic) for topic in self.copied}

    def record(self, topic: str) -> Any:
        offset, writer = self.copied[topic], Writer("", "host", self.writers.get(topic, RUN), WRITTEN_AT)
        return ledger_record(watermark=offset, target_next=offset, records=offset, bytes=offset * RECORD_BYTES, writer=writer)

    def copy(self, _flow: Flow, plan: Plan, budget: RoundBudget) -> Sequence[LaneResult]:
        number = len(self.budgets)
        self.budgets.append(budget)
        self.clock += 1
        if number in self.broken:
            raise self.broken[number]
        if number in self.answers:
            return [LaneResult(lane_of(plan.ranges[0].topic, 0, 16), errors=tuple(self.answers[number]))]
        results = []
        for planned in plan.ranges:
            self.copied[planned.topic], self.writers[planned.topic] = planned.end, RUN
            mark = Watermark(planned.topic, 0, planned.end, planned.end, planned.offsets, planned.offsets * RECORD_BYTES)
            results.append(LaneResult(lane_of(planned.topic, 0, 16), (mark,), transactions=1, seconds=1.0, ledger_end=planned.end))
        return results

    def rounds(self, due: float = 60.0, end: float = 300.0, earlier: RunResult | None = None) -> Rounds:
        first = self.plan()
        times = RunTimes(START + due, START + end)
        result = earlier or RunResult(first)
        plan = None if earlier else first
        return Rounds(self.flow(), result, RUN, times, self.wait, plan=plan, anew=self.anew, keep=self.kept.append, now=self.now)

    def run(self, **times: Any) -> RunResult:
        return self.rounds(**times).run(self.copy)

    def judged(self, result: RunResult) -> Any:
        return verdict(result.whole_plan, result.results, compared(result.plan, result.results, self.ledger(), RUN))
