"""A lane that follows, turn by turn: what it asks and writes, what ends it, and what it answers."""

import itertools
import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.copy import throttle
from kafka_mirror.copy.follow_turn import SharedTurn
from kafka_mirror.copy.lane import LaneCopy
from kafka_mirror.copy.model import HANDED_OVER, NEWS, LaneResult, NothingRead, Watermark
from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, HISTORY, Plan, Range
from kafka_mirror.copy.publish import Published
from kafka_mirror.copy.run import list_unfinished
from kafka_mirror.copy.run_result import join_results, verdict
from kafka_mirror.errors import AuthorizationRefused, ClusterUnreachable, ErrorReport, Overtaken
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import LEDGER, PAUSE, Decision, encode
from tests.unit.copy.happenings import raising, watermarks
from tests.unit.copy.memory_cluster import QuietCluster

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)
CONTROL = TopicPartition("mm2-control.east.internal", 0)
DONE = 10
"""Where both partitions end when the lane begins."""


@dataclass
class Turns:
    """The time between turns: what happens before each of them; after the last one the lane is told to stop."""

    happenings: list = field(default_factory=list)
    is_over: bool = False

    def is_set(self):
        return self.is_over

    def wait(self, _seconds):
        if not self.happenings:
            self.is_over = True
            return True
        self.happenings.pop(0)()
        return False


def nothing():
    """Nothing happens in this turn."""


@pytest.fixture(params=["asking together", "asking alone"])
def follow(request, world, lane_task):
    """Runs the lane, which follows for as many turns as there are happenings; keyword arguments change its task."""
    world.ends |= {ORDERS: DONE, PAYMENTS: DONE}
    world.starts |= {ORDERS: 0, PAYMENTS: 0}

    def run(*happenings, discovery=None, **changes):
        task = replace(lane_task, **{"follow_seconds": 1.0, **changes})
        turns = Turns(list(happenings))
        shared = SharedTurn(task, discovery, itertools.count(0.0, task.follow_seconds).__next__)
        is_together = request.param == "asking together" or discovery
        return LaneCopy(task, turns, shared if is_together else None).run()

    return run


@pytest.fixture
def arrive(world):
    """`arrive(ORDERS, 3)` is a happening: three records come."""

    def make(tp, records):
        return lambda: world.ends.update({tp: world.ends[tp] + records})

    return make


@pytest.fixture
def decide(world, monkeypatch):
    """`decide(word)` is a happening: the control topic gets a record."""
    written = []

    @dataclass
    class Written:
        offset: int
        word: str

        @property
        def value(self):
            facts = {"topic": "orders"} if self.word == PAUSE else {"ledger_id": "id"}
            return encode(Decision(self.word, "ana@ops", datetime(2026, 11, 21, tzinfo=UTC), "a reason", **facts))

    class Reader:
        def __init__(self, *settings):
            pass

        def read(self, ranges, _seconds):
            ((start, end),) = ranges.values()
            return iter(written[start:end])

    def make(word):
        def happen():
            written.append(Written(len(written), word))
            world.ends[CONTROL] = len(written)

        return happen

    monkeypatch.setattr(throttle, "BoundedReader", Reader)
    return make


# ---------------------------------------------------------------- turns


def test_what_arrives_in_later_turns_is_copied_in_the_same_epoch(follow, world, arrive):
    result = follow(arrive(ORDERS, 3), nothing, arrive(PAYMENTS, 1), arrive(ORDERS, 2))
    assert watermarks(result) == {("orders", 15), ("payments", 11)}
    assert (result.records, result.transactions, result.errors, result.stopped) == (26, 4, (), ())
    assert [step for step in world.log if step in ("fence", "read the ledger", "close")] == ["fence", "read the ledger", "close"]
    assert world.ends[TopicPartition("east.orders", 0)] == 15 + 2, "a marker between its transactions"


def test_a_lane_without_anything_new_asks_for_ends_alone_and_writes_nothing(follow, world):
    follow(nothing, nothing, nothing)
    assert world.log[world.log.index("commit") :] == ["commit", "close"]


def test_a_lane_that_had_nothing_to_do_follows_as_well(follow, known, arrive):
    known("orders", 10), known("payments", 10)
    ranges = tuple(Range(topic, 0, f"id-{topic}", 10, 10, BEHIND) for topic in ("orders", "payments"))
    result = follow(nothing, arrive(ORDERS, 4), ranges=ranges)
    assert (watermarks(result), result.transactions) == ({("orders", 14)}, 1)


