"""Kafka Connect's source offsets: golden bytes, and what is refused. Java's own code is asked in tests/compat."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.connect_offsets import (
    SOURCE_CONNECTOR,
    CheckpointPartition,
    HeartbeatPartition,
    OtherConnector,
    SourcePartition,
    decode_offset,
    decode_source,
    encode_offset,
    murmur2,
    partition_of,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@pytest.mark.parametrize(
    ("partition", "key", "hashed", "number"),
    [
        (
            SourcePartition(SOURCE_CONNECTOR, "A", "t", 0),
            b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]',
            -2079807616,
            7,
        ),
        (
            CheckpointPartition("MirrorCheckpointConnector", "A.t", 0, "g"),
            b'["MirrorCheckpointConnector",{"partition":0,"topic":"A.t","group":"g"}]',
            -449127652,
            21,
        ),
        (
            HeartbeatPartition("MirrorHeartbeatConnector", "A", "B"),
            b'["MirrorHeartbeatConnector",{"sourceClusterAlias":"A","targetClusterAlias":"B"}]',
            1162868500,
            0,
        ),
        (
            SourcePartition(SOURCE_CONNECTOR, "primary", "test-topic-1", 3),
            b'["MirrorSourceConnector",{"cluster":"primary","partition":3,"topic":"test-topic-1"}]',
            -1067618210,
            13,
        ),
    ],
)
def test_keys_and_their_partition_are_those_of_kafka_4_3_1(partition, key, hashed, number):
    assert (partition.key, murmur2(key), partition_of(key)) == (key, hashed, number)


@pytest.mark.parametrize(("text", "hashed"), [(b"21", -973932308), (b"foobar", -790332482), (b"abc", 479470107)])
def test_murmur2_is_kafkas(text, hashed):
    assert murmur2(text) == hashed


def test_characters_are_escaped_as_jackson_does_it():
    named = HeartbeatPartition("C", '"\\/\b\t\n\f\r\x01\x1f\x7fé', "\u2028\uffff\U0001f600").key
    expected = '["C",{"sourceClusterAlias":"\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001F\x7fé","targetClusterAlias":"\u2028\uffff\\uD83D\\uDE00"}]'
    assert named == expected.encode()


@given(TEXTS, TEXTS, TEXTS, st.integers(0, 2**31 - 1))
def test_what_is_written_is_read_again_and_is_the_json_that_it_should_be(connector, cluster, topic, partition):
    made = SourcePartition(connector, cluster, topic, partition)
    assert decode_source(made.key) == made
    read = json.loads(made.key)
    assert read == [connector, {"cluster": cluster, "partition": partition, "topic": topic}]
    assert list(read[1]) == ["cluster", "partition", "topic"]


@given(TEXTS, TEXTS, st.integers(0, 2**31 - 1))
def test_keys_of_the_other_connectors_are_no_source_partitions(first, second, partition):
    for key in (CheckpointPartition("c", first, partition, second).key, HeartbeatPartition("c", first, second).key):
        assert json.loads(key)
        with pytest.raises(OtherConnector):
            decode_source(key)


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"{}",
        b"[]",
        b'["c"]',
        b'["c",[]]',
        b'["c",{"cluster":"A","topic":"t","partition":0}]',  # another order: a key that Connect never asks for
        b'["c", {"cluster":"A","partition":0,"topic":"t"}]',
        b'["c",{"cluster":"A","partition":"0","topic":"t"}]',
        b'["c",{"cluster":"A","partition":0.0,"topic":"t"}]',
        b'["c",{"cluster":"A","partition":true,"topic":"t"}]',
        b'["c",{"cluster":"A","partition":-1,"topic":"t"}]',
        b'["c",{"cluster":"A","partition":2147483648,"topic":"t"}]',
        b'["c",{"cluster":null,"partition":0,"topic":"t"}]',
        b'["c",{"cluster":"\\u0041","partition":0,"topic":"t"}]',
        b'["c",{"cluster":"\\ud800","partition":0,"topic":"t"}]',
        b'["c",{"cluster":"A","partition":0,"topic":"t","more":1}]',
        b'[1,{"cluster":"A","partition":0,"topic":"t"}]',
        b"\xff",
    ],
)
def test_other_keys_are_refused(key):
    with pytest.raises(ValueError):
        decode_source(key)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_key_or_refused(data):
    try:
        made = decode_source(data)
    except ValueError:
        return
    assert made.key == data


@given(st.integers(0, 2**63 - 1))
def test_offsets_are_read_as_written(offset):
    assert encode_offset(offset) == b'{"offset":%d}' % offset
    assert decode_offset(encode_offset(offset)) == offset


@pytest.mark.parametrize("value", [None, b"null", b'{"offset":-1}'])
def test_a_removed_offset_is_none(value):
    assert decode_offset(value) is None


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b'{"offset":null}', b'{"offset":"1"}', b'{"offset":1.0}', b'{"offset":true}', b"7"])
def test_other_values_are_refused(value):
    with pytest.raises(ValueError):
        decode_offset(value)
