"""Curves and numbers."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors.words import count_text
from kafka_mirror.web import formatting
from kafka_mirror.web.history import HEIGHT, WIDTH, sparkline

VALUES = st.none() | st.floats(min_value=0, max_value=1e15)


@given(st.lists(st.tuples(st.floats(min_value=0, max_value=2e9), VALUES), max_size=600))
def test_curve_stays_in_its_box_whatever_the_values_are(points: list[tuple[float, float | None]]) -> None:
    found = sparkline(points)
    known = [value for _, value in points if value is not None]
    assert (found is None) == (len(known) < 2)
    if found is None:
        return
    places = re.findall(r"[ML](\S+) (\S+)", found.line)
    assert all(0 <= float(x) <= WIDTH and 0 <= float(y) <= HEIGHT for x, y in places)
    assert found.highest == max(known)
    assert len(places) <= 240


def test_highest_value_of_many_is_on_the_curve() -> None:
    found = sparkline((float(number), 1000.0 if number == 777 else 1.0) for number in range(2000))
    assert found
    assert " 1.5" in found.line, "the peak, at the top of the box"


def test_time_without_a_value_interrupts_the_curve() -> None:
    found = sparkline([(0.0, 1.0), (1.0, 2.0), (2.0, None), (3.0, 2.0)])
    assert found
    assert found.line.count("M") == 2


@pytest.mark.parametrize(
    "said, expected",
    [
        (formatting.number(1234567), "1,234,567"),
        (formatting.number(None), "–"),
        (formatting.short_number(9_999_999), "9,999,999"),
        (formatting.short_number(12_345_678), "12.3 M"),
        (formatting.short_number(4.2e11), "420 G"),
        (formatting.size(999), "999 B"),
        (formatting.size(1_234_000), "1.2 MB"),
        (formatting.size(None), "–"),
        (formatting.seconds(-3), "0 s"),
        (formatting.seconds(3725), "1 h 2 min"),
        (count_text(1, "topic"), "1 topic"),
        (count_text(5000, "partition"), "5,000 partitions"),
    ],
)
def test_numbers_in_words(said: str, expected: str) -> None:
    assert said == expected


def test_times_in_words() -> None:
    now = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)
    assert formatting.clock(now, now) == "10:00:00 UTC"
    assert formatting.clock(now - timedelta(days=1), now) == "2026-11-20 10:00 UTC"
    assert formatting.ago(now - timedelta(seconds=200), now) == "3 min 20 s ago"
    assert (formatting.clock(None, now), formatting.ago(None, now)) == ("–", "–")