def test_the_ledger_says_how_far_the_source_was_in_the_newest_turn(follow, world, arrive):
    planned = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    follow(arrive(ORDERS, 3), planned=planned)
    assert world.ledger[PAYMENTS].source_end.time == planned
    assert (world.ledger[ORDERS].source_end.offset, world.ledger[ORDERS].source_end.time > planned) == (13, True)


def test_a_partition_that_was_stuck_is_tried_before_the_lane_follows(follow, world, known, arrive):
    known("orders", 4)
    ranges = (Range("orders", 0, "id-orders", 4, 10, BLOCKED), Range("payments", 0, "id-payments", 0, 10, BEHIND))
    result = follow(arrive(ORDERS, 3), ranges=ranges)
    assert (watermarks(result), result.errors) == ({("orders", 13), ("payments", 10)}, ())
    assert world.engines == 3


def test_history_is_never_followed(lane_task, world):
    turns = Turns([nothing])
    task = replace(lane_task, follow_seconds=1.0, history=True, ranges=tuple(replace(r, reason=HISTORY) for r in lane_task.ranges))
    LaneCopy(task, turns).run()
    assert turns.happenings == [nothing]


# ---------------------------------------------------------------- ends well


@pytest.mark.parametrize(
    "ends",
    [{"max_seconds": 0.0}, {"max_seconds": 0.9, "follow_seconds": 1e9}, {"max_bytes": 1}],
    ids=["over", "over before a turn", "spent"],
)
def test_it_ends_when_the_run_is_due_or_the_budget_is_spent(follow, world, ends):
    turn_came = []
    result = follow(lambda: turn_came.append(1), **ends)
    assert (turn_came, result.errors, world.engines) == ([], (), 1)


def test_a_decision_ends_it_before_anything_more_is_copied(follow, world, arrive, decide):
    def both():
        arrive(ORDERS, 3)()
        decide(PAUSE)()

    result = follow(nothing, both, nothing, control_topic=CONTROL.topic)
    assert (watermarks(result), result.errors, world.log.count("commit")) == ({("orders", 10), ("payments", 10)}, (), 1)
    assert result.ended_for == NEWS


@dataclass
class Found:
    """A discovery that finds something new once it is told to."""

    is_new: bool = False

    def has_news(self, source):
        assert source.alias == "east"
        return self.is_new


def test_new_topics_end_it_before_anything_more_is_copied_and_the_budget_gives_it_no_other_share(follow, world, arrive, lane_task):
    discovery = Found()

    def both():
        arrive(ORDERS, 3)()
        discovery.is_new = True

    result = follow(nothing, both, nothing, discovery=discovery)
    assert (watermarks(result), result.errors, result.ended_for) == ({("orders", 10), ("payments", 10)}, (), NEWS)
    assert list_unfinished(replace(lane_task, ranges=(Range("orders", 0, "id-orders", 0, 99, BEHIND),)), result) == ()


def test_what_is_new_ends_a_lane_that_has_not_copied_its_ranges(follow, world, known):
    known("orders", 4)
    discovery = Found(is_new=True)
    ranges = (Range("orders", 0, "id-orders", 4, 10, BLOCKED), Range("payments", 0, "id-payments", 0, 10, BEHIND))
    result = follow(nothing, discovery=discovery, ranges=ranges)
    assert (result.records, result.errors, result.ended_for) == (0, (), NEWS)


def test_what_the_plan_had_read_and_what_the_mirror_notes_for_itself_end_nothing(follow, arrive, decide):
    decide(PAUSE)()
    result = follow(decide(LEDGER), arrive(ORDERS, 3), control_topic=CONTROL.topic, control_end=1)
    assert watermarks(result) == {("orders", 13), ("payments", 10)}


def test_a_decision_ends_it_between_two_transactions_of_a_turn_too(follow, world, arrive, decide, monkeypatch):
    monkeypatch.setattr(throttle, "LOOK_EVERY_SECONDS", 0.0)
    world.happenings["commit"] = lambda _engine: decide(PAUSE)() if world.log.count("commit") == 10 + 1 else None
    result = follow(arrive(ORDERS, 30), control_topic=CONTROL.topic, transaction_max_bytes=200)
    assert (watermarks(result), result.errors) == ({("orders", 12), ("payments", 10)}, ())


def test_what_was_decided_since_the_plan_holds_before_its_first_transaction(follow, world, decide):
    decide(PAUSE)()
    result = follow(nothing, control_topic=CONTROL.topic)
    assert (result.records, result.errors, result.ended_for) == (0, (), NEWS)


