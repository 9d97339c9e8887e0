"""Which ranges go in batches: those that save more than an engine costs."""

from hypothesis import given
from hypothesis import strategies as st

from mirror.copy.engine import BatchSample
from mirror.copy.engine_choice import FEW, NOT_READ, NOT_WORTH_IT, SMALL, STUCK, reasons_for_records
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import BEHIND, BLOCKED, Range

LARGE, ONE_RECORD = BatchSample(2, 130_000, 1200), BatchSample(50, 50 * 400, 50)


def planned(partition, offsets, reason=BEHIND, **totals):
    return Range("orders", partition, "id", 0, offsets, reason, **totals)


def choose(ranges, samples):
    """The reasons by partition, and of which partitions a sample was asked for."""
    asked = []

    def sample(candidates):
        asked.extend(each.partition for each in candidates)
        return {TopicPartition("orders", partition): made for partition, made in samples.items()}

    return {tp.partition: reason for tp, reason in reasons_for_records(ranges, sample).items()}, asked


def test_little_work_goes_in_batches_that_encoding_anew_could_hardly_merge():
    ranges = [planned(number, 10) for number in range(60)]
    assert choose(ranges, {number: BatchSample(2, 1200, 10) for number in range(60)})[0] == {}


def test_little_work_in_many_batches_of_one_record_is_encoded_anew():
    ranges = [planned(number, 10) for number in range(60)]
    reasons = choose(ranges, {number: BatchSample(10, 4000, 10) for number in range(60)})[0]
    assert reasons == dict.fromkeys(range(60), FEW)


def test_many_partitions_with_one_batch_each_are_little_work_whatever_their_number():
    ranges = [planned(number, 1) for number in range(5_000)]
    assert choose(ranges, {number: BatchSample(1, 100, 1) for number in range(5_000)})[0] == {}


def test_little_work_is_left_to_one_engine_where_the_one_for_batches_cannot_do_all_of_it():
    assert choose([planned(0, 10), planned(1, 10)], {0: BatchSample(1, 1000, 10), 1: BatchSample(1, 1000, 10, "holes")})[0] == {
        0: FEW,
        1: "holes",
    }


def test_no_work_looks_at_no_batch():
    assert choose([], {}) == ({}, [])
    assert choose([planned(0, 10, BLOCKED)], {}) == ({0: STUCK}, [])


def test_what_a_producer_with_the_default_batch_size_fills_goes_in_batches():
    # 16,384 bytes hold 15 records of 1 KB in 15,700 bytes; every tenth batch was sent before it was full.
    sample = BatchSample(10, 9 * 15_700 + 8_400, 9 * 15 + 8)
    assert choose([planned(0, 100_000)], {0: sample})[0] == {}


def test_records_of_which_a_batch_holds_few_are_encoded_anew():
    assert choose([planned(0, 100_000)], {0: BatchSample(10, 10 * 16_000, 10 * 8)})[0] == {0: SMALL}


def test_few_records_that_are_large_are_worth_a_look():
    assert choose([planned(0, 100, records=10, bytes=10_000_000)], {0: LARGE}) == ({}, [0])


def test_a_lane_of_large_batches_needs_one_engine():
    assert choose([planned(0, 5_000), planned(1, 5_000)], {0: LARGE, 1: LARGE}) == ({}, [0, 1])


def test_small_batches_of_one_partition_do_not_drag_the_others():
    assert choose([planned(0, 100_000), planned(1, 100_000)], {0: LARGE, 1: ONE_RECORD})[0] == {1: SMALL}


def test_a_few_small_batches_go_along_with_large_ones():
    ranges = [planned(0, 100_000), planned(1, 100), planned(2, 3)]
    assert choose(ranges, {0: LARGE, 1: ONE_RECORD, 2: ONE_RECORD}) == ({}, [0, 1, 2])


def test_large_batches_that_save_less_than_a_second_engine_costs_are_encoded_anew():
    assert choose([planned(0, 2_000), planned(1, 100_000)], {0: LARGE, 1: ONE_RECORD})[0] == {0: NOT_WORTH_IT, 1: SMALL}


def test_what_cannot_be_handed_on_is_encoded_anew_however_large_its_batches_are():
    holes = BatchSample(1, 100_000, 1000, "holes")
    assert choose([planned(0, 100_000), planned(1, 100_000)], {0: LARGE, 1: holes})[0] == {1: "holes"}


def test_a_partition_without_a_sample_and_one_that_was_stuck_begin_with_records():
    ranges = [planned(0, 100_000), planned(1, 100_000), planned(2, 100_000, BLOCKED)]
    assert choose(ranges, {0: LARGE}) == ({1: NOT_READ, 2: STUCK}, [0, 1])


def test_batches_are_worth_it_from_12_kb_and_12_records_on():
    at_the_border = {0: BatchSample(3, 3 * 12_288, 36), 1: BatchSample(3, 3 * 12_288 - 1, 36), 2: BatchSample(3, 3 * 12_288, 35)}
    assert choose([planned(number, 100_000) for number in range(3)], at_the_border)[0] == {1: SMALL, 2: SMALL}


SAMPLES = st.builds(BatchSample, st.integers(1, 50), st.integers(1, 1_000_000), st.integers(1, 5_000), st.sampled_from(["", "holes"]))
RANGES = st.lists(st.tuples(st.integers(1, 1_000_000), SAMPLES, st.sampled_from([BEHIND, BLOCKED])), min_size=1, max_size=6)


@given(RANGES)
def test_only_batches_that_can_be_handed_on_are_and_a_range_of_its_own_is_judged_by_itself(made):
    ranges = [planned(number, offsets, reason) for number, (offsets, _, reason) in enumerate(made)]
    samples = {number: sample for number, (_, sample, _) in enumerate(made)}
    reasons, asked = choose(ranges, samples)
    assert asked == [number for number, planned_range in enumerate(ranges) if planned_range.reason != BLOCKED]
    for number, (offsets, sample, reason) in enumerate(made):
        if number not in reasons:
            assert reason != BLOCKED
            assert not sample.obstacle
        elif reasons[number] == FEW:
            assert offsets < 15
        elif reasons[number] == SMALL:
            assert sample.bytes < 16_384 * sample.batches or sample.records < 15 * sample.batches
    if len(reasons) < len(ranges):
        assert any(number in asked and number not in reasons for number in range(len(ranges)))
