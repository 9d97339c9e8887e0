"""What applications ask a target cluster, as far as no broker is needed: settings, and what a series of checkpoints says."""

import pytest

from kafka_mirror.client import MirrorClient, OffsetAndMetadata, newest
from kafka_mirror.errors import ConfigurationError
from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy

BOOTSTRAP = {"bootstrap.servers": "127.0.0.1:1"}


def record(group, topic, partition, offset, metadata=""):
    made = Checkpoint(group, topic, partition, offset, offset, metadata)
    return made.key, made.value


def all_of(records):
    return newest(records, lambda _: True)


def test_the_last_checkpoint_of_a_partition_counts():
    records = [record("g", "a.t", 0, 5), record("g", "a.t", 1, 7, "note"), record("h", "a.t", 0, 9), record("g", "a.t", 0, 3)]
    assert all_of(records) == {
        "g": {TopicPartition("a.t", 0): OffsetAndMetadata(3), TopicPartition("a.t", 1): OffsetAndMetadata(7, "note")},
        "h": {TopicPartition("a.t", 0): OffsetAndMetadata(9)},
    }
    assert set(newest(records, lambda group: group == "h")) == {"h"}


def test_a_record_without_value_takes_its_partition_out():
    key, value = record("g", "a.t", 0, 5)
    assert all_of([(key, value), (key, None)]) == {}
    assert all_of([(key, None)]) == {}
    assert all_of([(key, value), (key, None), (key, value)])["g"] == {TopicPartition("a.t", 0): OffsetAndMetadata(5)}


def test_what_is_no_checkpoint_is_passed_over():
    key, value = record("g", "a.t", 0, 5)
    broken = [(None, value), (b"", value), (key, b""), (key[:-1], value), (key, value[:-1]), (b"\xff\xff", None)]
    assert all_of([*broken, (key, value), *broken]) == {"g": {TopicPartition("a.t", 0): OffsetAndMetadata(5)}}


def test_the_policy_is_that_of_the_properties():
    with MirrorClient(BOOTSTRAP | {"replication.policy.separator": "__"}) as client:
        assert type(client.replication_policy) is DefaultReplicationPolicy
        assert client.replication_policy.format_remote_topic("a", "t") == "a__t"
    name = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
    with MirrorClient(BOOTSTRAP | {"replication.policy.class": name, "source.cluster.alias": "a"}) as client:
        assert type(client.replication_policy) is IdentityReplicationPolicy
        assert client.replication_policy.topic_source("t") == "a"


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({}, "bootstrap.servers"),
        ({"bootstrap.servers": ""}, "bootstrap.servers"),
        (BOOTSTRAP | {"security.protocol": "SLL"}, "security.protocol"),
        (BOOTSTRAP | {"replication.policy.class": "com.example.Policy"}, "replication.policy.class"),
        (BOOTSTRAP | {"admin.bootstrap.servers": "nowhere"}, "bootstrap.servers"),
    ],
)
def test_properties_that_cannot_be_used_are_named(properties, named):
    with pytest.raises(ConfigurationError, match=named):
        MirrorClient(properties)
