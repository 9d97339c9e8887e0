"""MirrorMaker 2's internal records: its golden bytes (§5.2 of the specification), and what is not one is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats import mm2
from kafka_mirror.formats.mm2 import Checkpoint, Heartbeat, OffsetSync, string

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
