"""A lane under a throttle, beside brokers in memory: small transactions, the run's end, and decisions that come while it runs."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from kafka_mirror.copy import lane_protocol, throttle
from kafka_mirror.copy import throttle as pace
from kafka_mirror.copy.model import NEWS
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import PAUSE, THROTTLE, Decision, encode
from tests.unit.copy.conftest import MemoryEngine
from tests.unit.copy.memory_cluster import QuietCluster

CONTROL = "mm2-control.east.internal"
AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)


def decided(rate, word=THROTTLE):
    facts = {"topic": "orders"} if word == PAUSE else {"bytes_per_second": rate}
    return Decision(word, "ana@ops", AT, "a reason", **facts)


@dataclass
class Written:
    """A record of the control topic."""

    offset: int
    decision: Decision | None

    @property
    def value(self):
        return None if self.decision is None else encode(self.decision)


@pytest.fixture
def passing(monkeypatch):
    """Lets time pass by sleeping alone, and says how long was slept. Every commit takes 100 ms."""

    class Time:
        now, slept = 0.0, 0.0

        def monotonic(self):
            return self.now

        def time(self):
            return 1_800_000_000.0 + self.now

        def sleep(self, seconds):
            self.now += seconds
            self.slept += seconds

    time = Time()
    for module in (pace, lane_protocol, throttle):
        monkeypatch.setattr(module, "time", time)
    monkeypatch.setattr(throttle.Throttle.__init__, "__defaults__", (1.0, time.monotonic))
    monkeypatch.setattr("kafka_mirror.copy.lane_state.time", time)
    return time


@pytest.fixture
def control(world, monkeypatch):
    """What stands in the control topic; and how often its records were read."""
    written: list[Written] = []

    class Reader:
        reads = 0

        def __init__(self, *settings):
            pass

        def read(self, ranges, seconds):
            Reader.reads += 1
            ((start, end),) = ranges.values()
            return iter(written[start:end])

    def write(decision):
        written.append(Written(len(written), decision))
        world.ends[TopicPartition(CONTROL, 0)] = len(written)

    monkeypatch.setattr(pace, "BoundedReader", Reader)
    write.reader = Reader
    return write


def test_small_transactions_follow_each_other_at_the_rate_of_the_lane(copy, world, known, passing):
    """100 bytes a record, 20 records, 400 bytes a second: 800 bytes at most in a transaction."""
    known("orders", 0), known("payments", 0)
    result = copy(max_bytes_per_second=400)
    assert (result.records, result.errors) == (20, ())
    assert {each.bytes for each in world.limits} == {800}
    assert passing.slept == pytest.approx(4.0, abs=0.01), "2,000 bytes, the last 400 of which nobody waits behind"


def test_a_share_of_the_rate_is_the_lanes_rate(copy, world, known, passing):
    known("orders", 0), known("payments", 0)
    copy(max_bytes_per_second=4000, throttle_share=0.1)
    assert {each.bytes for each in world.limits} == {800}


def test_a_lane_that_would_have_to_wait_past_the_end_of_the_run_leaves_the_rest_to_the_next(copy, world, known, passing):
    known("orders", 0), known("payments", 0)
    result = copy(max_bytes_per_second=100, max_seconds=3.0)
    assert (result.transactions, result.records, result.errors) == (2, 4, ())
    assert passing.slept <= 3.0


def test_the_decision_that_the_plan_knew_counts_more_than_the_properties(copy, world, known, passing):
    known("orders", 0), known("payments", 0)
    copy(max_bytes_per_second=-1, decisions=(decided(400),))
    assert {each.bytes for each in world.limits} == {800}
    world.limits.clear()
    world.ledger.clear()
    known("orders", 0), known("payments", 0)
    copy(max_bytes_per_second=400, decisions=(decided(-1),))
    assert min(each.bytes for each in world.limits) > 800


def test_a_decision_during_the_run_counts_from_the_next_transaction_on(copy, world, known, passing, control):
    known("orders", 0), known("payments", 0)
    control(decided(0, PAUSE))

    def decide_once(engine):
        passing.now += 1.0
        if len(world.limits) == 1:
            control(decided(200))

    world.happenings["commit"] = decide_once
    copy(max_bytes_per_second=400, control_topic=CONTROL)
    assert [each.bytes for each in world.limits][:3] == [800, 400, 400]
    assert control.reader.reads == 1, "what was read is not read again"


def test_a_lower_rate_that_comes_while_a_transaction_waits_counts_for_that_one(copy, world, known, passing, control):
    known("orders", 0), known("payments", 0)
    world.happenings["commit"] = lambda engine: control(decided(100)) if len(world.limits) == 1 else None
    copy(max_bytes_per_second=400, control_topic=CONTROL)
    assert [each.bytes for each in world.limits][:2] == [800, 200]


def test_a_lane_that_follows_ends_for_a_decision_that_comes_while_a_transaction_waits(copy, world, known, passing, control):
    known("orders", 0), known("payments", 0)
    world.happenings["commit"] = lambda engine: control(decided(0, PAUSE))
    result = copy(max_bytes_per_second=50, control_topic=CONTROL, follow_seconds=1.0)
    assert (result.records, result.ended_for) == (1, NEWS)
    assert passing.slept == pytest.approx(pace.LOOK_EVERY_SECONDS), "of 2 s that the next transaction would have had to wait"


def test_as_the_properties_say_takes_a_decision_back(copy, world, known, passing, control):
    known("orders", 0), known("payments", 0)
    control(decided(None))
    copy(max_bytes_per_second=400, decisions=(decided(200),), control_topic=CONTROL)
    assert [each.bytes for each in world.limits][:3] == [400, 400, 800]


def test_a_run_that_is_done_at_once_asks_nothing_about_decisions(copy, world, known, passing, control):
    known("orders", 0), known("payments", 0)
    control(decided(1))
    copy(control_topic=CONTROL)
    assert control.reader.reads == 0


def test_a_very_different_rate_opens_the_engine_anew_so_that_it_fetches_in_other_portions(
    copy, world, known, passing, control, monkeypatch
):
    known("orders", 0), known("payments", 0)
    opened = []

    def open_engine(task, limit):
        opened.append(task.fetch_bytes)
        return MemoryEngine(world)

    def slow_down(engine):
        passing.now += 1.0
        if len(world.limits) == 1:
            control(decided(65_536))

    world.happenings["commit"] = slow_down
    monkeypatch.setattr(lane_protocol, "BatchEngine", open_engine)
    result = copy(control_topic=CONTROL, transaction_max_bytes=500)
    assert (opened, result.records, result.errors) == ([None, 131_072], 20, ())


def test_a_lane_without_a_control_topic_never_looks(copy, world, known, passing, monkeypatch):
    known("orders", 0), known("payments", 0)
    asked = []
    monkeypatch.setattr(QuietCluster, "offsets", lambda *arguments: asked.append(arguments), raising=False)
    world.happenings["commit"] = lambda engine: passing.sleep(2)
    assert copy(max_bytes_per_second=400).records == 20
    assert asked == []
