"""What MirrorMaker 2 leaves behind, made by hand: copies of source records, Connect's offsets; and taking over from it."""

import pytest
from confluent_kafka import Producer

from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.mm2 import SOURCE_CONNECTOR, SourcePartition, encode_offset, partition_of
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.migration.take_over import TakeOverRequest, take_over
from services.waiting import PATIENCE


class Left:
    """Writes what MirrorMaker 2 would have left: copies of source records, Connect's offsets."""

    def __init__(self, mirroring):
        self.mirroring = mirroring
        self.offsets_topic = f"mm2-offsets.{mirroring.pair.source}.internal"

    def topic(self, name, records=60, configs=None, partitions=1):
        topic = self.mirroring.pair.topic(name)
        self.mirroring.oracle.create_topic(self.mirroring.source, topic, partitions, configs)
        self.mirroring.oracle.produce(self.mirroring.source, topic, records, seed=len(name), **({"null_keys": 0} if configs else {}))
        return topic

    def copies(self, topic, *ranges, configs=None):
        """Source records of these index ranges, one behind the other, in the remote topic."""
        oracle, remote = self.mirroring.oracle, self.mirroring.pair.remote(topic)
        oracle.create_topic(self.mirroring.target, remote, 1, configs)
        records = oracle.dump(self.mirroring.source, topic, "read_uncommitted")
        chosen = [record for start, end in ranges for record in records[start:end]]
        if chosen:
            oracle.produce_records(self.mirroring.target, remote, chosen)
        return [record.offset for record in records]

    def stored(self, offsets, connector=SOURCE_CONNECTOR, topic=None, cluster=None):
        name = topic or self.offsets_topic
        if name not in self.topics():
            self.mirroring.oracle.create_topic(self.mirroring.target, name, 25, {"cleanup.policy": "compact"})
        producer = Producer({"bootstrap.servers": self.mirroring.target})
        for source_topic, offset in offsets.items():
            key = SourcePartition(connector, cluster or self.mirroring.pair.source, source_topic, 0).key
            value = encode_offset(offset) if offset is not None else None
            producer.produce(name, value, key, partition_of(key))
        assert producer.flush(PATIENCE) == 0

    def topics(self):
        with clusters(self.mirroring.flow) as (_, target):
            return target.names()


@pytest.fixture
def left(mirroring):
    return Left(mirroring)


def taken(mirroring, **options):
    dry_run = options.pop("dry_run", False)
    done = take_over(mirroring.flow, TakeOverRequest("a test", **options), dry_run)
    return done, dict(zip(done.result["topic"], done.result["watermark"], strict=True))


def refusal(kind, call):
    with pytest.raises(MirrorError) as raised:
        call()
    assert isinstance(raised.value, kind), raised.value
    return raised.value
