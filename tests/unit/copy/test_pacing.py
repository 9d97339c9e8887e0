"""Finding the one record that the target refuses, with a broker that never says which."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mirror.copy.engine import BatchRefused
from mirror.copy.pacing import Pacing
from mirror.offsets.partition import TopicPartition

TP = TopicPartition("orders", 0)


def copy_with(batch_size, poison, count):
    """Plays a broker that refuses every batch with a poison record in it. Gives the watermark reached, the record found, and attempts."""
    pacing, watermark, attempts = Pacing(), 0, 0
    while watermark < count:
        attempts += 1
        end = min(pacing.end(TP, count), watermark + pacing.records.get(TP, count))
        refused = None
        for first in range(watermark, end, batch_size):
            if poison in range(first, min(first + batch_size, end)):
                refused = first
                break
        if refused is None:
            watermark = end
            pacing.committed(TP, watermark)
            continue
        found = pacing.refused(BatchRefused(TP, watermark, refused, end - watermark, "too large"))
        if found is not None:
            return watermark, found.offset, attempts
    return watermark, None, attempts


@settings(max_examples=200)
@given(st.integers(1, 500), st.integers(0, 2000), st.integers(1, 2000))
def test_everything_before_the_poison_is_copied_and_exactly_it_is_named(batch_size, poison, count):
    watermark, found, _ = copy_with(batch_size, poison, count)
    assert (watermark, found) == ((poison, poison) if poison < count else (count, None))


def test_a_record_that_is_alone_in_its_batch_is_found_in_three_attempts():
    assert copy_with(1, 700, 2000)[2] == 3


def test_other_partitions_keep_their_pace():
    pacing = Pacing()
    pacing.refused(BatchRefused(TP, 0, 0, 10, "too large"))
    other = TopicPartition("orders", 1)
    assert pacing.end(other, 100) == 100
    assert other not in pacing.records
