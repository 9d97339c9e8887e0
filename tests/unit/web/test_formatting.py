"""Numbers and times in words."""

from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.errors.words import count_text
from kafka_mirror.web import formatting


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
