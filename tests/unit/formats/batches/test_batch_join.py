"""Small batches joined as they stand in an answer: the same records as those that are read batch by batch, and no others."""

import struct
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_mirror.formats.batches.batch_records import read_records
from kafka_mirror.formats.batches.batch_rewrite import BatchBuilder, splice_records
from kafka_mirror.formats.batches.compression import LARGEST_UNPACKED
from kafka_mirror.formats.batches.record_batch import CODECS, AbortedTransactions, Attribute, span_of
from kafka_mirror.formats.batches.record_batch import seal_batch as sealed_batch
from tests.unit.formats.batches.test_batch_rewrite import FIRST, LARGE, judged, packed, sealed, sent
from tests.unit.formats.batches.test_record_batch import NONE, built, one, records

PLAIN = CODECS[0]
ONE = [(1_700_000_000_000, b"key", b"value", [])]


def with_header(whole, attributes=0, producer=-1):
    """A batch with these bits and this producer."""
    made = bytearray(whole)
    struct.pack_into(">h", made, 21, made[22] | attributes)
    struct.pack_into(">q", made, 43, producer)
    return sealed(made)


@dataclass
class Stretch:
    """Batches one behind the other as a broker sends them, and the rows of those that belong to a copy."""

    data: bytes
    rows: list
    aborted: AbortedTransactions | None = None
    codec: str = PLAIN


@st.composite
def stretches(draw):
    codec, producers = draw(st.sampled_from((PLAIN, PLAIN, *CODECS[1:]))), draw(st.sets(st.integers(1, 3)))
    data, rows, at, aborted = b"", [], FIRST, set(producers)
    for _ in range(draw(st.integers(1, 8))):
        at += draw(st.sampled_from((0, 0, 0, 1, 5)))
        producer = draw(st.sampled_from((-1, -1, 1, 2, 3)))
        transactional = Attribute.TRANSACTIONAL if producer > 0 else 0
        if transactional and draw(st.integers(0, 3)) == 0:
            batch, is_copied = with_header(built(NONE, at, ONE), Attribute.CONTROL | transactional, producer), False
            aborted.discard(producer)
        else:
            batch = packed(codec, built(NONE, at, draw(st.lists(records, min_size=1, max_size=draw(st.sampled_from((1, 1, 4)))))))
            batch, is_copied = with_header(batch, transactional, producer), producer not in aborted
        if is_copied:
            rows += judged(batch)
        data, at = data + batch, one(batch).next_offset
    return Stretch(data, rows, AbortedTransactions([(producer, FIRST) for producer in producers]) if producers else None, codec)


def joined(builder, stretch, room=LARGE, end=LARGE):
    return builder.join(stretch.data, stretch.codec, (FIRST, end), room, LARGEST_UNPACKED, stretch.aborted)


@settings(max_examples=300)
@given(stretches(), st.sampled_from((100, 300, LARGE)), st.booleans())
def test_what_is_joined_are_the_records_that_belong_to_the_copy(stretch, wanted, is_growing):
    builder = BatchBuilder(LARGE, wanted)
    if is_growing:
        builder.add([(FIRST - 9, 1, b"\0", b"\1\1\0")], stretch.codec, 0)
    taken = joined(builder, stretch)
    outgoing = taken.full + builder.finish()
    rows = [row for row in sent(outgoing) if row[0] >= FIRST]
    behind = [row for row in stretch.rows if row[0] >= taken.next_offset]
    assert rows + behind == stretch.rows
    if taken.batches or is_growing:
        assert taken.records == len(rows)
    else:
        assert all(bytes(made.data) in stretch.data for made, _ in outgoing)
    assert taken.batches != 1 or is_growing


