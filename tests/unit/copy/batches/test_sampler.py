"""A look at the first batches of partitions, between two brokers that keep Kafka's rules."""

from dataclasses import replace

import pytest
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import InitProducerIdRequest

from mirror.copy.batches import sampler as module
from mirror.copy.batches.sampler import SourceBatchSampler
from mirror.copy.engine import BatchesUnavailable, TransactionLimits
from mirror.offsets.partition import TopicPartition
from tests.unit.copy.batches.conftest import ORDERS, REMOTE, batch_of

LIMITS = TransactionLimits(32 * 1024 * 1024, 10.0)
OFFSET_OUT_OF_RANGE, TOPIC_AUTHORIZATION_FAILED, UNKNOWN_SERVER_ERROR = 1, 29, -1
SECOND = TopicPartition("orders", 1)


@pytest.fixture
def sampler():
    made = SourceBatchSampler()
    yield made
    made.close()


@pytest.fixture
def log(east):
    """orders-0 with eight batches of 60 KB and 20 records."""
    made = east.log(*ORDERS)
    for number in range(8):
        made.append(batch_of([b"%d" % number * 3000] * 20))
    return made


def test_sizes_are_those_of_the_first_batches_and_no_lane_is_fenced(sampler, lane_task, log, west, work):
    size = len(log.batches[0])
    sample = sampler.sample(lane_task, [work(0, 160)])[ORDERS]
    assert (sample.batches, sample.bytes, sample.records, sample.obstacle) == (5, 5 * size, 100, "")
    assert west.of(InitProducerIdRequest) == []


def test_the_engine_goes_on_with_what_was_fetched(sampler, lane_task, east, west, log, work):
    sampler.sample(lane_task, [work(0, 160)])
    engine = sampler.open(lane_task, 1_000_000)
    (moved,) = engine.copy([work(0, 160)], LIMITS)
    engine.close()
    assert moved.records == 160
    asked = [request.topics[0].partitions[0] for request in east.of(FetchRequest)]
    assert [each.fetch_offset for each in asked[:2]] == [0, 80]
    assert asked[0].partition_max_bytes < asked[1].partition_max_bytes
    assert [each[61:] for each in west.log(*REMOTE).batches] == [each[61:] for each in log.batches]


@pytest.mark.parametrize("named", [None, 3])
def test_what_was_fetched_with_another_epoch_than_the_watermarks_is_fetched_anew(sampler, lane_task, east, log, work, named):
    sampler.sample(lane_task, [replace(work(0, 160), leader_epoch=named)])
    engine = sampler.open(lane_task, 1_000_000)
    engine.copy([replace(work(0, 160), leader_epoch=0)], LIMITS)
    engine.close()
    asked = [request.topics[0].partitions[0] for request in east.of(FetchRequest)]
    assert [each.last_fetched_epoch for each in asked if each.fetch_offset == 0] == [-1 if named is None else named, 0]


def test_a_second_engine_begins_anew(sampler, lane_task, log, west, work):
    sampler.sample(lane_task, [work(0, 160)])
    sampler.open(lane_task, 1_000_000).close()
    engine = sampler.open(lane_task, 1_000_000)
    assert engine.copy([work(0, 160)], LIMITS)[0].records == 160
    engine.close()


def test_a_batch_of_which_only_the_header_came_counts_with_its_whole_size(sampler, lane_task, east, log, work):
    large = batch_of([b"x" * 200_000] * 3)
    east.log(*SECOND).append(large)
    samples = sampler.sample(lane_task, [work(0, 160), work(0, 3, source=SECOND)])
    assert (samples[SECOND].batches, samples[SECOND].bytes, samples[SECOND].records) == (1, len(large), 3)


def test_what_cannot_be_handed_on_is_named(sampler, lane_task, log, work):
    assert "compression.type is zstd" in sampler.sample(lane_task, [work(0, 160, compression="zstd")])[ORDERS].obstacle
    assert "max.message.bytes=100" in sampler.sample(lane_task, [work(0, 160, max_message_bytes=100)])[ORDERS].obstacle
    assert "LogAppendTime" in sampler.sample(lane_task, [work(0, 160, stamps=True)])[ORDERS].obstacle


@pytest.mark.parametrize("code", [OFFSET_OUT_OF_RANGE, TOPIC_AUTHORIZATION_FAILED])
def test_a_partition_that_an_error_names_does_not_drag_the_others(sampler, lane_task, east, log, work, code):
    other = TopicPartition("payments", 0)
    east.log(*other).append(batch_of([b"value"]))
    east.refusals[FetchRequest, other].append(code)
    assert sampler.sample(lane_task, [work(0, 160), work(0, 1, source=other)]).keys() == {ORDERS}


def test_an_error_of_the_whole_source_gives_no_sample(sampler, lane_task, east, log, work):
    east.refusals[FetchRequest, ORDERS].append(UNKNOWN_SERVER_ERROR)
    assert sampler.sample(lane_task, [work(0, 160)]) == {}


def test_a_source_that_gives_nothing_is_waited_for_no_longer_than_it_may_take(sampler, lane_task, east, work, monkeypatch):
    monkeypatch.setattr(module, "_SECONDS", 0.05)
    assert sampler.sample(lane_task, [work(0, 10)]) == {}


def test_a_source_that_is_too_old_says_so(sampler, lane_task, east, log, work):
    east.versions |= {FetchRequest: 8}
    with pytest.raises(BatchesUnavailable, match=r"older than Kafka 2\.1"):
        sampler.sample(lane_task, [work(0, 160)])
