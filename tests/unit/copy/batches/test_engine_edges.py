"""Batches that cannot be forwarded as they are: at a range's edge, and for what is in them."""

from dataclasses import replace

import pytest
from kafka.protocol.producer import ProduceRequest
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.model import RECORDS, REWRITTEN, BatchShare
from kafka_mirror.formats.batches.compression import decompress
from kafka_mirror.formats.batches.record_batch import CODECS, HEADER_BYTES, Attribute
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.unit.copy.batches.batch_logs import LIMITS, fill, payloads, sealed, values
from tests.unit.copy.batches.conftest import ORDERS, REMOTE, batch_of
from tests.unit.formats.batches.test_batch_rewrite import with_holes
from tests.unit.formats.batches.test_record_batch import one
from tests.unit.kafka.test_old_messages import GZIP, written

CONCURRENT_TRANSACTIONS, MESSAGE_TOO_LARGE, TOPIC_AUTHORIZATION_FAILED = 51, 10, 29
NOT_LEADER, INVALID_TRANSACTION_TIMEOUT, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR = 6, 50, 14, 16


@pytest.mark.parametrize(("start", "end"), [(1, 6), (0, 5), (1, 2), (4, 6), (1, 4)])
def test_of_batches_at_the_edges_of_a_range_the_records_inside_it_are_copied(engine, east, west, work, start, end):
    fill(east.log(*ORDERS), 2)
    (moved,) = engine.copy([work(start, end)], LIMITS)
    assert (moved.next_offset, moved.records) == (end, end - start)
    assert values(west.log(*REMOTE)) == values(east.log(*ORDERS))[start:end]
    assert sum(run.length for run in moved.runs) == end - start


def test_a_batch_at_an_edge_that_cannot_be_opened_stops_its_partition(engine, east, west, work):
    log = east.log(*ORDERS)
    closed = batch_of([b"v"] * 3)
    closed[22] |= CODECS.index("zstd")
    log.append(sealed(closed))
    fill(log, 1)
    (moved,) = engine.copy([work(1, 6)], LIMITS)
    assert (moved.next_offset, moved.records, moved.poison.offset, moved.poison.end) == (1, 0, 1, 3)
    assert "cannot be read" in moved.poison.detail
    assert west.of(ProduceRequest) == []


def test_a_batch_at_an_edge_is_opened_into_as_many_as_the_target_takes(engine, east, west, work):
    east.log(*ORDERS).append(batch_of([b"v" * 200] * 3))
    (moved,) = engine.copy([work(1, 3, max_message_bytes=400)], LIMITS)
    assert (moved.next_offset, moved.records) == (3, 2)
    assert len(payloads(west.log(*REMOTE))) == 2


@pytest.mark.parametrize("start", [0, 1], ids=["closed", "at an edge"])
@pytest.mark.parametrize("skip", [False, True])
def test_a_batch_that_is_damaged_stops_its_partition_whatever_is_tolerated(engine, east, west, work, start, skip):
    """Another replica may have it whole, or it comes whole the next time, so only a person passes over it."""
    damaged, other = batch_of([b"value"] * 2), TopicPartition("payments", 0)
    damaged[-14] ^= 1  # inside the last record's value
    east.log(*ORDERS).append(damaged)
    east.log(*ORDERS).append(batch_of([b"last"]))
    east.log(*other).append(batch_of([b"beside"]))
    west.log("east.payments")
    moved, beside = engine.copy([replace(work(start, 3), skip_refused=skip), work(0, 1, source=other)], LIMITS)
    assert (moved.next_offset, moved.records, moved.skipped, moved.poison.offset, moved.poison.end) == (start, 0, (), start, 2)
    assert "checksum" in moved.poison.detail
    assert (beside.records, values(west.log(*REMOTE))) == (1, [])


@pytest.mark.parametrize(
    ("spoil", "limits"),
    [
        (lambda batch: batch.__setitem__(22, batch[22] | Attribute.DELETE_HORIZON), {}),
        (lambda batch: None, {"max_message_bytes": 200}),
        (lambda batch: None, {"compression": "zstd"}),
        (lambda batch: None, {"compression": "uncompressed"}),
    ],
)
def test_what_cannot_be_handed_on_as_it_is_arrives_record_by_record(engine, east, west, work, spoil, limits):
    log = east.log(*ORDERS)
    log.append(batch_of([b"good"]))
    rewritten = batch_of([b"a" * 50] * 3)
    spoil(rewritten)
    log.append(sealed(rewritten))
    (moved,) = engine.copy([work(0, 4, **limits)], LIMITS)
    assert (moved.next_offset, moved.records, moved.runs) == (4, 4, (Run(0, 0, 4),))
    arrived = [decompress(one(each).codec, one(each).data[HEADER_BYTES:]) for each in west.log(*REMOTE).batches]
    assert b"".join(arrived).count(b"a" * 50) == 3
    assert all(len(each) <= limits.get("max_message_bytes", 1_000) for each in west.log(*REMOTE).batches)


