"""Parts of batches, judged by kafka-python's decoder."""

import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch

from mirror.formats.batch_parts import parts_of
from mirror.formats.record_batch import Attribute
from tests.unit.formats.test_record_batch import GZIP, NONE, built, filled, offsets, one, opened, records

LARGE = 1 << 30
ranges = st.tuples(st.integers(0, 10), st.integers(0, 10))
STAMPED_AT = 1_800_000_000_000


def sent(parts):
    """The records of parts as they stand behind a producer, with the offsets that they had."""
    rows = []
    for part in parts:
        header, body = part.by_producer(7, 0, 0)
        whole = bytearray(header + body)
        struct.pack_into(">q", whole, 0, part.base_offset)
        assert DefaultRecordBatch(bytes(whole)).validate_crc()
        assert part.record_count == part.last_offset_delta + 1
        assert part.codec == "uncompressed"
        rows += opened(bytes(whole))
    return rows


@given(filled, offsets, ranges)
def test_the_records_of_a_range_are_those_of_the_batch_whatever_its_codec(batch, offset, bounds):
    codec, _, rows = batch
    whole = built(codec, offset, rows)
    start, end = (offset + bound for bound in bounds)
    parts = parts_of(one(whole), start, end, LARGE)
    assert sent(parts) == [record for record in opened(whole) if start <= record[0] < end]
    assert len(parts) <= 1
    assert all(part.max_timestamp == max(record[1] for record in sent([part])) for part in parts)


@given(st.lists(records, min_size=1, max_size=8), st.integers(61, 400))
def test_parts_are_no_larger_than_they_may_be_but_for_a_record_that_is(rows, max_bytes):
    whole = built(NONE, 5, rows)
    parts = parts_of(one(whole), 0, LARGE, max_bytes)
    assert sent(parts) == opened(whole)
    assert all(part.size <= max_bytes or part.record_count == 1 for part in parts)


def with_holes(deltas):
    """A batch of which compaction left these records: one byte each is their place, which is less than 64."""
    whole = bytearray(built(NONE, 100, [(1_000 + delta, b"k%d" % delta, b"v", []) for delta in range(10)]))
    (batch,) = [one(whole)]
    size = (len(whole) - 61) // batch.record_count
    kept = b"".join(bytes(whole[61 + delta * size : 61 + (delta + 1) * size]) for delta in deltas)
    struct.pack_into(">i", whole, 8, 49 + len(kept))
    struct.pack_into(">i", whole, 57, len(deltas))
    return bytes(whole[:61]) + kept


@given(st.sets(st.integers(0, 9), min_size=1).map(sorted))
def test_where_offsets_are_missing_another_batch_begins(deltas):
    parts = parts_of(one(with_holes(deltas)), 0, LARGE, LARGE)
    assert [(row[0], row[2]) for row in sent(parts)] == [(100 + delta, b"k%d" % delta) for delta in deltas]
    assert len(parts) == 1 + sum(behind - before > 1 for before, behind in pairwise(deltas))


def test_records_that_the_source_stamped_have_the_time_of_the_stamp():
    whole = bytearray(built(GZIP, 0, [(1_000, b"k", b"a", []), (2_000, b"k", b"b", [])]))
    (attributes,) = struct.unpack_from(">h", whole, 21)
    struct.pack_into(">h", whole, 21, attributes | Attribute.LOG_APPEND_TIME)
    struct.pack_into(">q", whole, 35, STAMPED_AT)
    assert [row[1] for row in sent(parts_of(one(bytes(whole)), 0, 2, LARGE))] == [STAMPED_AT] * 2


def test_header_keys_that_are_no_text_stay_the_bytes_that_they_were():
    whole = built(NONE, 0, [(0, b"k", b"v", [("xx", b"1")]), (0, b"k", b"v", [("xx", None)])]).replace(b"xx", b"\xff\x00")
    (part,) = parts_of(one(whole), 1, 2, LARGE)
    assert bytes(part.data).count(b"\x04\xff\x00\x01") == 1


@given(filled, st.data())
def test_a_batch_whose_bytes_are_wrong_is_refused_or_has_no_more_records_than_it_says(batch, data):
    whole = bytearray(built(*batch))
    whole[data.draw(st.integers(61, len(whole) - 1))] = data.draw(st.integers(0, 255))
    spoilt = one(bytes(whole))
    try:
        parts = parts_of(spoilt, 0, 1 << 62, LARGE)
    except ValueError:
        return
    assert sum(part.record_count for part in parts) <= spoilt.record_count


@pytest.mark.parametrize("attributes", [Attribute.CONTROL, 0x80, 5])
def test_what_nobody_knows_is_not_opened(attributes):
    whole = bytearray(built(NONE, 0, [(0, b"k", b"v", [])]))
    struct.pack_into(">h", whole, 21, attributes)
    with pytest.raises(ValueError):
        parts_of(one(bytes(whole)), 0, 1, LARGE)
