"""A record that is stamped far ahead takes the place of those behind it: when that is said, and when not."""

from kafka_mirror.backfill.intervals import OffsetInterval, TimeInterval
from kafka_mirror.backfill.resolve import TimestampedOffset, jumped_over

DAY = 86_400_000
FOURTH = TimeInterval(4 * DAY, 5 * DAY)


def interval(start: int, end: int) -> OffsetInterval:
    return OffsetInterval("orders", 0, start, end, 0, 100)


def stamped(*days: float) -> list[TimestampedOffset]:
    return [TimestampedOffset(42 + number, int(day * DAY)) for number, day in enumerate(days)]


def test_empty_interval_behind_a_record_from_the_future_is_jumped_over() -> None:
    assert jumped_over(interval(42, 42), FOURTH, stamped(5000, 3.5, 4.1, 4.2)) == TimestampedOffset(42, 5000 * DAY)


def test_interval_without_records_whose_time_nobody_stamped_is_simply_empty() -> None:
    assert jumped_over(interval(42, 42), FOURTH, stamped(5.1, 5.2, 6)) is None


def test_empty_interval_is_jumped_over_by_however_little() -> None:
    assert jumped_over(interval(42, 42), FOURTH, stamped(5.001, 4.999)) == TimestampedOffset(42, int(5.001 * DAY))


def test_records_that_come_a_little_late_are_nothing_special_where_the_interval_has_others() -> None:
    assert jumped_over(interval(30, 42), FOURTH, stamped(5.001, 4.999, 5.002)) is None
    assert jumped_over(interval(30, 42), FOURTH, stamped(9, 4.999)) == TimestampedOffset(42, 9 * DAY)


def test_few_late_records_among_many_of_the_right_time_make_none_of_these_wild() -> None:
    assert jumped_over(interval(30, 42), FOURTH, stamped(5.1, 1, 1, 5.2, 5.3, 5.4)) is None
    assert jumped_over(interval(42, 42), FOURTH, stamped(5.1, 4.5, 5.2, 5.3)) is None
    assert jumped_over(interval(30, 42), FOURTH, stamped(9, 4.1, 9, 4.2, 4.3)) == TimestampedOffset(42, 9 * DAY)


def test_late_record_in_front_of_the_one_that_is_ahead_proves_nothing() -> None:
    assert jumped_over(interval(42, 42), FOURTH, stamped(4.5, 5.5, 5.6)) is None


def test_nothing_visible_behind_the_interval_is_no_wild_timestamp() -> None:
    assert jumped_over(interval(42, 42), FOURTH, []) is None
