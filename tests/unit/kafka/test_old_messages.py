"""Messages of magic 0 and 1, made by kafka-python's encoder, as batches of magic 2."""

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.legacy_records import LegacyRecordBatchBuilder

from kafka_mirror.formats.batches.batch_records import read_records
from kafka_mirror.kafka.fetch_response import PartitionData
from kafka_mirror.kafka.fetched_partition import FetchedPartition
from kafka_mirror.kafka.old_messages import ClosedMessage, first_message
from tests.unit.formats.batches.test_record_batch import built, opened

PLAIN, GZIP = 0, 1
rows = st.lists(
    st.tuples(st.integers(0, 2**42), st.none() | st.binary(max_size=9), st.none() | st.binary(max_size=60)), min_size=1, max_size=6
)


def written(magic, codec, start, messages, step=1):
    """A message set, each message `step` offsets behind the one before; a packed one bears the offset of its last."""
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 20)
    for place, (timestamp, key, value) in enumerate(messages):
        offset = place * step if codec and magic else start + place * step
        builder.append(offset, timestamp, key, value)
    data = bytearray(builder.build())
    if codec:
        struct.pack_into(">q", data, 0, start + (len(messages) - 1) * step)
    return bytes(data)


def answer(records):
    return PartitionData(
        **{**dict.fromkeys(PartitionData._fields), "records": memoryview(records), "aborted": (), "high_watermark": 1 << 62}
    )


def read(data):
    """All of them as they arrive: offset, timestamp, key, value, headers."""
    fetched = FetchedPartition(0, None, None)
    fetched.add(answer(data))
    fetched.read_old(1 << 20)
    assert all(batch.is_intact and batch.find_obstacle() is None for batch, _ in fetched.batches)
    return [row for batch, _ in fetched.batches for row in opened(bytes(batch.data))]


@pytest.mark.parametrize("codec", [PLAIN, GZIP])
@pytest.mark.parametrize("magic", [0, 1])
@given(rows, st.integers(0, 1000), st.integers(1, 3))
def test_old_messages_have_their_offsets_times_keys_and_values(magic, codec, messages, start, step):
    data = written(magic, codec, start, messages, step)
    expected = [
        (start + place * step, timestamp if magic else -1, key, value, []) for place, (timestamp, key, value) in enumerate(messages)
    ]
    assert read(data) == expected


def test_what_follows_in_the_format_of_today_is_read_too():
    old = written(1, GZIP, 0, [(5, b"k", b"v")] * 2)
    new = built(0, 2, [(7, b"k", b"new", [])])
    assert [(row[0], row[3]) for row in read(old + new)] == [(0, b"v"), (1, b"v"), (2, b"new")]


@given(st.integers(1, 200))
def test_a_message_that_is_cut_off_waits_for_the_rest(kept):
    whole = written(1, PLAIN, 0, [(5, b"k", b"v" * 150)])
    assert first_message(memoryview(whole[: min(kept, len(whole) - 1)])) == ([], b"")


@pytest.mark.parametrize("codec", [PLAIN, GZIP])
@given(st.data())
def test_whatever_bytes_a_producer_wrote_are_read_or_refused(codec, data):
    """Under a right checksum: packed messages may say anything of themselves."""
    messages = bytearray(written(1, PLAIN, 0, [(5, b"k", b"v")] * 3))
    messages[data.draw(st.integers(0, len(messages) - 1))] = data.draw(st.integers(0, 255))
    if codec:
        packer = zlib.compressobj(wbits=31)
        packed = packer.compress(bytes(messages)) + packer.flush()
        body = struct.pack(">bbqii", 1, GZIP, 5, -1, len(packed)) + packed
        messages = struct.pack(">qiI", 2, len(body) + 4, zlib.crc32(body)) + body
    try:
        batches, _ = first_message(memoryview(bytes(messages)))
        for batch in batches:
            read_records(batch, [])
    except ValueError:
        return
    assert sum(batch.record_count for batch in batches) <= 3


@pytest.mark.parametrize("inner", [(0, 1, -(1 << 63)), (0, 7, 2), (0, 0, 2)], ids=["beyond every log", "behind the last", "twice"])
def test_packed_messages_at_offsets_that_are_not_their_own_are_refused(inner):
    packer = zlib.compressobj(wbits=31)
    plain = bytearray(written(1, PLAIN, 0, [(5, b"k", b"v")] * 3))
    size = len(plain) // 3
    for place, offset in enumerate(inner):
        struct.pack_into(">q", plain, place * size, offset)
    packed = packer.compress(bytes(plain)) + packer.flush()
    body = struct.pack(">bbqii", 1, GZIP, 5, -1, len(packed)) + packed
    with pytest.raises(ClosedMessage, match="at other offsets than its own"):
        first_message(memoryview(struct.pack(">qiI", 2, len(body) + 4, zlib.crc32(body)) + body))


def test_what_is_not_intact_is_refused():
    spoilt = bytearray(written(0, PLAIN, 0, [(5, b"k", b"value")]))
    spoilt[-1] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        first_message(memoryview(bytes(spoilt)))


def test_a_message_that_unpacks_to_more_than_it_may_is_refused():
    with pytest.raises(ValueError, match="unpack to more"):
        first_message(memoryview(written(1, GZIP, 0, [(5, b"k", bytes(100_000))])), 50_000)
