"""Records in batches of their own, judged by kafka-python's decoder and by the offsets that they had."""

import struct
from itertools import accumulate, pairwise

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch

from kafka_mirror.formats.batches import batch_rewrite
from kafka_mirror.formats.batches.batch_records import NotIntact, read_records
from kafka_mirror.formats.batches.batch_rewrite import BatchBuilder, is_small
from kafka_mirror.formats.batches.compression import compress, decompress
from kafka_mirror.formats.batches.record_batch import CODECS, HEADER_BYTES, Attribute
from tests.unit.formats.batches.test_record_batch import GZIP, NONE, built, filled, one, opened, records

LARGE = 1 << 30
STAMPED_AT = 1_800_000_000_000
FIRST = 1_000
codecs = st.sampled_from(CODECS)


def sealed(whole):
    """With the checksum of its bytes."""
    return bytes(whole[:17]) + google_crc32c.value(bytes(whole[21:])).to_bytes(4, "big") + bytes(whole[21:])


def packed(codec, whole):
    """A batch with its records packed by another codec: by our own packer, which `test_compression` judges."""
    body = compress(codec, whole[HEADER_BYTES:])
    made = bytearray(whole[:HEADER_BYTES] + body)
    struct.pack_into(">i", made, 8, len(made) - 12)
    made[22] = CODECS.index(codec)
    return sealed(made)


def judged(whole):
    """The records of a batch as kafka-python's decoder reads them, which needs packages of its own for most codecs."""
    batch = one(whole)
    plain = bytearray(whole[:HEADER_BYTES]) + decompress(batch.codec, batch.data[HEADER_BYTES:])
    struct.pack_into(">i", plain, 8, len(plain) - 12)
    plain[22] &= ~0x07
    return opened(bytes(plain))


def sent(outgoing):
    """The records of batches as a target has them, with the source's offsets by which they say that they stood."""
    rows = []
    for made, stretches in outgoing:
        header, body = made.stamp_producer(7, 0, 0)
        whole = header + body
        assert DefaultRecordBatch(whole).validate_crc()
        assert made.record_count == made.last_offset_delta + 1 == sum(length for _, length in stretches)
        on_target = judged(whole)
        assert [row[0] for row in on_target] == list(range(made.record_count))
        assert made.max_timestamp == max(row[1] for row in on_target)
        offsets = [offset for start, length in stretches for offset in range(start, start + length)]
        rows += [(offset, *row[1:]) for offset, row in zip(offsets, on_target, strict=True)]
    return rows


def rewritten(batches, start=0, end=LARGE, max_bytes=LARGE, wanted=LARGE):
    builder, made = BatchBuilder(max_bytes, wanted), []
    for batch in map(one, batches):
        read = []
        read_records(batch, read)
        made += builder.add([record for record in read if start <= record[0] < end], batch.codec, batch.leader_epoch)
    return made + builder.finish()


@settings(max_examples=60)
@given(
    st.lists(st.tuples(codecs, st.integers(0, 5), st.lists(records, min_size=1, max_size=6)), min_size=1, max_size=8),
    st.integers(0, 12),
    st.integers(0, 40),
    st.integers(100, 2000),
)
def test_whatever_records_are_joined_they_arrive_as_they_were_at_offsets_that_are_known(batches, after_first, before_last, wanted):
    """Batches of any codec with holes between them, cut at both ends, in batches of any size."""
    starts = accumulate((hole + len(rows) for _, hole, rows in batches), initial=FIRST)
    whole = [packed(codec, built(NONE, start + hole, rows)) for start, (codec, hole, rows) in zip(starts, batches, strict=False)]
    last = one(whole[-1]).next_offset
    start, end = FIRST + after_first, last - before_last
    outgoing = rewritten(whole, start, end, wanted=wanted)
    assert sent(outgoing) == [row for batch in whole for row in judged(batch) if start <= row[0] < end]


def with_holes(deltas):
    """A batch of which compaction left these records: one byte each is their place, which is less than 64."""
    whole = bytearray(built(NONE, 100, [(1_000 + delta, b"k%d" % delta, b"v", []) for delta in range(10)]))
    (batch,) = [one(whole)]
    size = (len(whole) - 61) // batch.record_count
    kept = b"".join(bytes(whole[61 + delta * size : 61 + (delta + 1) * size]) for delta in deltas)
    struct.pack_into(">i", whole, 8, 49 + len(kept))
    struct.pack_into(">i", whole, 57, len(deltas))
    return sealed(whole[:61] + kept)


