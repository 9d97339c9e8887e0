"""Small batches that arrive joined: fewer on the target, the same records, and the offset of each."""

from dataclasses import replace

import pytest
from kafka.protocol.producer import ProduceRequest

from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.model import FORWARDED, JOINED, BatchShare, RefusedRecord, TransactionLimits
from kafka_mirror.formats.batches import batch_rewrite
from kafka_mirror.formats.offsets.map import Run
from tests.unit.copy.batches.batch_logs import LIMITS, fill, marker_of, payloads, values
from tests.unit.copy.batches.conftest import ORDERS, REMOTE, batch_of

BATCHES = 40


@pytest.fixture(autouse=True)
def joins_nothing():
    """Here they do."""


@pytest.mark.parametrize(("start", "end"), [(0, 3 * BATCHES), (1, 3 * BATCHES - 1), (4, 6)])
def test_small_batches_arrive_as_one(engine, east, west, work, start, end):
    fill(east.log(*ORDERS), BATCHES)
    (moved,) = engine.copy([work(start, end)], LIMITS)
    assert (moved.next_offset, moved.records, moved.runs) == (end, end - start, (Run(start, 0, end - start),))
    assert values(west.log(*REMOTE)) == values(east.log(*ORDERS))[start:end]
    assert len(west.log(*REMOTE).batches) == 1


def test_markers_and_aborted_batches_leave_holes_in_the_map_of_a_joined_batch(engine, east, west, work):
    log = east.log(*ORDERS)
    log.append(batch_of([b"kept"]))
    log.append(batch_of([b"aborted"] * 2, producer_id=9, transactional=True))
    log.append(batch_of([b"committed"], producer_id=5, transactional=True))
    log.append(marker_of(9))
    log.append(marker_of(5))
    log.append(batch_of([b"last"] * 2))
    log.aborted.append((9, 1))
    (moved,) = engine.copy([work(0, 8)], LIMITS)
    assert (moved.next_offset, moved.records, moved.target_next) == (8, 4, 4)
    assert moved.runs == (Run(0, 0, 1), Run(3, 1, 1), Run(6, 2, 2))
    assert values(west.log(*REMOTE)) == [b"kept", b"committed", b"last", b"last"]


def test_a_batch_of_its_own_size_stays_closed_among_small_ones(engine, east, west, work):
    log = east.log(*ORDERS)
    fill(log, 2)
    log.append(batch_of([b"v" * 50_000] * 6))
    fill(log, 2)
    (moved,) = engine.copy([work(0, 18)], LIMITS)
    assert moved.runs == (Run(0, 0, 18),)
    assert moved.batches == (BatchShare(JOINED, 4, 12), BatchShare(FORWARDED, 1, 6))
    assert payloads(west.log(*REMOTE))[1] == payloads(log)[2]
    assert len(west.log(*REMOTE).batches) == 3


def test_a_record_that_the_target_refused_is_passed_over_among_those_that_are_joined(engine, east, west, work):
    fill(east.log(*ORDERS), BATCHES)
    refused = {offset: RefusedRecord(offset, 1_700_000_000_000 + offset % 3, True, "why") for offset in (4, 50, 119)}
    (moved,) = engine.copy([replace(work(0, 3 * BATCHES), refused=refused, skip_refused=True)], LIMITS)
    assert [(each.start, each.end) for each in moved.skipped] == [(4, 5), (50, 51), (119, 120)]
    kept = [value for offset, value in enumerate(values(east.log(*ORDERS))) if offset not in refused]
    assert (values(west.log(*REMOTE)), moved.next_offset) == (kept, 3 * BATCHES)


def test_a_small_batch_without_neighbours_stays_closed(engine, east, west, work):
    fill(east.log(*ORDERS), 1)
    engine.copy([work(0, 3)], LIMITS)
    assert payloads(west.log(*REMOTE)) == payloads(east.log(*ORDERS))


def test_joined_batches_are_no_larger_than_the_target_takes(engine, east, west, work):
    fill(east.log(*ORDERS), BATCHES)
    (moved,) = engine.copy([work(0, 3 * BATCHES, max_message_bytes=500)], LIMITS)
    assert moved.records == 3 * BATCHES
    sizes = [len(each) for each in west.log(*REMOTE).batches]
    assert 400 < max(sizes) <= 500


def test_a_transaction_ends_within_a_stretch_and_the_next_one_goes_on_behind_it(monkeypatch, engine, east, west, work):
    monkeypatch.setattr(batch_rewrite.BatchBuilder.__init__, "__defaults__", (1_000,))
    fill(east.log(*ORDERS), BATCHES)
    (first,) = engine.copy([work(0, 3 * BATCHES)], TransactionLimits(1_500, 10.0))
    engine.commit()
    (second,) = engine.copy([work(first.next_offset, 3 * BATCHES)], LIMITS)
    engine.commit()
    assert 0 < first.next_offset < second.next_offset == 3 * BATCHES
    assert first.bytes < 3_000
    assert values(west.log(*REMOTE)) == values(east.log(*ORDERS))


def test_a_joined_batch_that_came_too_early_is_sent_again(engine, east, west, work):
    fill(east.log(*ORDERS), BATCHES)
    west.refusals[ProduceRequest, REMOTE].extend([51] * 2)
    (moved,) = engine.copy([work(0, 3 * BATCHES)], LIMITS)
    assert moved.runs == (Run(0, 0, 3 * BATCHES),)
    assert values(west.log(*REMOTE)) == values(east.log(*ORDERS))


def test_of_many_partitions_each_has_its_own(lane_task, east, west, work):
    engine = BatchEngine(replace(lane_task), 1_000_000)
    sources = [ORDERS._replace(partition=number) for number in range(5)]
    for tp in sources:
        fill(east.log(*tp), BATCHES + tp.partition)
        west.log("east.orders", tp.partition)
    moved = engine.copy([work(0, east.log(*tp).end, source=tp) for tp in sources], LIMITS)
    engine.close()
    assert [each.records for each in moved] == [3 * (BATCHES + number) for number in range(5)]
    assert all(values(west.log("east.orders", tp.partition)) == values(east.log(*tp)) for tp in sources)
