"""Batches whose header is damaged, also where it says how far the batch reaches and whether it is copied at all: the partition stops in
front of it, the decision that ends this passes over that batch alone, and no other batch is left out."""

import struct
from dataclasses import replace

import pytest
from kafka.protocol.consumer import FetchRequest

from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.model import NothingRead
from kafka_mirror.errors import BatchNotUnpacked, SourceRepeated, SourceUnreadable
from kafka_mirror.formats.batches.record_batch import Attribute
from tests.unit.copy.batches.batch_logs import LIMITS, fill, marker_of, values
from tests.unit.copy.batches.conftest import ORDERS, REMOTE, batch_of

BATCHES, RECORDS = 8, 3
END = BATCHES * RECORDS
BASE_OFFSET, ATTRIBUTES, LAST_DELTA, PRODUCER, COUNT = (">q", 0), (">h", 21), (">i", 23), (">q", 43), (">i", 57)
ABORTED = 9


def damage(log, number, *fields):
    """Changes fields of a batch that stands in a log; its checksum stays."""
    changed = bytearray(log.batches[number])
    for (kind, at), value in fields:
        struct.pack_into(kind, changed, at, value)
    log.batches[number] = bytes(changed)


@pytest.fixture(params=["closed", "joined"])
def copied(request, monkeypatch, east, west, work):
    """`copied(0, 24)` is what one engine makes of these offsets, and the values that then are on the target in all."""
    monkeypatch.setattr("kafka_mirror.copy.batches.source.is_small", lambda _: request.param == "joined")
    lane_task = request.getfixturevalue("lane_task")

    def copy(start, end, patience=LIMITS.seconds):
        engine = BatchEngine(replace(lane_task, request_seconds=patience), 1_000_000)
        try:
            (done,) = engine.copy([work(start, end)], replace(LIMITS, seconds=patience))
            engine.commit()
        finally:
            engine.close()
        return done, values(west.log(*REMOTE))

    return copy


def without_records(answer, high_watermark):
    """An answer to a fetch whose partitions have nothing."""
    for topic in answer.responses:
        for partition in topic.partitions:
            partition.records, partition.high_watermark = b"", high_watermark
    return answer


@pytest.mark.parametrize(
    ("number", "last_delta"), [(0, 1_000_000), (0, 7), (0, 1), (2, 1_000_000), (2, 7), (2, 3), (2, 1), (2, -5), (2, -1 << 31)]
)
def test_a_damaged_last_offset_leaves_out_no_batch_but_its_own(east, copied, last_delta, number):
    log = east.log(*ORDERS)
    fill(log, BATCHES)
    wanted, first, behind = values(log), number * RECORDS, (number + 1) * RECORDS
    damage(log, number, (LAST_DELTA, last_delta))
    position, stops, reached = 0, [], []
    while position < END and len(stops) < 4:
        done, reached = copied(position, END)
        position = done.next_offset
        if done.poison is None:
            break
        assert isinstance(done.poison, BatchNotUnpacked)
        assert first <= done.poison.offset == position < done.poison.end <= behind
        stops.append(position)
        position = done.poison.end  # a person decides to go on there
    assert reached == wanted[:first] + wanted[behind:]
    assert stops[0] == first


@pytest.mark.parametrize("last_delta", [1_000_000, 1, -5])
def test_where_a_damaged_batch_ends_that_nothing_follows_is_said_by_what_else_it_says(east, copied, last_delta):
    log = east.log(*ORDERS)
    fill(log, BATCHES)
    damage(log, BATCHES - 1, (LAST_DELTA, last_delta))
    done, reached = copied(0, END)
    assert (done.next_offset, len(reached)) == (END - RECORDS, END - RECORDS)
    assert END - RECORDS < done.poison.end <= END


@pytest.mark.parametrize(("start", "last_delta"), [(END - RECORDS, -5), (END - RECORDS, -1), (END - 2, 0), (END - 1, 1)])
def test_a_last_batch_that_its_leader_passes_over_stops_its_partition(east, copied, start, last_delta):
    """By its header it ends in front of the position, so a leader goes on behind it, and finds nothing there."""
    log = east.log(*ORDERS)
    fill(log, BATCHES)
    damage(log, BATCHES - 1, (LAST_DELTA, last_delta))
    done, reached = copied(start, END, patience=0.2)
    assert isinstance(done.poison, BatchNotUnpacked)
    assert (done.next_offset, done.poison.offset, done.poison.end, reached) == (start, start, END, [])
    assert f"the source gives nothing from {start} on, though its log ends at {END}" in str(done.poison)


