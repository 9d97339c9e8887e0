"""Batches that the engine cannot hand on as they are: at a range's edge, and for what is in them."""

from dataclasses import replace

import pytest
from kafka.protocol.producer import ProduceRequest

from mirror.errors import (
    SourceUnreadable,
)
from mirror.formats.record_batch import CODECS, Attribute
from tests.unit.copy.batches.batch_logs import LIMITS, fill, payloads, sealed, values
from tests.unit.copy.batches.conftest import ORDERS, REMOTE, batch_of

CONCURRENT_TRANSACTIONS, MESSAGE_TOO_LARGE, TOPIC_AUTHORIZATION_FAILED = 51, 10, 29
NOT_LEADER, INVALID_TRANSACTION_TIMEOUT, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR = 6, 50, 14, 16


@pytest.mark.parametrize(("start", "end"), [(1, 6), (0, 5), (1, 2), (4, 6), (1, 4)])
def test_of_batches_at_the_edges_of_a_range_the_records_inside_it_are_copied(engine, east, west, work, start, end):
    fill(east.log(*ORDERS), 2)
    (moved,) = engine.copy([work(start, end)], LIMITS)
    assert (moved.next_offset, moved.records, moved.reencoding) == (end, end - start, None)
    assert values(west.log(*REMOTE)) == values(east.log(*ORDERS))[start:end]
    assert sum(run.length for run in moved.runs) == end - start


def test_of_a_batch_at_an_edge_that_cannot_be_opened_the_other_engine_copies_the_rest(engine, east, west, work):
    log = east.log(*ORDERS)
    closed = batch_of([b"v"] * 3)
    closed[22] |= CODECS.index("zstd")
    log.append(sealed(closed))
    fill(log, 1)
    (moved,) = engine.copy([work(1, 6)], LIMITS)
    assert (moved.next_offset, moved.records, moved.reencoding.until) == (1, 0, 3)
    assert "begins inside a batch" in moved.reencoding.reason
    assert west.of(ProduceRequest) == []


def test_a_batch_at_an_edge_is_not_opened_into_one_that_is_too_large(engine, east, west, work):
    east.log(*ORDERS).append(batch_of([b"v" * 200] * 3))
    (moved,) = engine.copy([work(1, 3, max_message_bytes=150)], LIMITS)
    assert (moved.next_offset, moved.reencoding.until) == (1, 3)
    (moved,) = engine.copy([work(1, 3, max_message_bytes=400)], LIMITS)
    assert (moved.next_offset, moved.records) == (3, 2)
    assert len(payloads(west.log(*REMOTE))) == 2


def test_a_batch_at_an_edge_whose_checksum_is_wrong_is_never_given_a_right_one(engine, east, west, work):
    spoilt = batch_of([b"value"] * 2)
    spoilt[-14] ^= 1  # inside the last record's value
    east.log(*ORDERS).append(spoilt)
    with pytest.raises(SourceUnreadable, match="checksum"):
        engine.copy([work(1, 2)], LIMITS)
    assert west.of(ProduceRequest) == []


@pytest.mark.parametrize(
    ("spoil", "limits", "why"),
    [
        (lambda batch: batch.__setitem__(slice(57, 61), (2).to_bytes(4, "big")), {}, "compaction left holes"),
        (lambda batch: batch.__setitem__(22, batch[22] | 0x08), {}, "LogAppendTime"),
        (lambda batch: batch.__setitem__(22, batch[22] | 0x40), {}, "tombstones"),
        (lambda batch: batch.__setitem__(21, 0x01), {}, "0x0100"),
        (lambda batch: batch.__setitem__(16, 1), {}, "magic 1"),
        (lambda batch: None, {"max_message_bytes": 100}, "max.message.bytes=100"),
        (lambda batch: None, {"compression": "zstd"}, "compression.type is zstd, and a batch is uncompressed"),
    ],
)
def test_what_cannot_be_carried_as_it_is_is_handed_over_for_the_rest_of_the_range(engine, east, west, work, spoil, limits, why):
    log = east.log(*ORDERS)
    spoilt = batch_of([b"a" * 50] * 3)
    spoil(spoilt)
    log.append(batch_of([]) if limits else batch_of([b"good"]))
    start = log.end
    log.append(spoilt)
    (moved,) = engine.copy([work(0, 4, **limits)], LIMITS)
    assert (moved.next_offset, moved.reencoding.until) == (start, None)
    assert why in moved.reencoding.reason


def test_where_only_batches_carry_a_record_each_one_that_can_be_handed_on_is(engine, east, west, work):
    log = east.log(*ORDERS)
    log.append(batch_of([b"good"]))
    holes = batch_of([b"hole"] * 3)
    holes[57:61] = (2).to_bytes(4, "big")
    log.append(sealed(holes))
    (moved,) = engine.copy([replace(work(0, 4, compression="zstd"), batch_by_batch=True)], LIMITS)
    assert (moved.next_offset, moved.reencoding.until) == (1, 4)  # it is not what it says
    assert payloads(west.log(*REMOTE)) == payloads(log)[:1]


@pytest.mark.parametrize("attribute", [Attribute.LOG_APPEND_TIME, Attribute.DELETE_HORIZON])
def test_where_only_batches_carry_a_record_those_that_cannot_be_handed_on_are_opened(engine, east, west, work, attribute):
    log = east.log(*ORDERS)
    log.append(batch_of([b"good"]))
    marked = batch_of([b"marked"] * 3)
    marked[22] |= attribute
    log.append(sealed(marked))
    (moved,) = engine.copy([replace(work(0, 4), batch_by_batch=True)], LIMITS)
    assert (moved.next_offset, moved.records, moved.reencoding) == (4, 4, None)
    assert values(west.log(*REMOTE)) == [b"good", *[b"marked"] * 3]


def test_a_batch_whose_checksum_is_wrong_is_never_given_a_right_one(engine, east, west, work):
    spoilt = batch_of([b"value"])
    spoilt[-3] ^= 1
    east.log(*ORDERS).append(spoilt)
    with pytest.raises(SourceUnreadable, match="orders-0@0: the checksum of a batch"):
        engine.copy([work(0, 1)], LIMITS)
    assert west.of(ProduceRequest) == []
