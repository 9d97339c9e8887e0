"""What is allowed by default, and by properties; and the pools that flows name, as `airflow pools import` takes them."""

import pytest

from kafka_mirror.config.deadlines import Limits, hand_over_seconds, limits_of, pools, run_seconds
from kafka_mirror.status.snapshot_builder import rhythm_of
from tests.unit.config.conftest import HEAD


def test_by_default_a_quarter_of_an_hour_is_allowed_and_any_number_of_records(flow) -> None:
    assert limits_of(flow()) == Limits(lag=900, lag_records=None, progress=900, copy=900, heartbeats=900, unreachable=300, for_seconds=30)


def test_a_flow_that_copies_seldom_is_allowed_three_of_its_intervals(flow) -> None:
    limits = limits_of(flow("mirror.copy.interval.seconds = 3600"))
    assert (limits.lag, limits.progress, limits.copy, limits.heartbeats) == (10_800, 10_800, 10_800, 10_800)
    assert limits_of(flow("emit.heartbeats.interval.seconds = 1000")).heartbeats == 3000


def test_minus_one_switches_an_alert_off_and_zero_allows_nothing(flow) -> None:
    names = ("lag.seconds", "lag.records", "progress.seconds", "copy.seconds", "heartbeats.seconds", "unreachable.seconds")
    off = limits_of(flow("\n".join(f"mirror.deadline.{name} = -1" for name in names)))
    assert off == Limits(lag=None, lag_records=None, progress=None, copy=None, heartbeats=None, unreachable=None)
    none = limits_of(flow("\n".join([*(f"mirror.deadline.{name} = 0" for name in names), "mirror.alert.repeat.seconds = 7"])))
    assert none == Limits(lag=0, lag_records=0, progress=0, copy=0, heartbeats=0, unreachable=0, repeat=7)


def test_a_copy_may_take_its_budget_in_addition(flow) -> None:
    made = flow("mirror.deadline.run.seconds = 100\nmirror.run.max.seconds = 77\nmirror.follow.seconds = 0")
    assert (run_seconds(made, "copy"), run_seconds(made, "freshness")) == (177, 100)
    assert run_seconds(flow("mirror.deadline.run.seconds = -1"), "copy") is None
    made = flow("mirror.deadline.run.seconds = 100\nmirror.run.max.seconds = 77\nmirror.copy.interval.seconds = 60")
    assert run_seconds(made, "copy") == 177 + 2 * 30, "it hands over, and one that a person starts may wait for others that do"
    assert hand_over_seconds(flow()) == 60
    assert hand_over_seconds(flow("mirror.copy.interval.seconds = 301")) == 0, "it ends before that"
    assert run_seconds(flow("mirror.heartbeats.trigger = true"), "heartbeats") is None


def test_what_a_run_that_follows_could_not_copy_is_no_problem_until_the_next_run_has_failed_too(flow) -> None:
    follows, ends = flow(), flow("mirror.follow.seconds = 0\nmirror.copy.interval.seconds = 3600")
    assert (rhythm_of(follows), rhythm_of(ends)) == (450, 7200)
    assert rhythm_of(flow("mirror.deadline.lag.seconds = -1")) == 450
    assert rhythm_of(flow("mirror.deadline.lag.seconds = 60")) == 30
    assert rhythm_of(flow("mirror.copy.interval.seconds = 3600")) == 7200, "it ends before the next one is due"


def pools_of(configuration, *lines, team=""):
    """The pools of two flows with these lines."""
    return pools(configuration("\n".join([HEAD, "west->east.enabled = true", *lines])).flows, team)


def test_flows_that_name_no_pool_need_none(configuration):
    assert pools_of(configuration) == {}


@pytest.mark.parametrize(("follow", "slots"), [("1", 4), ("0", 1)], ids=["two runs and a backfill", "one after the other"])
def test_a_pool_has_the_slots_of_its_flow(configuration, follow, slots):
    made = pools_of(configuration, "east->west.mirror.copy.pool = copies", f"mirror.follow.seconds = {follow}")
    assert made == {"copies": {"slots": slots, "description": "Copies of east->west", "include_deferred": False}}


def test_a_pool_that_flows_share_has_the_slots_of_all_and_is_its_teams(configuration):
    made = pools_of(configuration, "mirror.copy.pool = copies", team="paris")
    assert made == {
        "copies": {"slots": 8, "description": "Copies of east->west, west->east", "include_deferred": False, "team_name": "paris"}
    }
