"""How fast a wave catches up, and when."""

import pytest

from kafka_mirror.cutover.steps.catch_up import WaveLag, forecast_catch_up, show_forecast
from kafka_mirror.formats.offsets.partition import TopicPartition

A, B = TopicPartition("orders", 0), TopicPartition("orders", 1)


def sample(time, marks, ends):
    return WaveLag(time, dict(zip((A, B), marks, strict=True)), dict(zip((A, B), ends, strict=True)))


FIRST, SECOND = sample(10.0, (0, 0), (1000, 100)), sample(20.0, (400, 100), (1100, 100))


def test_lag_is_what_lies_between_watermark_and_end():
    assert (SECOND.total, SECOND.most, SECOND.lags) == (700, 700, {A: 700, B: 0})
    assert (FIRST.over(100), FIRST.over(99)) == ({A: 1000}, {A: 1000, B: 100})
    assert WaveLag(0.0, {A: 5}, {A: 3}).total == 0


@pytest.mark.parametrize("samples", [[], [FIRST], [FIRST, FIRST]])
def test_two_samples_and_time_between_them_make_a_rate(samples):
    assert forecast_catch_up(samples, 0) is None


def test_the_excess_goes_down_by_what_is_copied_less_what_is_written():
    forecast = forecast_catch_up([FIRST, SECOND], 300)
    assert (forecast.copied, forecast.added, forecast.seconds) == (50.0, 10.0, 10.0)


def test_a_wave_that_has_caught_up_takes_no_time_and_one_that_falls_behind_never_will():
    assert forecast_catch_up([FIRST, SECOND], 700).seconds == 0.0
    slow = sample(20.0, (10, 0), (1100, 100))
    assert forecast_catch_up([FIRST, slow], 0).seconds is None


def test_people_are_told_lag_rates_and_time():
    assert show_forecast(FIRST, None) == "The wave lags by 1,100 records, by 1,000 in one partition at most."
    told = show_forecast(SECOND, forecast_catch_up([FIRST, SECOND], 300))
    assert told.endswith("; 50 records/s are copied, 10 records/s are written: at this rate it has caught up in 10 s.")
    slow = forecast_catch_up([FIRST, sample(20.0, (0, 0), (1100, 100))], 0)
    assert show_forecast(SECOND, slow).endswith("at this rate it will not catch up.")
