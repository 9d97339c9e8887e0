"""How large a transaction may be, and finding the one record that the target refuses, with a broker that never says which."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mirror.copy.engine import BatchRefused
from mirror.copy.pacing import Pacing, TransactionSize
from mirror.offsets.partition import TopicPartition

TP = TopicPartition("orders", 0)
MB = 1024 * 1024

# ---------------------------------------------------------------- the size of a transaction


def play(largest, bytes_per_second, transactions, timeout=60.0):
    """A target of one speed: the sizes of all transactions in order, and of those that were committed."""
    size, tried, committed = TransactionSize(largest, timeout), [], []
    while len(committed) < transactions:
        tried.append(size.bytes)
        seconds = size.bytes / bytes_per_second
        if seconds > timeout:
            assert size.too_slow(timeout / seconds)
        else:
            committed.append(size.bytes)
            size.committed(seconds)
    return tried, committed


def test_a_quick_target_soon_gets_the_largest_transactions():
    assert play(32 * MB, 100 * MB, 5) == ([4 * MB, 8 * MB, 16 * MB, 32 * MB, 32 * MB],) * 2


def test_no_transaction_is_larger_than_configured():
    assert play(MB, 100 * MB, 3)[0] == [MB] * 3


@settings(max_examples=200)
@given(st.integers(64 * 1024, 64 * MB), st.integers(1200, 100 * MB))
def test_a_target_of_any_speed_is_written_in_the_end_and_runs_into_its_timeout_twice_at_most(largest, bytes_per_second):
    tried, committed = play(largest, bytes_per_second, 12)
    assert len(tried) - len(committed) <= 2
    assert committed[-1] >= min(largest, 64 * 1024, bytes_per_second * 60 // 8)


def test_what_ran_into_its_timeout_is_not_tried_again_at_its_size():
    size = TransactionSize(32 * MB, 60)
    assert size.too_slow(1.0)
    for _ in range(10):
        size.committed(0.1)
    assert size.bytes == 2 * MB


def test_the_smallest_transaction_gets_no_smaller():
    size = TransactionSize(100_000, 60)
    assert size.too_slow(0.0)
    assert size.bytes == 64 * 1024
    assert not size.too_slow(0.0)


# ---------------------------------------------------------------- a batch that is refused


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


def test_a_stop_that_another_attempt_has_passed_holds_nothing_up():
    pacing = Pacing()
    pacing.refused(BatchRefused(TP, 0, 40, 100, "too large"))
    assert pacing.end(TP, 100) == 40
    pacing.committed(TP, 70)
    assert pacing.end(TP, 100) == 100


def test_other_partitions_keep_their_pace():
    pacing = Pacing()
    pacing.refused(BatchRefused(TP, 0, 0, 10, "too large"))
    other = TopicPartition("orders", 1)
    assert pacing.end(other, 100) == 100
    assert other not in pacing.records
