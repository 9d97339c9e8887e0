"""Batches that are compared closed: an audit with them finds what one that opens every batch finds, and opens no more than it has to."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_mirror.audit import batch_comparison, batch_reader, compare_ranges
from kafka_mirror.audit.compare_ranges import compare_audit_ranges
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.formats.batches.record_batch import Attribute
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.record import Record
from tests.unit.audit.closed_batches import REMOTE, SOURCE, DigestingSide, MemoryLog, MemoryReading, built, carried, one

CONTEXT: Any = type("Context", (), {"flow": "east->west", "show_payload": True})()

contents = st.builds(
    Record,
    offset=st.just(0),
    timestamp_type=st.just(1),
    timestamp=st.integers(1000, 1003),
    key=st.sampled_from((None, b"a", b"b")),
    value=st.sampled_from((None, b"", b"x", b"y")),
    headers=st.sampled_from(((), (("h", b"1"),))),
)
source_batches = st.lists(st.lists(contents, min_size=1, max_size=5), min_size=1, max_size=12)
DIFFERENCES = ("none", "lost", "doubled", "key", "value", "header", "timestamp", "reordered", "foreign", "truncated", "lost batch")


def spoilt(records: list[Record], kind: str, at: int) -> list[Record]:
    """A batch's records with a difference."""
    records, at = list(records), at % len(records)
    record = records[at]
    if kind == "lost":
        del records[at]
    elif kind == "doubled":
        records.insert(at, record)
    elif kind == "reordered":
        records.insert(0, records.pop())
    elif kind == "foreign":
        records.insert(at, record._replace(value=b"foreign"))
    elif kind in ("key", "value"):
        records[at] = record._replace(**{kind: b"changed"})
    elif kind == "header":
        records[at] = record._replace(headers=(("h", b"2"),))
    elif kind == "timestamp":
        records[at] = record._replace(timestamp=record.timestamp + 7)
    return records


