"""Rates, the time to catch up, and bytes that are missing: arithmetic over the running totals."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.status.throughput import (
    KEEPS_UP,
    NOT_MEASURED,
    NOT_YET_MEASURED,
    NOTHING_COPIED,
    TOO_SLOW,
    UNKNOWN_LAG,
    WINDOW_SECONDS,
    CatchUp,
    Sample,
    Samples,
    Totals,
    catch_up,
    estimated_bytes,
    throughput,
)

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)


def sample(time, watermark, end, records=None, size=0, tp=A):
    return Sample(time, {tp: Totals(watermark if records is None else records, size, watermark, end)})


# ---------------------------------------------------------------- rates


def test_rates_are_what_the_totals_grew_by_over_the_time_between_the_oldest_and_the_newest_sample():
    samples = [sample(100, 0, 50, 10, 1000), sample(130, 20, 60, 30, 3000), sample(150, 40, 150, 60, 7000)]
    assert throughput(samples).__dict__ == {"seconds": 50, "records": 1.0, "bytes": 120.0, "source_records": 2.0}


@pytest.mark.parametrize("samples", [[], [sample(1, 0, 0)]])
def test_one_look_measures_nothing(samples):
    assert throughput(samples) == NOT_MEASURED


def test_a_partition_that_only_one_sample_has_does_not_count():
    both = {**sample(10, 30, 40, 30, 300).totals, **sample(10, 999, 999, 999, 999, B).totals}
    measured = throughput([sample(0, 10, 10, 10, 100), Sample(10, both)])
    assert (measured.records, measured.bytes, measured.source_records) == (2.0, 20.0, 3.0)
    assert throughput([sample(0, 10, 10), Sample(10, both)], [B]).records is None


def test_an_unknown_end_leaves_the_growth_of_the_source_unknown_and_nothing_else():
    measured = throughput([sample(0, 0, None), sample(10, 20, None)])
    assert (measured.records, measured.source_records) == (2.0, None)


rising = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000)), min_size=2, max_size=20)


@given(rising, st.floats(1, 100))
def test_rates_are_never_negative_and_over_the_whole_time_they_give_what_was_copied(steps, pause):
    samples, totals = [], Totals(0, 0, 0, 0)
    for number, (records, size, growth) in enumerate(steps):
        totals = Totals(totals.records + records, totals.bytes + size, totals.watermark + records, totals.end + growth)
        samples.append(Sample(number * pause, {A: totals}))
    measured = throughput(samples)
    seconds = (len(steps) - 1) * pause
    assert measured.records * seconds == pytest.approx(sum(records for records, _, _ in steps[1:]))
    assert measured.bytes * seconds == pytest.approx(sum(size for _, size, _ in steps[1:]))
    assert min(measured.records, measured.bytes, measured.source_records) >= 0


@given(st.lists(st.floats(0.1, 120), max_size=200))
def test_few_samples_are_kept_and_they_cover_the_window(pauses):
    samples, now = Samples(), 0.0
    samples.add(sample(now, 0, 0))
    for pause in pauses:
        now += pause
        samples.add(sample(now, 0, 0))
    times = [each.time for each in samples.samples]
    assert times == sorted(set(times))
    assert times[-1] == now
    assert len(times) <= 14
    assert times[0] == 0 or now - times[0] >= WINDOW_SECONDS
    assert now - times[0] <= WINDOW_SECONDS + 60 + 2 * 120


def test_a_clock_that_was_set_back_begins_anew():
    samples = Samples()
    for time in (100, 130, 90):
        samples.add(sample(time, 0, 0))
    assert [each.time for each in samples.samples] == [90]


def test_a_partition_that_begins_anew_is_measured_from_there():
    samples = Samples()
    for each in (sample(0, 1000, 1000), sample(60, 1000, 1000), sample(120, 0, 1000), sample(180, 50, 1000)):
        samples.add(each)
    assert catch_up(samples.samples, {A}, 950, 60) == CatchUp(950 * 60 / 50, "")


def test_one_that_begins_anew_and_stays_there_does_not_keep_up_with_its_source():
    samples = Samples()
    samples.add(sample(0, 1000, 1000))
    found = []
    for minute in range(1, 5):
        samples.add(sample(60 * minute, 0, 1000))
        found.append(catch_up(samples.samples, {A}, 1000, 60))
    assert [each.seconds for each in found] == [None, None, math.inf, math.inf]
    assert (found[0].reason, found[-1].reason) == (NOT_YET_MEASURED, "nothing was copied in the last 180 s")


# ---------------------------------------------------------------- catching up


def test_with_nothing_missing_it_is_done():
    assert catch_up([], {A}, 0, 60) == CatchUp(0.0, "")


def test_what_nobody_knows_is_said():
    assert catch_up([], {A}, None, 60) == CatchUp(None, UNKNOWN_LAG)
    assert catch_up([sample(0, 0, 100)], {A}, 100, 60) == CatchUp(None, NOT_YET_MEASURED)


def test_a_backlog_is_done_when_the_flow_has_gained_all_of_it_on_the_source():
    found = catch_up([sample(0, 0, 10_000), sample(100, 3000, 11_000)], {A}, 8000, 60)
    assert found == CatchUp(8000 / 20, "")


def test_a_flow_that_keeps_up_is_done_with_its_next_run_though_its_mean_rate_is_that_of_the_source():
    samples = [sample(time, watermark, end) for time, watermark, end in ((0, 900, 1000), (60, 1900, 2000), (120, 2900, 3000))]
    assert catch_up(samples, {A}, 100, 60) == CatchUp(60, KEEPS_UP)


def test_a_flow_that_is_slower_than_its_source_never_catches_up():
    samples = [sample(0, 0, 10_000), sample(200, 1000, 12_000)]
    found = catch_up(samples, {A}, 11_000, 60)
    assert (found.seconds, found.reason) == (math.inf, TOO_SLOW)


def test_a_flow_that_copies_nothing_never_catches_up_and_the_reason_says_since_when():
    found = catch_up([sample(0, 5, 100), sample(200, 5, 100)], {A}, 95, 60)
    assert (found.seconds, found.reason) == (math.inf, "nothing was copied in the last 200 s")


def test_a_flow_that_never_copied_does_not_keep_up():
    never = [Sample(time, {}) for time in (0, 60, 130)]
    assert catch_up(never[:2], {A}, 500, 60).reason == NOT_YET_MEASURED
    assert catch_up(never, {A}, 500, 60) == CatchUp(math.inf, NOTHING_COPIED.format(seconds=130), 0)


def test_between_two_runs_nothing_is_judged_yet():
    assert catch_up([sample(0, 5, 100), sample(30, 5, 100)], {A}, 95, 60) == CatchUp(None, NOT_YET_MEASURED)


def test_partitions_that_wait_for_somebody_hold_nobody_back():
    samples = [Sample(t, {A: Totals(0, 0, w, 100), B: Totals(0, 0, 0, 5000)}) for t, w in ((0, 0), (100, 50))]
    assert catch_up(samples, {A}, 50, 60, waiting=1) == CatchUp(100, "", 1)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**6), st.floats(1, 1000), st.floats(10, 600))
def test_the_time_is_never_negative_and_says_why_it_is_no_number(advance, growth, behind, lag, seconds, interval):
    samples = [sample(0, 0, behind), sample(seconds, advance, behind + growth)]
    found = catch_up(samples, {A}, lag, interval)
    assert found.seconds is None or found.seconds >= 0
    if found.seconds is None or math.isinf(found.seconds):
        assert found.reason


# ---------------------------------------------------------------- bytes


def test_missing_bytes_are_judged_by_the_nearest_mean_that_is_known():
    assert estimated_bytes(10, (4, 400), (1, 1)) == 1000
    assert estimated_bytes(10, (0, 0), (2, 50)) == 250
    assert estimated_bytes(10, (0, 0), (0, 0)) is None
    assert estimated_bytes(None, (4, 400)) is None
    assert estimated_bytes(0) == 0


@given(st.integers(0, 10**12), st.integers(1, 10**9), st.integers(0, 10**15))
def test_missing_bytes_are_the_mean_times_the_offsets(offsets, records, size):
    found = estimated_bytes(offsets, (records, size))
    assert found <= offsets * size / records * (1 + 1e-9)
    assert found >= offsets * size / records * (1 - 1e-9) - 1
