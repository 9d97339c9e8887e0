"""Some kilobytes that somebody may produce, and that unpack to more than a lane has: real brokers take them, stamp them, hand them on."""

import struct

import google_crc32c
import pytest
import zstandard
from kafka.protocol.producer import ProduceRequest

from kafka_mirror.formats.batches.varint import signed_varint
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import BrokerPool
from tests.integration.decisions import errors_of, mirrored, used_up

MEGABYTES = 130
ZSTD = 4


def record(place, size):
    body = b"\0" + signed_varint(0) + signed_varint(place) + signed_varint(-1) + signed_varint(size) + bytes(size) + signed_varint(0)
    return signed_varint(len(body)) + body


def bomb():
    """A batch of so many records of one megabyte each, all zeros."""
    packer = zstandard.ZstdCompressor().compressobj()
    packed = b"".join(packer.compress(record(place, 1_000_000)) for place in range(MEGABYTES)) + packer.flush()
    covered = struct.pack(">hiqqqhii", ZSTD, MEGABYTES - 1, 0, 0, -1, -1, -1, MEGABYTES) + packed
    return struct.pack(">qiibI", 0, len(covered) + 9, 0, 2, google_crc32c.value(covered)) + covered


def produce(bootstrap, topic, batch):
    pool = BrokerPool("source", {"bootstrap.servers": bootstrap, "client.id": "stranger", "security.protocol": "plaintext"}, 60.0)
    tp = TopicPartition(topic, 0)
    connection = pool.connect(pool.find_leaders([tp])[tp].node)
    kind = ProduceRequest.TopicProduceData
    data = kind(name=topic, partition_data=[kind.PartitionProduceData(index=0, records=batch)])
    answer = connection.ask(ProduceRequest(version=9, transactional_id=None, acks=-1, timeout_ms=60_000, topic_data=[data]))
    assert answer.responses[0].partition_responses[0].error_code == 0
    pool.close()


@pytest.fixture
def mirroring(pair, make_mirroring):
    return make_mirroring(pair, {"source->target.mirror.lanes": "1"})


def test_a_bomb_that_the_source_stamped_stops_its_partition_alone_and_one_decision_ends_it(mirroring, make_topic, decide, answer):
    topic, other = mirroring.pair.topic("orders"), make_topic("payments", records=50)
    mirroring.oracle.create_topic(mirroring.source, topic, 1, {"message.timestamp.type": "LogAppendTime"})
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=2)
    batch = bomb()
    assert len(batch) < 20_000
    produce(mirroring.source, topic, batch)
    mirroring.oracle.produce(mirroring.source, topic, 5, seed=3)
    errors = errors_of(mirroring.copy(), "BatchNotUnpacked")
    assert errors.keys() == {TopicPartition(topic, 0)}
    error = errors[TopicPartition(topic, 0)]
    assert (error.offset, error.retriable) == (20, False)
    assert f"[20, {20 + MEGABYTES})" in error.next
    assert len(mirrored(mirroring, topic)) == 20
    assert len(mirrored(mirroring, other)) == 50
    (decision,) = answer(error)
    assert decision["offset"] == 20
    assert mirroring.copy().state == "done"
    assert len(mirrored(mirroring, topic)) == 25, "the witness of the tests has no memory for the source's own records"
    (skipped,) = mirroring.ledger()[TopicPartition(topic, 0)].skipped
    assert (skipped.start, skipped.end) == (20, 20 + MEGABYTES)
    used_up(decide, mirroring, "skip-record", "--topic", topic)


def test_where_every_batch_is_rewritten_a_bomb_stops_its_partition_too(pair, make_mirroring, mirroring, make_topic):
    mirroring.flow = make_mirroring(pair, {"source->target.mirror.engine": "records", "source->target.mirror.lanes": "1"}).flow
    topic, other = make_topic("orders", records=20), make_topic("payments", records=50)
    produce(mirroring.source, topic, bomb())
    error = errors_of(mirroring.copy(), "BatchNotUnpacked")[TopicPartition(topic, 0)]
    assert (error.offset, error.retriable) == (20, False)
    assert "mirror.unpacked.batch.max.bytes" in error.next
    assert (len(mirrored(mirroring, topic)), len(mirrored(mirroring, other))) == (20, 50)
