"""How large and how old a transaction may be, and finding the records that the target refuses, with a broker that says which and with one
that does not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_mirror.copy.model import BatchRefused, RefusedRecord, TransactionLimits
from kafka_mirror.copy.next_transaction import BatchBisection, TransactionSize
from kafka_mirror.formats.offsets.partition import TopicPartition

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
            assert size.shrink(timeout / seconds)
        else:
            committed.append(size.bytes)
            size.grow(seconds)
    return tried, committed


def test_a_quick_target_soon_gets_the_largest_transactions():
    assert play(32 * MB, 100 * MB, 5) == ([4 * MB, 16 * MB, 32 * MB, 32 * MB, 32 * MB],) * 2


@settings(max_examples=200)
@given(st.integers(64 * 1024, 64 * MB), st.integers(1200, 100 * MB))
def test_a_target_of_any_speed_is_written_in_the_end_and_runs_into_its_timeout_twice_at_most(largest, bytes_per_second):
    tried, committed = play(largest, bytes_per_second, 12)
    assert len(tried) - len(committed) <= 2
    assert committed[-1] >= min(largest, 64 * 1024, bytes_per_second * 60 // 8)


def test_what_ran_into_its_timeout_is_not_tried_again_at_its_size():
    size = TransactionSize(32 * MB, 60)
    assert size.shrink(1.0)
    for _ in range(10):
        size.grow(0.1)
    assert size.bytes == 2 * MB


# ---------------------------------------------------------------- a batch that is refused


def copy_with(batch_size, poison, count):
    """Plays a broker that refuses every batch with a poison record in it. Gives the watermark reached, the record found, and attempts."""
    bisection, watermark, attempts = BatchBisection(), 0, 0
    while watermark < count:
        attempts += 1
        end = min(bisection.limit_end(TP, count), watermark + bisection.records.get(TP, count))
        refused = None
        for first in range(watermark, end, batch_size):
            if poison in range(first, min(first + batch_size, end)):
                refused = first
                break
        if refused is None:
            watermark = end
            bisection.widen(TP, watermark)
            continue
        found = bisection.narrow(BatchRefused(TP, watermark, refused, end - watermark, "too large"))
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
    bisection = BatchBisection()
    bisection.narrow(BatchRefused(TP, 0, 40, 100, "too large"))
    assert bisection.limit_end(TP, 100) == 40
    bisection.widen(TP, 70)
    assert bisection.limit_end(TP, 100) == 100


def test_a_stop_that_a_commit_in_doubt_has_passed_ends_nothing():
    bisection = BatchBisection()
    bisection.narrow(BatchRefused(TP, 0, 40, 100, "too large"))
    assert bisection.limit_end(TP, 100, watermark=39) == 40
    assert bisection.limit_end(TP, 100, watermark=40) == 100


# ---------------------------------------------------------------- brokers that name the records they refuse, and others


def passed_over(names, batch_size, refused, count, slowly=False, large=None):
    """Plays a copy with errors.tolerance=all, to a broker that names what it refuses or not. Gives the offsets that were passed over, and
    how many attempts ended with a refusal. `large`: how many records a batch has where the target refused some nearby."""
    bisection, watermark, skipped, refusals = BatchBisection(records={TP: 1} if slowly else {}), 0, set(), 0
    while watermark < count:
        assert refusals <= 20 * len(refused) + 5
        end = bisection.limit_end(TP, count)
        known = bisection.named.get(TP, {})
        left = [offset for offset in range(watermark, end) if offset not in known][: bisection.records.get(TP, count)]
        end = end if len(left) < bisection.records.get(TP, count) else left[-1] + 1
        size = large if large and watermark < bisection.joined_to.get(TP, 0) else batch_size
        batches = [left[first : first + size] for first in range(0, len(left), size)]
        failed = next((batch for batch in batches if refused & set(batch)), None)
        if failed is None:
            skipped |= {offset for offset in range(watermark, end) if offset in known}
            watermark = end
            bisection.widen(TP, watermark)
            continue
        refusals += 1
        culprits = [RefusedRecord(offset, 100, True, "why") for offset in failed if names and offset in refused]
        poison = bisection.narrow(BatchRefused(TP, watermark, failed[0], len(failed), "why", culprits))
        if poison is not None:
            skipped |= {offset for offset in range(watermark, poison.offset) if offset in known} | {poison.offset}
            watermark = poison.offset + 1
    return skipped, refusals


@settings(max_examples=300)
@given(st.booleans(), st.integers(1, 40), st.sets(st.integers(0, 150)), st.integers(1, 150))
def test_exactly_the_refused_records_are_passed_over_whatever_the_broker_tells(names, batch_size, refused, count):
    refused = {offset for offset in refused if offset < count}
    assert passed_over(names, batch_size, refused, count)[0] == refused


@pytest.mark.parametrize("slowly", [False, True], ids=["", "that was stuck before"])
@pytest.mark.parametrize("first", [0, 7])
def test_a_partition_full_of_refused_records_costs_an_attempt_for_each_batch_of_them(first, slowly):
    refused = set(range(first, 10_000))
    skipped, refusals = passed_over(True, 1000, refused, 10_000, slowly)
    assert skipped == refused
    assert refusals <= 10 + 5


def test_refused_records_here_and_there_cost_an_attempt_for_each_large_batch():
    refused = set(range(0, 20_000, 100))
    skipped, refusals = passed_over(True, 200, refused, 20_000, large=3_000)
    assert skipped == refused
    assert refusals == 1 + 7, "the first one of a batch of the source's"


def test_far_from_refused_records_batches_go_as_they_come():
    bisection = BatchBisection()
    bisection.narrow(BatchRefused(TP, 0, 40, 100, "why", [RefusedRecord(50, 1, True, "its timestamp")]))
    assert 50 < bisection.joined_to[TP] < 1_000_000
    bisection.narrow(BatchRefused(TP, 51, 60, 100, "too large"))
    assert bisection.joined_to[TP] < 1_000_000


def test_a_record_that_is_named_is_noted_though_it_is_alone_in_its_batch():
    bisection = BatchBisection(records={TP: 1})
    assert bisection.narrow(BatchRefused(TP, 0, 0, 1, "why", [RefusedRecord(0, 1, True, "its timestamp")])) is None
    assert (set(bisection.named[TP]), bisection.records) == ({0}, {})


def test_a_record_that_is_refused_by_name_again_is_found_alone():
    bisection, refusal = BatchBisection(), BatchRefused(TP, 0, 0, 4, "why", [RefusedRecord(2, 1, True, "its timestamp")])
    assert bisection.narrow(refusal) is None
    assert bisection.narrow(refusal) is None
    assert bisection.records[TP] == 1


LIMITS = TransactionLimits(bytes=1000, seconds=15.0)


@pytest.mark.parametrize(("age", "is_up"), [(14.9, False), (15.0, True)])
def test_a_transaction_that_holds_something_ends_by_its_age_alone(age: float, is_up: bool) -> None:
    assert [LIMITS.is_time_up(age, silence, patience=30.0) for silence in (0.0, 1000.0)] == [is_up, is_up]


@pytest.mark.parametrize(("patience", "ends_at"), [(30.0, 30.0), (5.0, 15.0)])
def test_an_empty_one_ends_when_the_source_is_silent_for_longer_than_any_answer_may_take(patience: float, ends_at: float) -> None:
    assert not LIMITS.is_time_up(None, ends_at - 0.1, patience)
    assert LIMITS.is_time_up(None, ends_at, patience)