def test_a_batch_that_its_broker_stamped_arrives_with_that_time(engine, east, west, work):
    stamped = batch_of([b"v"] * 3)
    stamped[22] |= Attribute.LOG_APPEND_TIME
    stamped[35:43] = (1_800_000_000_000).to_bytes(8, "big")
    east.log(*ORDERS).append(sealed(stamped))
    engine.copy([work(0, 3)], LIMITS)
    (arrived,) = west.log(*REMOTE).batches
    assert [record.timestamp for record in DefaultRecordBatch(arrived)] == [1_800_000_000_000] * 3


def test_holes_of_compaction_are_in_the_offset_map_and_not_in_the_batch(engine, east, west, work):
    log = east.log(*ORDERS)
    log.append(with_holes([1, 2, 5]), base_offset=100)
    (moved,) = engine.copy([work(100, 110)], LIMITS)
    assert (moved.next_offset, moved.records, moved.runs) == (110, 3, (Run(101, 0, 2), Run(105, 2, 1)))
    assert values(west.log(*REMOTE)) == [b"v"] * 3


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda batch: batch.__setitem__(21, 0x01), "0x0100"),
        (lambda batch: batch.__setitem__(slice(57, 61), (2).to_bytes(4, "big")), "more than the records that it counts"),
    ],
)
@pytest.mark.parametrize("skip", [False, True])
def test_what_cannot_be_opened_stops_its_partition_or_is_passed_over(engine, east, west, work, spoil, why, skip):
    log = east.log(*ORDERS)
    spoilt = batch_of([b"a" * 50] * 3)
    spoil(spoilt)
    log.append(batch_of([b"good"]))
    log.append(sealed(spoilt))
    log.append(batch_of([b"last"]))
    (moved,) = engine.copy([replace(work(0, 5), skip_refused=skip)], LIMITS)
    if skip:
        assert (moved.next_offset, moved.poison, values(west.log(*REMOTE))) == (5, None, [b"good", b"last"])
        assert [(passed.start, passed.end) for passed in moved.skipped] == [(1, 4)]
    else:
        assert (moved.next_offset, moved.poison.offset, moved.poison.end) == (1, 1, 4)
        assert why in moved.poison.detail


def test_with_mirror_engine_records_every_batch_is_rewritten(lane_task, east, west, work):
    fill(east.log(*ORDERS), 3)
    engine = BatchEngine(replace(lane_task, engine=RECORDS), 1_000_000)
    (moved,) = engine.copy([work(0, 9)], LIMITS)
    engine.close()
    assert (moved.batches, moved.rewritten) == ((BatchShare(REWRITTEN, 3, 9),), {"mirror.engine=records": 3})
    assert values(west.log(*REMOTE)) == values(east.log(*ORDERS))


@pytest.mark.parametrize("spoil", [False, True], ids=["too large", "damaged"])
@pytest.mark.parametrize("skip", [False, True])
def test_old_messages_that_cannot_be_read_stop_their_partition_or_are_passed_over(lane_task, east, west, work, spoil, skip):
    packed = bytearray(written(1, GZIP, 0, [(5, b"k", bytes(40_000))] * 4))
    packed[-1] ^= spoil
    log, other = east.log(*ORDERS), TopicPartition("payments", 0)
    log.batches.append(bytes(packed))
    log.end = 4
    log.append(batch_of([b"new"] * 2))
    east.log(*other).append(batch_of([b"beside"]))
    west.log("east.payments")
    engine = BatchEngine(replace(lane_task, unpacked_max_bytes=200_000 if spoil else 100_000), 1_000_000)
    moved, beside = engine.copy([replace(work(1, 6), skip_refused=skip), work(0, 1, source=other)], LIMITS)
    engine.close()
    assert beside.records == 1
    if skip and not spoil:
        assert (moved.next_offset, moved.poison, moved.records) == (6, None, 2)
        assert [(passed.start, passed.end) for passed in moved.skipped] == [(1, 4)]
    else:
        assert (moved.next_offset, moved.records, moved.skipped, moved.poison.offset, moved.poison.end) == (1, 0, (), 1, 4)
        assert ("checksum of a message" if spoil else "unpack to more than 100,000") in moved.poison.detail


@pytest.mark.parametrize("magic", [0, 1])
def test_messages_of_before_kafka_0_11_arrive_in_the_format_of_today(engine, east, west, work, magic):
    old = LegacyRecordBatchBuilder(magic, 0, 1 << 20)
    for number in range(4):
        old.append(number, 1_000 + number, b"k", b"old-%d" % number)
    log = east.log(*ORDERS)
    log.batches.append(bytes(old.build()))
    log.end = 4
    log.append(batch_of([b"new"] * 2))
    (moved,) = engine.copy([work(1, 6)], LIMITS)
    assert (moved.next_offset, moved.runs) == (6, (Run(1, 0, 5),))
    assert values(west.log(*REMOTE)) == [b"old-1", b"old-2", b"old-3", b"new", b"new"]
    stamps = [record.timestamp for each in west.log(*REMOTE).batches for record in DefaultRecordBatch(each)]
    assert stamps[:3] == ([1_001, 1_002, 1_003] if magic else [-1] * 3)