@given(st.sets(st.integers(0, 9), min_size=1).map(sorted))
def test_where_compaction_left_holes_the_batch_has_none_and_says_where_they_were(deltas):
    (outgoing,) = rewritten([with_holes(deltas)])
    assert [(row[0], row[2]) for row in sent([outgoing])] == [(100 + delta, b"k%d" % delta) for delta in deltas]
    assert len(outgoing.stretches) == 1 + sum(behind - before > 1 for before, behind in pairwise(deltas))


@given(st.lists(records, min_size=1, max_size=8), st.integers(61, 400))
def test_batches_are_no_larger_than_they_may_be_but_for_a_record_that_is(rows, max_bytes):
    outgoing = rewritten([built(NONE, 5, rows)], max_bytes=max_bytes)
    assert [row[0] for row in sent(outgoing)] == list(range(5, 5 + len(rows)))
    assert all(made.size <= max_bytes or made.record_count == 1 for made, _ in outgoing)


def test_a_record_that_is_too_large_as_it_is_is_packed():
    large = built(NONE, 0, [(0, b"k", b"v" * 5_000, [])])
    ((made, _),) = rewritten([large], max_bytes=1_000)
    assert (made.codec, made.size < 1_000) == ("lz4", True)
    assert sent([(made, ((0, 1),))]) == opened(large)


def test_records_that_the_source_stamped_have_the_time_of_the_stamp():
    whole = bytearray(built(GZIP, 0, [(1_000, b"k", b"a", []), (2_000, b"k", b"b", [])]))
    (attributes,) = struct.unpack_from(">h", whole, 21)
    struct.pack_into(">h", whole, 21, attributes | Attribute.LOG_APPEND_TIME)
    struct.pack_into(">q", whole, 35, STAMPED_AT)
    assert [row[1] for row in sent(rewritten([sealed(whole)]))] == [STAMPED_AT] * 2


def test_times_that_lie_too_far_apart_for_one_batch_get_two():
    times = (-1, 1 << 62, 5)
    outgoing = rewritten([built(NONE, place, [(time, b"k", b"v", [])]) for place, time in enumerate(times)])
    assert [row[1] for row in sent(outgoing)] == list(times)
    assert len(outgoing) == 2


def test_header_keys_that_are_no_text_stay_the_bytes_that_they_were():
    whole = built(NONE, 0, [(0, b"k", b"v", [("xx", b"1")]), (0, b"k", b"v", [("xx", None)])]).replace(b"xx", b"\xff\x00")
    ((made, _),) = rewritten([sealed(whole)], start=1)
    assert bytes(made.data).count(b"\x04\xff\x00\x01") == 1


@given(filled, st.data())
def test_a_batch_whose_bytes_are_wrong_is_refused_as_a_whole_or_has_no_more_records_than_it_says(batch, data):
    whole = bytearray(built(*batch))
    whole[data.draw(st.integers(61, len(whole) - 1))] = data.draw(st.integers(0, 255))
    whole = sealed(whole)
    read = [(0, 0, b"\0", b"")]
    try:
        read_records(one(whole), read)
    except ValueError:
        assert len(read) == 1
    else:
        assert len(read) <= 1 + one(whole).record_count


def test_what_is_not_intact_is_not_opened():
    whole = bytearray(built(NONE, 0, [(0, b"k", b"v", [])]))
    whole[-2] ^= 1
    with pytest.raises(NotIntact):
        rewritten([bytes(whole)])


@pytest.mark.parametrize("attributes", [Attribute.CONTROL, 0x80, 5])
def test_what_nobody_knows_is_not_opened(attributes):
    whole = bytearray(built(NONE, 0, [(0, b"k", b"v", [])]))
    struct.pack_into(">h", whole, 21, attributes)
    with pytest.raises(ValueError):
        rewritten([sealed(whole)])


@pytest.mark.parametrize(("codec", "count", "size"), [("uncompressed", 1, 1000), ("uncompressed", 15, 1000), ("lz4", 5, 900)])
def test_a_batch_is_small_as_long_as_joining_it_costs_less_than_the_broker_takes_for_it(codec, count, size):
    rows = [(0, b"k", bytes(range(250)) * (size // 250), [])]
    small, large = (one(packed(codec, built(NONE, 0, rows * number))) for number in (count, 100 * count))
    assert (is_small(small), is_small(large)) == (True, False)


def test_without_a_package_for_its_codec_no_batch_is_small(monkeypatch):
    monkeypatch.setattr(batch_rewrite, "has_packer", lambda codec: codec != "zstd")
    assert [is_small(one(packed(codec, built(NONE, 0, [(0, b"k", b"v", [])])))) for codec in ("lz4", "zstd")] == [True, False]
