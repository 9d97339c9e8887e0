"""What stands in the logs of the tests' brokers, and batches to be put there."""

import time

import google_crc32c
import pytest
from kafka.record.default_records import DefaultRecordBatch

from kafka_mirror.copy.model import TransactionLimits
from kafka_mirror.errors import AuthorizationRefused
from tests.unit.copy.batches.conftest import batch_of

LIMITS = TransactionLimits(32 * 1024 * 1024, 10.0)


def payloads(log):
    return [each[61:] for each in log.batches]


def values(log):
    return [record.value for each in log.batches for record in DefaultRecordBatch(each)]


def assert_writing_is_refused(engine, work):
    """A copy names the source topic whose remote topic may not be written."""
    with pytest.raises(AuthorizationRefused, match=r"WRITE on topic east\.orders") as refusal:
        engine.copy([work(0, 3)], LIMITS)
    assert refusal.value.topic == "orders"


def sealed(batch):
    """With the checksum of its bytes."""
    batch[17:21] = google_crc32c.value(bytes(batch[21:])).to_bytes(4, "big")
    return batch


def fill(log, batches, records=3):
    """Batches of three records each, told apart by their values."""
    for number in range(batches):
        log.append(batch_of([b"%d-%d" % (log.end, number)] * records))


def marker_of(producer_id):
    """The end of a transaction, as a broker writes it: one control record."""
    made = batch_of([b"\x00\x00\x00\x00\x00\x00"], producer_id=producer_id, transactional=True)
    made[22] |= 0x20
    return sealed(made)


def hold_back(broker, monkeypatch, throttle_ms):
    """Lets a broker answer three fetches with nothing, though it has something, and the clock go on by 20 seconds for each."""
    now, passed = time.monotonic, [0]
    monkeypatch.setattr(time, "monotonic", lambda: now() + passed[0])

    def change(answer):
        if passed[0] < 60:
            passed[0] += 20
            answer.throttle_time_ms = throttle_ms
            for partition in answer.responses[0].partitions:
                partition.high_watermark, partition.records = 0, b""

    broker.change_fetches(change)
