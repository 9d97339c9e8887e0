"""What is allowed by default, and by properties."""

from kafka_mirror.config.deadlines import hand_over_seconds
from kafka_mirror.status.limits import Limits, limits_of, run_seconds
from kafka_mirror.status.snapshot_builder import rhythm_of


def test_by_default_a_quarter_of_an_hour_is_allowed_and_any_number_of_records(make_flow) -> None:
    assert limits_of(make_flow()) == Limits(
        lag=900, lag_records=None, progress=900, copy=900, heartbeats=900, unreachable=300, for_seconds=30
    )


def test_a_flow_that_copies_seldom_is_allowed_three_of_its_intervals(make_flow) -> None:
    limits = limits_of(make_flow("mirror.copy.interval.seconds = 3600"))
    assert (limits.lag, limits.progress, limits.copy, limits.heartbeats) == (10_800, 10_800, 10_800, 10_800)
    assert limits_of(make_flow("emit.heartbeats.interval.seconds = 1000")).heartbeats == 3000


def test_minus_one_switches_an_alert_off_and_zero_allows_nothing(make_flow) -> None:
    names = ("lag.seconds", "lag.records", "progress.seconds", "copy.seconds", "heartbeats.seconds", "unreachable.seconds")
    off = limits_of(make_flow(*(f"mirror.deadline.{name} = -1" for name in names)))
    assert off == Limits(lag=None, lag_records=None, progress=None, copy=None, heartbeats=None, unreachable=None)
    none = limits_of(make_flow(*(f"mirror.deadline.{name} = 0" for name in names), "mirror.alert.repeat.seconds = 7"))
    assert none == Limits(lag=0, lag_records=0, progress=0, copy=0, heartbeats=0, unreachable=0, repeat=7)


def test_a_copy_may_take_its_budget_in_addition(make_flow) -> None:
    flow = make_flow("mirror.deadline.run.seconds = 100", "mirror.run.max.seconds = 77", "mirror.follow.seconds = 0")
    assert (run_seconds(flow, "copy"), run_seconds(flow, "freshness")) == (177, 100)
    assert run_seconds(make_flow("mirror.deadline.run.seconds = -1"), "copy") is None
    flow = make_flow("mirror.deadline.run.seconds = 100", "mirror.run.max.seconds = 77", "mirror.copy.interval.seconds = 60")
    assert run_seconds(flow, "copy") == 177 + 2 * 30, "it hands over, and one that a person starts may wait for others that do"
    assert hand_over_seconds(make_flow()) == 60
    assert hand_over_seconds(make_flow("mirror.copy.interval.seconds = 301")) == 0, "it ends before that"
    assert run_seconds(make_flow("mirror.heartbeats.trigger = true"), "heartbeats") is None


def test_what_a_run_that_follows_could_not_copy_is_no_problem_until_the_next_run_has_failed_too(make_flow) -> None:
    follows, ends = make_flow(), make_flow("mirror.follow.seconds = 0", "mirror.copy.interval.seconds = 3600")
    assert (rhythm_of(follows), rhythm_of(ends)) == (450, 7200)
    assert rhythm_of(make_flow("mirror.deadline.lag.seconds = -1")) == 450
    assert rhythm_of(make_flow("mirror.deadline.lag.seconds = 60")) == 30
    assert rhythm_of(make_flow("mirror.copy.interval.seconds = 3600")) == 7200, "it ends before the next one is due"
