"""What the delivery reports of a partition say of the records that were refused, with reports as the client really makes them."""

from dataclasses import dataclass, replace

import pytest
from confluent_kafka import KafkaError, Producer

from mirror.copy.confluent_partition import PartitionFlow
from mirror.copy.confluent_record import poison_of
from mirror.copy.engine import BatchRefused, RecordLimits, RefusedRecord, Work
from mirror.offsets.partition import TopicPartition

STAMPS = (100, 200, 300)


@dataclass
class Report:
    """The message of a delivery report that says of an error: the client has forgotten the timestamp."""

    _key: bytes | None = b"k"

    def key(self):
        return self._key

    def timestamp(self):
        return 0, -1


@dataclass
class SourceRecord(Report):
    """A record that was read from the source."""

    _offset: int = 0

    def offset(self):
        return self._offset


@pytest.fixture
def flow():
    """Three records of a partition on their way, of the offsets 5, 7 and 8."""
    flow = PartitionFlow(Work(TopicPartition("orders", 0), "east.orders", 5, 9, None, RecordLimits()), "west")
    for offset, stamp in zip((5, 7, 8), STAMPS, strict=True):
        flow.sources.append(offset)
        flow.timestamps.append(stamp)
    return flow


def test_the_client_does_not_tell_the_timestamp_of_a_record_that_failed():
    told = []
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 1, "log_level": 0})
    producer.produce("orders", b"v", b"k", 0, lambda error, message: told.append((error is None, message.timestamp())), 1_790_000_000_000)
    producer.purge()
    producer.flush(5)
    assert told == [(False, (0, -1))]


def test_a_refused_record_is_known_again_by_the_timestamp_with_which_it_was_sent(flow):
    flow.delivered(KafkaError(KafkaError._INVALID_DIFFERENT_RECORD), Report())
    flow.delivered(KafkaError(KafkaError.INVALID_RECORD), Report())
    flow.delivered(KafkaError(KafkaError.INVALID_RECORD), Report(None))
    refusal = flow.refusal()
    assert isinstance(refusal, BatchRefused)
    assert refusal.names_culprits
    assert [(each.offset, each.timestamp, each.has_key) for each in refusal.culprits] == [(7, 200, True), (8, 300, False)]
    again = replace(flow.work, refused={each.offset: each for each in refusal.culprits})
    assert poison_of(SourceRecord(b"k", 7), 200, again) is not None
    assert poison_of(SourceRecord(b"k", 7), 201, again) is None
    assert poison_of(SourceRecord(None, 8), 300, again) is not None


def test_reports_of_records_that_the_broker_took_shift_nothing(flow):
    class Taken(Report):
        def offset(self):
            return 40

    flow.delivered(None, Taken())
    flow.delivered(KafkaError(KafkaError.INVALID_TIMESTAMP), Report())
    flow.delivered(KafkaError(KafkaError._PURGE_QUEUE), Report())
    (culprit,) = flow.culprits
    assert isinstance(culprit, RefusedRecord)
    assert (culprit.offset, culprit.timestamp) == (7, 200)


def test_records_that_are_refused_before_anything_was_thrown_away_are_named(flow):
    flow.delivered(KafkaError(KafkaError.INVALID_RECORD), Report())
    flow.delivered(KafkaError(KafkaError._PURGE_QUEUE), Report())
    flow.delivered(KafkaError(KafkaError.INVALID_RECORD), Report())
    refusal = flow.refusal()
    assert isinstance(refusal, BatchRefused) and [culprit.offset for culprit in refusal.culprits] == [5]
