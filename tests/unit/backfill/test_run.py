"""Slices, one after the other: until nothing is left, something failed, or nothing moves any more."""

from kafka_mirror.backfill.model import BackfillPart
from kafka_mirror.backfill.run import run_until_done
from kafka_mirror.errors import ErrorReport

OVERTAKEN = ErrorReport("Overtaken", "a copy took the lane over", retriable=True)
GAP = ErrorReport("SourceGap", "gone")


def ended(*parts: BackfillPart, dry_run: bool = False) -> tuple[BackfillPart, int, list[float]]:
    """What the slices come to, how many there were, and the pauses between them; the last one comes again and again."""
    waited: list[float] = []
    count = 0

    def one() -> BackfillPart:
        nonlocal count
        count += 1
        return parts[min(count, len(parts)) - 1]

    return run_until_done(one, dry_run, waited.append), count, waited


def test_slices_follow_each_other_until_nothing_is_left() -> None:
    done, slices, waited = ended(BackfillPart(9, 3, owed=6), BackfillPart(9, 3, owed=3), BackfillPart(9, 3))
    assert (done.records, done.owed, slices, waited) == (9, 0, 3, [])


def test_dry_run_has_one() -> None:
    assert ended(BackfillPart(9, owed=9), dry_run=True)[1] == 1


def test_what_only_a_person_can_mend_ends_it_when_nothing_else_gets_on() -> None:
    done, slices, waited = ended(BackfillPart(9, owed=6, errors=(GAP, OVERTAKEN)))
    assert (done.errors, slices, waited) == ((GAP, OVERTAKEN), 1, [])


def test_one_partition_that_only_a_person_can_mend_keeps_none_of_the_others_waiting() -> None:
    done, slices, waited = ended(
        *(BackfillPart(9, 1, owed=left, errors=(GAP,)) for left in range(8, 2, -1)), BackfillPart(9, owed=3, errors=(GAP,))
    )
    assert (done.records, done.owed, done.errors, slices, waited) == (6, 3, (GAP,), 7, [])


def test_lane_that_was_taken_over_is_tried_again_after_a_pause_as_long_as_it_gets_on() -> None:
    slices = [BackfillPart(9, 1, owed=left, errors=(OVERTAKEN,)) for left in range(8, 0, -1)]
    done, count, waited = ended(*slices, BackfillPart(9, 1))
    assert (done.owed, done.errors, count, len(waited)) == (0, (), 9, 8)


def test_what_gets_no_further_is_left_to_a_person() -> None:
    done, count, _ = ended(BackfillPart(9, owed=9, errors=(OVERTAKEN,)))
    assert (done.errors, count) == ((OVERTAKEN,), 4)
