"""What MirrorMaker 2 stores: its golden bytes (§5.2 of the specification), Kafka Connect's source offsets, and what is neither is refused.
Java's own code is asked in tests/compat."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats import mm2
from kafka_mirror.formats.mm2 import (
    SOURCE_CONNECTOR,
    Checkpoint,
    Heartbeat,
    OffsetSync,
    OtherConnector,
    SourcePartition,
    decode_offset,
    decode_source,
    encode_offset,
    murmur2,
    partition_of,
    string,
)

GOLDEN = [
    (OffsetSync("topic-1", 2, 3, 4), "0007746f7069632d3100000002", "00000000000000030000000000000004"),
    (
        Checkpoint("group-1", "topic-2", 3, 4, 5, "metadata-6"),
        "000767726f75702d310007746f7069632d3200000003",
        "000000000000000000040000000000000005000a6d657461646174612d36",
    ),
    (Checkpoint("gé", "A.t", 0, 7, 8, ""), "000367c3a90003412e7400000000", "0000000000000000000700000000000000080000"),
    (Heartbeat("source-1", "target-2", 1234567890), "0008736f757263652d3100087461726765742d32", "000000000000499602d2"),
]
READERS = {OffsetSync: mm2.decode_offset_sync, Checkpoint: mm2.decode_checkpoint, Heartbeat: mm2.decode_heartbeat}

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
numbers = st.integers(-(2**63), 2**63 - 1)
partitions = st.integers(0, 2**31 - 1)
records = (
    st.builds(OffsetSync, texts, partitions, numbers, numbers)
    | st.builds(Checkpoint, texts, texts, partitions, numbers, numbers, texts)
    | st.builds(Heartbeat, texts, texts, numbers)
)


@pytest.mark.parametrize(("record", "key", "value"), GOLDEN, ids=lambda value: type(value).__name__)
def test_the_bytes_are_mirror_maker_2s(record, key, value):
    assert (record.key.hex(), record.value.hex()) == (key, value)


@given(records, st.binary(max_size=5))
def test_a_record_survives_its_encoding_and_what_follows_it_is_ignored(record, more):
    assert READERS[type(record)](record.key + more, record.value + more) == record


@given(records, st.data())
def test_a_record_that_is_cut_off_is_refused(record, data):
    key, value = record.key, record.value
    cut = data.draw(st.integers(0, len(key) + len(value) - 1))
    with pytest.raises(ValueError, match="in the middle of a field"):
        READERS[type(record)](key[:cut], value[: max(0, cut - len(key))] if cut >= len(key) else value)


@pytest.mark.parametrize("reader", READERS.values())
def test_a_tombstone_is_refused(reader):
    with pytest.raises(ValueError, match="tombstone"):
        reader(b"\0\1a\0\1b\0\0\0\0", None)


def test_a_text_too_long_for_its_length_field_is_refused():
    with pytest.raises(ValueError, match="32768 bytes"):
        string("é" * 16384)


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
    named = SourcePartition("C", '"\\/\b\t\n\f\r\x01\x1f\x7fé', "\u2028\uffff\U0001f600", 0).key
    cluster, topic = '"\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001F\x7fé"', '"\u2028\uffff\\uD83D\\uDE00"'
    assert named == f'["C",{{"cluster":{cluster},"partition":0,"topic":{topic}}}]'.encode()


@given(TEXTS, TEXTS, TEXTS, st.integers(0, 2**31 - 1))
def test_what_is_written_is_read_again_and_is_the_json_that_it_should_be(connector, cluster, topic, partition):
    made = SourcePartition(connector, cluster, topic, partition)
    assert decode_source(made.key) == made
    read = json.loads(made.key)
    assert read == [connector, {"cluster": cluster, "partition": partition, "topic": topic}]
    assert list(read[1]) == ["cluster", "partition", "topic"]


@pytest.mark.parametrize(
    "key",
    [
        b'["MirrorCheckpointConnector",{"partition":0,"topic":"A.t","group":"g"}]',
        b'["MirrorHeartbeatConnector",{"sourceClusterAlias":"A","targetClusterAlias":"B"}]',
    ],
)
def test_keys_of_the_other_connectors_are_no_source_partitions(key):
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