def test_no_transaction_of_a_lane_that_follows_keeps_it_from_what_is_decided(follow, world, copy):
    follow(nothing)
    assert {limits.seconds for limits in world.limits} == {2.0}
    world.limits.clear(), world.ledger.clear()
    copy()
    assert {limits.seconds for limits in world.limits} == {15.0}


@pytest.fixture
def fenced(world):
    """The lane is fenced once, when it commits what came while it followed; with True, the target does not know its producer id."""

    def once(is_id_unknown=False):
        def commit(_engine):
            if world.log.count("commit") == 2:
                raise Overtaken(0, is_id_unknown)

        world.happenings["commit"] = commit

    return once


@pytest.mark.parametrize("hand_over", [300.0, 299.9])
def test_the_fence_of_the_next_run_hands_the_lane_over_once_its_own_is_due(follow, world, arrive, fenced, hand_over):
    fenced()
    result = follow(arrive(ORDERS, 3), lambda: threading.Event().wait(0.1), max_seconds=300.0, hand_over_seconds=hand_over)
    assert (watermarks(result), result.errors, result.stopped, world.engines) == ({("orders", 10), ("payments", 10)}, (), (), 1)
    assert result.ended_for == HANDED_OVER
    planned = Plan("east->west", (Range("orders", 0, "id-orders", 10, 13, BEHIND),))
    judged = verdict(planned, [result], Published((Watermark("orders", 0, 10, 10, 0, 0),)))
    assert (judged.state, judged.errors, judged.owed) == ("done", (), 3), "nothing moved, for the next run has the lane"


def test_a_lane_that_is_fenced_before_its_run_is_due_waits_for_a_transaction_and_takes_it_back(follow, world, arrive, fenced):
    fenced()
    waits = []
    result = follow(arrive(ORDERS, 3), lambda: waits.append(1), arrive(ORDERS, 1), hand_over_seconds=60.0)
    assert (watermarks(result), result.errors, result.ended_for) == ({("orders", 14), ("payments", 10)}, (), "")
    assert (world.engines, waits) == (2, [1])


def test_what_was_decided_while_another_had_the_lane_holds_before_it_is_fenced_again(follow, world, arrive, fenced, decide):
    fenced()
    result = follow(arrive(ORDERS, 3), decide(PAUSE), nothing, control_topic=CONTROL.topic)
    assert (watermarks(result), result.ended_for, world.engines) == ({("orders", 10), ("payments", 10)}, NEWS, 1)


def test_a_lane_whose_producer_id_the_target_forgot_begins_anew_at_once(follow, world, arrive, fenced):
    fenced(is_id_unknown=True)
    result = follow(arrive(ORDERS, 3), nothing, hand_over_seconds=300.0)
    assert (watermarks(result), result.errors, result.ended_for, world.engines) == ({("orders", 13), ("payments", 10)}, (), "", 2)


# ---------------------------------------------------------------- errors


def test_a_source_topic_that_is_created_anew_between_turns_is_left_out_and_the_others_are_followed(follow, world, arrive):
    def anew():
        world.ids["orders"] = "another"
        world.ends[ORDERS] = 12

    result = follow(anew, arrive(PAYMENTS, 2))
    assert [(error.code, error.topic) for error in result.errors] == [("SourceRecreated", "orders")]
    assert (watermarks(result), result.stopped) == ({("orders", 10), ("payments", 12)}, (ORDERS,))


@pytest.mark.parametrize(("new_id", "code"), [("another", "SourceRecreated"), ("id-orders", "SourceTruncated")])
def test_a_source_that_is_shorter_than_what_was_copied_is_left_out_in_the_same_epoch(follow, world, arrive, new_id, code):
    def shorter():
        world.ids["orders"], world.ends[ORDERS] = new_id, 3

    result = follow(shorter, arrive(PAYMENTS, 2), nothing)
    assert [(error.code, error.topic, error.partition) for error in result.errors] == [(code, "orders", 0)]
    assert (watermarks(result), result.stopped, world.engines) == ({("orders", 10), ("payments", 12)}, (ORDERS,), 1)


def test_a_topic_that_may_no_longer_be_asked_about_is_left_out(follow, world, arrive, monkeypatch):
    plain = QuietCluster.ends

    def ends(self, partitions, errors=None, committed=False, **options):
        there = list(partitions)
        if ORDERS in there:
            errors["orders"] = AuthorizationRefused("east", "DESCRIBE", "topic orders", topic="orders")
        return plain(self, [tp for tp in there if tp != ORDERS], errors, committed, **options)

    monkeypatch.setattr(QuietCluster, "ends", ends)
    result = follow(arrive(PAYMENTS, 1), arrive(PAYMENTS, 1))
    assert [(error.code, error.topic) for error in result.errors] == [("AuthorizationRefused", "orders")]
    assert watermarks(result) == {("orders", 10), ("payments", 12)}


