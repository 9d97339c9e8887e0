"""Kafka Connect's own writer, converter and partitioner, beside ours, on generated offsets."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.mm2 import (
    SourcePartition,
    decode_offset,
    decode_source,
    encode_offset,
    partition_of,
)
from tests.compat.peer import Peer, compared

# Every character that JSON may treat in its own way, and any other one; names of topics are plainer than this.
_NAMES = st.text(
    st.sampled_from("ab.-_") | st.sampled_from('"\\/\x00\x08\t\n\x0b\f\r\x1f\x7f\x85é\u2028\ud7ff\uffff\U0001f600\U0010ffff'), max_size=8
)
_NAMES |= st.text(st.characters(exclude_categories=["Cs"]), max_size=8)

_OFFSETS = st.lists(
    st.fixed_dictionaries(
        {
            "kind": st.just("source"),
            "connector": st.just("MirrorSourceConnector") | _NAMES,
            "first": _NAMES,
            "second": _NAMES,
            "partition": st.integers(0, 2**31 - 1),
            "offset": st.integers(0, 2**63 - 1) | st.integers(0, 1000),
            "partitions": st.just(25) | st.integers(1, 1000),
        }
    ),
    min_size=10,
    max_size=20,
)


@compared(150)
@given(_OFFSETS)
def test_key_value_and_partition_are_those_of_kafka_connect(peer: Peer, offsets: list[dict[str, Any]]) -> None:
    told = peer.ask("connect_offsets", offsets=offsets)
    for each, (key, value, partition) in zip(offsets, told, strict=True):
        peer.cases["Connect offsets"] += 1
        made = SourcePartition(each["connector"], each["first"], each["second"], each["partition"])
        assert (made.key.hex(), encode_offset(each["offset"]).hex()) == (key, value), each
        assert partition_of(made.key, each["partitions"]) == partition, each
        assert decode_offset(bytes.fromhex(value)) == each["offset"]
        assert decode_source(bytes.fromhex(key)) == made
