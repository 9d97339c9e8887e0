"""The digest: equal for the same records in the same order, whatever batches they came in, and for nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.audit.digest import Block, Digest, Digester, Piece
from kafka_mirror.formats.record import Record, UnreadableHeaders, comparable_bytes, record_of
from tests.unit.audit.memory import MemoryMessage, numbered, record

CONTENT = st.one_of(st.none(), st.binary(max_size=4))
HEADERS = st.lists(st.tuples(st.text(max_size=2), CONTENT), max_size=3).map(tuple)
RECORDS = st.builds(Record, st.just(0), st.sampled_from((1, 2)), st.integers(-1, 3), CONTENT, CONTENT, HEADERS)


def bytes_of(records: list[Record]) -> bytes:
    return b"".join(comparable_bytes(*each.carries()) for each in records)


def digest(records: list[Record], batch: int = 1000, **options: int) -> Digest:
    digester = Digester(**options)
    messages = [MemoryMessage(each) for each in records]
    for first in range(0, len(messages), batch):
        digester.take(messages[first : first + batch])
    return digester.digest()


@given(st.lists(RECORDS, max_size=4), st.lists(RECORDS, max_size=4))
def test_two_series_of_records_have_the_same_bytes_only_if_they_are_equal(one: list[Record], other: list[Record]) -> None:
    same = [each.carries() for each in one] == [each.carries() for each in other]
    assert (bytes_of(one) == bytes_of(other)) == same
    assert (digest(one).text == digest(other).text) == same


SIZES = st.sampled_from((1, 2, 4, 8))


@given(st.lists(RECORDS, max_size=60), st.integers(1, 7), st.integers(1, 7), SIZES)
def test_batches_make_no_difference_and_no_block_is_too_long(records: list[Record], one: int, other: int, size: int) -> None:
    found = digest(records, one, mean_records=size)
    assert found == digest(records, other, mean_records=size)
    assert found.records == len(records)
    assert all(block.records <= 4 * size for block in found.blocks)


def test_alike_records_make_no_block_each() -> None:
    assert len(digest([record(0)] * 64, mean_records=1).blocks) == 16


@given(st.lists(RECORDS, max_size=60), st.sets(st.integers(0, 130), max_size=6), st.integers(1, 7), SIZES, st.data())
def test_pieces_have_the_blocks_of_the_whole_wherever_it_is_cut(
    records: list[Record], cuts: set[int], batch: int, size: int, data: st.DataObject
) -> None:
    offsets = sorted(data.draw(st.sets(st.integers(0, 130), min_size=len(records), max_size=len(records))))
    placed = [each._replace(offset=offset) for each, offset in zip(records, offsets, strict=True)]
    borders = (*sorted(cuts - {0}), 131)
    found: list[Block] = []
    for start, end in zip((0, *borders), borders, strict=False):
        digester = Digester(mean_records=size, piece=Piece(start == 0, end, borders))
        messages = [MemoryMessage(each) for each in placed if each.offset >= start]
        for first in range(0, len(messages), batch):
            if not digester.is_done:
                digester.take(messages[first : first + batch])
        found += digester.digest().blocks
    assert tuple(found) == digest(placed, mean_records=size).blocks


def test_a_piece_reads_no_further_than_where_the_next_one_begins() -> None:
    records = numbered(4000)
    digester = Digester(mean_records=64, piece=Piece(True, 1000, (1000, 4000)))
    taken = 0
    while not digester.is_done:
        digester.take([MemoryMessage(records[taken])])
        taken += 1
    assert 1000 < taken < 1000 + 4 * 64 * 4
    assert digester.digest().records == taken


@given(RECORDS)
def test_a_record_of_a_message_is_the_same_record(each: Record) -> None:
    assert record_of(MemoryMessage(each)) == each


def test_null_and_empty_boundaries_and_the_order_of_headers_are_told_apart() -> None:
    alike = [
        record(0, None, None),
        record(0, b"", None),
        record(0, None, b""),
        record(0, b"", b""),
        record(0, b"ab", b"c"),
        record(0, b"b", b"ca"),
        record(0, b"", b"", (("a", b"1"), ("b", b"2"))),
        record(0, b"", b"", (("b", b"2"), ("a", b"1"))),
        record(0, b"", b"", (("a", None), ("b", b"2"))),
        record(0, b"", b"", (("a", b""), ("b", b"2"))),
        record(0, b"", b"", (("a1b2", b""),)),
        record(0, b"", None, (("a", b"1"), ("b", b"2"))),
        record(0, b"", b"x", (("a", b"1"), ("b", b"2"))),
        record(0, None, b"", (("a", b"1"), ("b", b"2"))),
        record(0, b"", b"", timestamp=2),
    ]
    assert len({digest([each]).text for each in alike}) == len(alike)


def test_the_order_of_records_counts() -> None:
    one, other = numbered(2)
    assert digest([one, other]).text != digest([other, one]).text


def test_without_times_they_do_not_count() -> None:
    assert digest([record(0, timestamp=1)], timed=False) == digest([record(0, timestamp=2)], timed=False)


def test_a_record_without_a_timestamp_is_not_one_of_1969() -> None:
    assert digest([record(0, timestamp=-1, kind=0)]).text == digest([record(0, timestamp=-1)]).text
    assert digest([record(0, timestamp=5, kind=0)]).text == digest([record(0, timestamp=-1)]).text


def test_the_records_in_front_are_skipped_also_over_batches() -> None:
    assert digest(numbered(20), batch=3, skip=7).text == digest(numbered(20)[7:]).text
    assert digest(numbered(5), batch=3, skip=7) == Digest()


def test_the_first_block_that_differs_is_named() -> None:
    records = numbered(20)
    changed = [*records[:13], records[13]._replace(value=b"x"), *records[14:]]
    full = digest(records, mean_records=2)
    ends = [sum(block.records for block in full.blocks[: number + 1]) for number in range(len(full.blocks))]
    (of_13,) = (number for number, block in enumerate(full.blocks) if ends[number] - block.records <= 13 < ends[number])
    assert len(ends) > 4
    assert full.find_different_block(digest(changed, mean_records=2)) == of_13
    assert full.find_different_block(digest(records[: ends[1]], mean_records=2)) == 2
    assert full.find_different_block(digest(records[: ends[2] - 1], mean_records=2)) == 2
    assert full.find_different_block(digest(records, mean_records=2)) is None


def test_going_back_takes_as_many_blocks_as_it_needs() -> None:
    full = Digest(tuple(Block(first, 2, b"") for first in range(0, 20, 2)))
    assert [full.find_block_before(5, records) for records in (0, 1, 2, 3, 99)] == [5, 4, 4, 3, 0]


def test_a_record_with_a_header_name_that_is_not_utf_8_is_named() -> None:
    asked = []

    class Unreadable(MemoryMessage):
        def __getattribute__(self, name: str) -> Any:
            if name != "headers":
                return super().__getattribute__(name)
            asked.append(self.offset)
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    messages = [*(MemoryMessage(each) for each in numbered(3)), Unreadable(record(7))]
    with pytest.raises(UnreadableHeaders) as raised:
        Digester().take(messages)
    with pytest.raises(UnreadableHeaders):
        record_of(Unreadable(record(8)))
    assert (raised.value.offset, asked) == (7, [7, 8])
