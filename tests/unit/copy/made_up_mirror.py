"""A flow without brokers: a source, a ledger, lanes that follow and a clock that live in an object."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kafka_mirror.config import Flow
from kafka_mirror.copy.follow import Following
from kafka_mirror.copy.model import NEWS, LaneResult, Watermark
from kafka_mirror.copy.plan.model import BEHIND, Plan, Range
from kafka_mirror.copy.plan.run import PlanContext
from kafka_mirror.copy.publish import compare_results
from kafka_mirror.copy.run_result import RunResult, verdict
from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.ledger.record import Writer
from kafka_mirror.ledger.topic import LedgerView
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

RUN = "east-to-west.copy / run"
START, RECORD_BYTES = 1000.0, 10
CONFIGURATION = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
east->west.mirror.follow.seconds = 5
"""


@dataclass
class Mirror:
    """A source that gets records as the clock says, and lanes that copy each at once for as long as they follow."""

    configured: Callable[..., Flow]
    arrivals: dict[float, dict[str, int]] = field(default_factory=dict)
    """What arrives how many seconds after the start."""
    happenings: dict[float, Callable[[], Any]] = field(default_factory=dict)
    """What else happens when: it ends the lanes for what it answers, or for news."""
    clock: float = START
    ends: dict[str, int] = field(default_factory=dict)
    copied: dict[str, int] = field(default_factory=dict)
    """How far each topic is in the ledger."""
    writers: dict[str, str] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)
    errors: list[ErrorReport] = field(default_factory=list)
    notices: tuple[str, ...] = ()
    plans: list[float] = field(default_factory=list)
    """When the run planned."""
    copies: list[tuple[float, float, int]] = field(default_factory=list)
    """When each copy began, for how long it was to follow, and with how many bytes left."""
    looks: list[float] = field(default_factory=list)
    """When somebody looked whether an idle flow has anything to copy."""
    failing_plans: dict[int, Exception] = field(default_factory=dict)
    """How the plan of a number, counted from 0, fails."""
    broken: dict[int, Exception] = field(default_factory=dict)
    """How the copy of a number ends, after it copied what was there."""
    answers: dict[int, list[ErrorReport]] = field(default_factory=dict)
    """Which copies copy nothing in a second, and answer with these errors."""
    blind: Exception | None = None
    """Why nobody can look."""
    synced: list[int] = field(default_factory=list)
    """How many partitions each copy had of which offset syncs are written meanwhile."""
    stopped_at: float = float("inf")
    kept: list[RunResult] = field(default_factory=list)

    def now(self) -> float:
        return self.clock

    def wait(self, seconds: float) -> bool:
        if self.clock + seconds >= self.stopped_at:
            self.clock = max(self.clock, self.stopped_at)
            return False
        self.clock += seconds
        return True

    def arrive(self) -> None:
        for moment in [moment for moment in self.arrivals if START + moment <= self.clock]:
            for topic, records in self.arrivals.pop(moment).items():
                self.ends[topic] = self.ends.get(topic, 0) + records

    def happen(self) -> list[Any]:
        """What has happened by now; what each answered."""
        return [self.happenings.pop(moment)() for moment in sorted(self.happenings) if START + moment <= self.clock]

    def plan(self, follow_for: float = 60.0) -> Plan:
        self.arrive()
        ranges = tuple(
            Range(topic, 0, "id", start, end, BEHIND, records=start, bytes=start * RECORD_BYTES)
            for topic, end in sorted(self.ends.items())
            if (start := self.copied.get(topic, 0)) <= end and topic not in self.paused
        )
        return Plan("east->west", ranges, tuple(self.errors), self.notices, follow_for=follow_for)

    def anew(self, flow: Flow, by_person: bool, follow_for: float) -> tuple[Flow, PlanContext]:
        assert (flow.name, by_person) == ("east->west", False)
        number = len(self.plans)
        self.plans.append(self.clock - START)
        if number in self.failing_plans:
            raise self.failing_plans[number]
        return self.configured(), PlanContext(self.plan(follow_for), LedgerView(self.ledger()), {}, {})

    def ledger(self) -> dict[TopicPartition, Any]:
        return {TopicPartition(topic, 0): self.record(topic) for topic in self.copied}

    def record(self, topic: str) -> Any:
        offset, writer = self.copied[topic], Writer("", "host", self.writers.get(topic, RUN), WRITTEN_AT)
        return ledger_record(watermark=offset, target_next=offset, records=offset, bytes=offset * RECORD_BYTES, writer=writer)

    @contextmanager
    def watch(self, _flow: Flow, plan: Plan, seen: dict[TopicPartition, int]) -> Iterator[Callable[[], bool]]:
        def has_changed() -> bool:
            self.looks.append(self.clock - START)
            if self.blind:
                raise self.blind
            self.arrive()
            moved = {r.topic_partition: end for r in plan.ranges if (end := self.ends[r.topic]) not in (r.end, seen.get(r.topic_partition))}
            seen.update(moved)
            return bool(self.happen()) or bool(moved)

        yield has_changed

    @contextmanager
    def beside(self, _flow: Flow, plan: Plan) -> Iterator[None]:
        self.synced.append(len(plan.ranges))
        yield

    def copy(self, _flow: Flow, plan: Plan, max_bytes: int) -> Sequence[LaneResult]:
        number = len(self.copies)
        self.copies.append((self.clock - START, plan.follow_for, max_bytes))
        if number in self.answers:
            self.clock += 1
            return [LaneResult(lane_of(plan.ranges[0].topic, 0, 16), errors=tuple(self.answers[number]), ended_for=NEWS)]
        before = {planned.topic: self.copied.get(planned.topic, 0) for planned in plan.ranges}
        ended_for = self._follow(list(before), self.clock + plan.follow_for + plan.hand_over_for, number in self.broken)
        if number in self.broken:
            raise self.broken[number]
        results = []
        for topic, start in before.items():
            end = self.copied[topic]
            mark = Watermark(topic, 0, end, end, end - start, (end - start) * RECORD_BYTES)
            lane = lane_of(topic, 0, 16)
            results.append(LaneResult(lane, (mark,) if end > start else (), transactions=1, ledger_end=end, ended_for=ended_for))
        return results

    def _follow(self, topics: Sequence[str], until: float, at_once: bool) -> str:
        while True:
            self.arrive()
            for topic in topics:
                self.copied[topic], self.writers[topic] = self.ends[topic], RUN
            moment = min((START + moment for moment in (*self.arrivals, *self.happenings)), default=until)
            if at_once or moment >= until:
                self.clock = self.clock if at_once else until
                return ""
            self.clock = moment
            answered = self.happen()
            if answered:
                return answered[0] or NEWS

    def following(self, due: float = 60.0, earlier: RunResult | None = None, plan: Plan | None = None, hand_over: float = 0.0) -> Following:
        result = earlier or RunResult(plan or self.plan())
        plan = None if earlier else plan or self.plan()
        return Following(
            self.configured(),
            result,
            RUN,
            START + due,
            self.wait,
            plan=plan,
            hand_over=hand_over,
            anew=self.anew,
            watch=self.watch,
            beside=self.beside,
            keep=self.kept.append,
            now=self.now,
        )

    def run(self, **options: Any) -> RunResult:
        return self.following(**options).run(self.copy)

    def judged(self, result: RunResult) -> Any:
        return verdict(result.whole_plan, result.results, compare_results(result.plan, result.results, self.ledger(), RUN))