def test_failures_with_a_turn_between_them_do_not_add_up(follow, world, arrive, monkeypatch):
    plain, asked = QuietCluster.ends, []

    def fails_every_other_time(self, *arguments, **options):
        asked.append(1)
        if options or len(asked) % 2:
            raise ClusterUnreachable("east", "east:9092", 30)
        return plain(self, *arguments)

    monkeypatch.setattr(QuietCluster, "ends", fails_every_other_time)
    result = follow(*[nothing] * 13, arrive(ORDERS, 1))
    assert (watermarks(result), result.errors) == ({("orders", 11), ("payments", 10)}, ())
    assert len(asked) > 2 * 4


def test_an_attempt_after_a_failure_goes_on_in_the_ranges_of_the_newest_turn(follow, world, arrive):
    failing = raising(ClusterUnreachable("west", "west:9092", 30), times=1)
    world.happenings["commit"] = lambda engine: failing(engine) if world.log.count("commit") > 1 else None
    result = follow(arrive(ORDERS, 3))
    assert (watermarks(result), result.errors, world.engines) == ({("orders", 13), ("payments", 10)}, (), 2)


def test_a_lane_tries_again_until_its_run_is_over_and_says_what_it_did_not_reach(follow, world, arrive, monkeypatch):
    naps = []
    monkeypatch.setattr("kafka_mirror.copy.lane.time.sleep", naps.append)
    monkeypatch.setattr("kafka_mirror.copy.lane_state.LaneState.is_over", lambda _: len(naps) >= 2000)
    failing = raising(ClusterUnreachable("west", "west:9092", 30))
    world.happenings["commit"] = lambda engine: failing(engine) if world.log.count("commit") > 1 else None
    result = follow(arrive(ORDERS, 3))
    assert ([error.code for error in result.errors], result.stopped) == (["ClusterUnreachable"], (ORDERS,))
    assert (naps[0], max(naps), len(naps)) == (0.5, 5.0, 2000)


@pytest.mark.parametrize("failing", [[ORDERS], [ORDERS, PAYMENTS]], ids=["one partition", "all of the lane"])
def test_a_partition_that_failed_for_what_passes_is_tried_again_in_a_later_turn(follow, world, arrive, monkeypatch, failing):
    """No other run comes for minutes."""
    monkeypatch.setattr("kafka_mirror.copy.lane_state.LEFT_OUT_SECONDS", 0.0)
    world.happenings["copy"] = raising(NothingRead(failing, 15), times=1)
    result = follow(nothing, arrive(ORDERS, 2), arrive(ORDERS, 1))
    assert (watermarks(result), result.errors, result.stopped) == ({("orders", 13), ("payments", 10)}, (), ())


def test_a_partition_that_goes_on_failing_is_tried_once_in_a_while_and_is_an_error_at_the_end(follow, world, arrive, monkeypatch):
    def silent(engine):
        if any(each.source == ORDERS for each in engine.work):
            monkeypatch.setattr("kafka_mirror.copy.lane_state.LEFT_OUT_SECONDS", 60.0)
            raise NothingRead([ORDERS], 15)

    def a_minute_passes():
        monkeypatch.setattr("kafka_mirror.copy.lane_state.LEFT_OUT_SECONDS", 0.0)

    world.happenings["copy"] = silent
    result = follow(arrive(PAYMENTS, 1), nothing, a_minute_passes, arrive(PAYMENTS, 1), a_minute_passes, nothing)
    assert [(error.code, error.topic) for error in result.errors] == [("SourceUnreadable", "orders")]
    assert (watermarks(result), world.engines) == ({("payments", 12)}, 2 + 2 + 2)


# ---------------------------------------------------------------- what is told


STOPPED = LaneResult(0, (Watermark("orders", 0, 12, 12, 12, 0),), (ErrorReport("SourceTruncated", "cut off", *ORDERS),), stopped=(ORDERS,))


def test_an_error_while_following_makes_the_run_red_though_all_that_was_planned_is_reached():
    plan = Plan("east->west", (Range("orders", 0, "id", 0, 10, BEHIND),))
    published = Published(STOPPED.watermarks)
    assert [error.code for error in verdict(plan, [STOPPED], published).errors] == ["SourceTruncated"]
    assert verdict(plan, [replace(STOPPED, stopped=())], published).errors == ()


def test_what_was_stopped_adds_up():
    assert join_results(STOPPED, replace(STOPPED, stopped=(PAYMENTS,))).stopped == (ORDERS, PAYMENTS)
