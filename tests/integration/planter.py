"""Topics whose copies are planted by hand, so that an audit has something to find."""

from dataclasses import replace

import pytest
from confluent_kafka import Producer

from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.ledger.codec import encode, encode_key
from kafka_mirror.ledger.record import LedgerRecord, Writer
from services.oracle import Record

NOW = 1_790_000_000_000


def numbered(count, first=0):
    return [
        Record(b"key %d" % number, b"value %d" % number, (("h", b"%d" % number), ("n", None)), NOW + number)
        for number in range(first, first + count)
    ]


SOURCE = numbered(300)
COARSE = OffsetMap((Run(0, 0, 1), Run(299, 299, 1, thinned=True)))
"""A map that knows the first record and the last one of so many."""


class Planter:
    """Builds remote topics by hand, and writes into the ledger that they are complete copies."""

    def __init__(self, mirroring):
        self.mirroring = mirroring

    def vouch(self, topic, records, target_next, **fields):
        """The ledger says of partition 0 that the first `records` source offsets stand at the same offsets of the remote topic."""
        mirroring = self.mirroring
        with clusters(mirroring.flow) as (source, target):
            source_id, target_id = source.cluster_id(), target.cluster_id()
        record = LedgerRecord(
            watermark=records,
            leader_epoch=0,
            source_topic_id=mirroring.oracle.topic_id(mirroring.source, topic),
            target_topic=mirroring.pair.remote(topic),
            target_topic_id=mirroring.oracle.topic_id(mirroring.target, mirroring.pair.remote(topic)),
            target_next=target_next,
            source_cluster_id=source_id,
            target_cluster_id=target_id,
            lanes=4,
            offset_map=OffsetMap((Run(0, 0, records),)),
            writer=Writer("", "host", "a test", next(iter(mirroring.ledger().values())).writer.time),
            covered=((0, records),),
            records=records,
        )
        self.write(TopicPartition(topic, 0), replace(record, **fields))

    def write(self, tp, record):
        producer = Producer({"bootstrap.servers": self.mirroring.target})
        topic = f"mm2-ledger.{self.mirroring.pair.source}.internal"
        producer.produce(topic, encode(record), encode_key(tp), lane_of(*tp, 4))
        assert producer.flush(10) == 0

    def plant(self, name, source, target, configs=None, **fields):
        """A source topic and its remote topic with exactly these records; the topic's name."""
        mirroring, topic = self.mirroring, self.mirroring.pair.topic(name)
        mirroring.oracle.create_topic(mirroring.source, topic, 1, configs)
        mirroring.oracle.create_topic(mirroring.target, mirroring.pair.remote(topic), 1, configs)
        mirroring.oracle.produce_records(mirroring.source, topic, source)
        if target:
            mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(topic), target)
        self.vouch(topic, len(source), len(source), **fields)
        return topic


@pytest.fixture
def planter(mirroring, topic):
    """A flow that has copied a topic, so that it has a ledger."""
    assert mirroring.copy().state == "done"
    return Planter(mirroring)


def by_topic(result):
    return {each.topic: each for each in result.partitions if each.partition == 0}
