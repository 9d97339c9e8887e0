"""How fast a lane may copy: sizes of transactions, pauses between them, and what each lane's share is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.copy.plan.model import BEHIND, Range
from kafka_mirror.copy.throttle import Throttle, divide_rate

MEGABYTE = 1024 * 1024


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self):
        self.time = 1000.0

    def __call__(self):
        return self.time


def planned(offsets, records=0, size=0):
    return Range("orders", 0, "id", 0, offsets, BEHIND, records=records, bytes=size)


def test_a_transaction_is_small_and_the_next_one_waits_until_its_time_is_over():
    clock = Clock()
    throttle = Throttle(1000, 0.5, clock)
    assert (throttle.rate, throttle.wait_seconds, throttle.limit_size(MEGABYTE)) == (500, 0, 1000)
    clock.time += 0.5
    throttle.count(1000, 0.5)
    assert throttle.wait_seconds == pytest.approx(1.5)
    clock.time += 5
    assert throttle.wait_seconds == 0


def test_time_in_which_nothing_was_to_do_is_not_made_up_for():
    clock = Clock()
    throttle = Throttle(1000, 1.0, clock)
    clock.time += 3600
    throttle.count(2000, 0.1)
    assert throttle.wait_seconds == pytest.approx(1.9)


def test_a_new_rate_counts_at_once_also_for_what_is_left_to_wait_for():
    clock = Clock()
    throttle = Throttle(100, 1.0, clock)
    throttle.count(1000, 0.0)
    throttle.change(1000)
    assert throttle.wait_seconds == pytest.approx(1.0)
    throttle.change(10)
    assert throttle.wait_seconds == pytest.approx(100)
    throttle.change(-1)
    assert throttle.wait_seconds == 0
    throttle.change(1000)
    assert (throttle.rate, throttle.wait_seconds) == (1000, 0)


@given(st.integers(1, 10**9), st.lists(st.floats(0, 5), min_size=1, max_size=60), st.floats(0.1, 4))
def test_over_any_time_no_more_is_copied_than_the_rate_allows_and_one_transaction(rate, durations, overshoot):
    clock = Clock()
    throttle, copied, began = Throttle(rate, 1.0, clock), 0.0, clock.time
    largest = 0.0
    for seconds in durations:
        clock.time += throttle.wait_seconds
        assert copied <= (clock.time - began) * rate * (1 + 1e-6) + 1e-3
        size = throttle.limit_size(32 * MEGABYTE) * overshoot
        largest = max(largest, size)
        clock.time += seconds
        throttle.count(size, seconds)
        copied += size
    assert copied <= (clock.time - began) * rate * (1 + 1e-6) + largest + 1e-3


def test_the_lane_with_the_backlog_has_most_and_the_others_do_not_starve():
    long, *others = divide_rate([[planned(1_000_000)], [planned(1)], [planned(0)]], 8)
    assert long > 0.8
    assert all(each > 0.05 for each in others)


def test_work_is_judged_by_the_size_of_what_was_copied_before():
    small, large = divide_rate([[planned(100, records=10, size=100)], [planned(100, records=10, size=100_000)]], 8)
    assert large > 6 * small


@given(st.lists(st.lists(st.integers(0, 10**9), max_size=4), min_size=1, max_size=40), st.integers(1, 16))
def test_lanes_that_run_at_the_same_time_never_have_more_than_the_whole_rate(lanes, at_once):
    parts = divide_rate([[planned(offsets) for offsets in lane] for lane in lanes], at_once)
    assert sum(sorted(parts)[-at_once:]) == pytest.approx(1.0)
    assert all(part > 0 for part in parts)


@given(st.integers(1, 10**10))
def test_a_throttled_lane_fetches_about_what_it_may_copy(rate):
    size = Throttle(rate).portion
    if size is None:
        assert 2 * rate >= 4 * MEGABYTE
    else:
        assert size >= 16 * 1024
        assert size & (size - 1) == 0
        assert size <= max(16 * 1024, 2 * rate)
