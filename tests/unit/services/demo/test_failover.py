"""What the demo says of a group that failed over: nothing lost and nothing read twice, or how much."""

from services.demo.failover import FailedOver, Record, compared

WHOLE: list[Record] = [(number % 2, 1000 + number, b"key", b"%d" % number) for number in range(10)]


def test_a_group_that_goes_on_where_it_stopped_misses_nothing_and_reads_nothing_twice() -> None:
    assert compared(WHOLE[:4], WHOLE[4:], WHOLE) == FailedOver(before=4, after=6, lost=0, twice=0)


def test_what_was_left_out_in_the_middle_is_lost() -> None:
    assert compared(WHOLE[:4], WHOLE[6:], WHOLE) == FailedOver(4, 4, lost=2, twice=0)


def test_what_was_read_on_both_sides_is_read_twice() -> None:
    assert compared(WHOLE[:4], WHOLE[1:], WHOLE) == FailedOver(4, 9, lost=0, twice=3)


def test_what_was_copied_after_the_group_stopped_reading_is_not_lost() -> None:
    assert compared(WHOLE[:2], WHOLE[2:6], WHOLE) == FailedOver(2, 4, lost=0, twice=0)
