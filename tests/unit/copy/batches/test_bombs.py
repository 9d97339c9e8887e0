"""Batches of some kilobytes that unpack to far more: opened up to a limit, or an error of their partition, and only once they are
intact."""

import struct
from dataclasses import replace

import pytest
import zstandard
from kafka.protocol.producer import ProduceRequest

from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.model import BatchRefused
from kafka_mirror.errors import BatchNotUnpacked
from kafka_mirror.formats.batches import batch_rewrite
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.unit.copy.batches.batch_logs import LIMITS, fill, sealed, values
from tests.unit.copy.batches.conftest import ORDERS, REMOTE, batch_of

RECORDS, RECORD_BYTES = 20, 50_000
LARGEST = 500_000
STAMPED, ZSTD = 0x08, 0x04
INVALID_TIMESTAMP = 32
RETURNS = TopicPartition("returns", 0)


def bomb():
    """A batch whose records are zeros, packed by zstd."""
    plain = batch_of([bytes(RECORD_BYTES)] * RECORDS)
    packed = bytearray(plain[:61]) + zstandard.ZstdCompressor().compress(bytes(plain[61:]))
    packed[22] |= ZSTD
    struct.pack_into(">i", packed, 8, len(packed) - 12)
    assert len(packed) < 3_000
    return sealed(packed)


@pytest.fixture
def small(lane_task):
    """An engine that opens batches of up to LARGEST bytes."""
    made = BatchEngine(replace(lane_task, unpacked_max_bytes=LARGEST), 1_000_000)
    yield made
    made.close()


def test_a_bomb_stops_its_partition_in_front_of_it_and_the_others_go_on(small, east, west, work):
    fill(east.log(*ORDERS), 2)
    east.log(*ORDERS).append(bomb())
    fill(east.log(*RETURNS), 4)
    west.log("east.returns", 0)
    by_source = {done.source: done for done in small.copy([work(0, 10), work(0, 12, source=RETURNS)], LIMITS)}
    held_up, other = by_source[ORDERS], by_source[RETURNS]
    assert (held_up.next_offset, held_up.records, other.next_offset, other.records) == (6, 6, 12, 12)
    error = held_up.poison
    assert isinstance(error, BatchNotUnpacked)
    assert (error.topic, error.partition, error.offset, error.end, error.retriable) == ("orders", 0, 6, 6 + RECORDS, False)
    report = error.report()
    assert f"{LARGEST:,} bytes" in report.message
    assert [remedy.decision for remedy in report.remedies] == ["skip-record"]
    small.commit()
    assert len(values(west.log(*REMOTE))) == 6


def test_a_bomb_that_may_be_opened_gives_its_records(engine, east, west, work):
    east.log(*ORDERS).append(bomb())
    (done,) = engine.copy([work(3, 5)], LIMITS)
    engine.commit()
    assert (done.poison, done.records, values(west.log(*REMOTE))) == (None, 2, [bytes(RECORD_BYTES)] * 2)


def test_with_errors_tolerance_all_a_bomb_is_passed_over_as_a_whole(small, east, work):
    east.log(*ORDERS).append(bomb())
    fill(east.log(*ORDERS), 1)
    (done,) = small.copy([replace(work(1, RECORDS + 3), skip_refused=True)], LIMITS)
    assert (done.next_offset, done.records, done.poison) == (RECORDS + 3, 3, None)
    assert [(skipped.start, skipped.end) for skipped in done.skipped] == [(1, RECORDS)]
    assert done.skipped[0].reason.startswith("BatchNotUnpacked: ")


def test_what_is_not_intact_is_never_unpacked(small, east, work, monkeypatch):
    monkeypatch.setattr(batch_rewrite, "decompress", lambda *_: pytest.fail("it was unpacked"))
    spoilt = bomb()
    spoilt[-1] ^= 0xFF
    east.log(*ORDERS).append(spoilt)
    (done,) = small.copy([work(3, 5)], LIMITS)
    assert "the checksum of a batch" in done.poison.detail


def test_a_bomb_that_the_target_refuses_is_opened_no_further_than_any_other(small, east, west, work):
    east.log(*ORDERS).append(bomb())
    west.refusals[ProduceRequest, REMOTE].append(INVALID_TIMESTAMP)
    west.named = [1]
    with pytest.raises(BatchRefused) as refusal:
        small.copy([work(0, RECORDS)], LIMITS)
    assert (refusal.value.first, refusal.value.records, refusal.value.culprits) == (0, RECORDS, ())


def test_a_bomb_whose_broker_stamps_it_is_opened(small, east, work):
    stamped = bomb()
    stamped[22] |= STAMPED
    east.log(*ORDERS).append(sealed(stamped))
    (done,) = small.copy([work(0, 20)], LIMITS)
    assert isinstance(done.poison, BatchNotUnpacked)
    assert done.next_offset == 0