def test_a_leader_whose_log_ends_where_it_gives_nothing_has_passed_over_no_batch(east, copied):
    fill(east.log(*ORDERS), BATCHES)
    east.answers[FetchRequest] = lambda request: without_records(east._fetch(request), high_watermark=0)
    with pytest.raises(NothingRead):
        copied(0, END, patience=0.2)


@pytest.mark.parametrize(
    "fields",
    [
        [(ATTRIBUTES, Attribute.CONTROL)],
        [(COUNT, 0)],
        [(ATTRIBUTES, Attribute.TRANSACTIONAL), (PRODUCER, ABORTED)],
        [(ATTRIBUTES, Attribute.TRANSACTIONAL | Attribute.CONTROL), (PRODUCER, ABORTED)],
    ],
    ids=["a marker", "empty", "aborted", "the marker of an aborted one"],
)
def test_a_batch_that_only_seems_to_be_left_out_stops_its_partition(east, copied, fields):
    log = east.log(*ORDERS)
    fill(log, 2)
    log.append(batch_of([b"aborted"], producer_id=ABORTED, transactional=True))
    log.aborted.append((ABORTED, 6))
    fill(log, 1)
    log.append(marker_of(ABORTED))
    fill(log, 1)
    damage(log, 3, *fields)
    done, reached = copied(0, log.end)
    assert (done.next_offset, len(reached)) == (7, 6)
    assert (done.poison.offset, done.poison.end) == (7, 10)


@pytest.mark.parametrize("base_offset", [0, 5, 8, 100])
def test_offsets_that_do_not_follow_each_other_write_nothing(east, west, copied, base_offset):
    log = east.log(*ORDERS)
    fill(log, 4)
    damage(log, 2, (BASE_OFFSET, base_offset))
    with pytest.raises(SourceRepeated):
        copied(0, 12)
    assert west.committed == []


@pytest.mark.parametrize("base_offset", [11, 100])
def test_a_last_batch_that_says_it_lies_behind_the_end_of_its_log_writes_nothing(east, west, copied, base_offset):
    """No checksum covers the base offset, and no other batch follows that would show it."""
    log = east.log(*ORDERS)
    fill(log, 4)
    damage(log, 3, (BASE_OFFSET, base_offset))
    with pytest.raises(SourceUnreadable, match=f"a batch says that it ends at {base_offset + RECORDS}, and its log ends at 12"):
        copied(0, 12)
    assert west.committed == []


def test_a_last_batch_that_came_while_its_leader_told_the_end_is_copied(east, copied):
    log = east.log(*ORDERS)
    fill(log, 4)
    told = []

    def fetched(request):
        answer = east._fetch(request)
        told.append(answer.responses[0].partitions[0])
        if len(told) == 1:
            told[0].high_watermark = 9
        return answer

    east.answers[FetchRequest] = fetched
    done, reached = copied(0, 12)
    assert (done.next_offset, len(reached), len(told)) == (12, 12, 2)


def test_a_damaged_batch_in_front_of_the_position_ends_no_transaction(east, copied):
    """It says that it reaches further, so a leader gives it first; and that it is a marker of the transaction that is open there."""
    log = east.log(*ORDERS)
    log.append(batch_of([b"aborted"], producer_id=ABORTED, transactional=True))
    log.aborted.append((ABORTED, 0))
    fill(log, 1)
    log.append(batch_of([b"aborted"], producer_id=ABORTED, transactional=True))
    log.append(marker_of(ABORTED))
    fill(log, 1)
    damage(log, 1, (ATTRIBUTES, Attribute.TRANSACTIONAL | Attribute.CONTROL), (PRODUCER, ABORTED), (LAST_DELTA, 5))
    done, reached = copied(4, log.end)
    assert (done.poison, done.next_offset, len(reached), b"aborted" in reached) == (None, log.end, RECORDS, False)