@given(stretches(), st.integers(FIRST, FIRST + 20), st.integers(60, 800))
def test_nothing_past_the_end_or_much_past_the_room_is_taken(stretch, end, room):
    builder = BatchBuilder(LARGE, LARGE)
    taken = joined(builder, stretch, room=room, end=end)
    assert taken.next_offset <= max(FIRST, end)
    assert all(row[0] < end for row in sent(taken.full + builder.finish()))
    assert taken.bytes < room + max(len(stretch.data) // 2, 5_000)


@settings(max_examples=300)
@given(stretches(), st.data())
def test_bytes_that_a_checksum_does_not_cover_take_nothing_and_raise_nothing(stretch, data):
    changed = bytearray(stretch.data)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    builder, span = BatchBuilder(LARGE, LARGE), span_of(memoryview(changed), FIRST)
    taken = joined(builder, replace(stretch, data=bytes(changed[: span.end])))
    rows = [row[1:] for row in sent(taken.full + builder.finish())]
    assert 0 <= taken.bytes <= len(changed)
    assert len(rows) == taken.records or taken.batches == 0


@settings(max_examples=300)
@given(st.lists(records, min_size=2, max_size=5), st.data())
def test_records_are_joined_as_they_are_read_whatever_stands_in_them(rows, data):
    changed = bytearray(built(NONE, FIRST, rows))
    for _ in range(data.draw(st.integers(0, 2))):
        changed[data.draw(st.integers(61, min(len(changed) - 1, 61 + 40)))] = data.draw(
            st.sampled_from((0, 1, 2, 4, 0x7F, 0x80, 0xFE, 0xFF))
        )
    whole, read, builder = sealed(changed), [], BatchBuilder(LARGE, LARGE)
    builder.add([(FIRST - 9, 7, b"\0", b"\1\1\0")] * 70, PLAIN, 0)
    taken = joined(builder, Stretch(whole, []))
    try:
        read_records(one(whole), read)
    except ValueError:
        assert taken.bytes == 0
    made = []
    ((batch, _),) = builder.finish()
    read_records(sealed_batch(batch), made)
    assert [record[1:] for record in made[70:]] == [record[1:] for record in read]


def test_many_small_batches_are_joined_record_by_record():
    data, rows, at = b"", [], FIRST
    for number in range(400):
        times = (1_700_000_000_000 + 37 * number, 1_700_000_000_000 + 40 * number, 1_699_999_999_990 - number)
        whole = packed("lz4", built(NONE, at, [(time, b"k%d" % number, b"v" * (number % 90), []) for time in times]))
        data, rows, at = data + whole, rows + judged(whole), at + 3
    builder = BatchBuilder(LARGE, 20_000)
    taken = joined(builder, Stretch(data, [], codec="lz4"))
    assert (taken.batches, taken.records, taken.next_offset) == (400, 1200, at)
    assert sent(taken.full + builder.finish()) == rows
    assert len(taken.full) > 1


@pytest.mark.parametrize("place", [40, 41, 42, 43])
def test_a_record_that_is_no_part_of_its_batch_ends_the_stretch_in_front_of_it(place):
    wrong = bytearray(built(NONE, FIRST + 2, ONE))
    wrong[21 + place] ^= 0x2
    good = built(NONE, FIRST, ONE) + built(NONE, FIRST + 1, ONE)
    builder = BatchBuilder(LARGE, LARGE)
    taken = joined(builder, Stretch(good + sealed(wrong), []))
    expected = 3 if place in (41, 42) else 2  # another attribute and another time are as good
    assert (taken.batches, taken.next_offset) == (expected, FIRST + expected)


def test_records_whose_times_lie_too_far_apart_are_in_two_batches():
    data = b"".join(built(NONE, FIRST + at, [(time, b"k", b"v", [])]) for at, time in enumerate((-1, 1 << 62, 7, 6)))
    builder = BatchBuilder(LARGE, LARGE)
    taken = joined(builder, Stretch(data, []))
    outgoing = taken.full + builder.finish()
    assert [row[1] for row in sent(outgoing)] == [-1, 1 << 62, 7, 6]
    assert [made.record_count for made, _ in outgoing] == [1, 3]


def test_a_batch_alone_stays_closed_behind_what_waited_in_another_codec():
    builder, whole = BatchBuilder(LARGE, LARGE), built(NONE, FIRST, ONE)
    builder.add([(FIRST - 9, 1, b"\0", b"\1\1\0")], "lz4", 0)
    taken = joined(builder, Stretch(whole, []))
    assert (taken.bytes, taken.batches, taken.next_offset) == (len(whole), 0, FIRST + 1)
    assert [outgoing.first_offset for outgoing in taken.full] == [FIRST - 9, FIRST]
    assert bytes(taken.full[1].batch.data) == whole
    assert builder.finish() == []


def test_what_was_aborted_behind_a_batch_alone_stays_so():
    aborted = with_header(built(NONE, FIRST + 1, ONE), Attribute.TRANSACTIONAL, 2)
    marker = with_header(built(NONE, FIRST + 2, ONE), Attribute.TRANSACTIONAL | Attribute.CONTROL, 2)
    builder = BatchBuilder(LARGE, LARGE)
    taken = joined(builder, Stretch(built(NONE, FIRST, ONE) + aborted + marker, [], AbortedTransactions([(2, FIRST)])))
    assert taken.next_offset == FIRST + 3
    assert sent(taken.full + builder.finish()) == [(FIRST, *ONE[0])]


def test_a_record_with_a_number_without_an_end_leaves_nothing_of_its_batch() -> None:
    pieces, good = [b"theirs"], b"\x0c\0\0\0\1\1\0"
    assert splice_records(pieces, good + b"\x30\0" + b"\x80" * 12 + b"\0" * 12, 2, 70, 0) is None
    assert pieces == [b"theirs"]