class Target:
    """A target as it is written: batches as they are, or records that are rewritten into others."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.runs: list[Run] = []
        self._anew: list[Record] = []

    def carry(self, batch: bytes, source: int, records: Sequence[Record]) -> None:
        self.flush()
        self.runs.append(Run(source, self.log.append(carried(batch)), len(records)))

    def encode(self, records: Sequence[Record]) -> None:
        self._anew += records
        if len(self._anew) > 6:
            self.log.append(built(self._anew[:4]))
            self._anew = self._anew[4:]

    def flush(self) -> None:
        if self._anew:
            self.log.append(built(self._anew))
            self._anew = []


@st.composite
def partitions(draw: Any) -> tuple[MemoryLog, MemoryLog, list[Run]]:
    """A source and its copies, perhaps with a difference."""
    source, target = MemoryLog(), Target()
    batches = draw(source_batches)
    kind, where, at = draw(st.sampled_from(DIFFERENCES)), draw(st.integers(0, len(batches) - 1)), draw(st.integers(0, 4))
    for number, records in enumerate(batches):
        batch = built(records, draw(st.sampled_from((0, 1))))
        first = source.append(batch)
        source.skip(draw(st.integers(0, 1)))
        if number == where and kind == "truncated":
            break
        if number == where and kind == "lost batch":
            continue
        copies = spoilt(records, kind, at) if number == where else records
        if draw(st.booleans()):
            target.carry(batch if copies == records or not copies else built(copies), first, copies)
            target.log.skip(draw(st.integers(0, 1)))
        else:
            target.encode(copies)
    target.flush()
    return source, target.log, target.runs


def outcomes(
    monkeypatch: pytest.MonkeyPatch, stretch: AuditRange, source: MemoryLog, target: MemoryLog, portion: int
) -> tuple[Outcome, Outcome, MemoryReading]:
    """What is found by opening every batch, what is found by comparing closed batches first, and how that went."""
    sides = DigestingSide("east", {SOURCE: source.records()}), DigestingSide("west", {REMOTE: target.records()})
    for module in (batch_reader, compare_ranges):
        monkeypatch.setattr(module, "sides_of", lambda *_: sides)
    reading = MemoryReading(source, target, portion)
    monkeypatch.setattr(batch_reader, "PairedReading", reading)
    told: list[int] = []
    (closed,) = compare_audit_ranges(CONTEXT, [stretch], told.append)
    monkeypatch.setattr(compare_ranges, "equal_ranges", lambda *_, **__: {})
    (opened,) = compare_audit_ranges(CONTEXT, [stretch])
    assert sum(told) in (0, stretch.offsets + max(stretch.target_end - stretch.target_start, 0)), "what is given up does not count as read"
    return opened, closed, reading


def whole(source: MemoryLog, target: MemoryLog, runs: Sequence[Run] = (), **fields: Any) -> AuditRange:
    return AuditRange(SOURCE, REMOTE, 0, source.end, 0, target.end, source.end, target.end, runs=tuple(runs), **fields)


def without_digests(outcome: Outcome) -> Outcome:
    return replace(outcome, source_digest="", target_digest="")


@settings(max_examples=150, deadline=None)
@given(partitions(), st.integers(1, 4), st.booleans(), st.data())
def test_whatever_was_planted_the_findings_are_those_of_opening_every_batch(logs: Any, portion: int, lenient: bool, data: Any) -> None:
    source, target, runs = logs
    start = data.draw(st.integers(0, min(2, source.end)))
    left = data.draw(st.sampled_from(((), ((1, 2),))))
    stretch = replace(whole(source, target, runs, lenient=lenient), start=start, target_start=start, source_left=left, target_left=left)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(batch_comparison, "MOST_UNEQUAL_BYTES", data.draw(st.sampled_from((200, 1 << 20))))
        monkeypatch.setattr(batch_comparison, "MOST_SEGMENTS", data.draw(st.integers(1, 3)))
        opened, closed, _ = outcomes(monkeypatch, stretch, source, target, portion)
    assert without_digests(closed) == without_digests(opened)
    if closed.source_digest:
        assert closed == opened


def handed_on(count: int = 6) -> tuple[MemoryLog, MemoryLog]:
    """Batches of five records that were forwarded, with a marker behind them on the target."""
    source, target = MemoryLog(), MemoryLog()
    for number in range(count):
        batch = built([Record(0, 1, 1000 + number, b"k", b"value %d" % each, ()) for each in range(5)])
        source.append(batch)
        target.append(carried(batch))
    target.skip()
    return source, target


def test_batches_that_were_handed_on_as_they_are_are_never_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = handed_on()
    _, closed, reading = outcomes(monkeypatch, whole(source, target), source, target, 2)
    assert (closed.source_records, closed.target_records, closed.source_digest, closed.difference) == (30, 30, "", None)
    assert reading.pairings[0].segments == []


def damaged(batch: bytes) -> bytes:
    """The batch under a checksum of other bytes: it cannot be opened where it was fetched."""
    return batch[:17] + bytes((batch[17] ^ 1,)) + batch[18:]


def test_what_was_joined_is_compared_where_it_was_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = handed_on(2)
    records = [Record(0, 1, 5, b"k", b"anew %d" % number, ()) for number in range(6)]
    source.append(built(records[:4]))
    source.append(built(records[4:]))
    target.append(built(records))
    last = built(records[:1])
    source.append(last)
    target.append(carried(last))
    _, closed, reading = outcomes(monkeypatch, whole(source, target), source, target, 1)
    assert (closed.source_records, closed.difference, reading.pairings[0].equal_records) == (17, None, 17)
    assert reading.pairings[0].segments == []


def test_a_batch_of_very_many_records_is_left_to_reading_record_by_record(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = MemoryLog(), MemoryLog()
    records = [Record(0, 1, 5, b"k", b"%d" % number, ()) for number in range(6)]
    source.append(built(records[:2]))
    source.append(built(records[2:]))
    target.append(built(records))
    monkeypatch.setattr(batch_comparison, "MOST_RECORDS", 5)
    _, closed, reading = outcomes(monkeypatch, whole(source, target), source, target, 1)
    assert (closed.difference, closed.source_digest != "") == (None, True)
    assert [(each.start, each.end) for each in reading.pairings[0].segments] == [(0, 6)]


def test_a_difference_among_opened_records_begins_a_segment_right_there(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = handed_on(1)
    records = [Record(0, 1, 5, b"k", b"anew %d" % number, ()) for number in range(6)]
    source.append(built(records[:4]))
    source.append(built(records[4:]))
    target.append(built([*records[:3], records[3]._replace(value=b"other"), *records[4:]]))
    same = built(records[:1])
    source.append(same)
    target.append(carried(same))
    _, closed, reading = outcomes(monkeypatch, whole(source, target), source, target, 1)
    assert closed.difference is not None
    assert (closed.difference.source_offset, closed.difference.target_offset) == (8, 9), "the target has a marker in between"
    assert [(each.start, each.end) for each in reading.pairings[0].segments] == [(5, 11)]
    assert reading.pairings[0].equal_records == 6


def test_where_only_the_target_stamps_records_their_times_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = MemoryLog(), MemoryLog()
    records = [Record(0, 1, 5, b"k", b"%d" % number, ()) for number in range(4)]
    source.append(built(records[:2]))
    source.append(built(records[2:]))
    target.append(built([each._replace(timestamp=9) for each in records]))
    for timed, equal in ((False, 4), (True, 0)):
        stretch = whole(source, target, timed=timed)
        reading = MemoryReading(source, target, 1)(CONTEXT, [stretch], lambda _offsets: None)
        assert reading.run()[0].equal_records == equal


def test_a_range_that_begins_and_ends_inside_batches_opens_them(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = handed_on()
    stretch = replace(whole(source, target), start=2, target_start=2, end=28, target_end=28)
    _, closed, reading = outcomes(monkeypatch, stretch, source, target, 10)
    assert (closed.source_records, closed.difference, reading.pairings[0].equal_records) == (26, None, 26)
    assert reading.pairings[0].segments == []


def test_segments_that_lie_near_each_other_are_drawn_together(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = MemoryLog(), MemoryLog()
    for size in (1, 4, 2, 3):  # records in equal batches between those that cannot be opened
        anew = [Record(0, 1, 9, None, b"%d" % number, ()) for number in range(2)]
        source.append(damaged(built(anew)))
        target.append(built(anew[:1]))
        target.append(built(anew[1:]))
        same = built([Record(0, 1, 9, None, b"same", ())] * size)
        source.append(same)
        target.append(carried(same))
    monkeypatch.setattr(batch_comparison, "MOST_SEGMENTS", 2)
    _, closed, reading = outcomes(monkeypatch, whole(source, target), source, target, 3)
    assert (closed.source_records, closed.difference, reading.pairings[0].equal_records) == (18, None, 7)
    assert [(each.start, each.end) for each in reading.pairings[0].segments] == [(0, 5), (9, 15)]


def test_where_much_is_unequal_pairing_goes_on_at_a_pair_of_the_offset_map(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = MemoryLog(), MemoryLog()
    for number in range(40):
        records = [Record(0, 1, 9, None, b"%d" % number, ())] * 2
        batch = built(records)
        first = source.append(batch)
        if number < 20:
            target.append(damaged(built(records[:1])))
            target.append(damaged(built(records[1:])))
        else:
            target.append(carried(batch))
        assert first == 2 * number
    monkeypatch.setattr(batch_comparison, "MOST_UNEQUAL_BYTES", 500)
    stretch = whole(source, target, [Run(0, 0, 80)])
    _, closed, reading = outcomes(monkeypatch, stretch, source, target, 4)
    (pairing,) = reading.pairings
    assert (closed.source_records, closed.difference) == (80, None)
    assert 30 < pairing.equal_records <= 40


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (21, int(Attribute.LOG_APPEND_TIME).to_bytes(2, "big")),
        (21, int(Attribute.DELETE_HORIZON).to_bytes(2, "big")),
        (21, (1).to_bytes(2, "big")),
        (23, (9).to_bytes(4, "big")),
        (27, (1).to_bytes(8, "big")),
        (35, (1).to_bytes(8, "big")),
        (57, (1).to_bytes(4, "big")),
        (70, b"\xff"),
    ],
)
def test_batches_that_differ_in_any_respect_are_not_the_same(at: int, value: bytes) -> None:
    batch = built([Record(0, 1, 1000, b"k", b"v" * 20, ())] * 3)
    assert one(batch).has_records_of(one(carried(batch)))
    changed = bytearray(batch)
    changed[at : at + len(value)] = value
    assert not one(bytes(changed)).has_records_of(one(carried(batch)))
    assert not one(carried(batch)).has_records_of(one(bytes(changed)))
    if at == 21 and value != b"\x00\x01":
        assert not one(bytes(changed)).has_records_of(one(bytes(changed))), "what the broker stamped is opened"


def test_equal_bytes_under_a_wrong_checksum_are_opened() -> None:
    source, target = handed_on(1)
    for log in (source, target):
        data = bytearray(log.batches[0])
        data[-2] ^= 1
        log.batches[0] = bytes(data)
    pairing = MemoryReading(source, target, 1)(CONTEXT, [whole(source, target)], lambda _offsets: None).run()[0]
    assert (pairing.equal_records, [(each.start, each.end) for each in pairing.segments]) == (0, [(0, 5)])


def test_a_range_that_ends_inside_a_batch_with_holes_is_left_to_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = handed_on(2)
    holes = bytearray(source.batches[1])
    holes[57:61] = (4).to_bytes(4, "big")
    source.batches[1] = bytes(holes)
    reading = MemoryReading(source, target, 1)(CONTEXT, [replace(whole(source, target), end=8)], lambda _offsets: None)
    assert reading.run() == []
