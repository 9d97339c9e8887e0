"""Metadata and offsets as our own code reads them, judged by kafka-python's schemas."""

from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import ListOffsetsRequest, ListOffsetsResponse
from kafka.protocol.metadata import MetadataResponse

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster_answers import EARLIEST, LATEST, listed_offsets, metadata, offsets_request
from kafka_mirror.kafka.model import Partition

TOPIC = MetadataResponse.MetadataResponseTopic
names = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=249)
nodes = st.integers(0, 2**31 - 1)
few = st.lists(nodes, max_size=5)
partitions = st.lists(st.tuples(st.integers(-1, 2**31 - 1), st.integers(-1, 2**31 - 1), few, few, few), max_size=8)
alike = st.tuples(partitions.filter(bool), st.integers(2, 300)).map(lambda given: given[0][:1] * given[1])
topics = st.dictionaries(names, st.tuples(st.sampled_from((0, 0, 3, 5, 29)), st.uuids(), st.booleans(), partitions | alike), max_size=4)
brokers = st.dictionaries(nodes, st.tuples(names, st.integers(1, 65_535), st.none() | names), max_size=3)


def metadata_bytes(topics, brokers, version, throttle=0, order=1):
    """An answer as a broker encodes it."""
    kind = TOPIC.MetadataResponsePartition
    encoded = [
        TOPIC(
            error_code=code,
            name=name,
            topic_id=topic_id,
            is_internal=internal,
            partitions=[
                kind(
                    error_code=0,
                    partition_index=number,
                    leader_id=leader,
                    leader_epoch=epoch,
                    replica_nodes=replicas,
                    isr_nodes=in_sync,
                    offline_replicas=offline,
                )
                for number, (leader, epoch, replicas, in_sync, offline) in list(enumerate(rows))[::order]
            ],
        )
        for name, (code, topic_id, internal, rows) in topics.items()
    ]
    known = [
        MetadataResponse.MetadataResponseBroker(node_id=node, host=host, port=port, rack=rack)
        for node, (host, port, rack) in brokers.items()
    ]
    answer = MetadataResponse(version=version, throttle_time_ms=throttle, brokers=known, cluster_id="C", controller_id=1, topics=encoded)
    return memoryview(answer.encode())


@given(topics, brokers, st.integers(10, 12), st.integers(0, 1000), st.sampled_from((1, -1)))
def test_metadata_says_what_kafka_python_wrote(topics, brokers, version, throttle, order):
    answer = metadata(metadata_bytes(topics, brokers, version, throttle, order), version)
    assert (answer.throttle_time_ms, answer.cluster_id) == (throttle, "C")
    assert answer.brokers == {node: (host, port) for node, (host, port, _) in brokers.items()}
    assert [described.name for described in answer.topics] == list(topics)
    for described, (code, topic_id, internal, rows) in zip(answer.topics, topics.values(), strict=True):
        assert (described.error_code, described.is_internal) == (code, internal)
        assert described.id == described.topic.id
        assert len(described.id) == 22
        assert described.leaders == {number: row[:2] for number, row in enumerate(rows)}
        assert described.topic.partitions == tuple(
            Partition(number, leader if leader >= 0 else None, tuple(replicas), tuple(in_sync))
            for number, (leader, _, replicas, in_sync, _) in enumerate(rows)
        )
        assert described.id == _kafka_id(topic_id)


def _kafka_id(topic_id):
    """As Kafka's own tools write it (org.apache.kafka.common.Uuid)."""
    return urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")


@given(topics, st.integers(10, 12), st.data())
def test_metadata_that_is_cut_off_or_goes_on_is_refused(topics, version, data):
    whole = bytes(metadata_bytes(topics, {1: ("host", 9092, None)}, version))
    with pytest.raises(ValueError, match=r".+"):
        metadata(memoryview(whole[: data.draw(st.integers(0, len(whole) - 1))]), version)
    with pytest.raises(ValueError, match="unknown bytes"):
        metadata(memoryview(whole + b"\0"), version)


leaders = st.dictionaries(st.builds(TopicPartition, names, nodes), st.integers(-1, 2**31 - 1), min_size=1, max_size=300)


@given(leaders, st.sampled_from((EARLIEST, LATEST, 0, 1_700_000_000_000)), st.booleans(), st.integers(6, 9))
def test_a_question_for_offsets_is_the_one_that_kafka_python_would_read(leaders, timestamp, committed, version):
    read = ListOffsetsRequest.decode(offsets_request(leaders, timestamp, committed), version=version)
    assert (read.replica_id, read.isolation_level) == (-1, int(committed))
    asked = {
        TopicPartition(topic.name, row.partition_index): (row.current_leader_epoch, row.timestamp)
        for topic in read.topics
        for row in topic.partitions
    }
    assert asked == {tp: (epoch, timestamp) for tp, epoch in leaders.items()}


rows = st.dictionaries(
    st.builds(TopicPartition, names, nodes),
    st.tuples(st.sampled_from((0, 0, 0, 6, 74)), st.integers(-1, 2**63 - 1), st.integers(-1, 2**31 - 1)),
    max_size=200,
)


def offsets_bytes(wanted, version, throttle):
    kind = ListOffsetsResponse.ListOffsetsTopicResponse
    by_topic = {}
    for (topic, partition), (code, offset, epoch) in wanted.items():
        row = kind.ListOffsetsPartitionResponse(partition_index=partition, error_code=code, timestamp=-1, offset=offset, leader_epoch=epoch)
        by_topic.setdefault(topic, []).append(row)
    answered = [kind(name=name, partitions=of_topic) for name, of_topic in by_topic.items()]
    return memoryview(ListOffsetsResponse(version=version, throttle_time_ms=throttle, topics=answered).encode())


@given(rows, st.integers(6, 9), st.integers(0, 1000))
def test_offsets_say_what_kafka_python_wrote(wanted, version, throttle):
    answer = listed_offsets(offsets_bytes(wanted, version, throttle))
    assert answer.throttle_time_ms == throttle
    assert answer.partitions == wanted


@given(rows.filter(bool), st.data())
def test_offsets_that_are_cut_off_are_refused(wanted, data):
    whole = bytes(offsets_bytes(wanted, 7, 0))
    with pytest.raises(ValueError, match=r".+"):
        listed_offsets(memoryview(whole[: data.draw(st.integers(0, len(whole) - 1))]))
