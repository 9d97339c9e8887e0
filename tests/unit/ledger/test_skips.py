"""What was passed over stays known, in ever fewer intervals."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.ledger.codec import decode, encode
from kafka_mirror.ledger.record import Skipped, merge_skips
from tests.unit.ledger_records import ledger_record


def passed(skipped):
    return sum(each.offsets for each in skipped)


def test_touching_skips_of_one_reason_are_one_and_others_are_not():
    three = (Skipped(0, 2, "gap"), Skipped(2, 3, "gap"), Skipped(3, 4, "too large"), Skipped(5, 6, "too large"))
    assert merge_skips(three) == (Skipped(0, 3, "gap"), Skipped(3, 4, "too large"), Skipped(5, 6, "too large"))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5), st.sampled_from("abc")), max_size=300))
def test_no_skipped_offset_is_ever_forgotten(steps):
    skipped, position = [], 0
    for gap, length, reason in steps:
        skipped.append(Skipped(position + gap, position + gap + length, reason))
        position += gap + length
    kept = merge_skips(skipped)
    assert len(kept) <= 64
    assert passed(kept) == passed(skipped)
    assert all(any(each.start <= one.start and one.end <= each.end for each in kept) for one in skipped)
    assert merge_skips(kept) == kept
    assert decode(encode(ledger_record(skipped=kept)), "").skipped == kept


def test_of_too_many_skips_the_oldest_of_one_reason_are_drawn_together_and_the_newest_stay():
    decided = Skipped(0, 7, "gap accepted by somebody")
    many = [Skipped(10 * i, 10 * i + 1, "too large") for i in range(1, 100)]
    kept = merge_skips([decided, *many])
    assert kept[:2] == (decided, Skipped(10, 371, "too large", 37))
    assert kept[2:] == tuple(many[37:])


def test_of_an_interval_that_is_cut_no_more_offsets_are_passed_over_than_are_left():
    assert Skipped(40, 60, "refused", 15).cut_before(50) == Skipped(40, 50, "refused", 10)
    assert Skipped(40, 60, "refused", 5).cut_before(50) == Skipped(40, 50, "refused", 5)
    assert Skipped(40, 60, "gap").cut_before(60) == Skipped(40, 60, "gap")
