"""The engine between two brokers that keep Kafka's rules."""

import uuid
from dataclasses import replace

import pytest
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest
from kafka.record.default_records import DefaultRecordBatch

from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.model import TransactionLimits
from kafka_mirror.errors import (
    ClusterUnreachable,
    KafkaFailure,
    TransactionTooSlow,
)
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.unit.copy.batches.batch_logs import LIMITS, fill, marker_of, payloads
from tests.unit.copy.batches.conftest import LEDGER, ORDERS, REMOTE, batch_of
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1, KAFKA_2_4, KAFKA_2_8, KAFKA_4_3

CONCURRENT_TRANSACTIONS, MESSAGE_TOO_LARGE, TOPIC_AUTHORIZATION_FAILED = 51, 10, 29
NOT_LEADER, INVALID_TRANSACTION_TIMEOUT, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR = 6, 50, 14, 16


def test_batches_arrive_as_the_bytes_that_they_were_under_new_headers(engine, east, west, work):
    for number in range(5):
        east.log(*ORDERS).append(batch_of([b"%d" % number] * 3), leader_epoch=4)
    (moved,) = engine.copy([work(0, 15)], LIMITS)
    engine.record(*LEDGER, [(b"k", b"v")])
    engine.commit()
    assert payloads(west.log(*REMOTE)) == payloads(east.log(*ORDERS))
    assert (moved.next_offset, moved.records, moved.target_next, moved.leader_epoch) == (15, 15, 15, 4)
    assert moved.runs == (Run(0, 0, 15),)
    assert moved.last.timestamp == 1_700_000_000_002
    assert west.committed == [{REMOTE, LEDGER}]


@pytest.mark.parametrize("release", [KAFKA_4_3, KAFKA_2_8, KAFKA_2_4, KAFKA_2_1])
def test_a_source_of_any_release_from_2_1_on_gives_its_committed_batches(engine, east, west, work, release):
    east.versions.update(release)
    log = east.log(*ORDERS)
    log.append(batch_of([b"kept"] * 2))
    log.append(batch_of([b"aborted"] * 2, producer_id=9, transactional=True))
    log.append(marker_of(9))
    log.aborted.append((9, 2))
    fill(log, 3)
    (moved,) = engine.copy([replace(work(2, log.end), leader_epoch=0)], LIMITS)
    assert (moved.runs, moved.records) == ((Run(5, 0, 9),), 9)
    assert payloads(west.log(*REMOTE)) == payloads(log)[3:]
    assert {request.API_VERSION for request in east.of(FetchRequest)} == {min(13, release[FetchRequest])}


def test_a_topic_that_was_made_anew_behind_the_look_at_its_leader_is_not_read(engine, east, work):
    fill(east.log(*ORDERS), 2)
    (first,) = engine.copy([work(0, 12)], TransactionLimits(1, 10.0))
    east.topic_ids[ORDERS.topic] = uuid.uuid4()
    fill(east.log(*ORDERS), 2)
    with pytest.raises(KafkaFailure, match="UNKNOWN_TOPIC_ID"):
        engine.copy([work(first.next_offset, 12)], LIMITS)


def test_each_transaction_has_an_epoch_of_its_own_and_its_offsets_stand_behind_the_last_marker(engine, east, west, work):
    fill(east.log(*ORDERS), 2)
    engine.copy([work(0, 6)], LIMITS)
    engine.commit()
    fill(east.log(*ORDERS), 2)
    (moved,) = engine.copy([work(6, 12)], LIMITS)
    engine.commit()
    assert moved.runs == (Run(6, 7, 6),)
    headers = [DefaultRecordBatch(each) for each in west.log(*REMOTE).batches]
    assert [(each.producer_epoch, each.base_sequence) for each in headers] == [(0, 0), (0, 3), (1, 0), (1, 3)]


def test_partitions_share_requests_and_each_has_one_batch_in_a_request(engine, east, west, work):
    both = [TopicPartition("orders", number) for number in (0, 1)]
    for source in both:
        fill(east.log(*source), 6)
        west.log("east.orders", source.partition)
    moved = engine.copy([work(0, 18, source=source) for source in both], LIMITS)
    assert [each.records for each in moved] == [18, 18]
    requests = west.of(ProduceRequest)
    assert [len(request.topic_data[0].partition_data) for request in requests] == [2] * 6


def test_the_first_batch_of_a_partition_is_sent_again_while_markers_are_written(engine, east, west, work):
    fill(east.log(*ORDERS), 4)
    west.refusals[ProduceRequest, REMOTE].extend([CONCURRENT_TRANSACTIONS] * 3)
    (moved,) = engine.copy([work(0, 12)], LIMITS)
    assert moved.runs == (Run(0, 0, 12),)
    assert payloads(west.log(*REMOTE)) == payloads(east.log(*ORDERS))
    assert len(west.of(ProduceRequest)) == 4 + 3


def test_a_transaction_ends_between_batches_and_the_next_one_goes_on_without_fetching_anew(engine, east, west, work):
    fill(east.log(*ORDERS), 6)
    size = len(east.log(*ORDERS).batches[0])
    (first,) = engine.copy([work(0, 18)], TransactionLimits(2 * size, 10.0))
    engine.commit()
    fetched = len(east.of(FetchRequest))
    (second,) = engine.copy([work(first.next_offset, 18)], LIMITS)
    assert (first.next_offset, first.bytes, second.next_offset) == (6, 2 * size, 18)
    assert len(east.of(FetchRequest)) == fetched
    assert payloads(west.log(*REMOTE)) == payloads(east.log(*ORDERS))


def test_markers_and_aborted_batches_are_passed_over_up_to_the_end(engine, east, west, work):
    log = east.log(*ORDERS)
    log.append(batch_of([b"kept"]))
    log.append(batch_of([b"aborted"] * 2, producer_id=9, transactional=True))
    log.append(batch_of([b"committed"], producer_id=5, transactional=True))
    log.append(marker_of(9))
    log.append(marker_of(5))
    log.aborted.append((9, 1))
    (moved,) = engine.copy([work(0, 6)], LIMITS)
    assert (moved.next_offset, moved.records, moved.runs) == (6, 2, (Run(0, 0, 1), Run(3, 1, 1)))
    assert [payloads(log)[0], payloads(log)[2]] == payloads(west.log(*REMOTE))


def test_a_range_of_aborted_batches_moves_without_a_record(engine, east, work):
    east.log(*ORDERS).append(batch_of([b"aborted"], producer_id=9, transactional=True))
    east.log(*ORDERS).append(marker_of(9))
    east.log(*ORDERS).aborted.append((9, 0))
    (moved,) = engine.copy([work(0, 2)], LIMITS)
    assert (moved.next_offset, moved.records, moved.target_next, moved.last) == (2, 0, None, None)


def test_read_uncommitted_copies_what_was_aborted(lane_task, east, west, work):
    engine = BatchEngine(replace(lane_task, read_committed=False), 1_000_000)
    east.log(*ORDERS).append(batch_of([b"aborted"], producer_id=9, transactional=True))
    east.log(*ORDERS).append(marker_of(9))
    east.log(*ORDERS).aborted.append((9, 0))
    (moved,) = engine.copy([work(0, 2)], LIMITS)
    engine.close()
    assert (moved.next_offset, moved.records) == (2, 1)


def test_ledger_records_have_the_offsets_at_which_they_stand_in_batches_that_the_topic_takes(lane_task, west):
    engine = BatchEngine(lane_task, 500)
    entries = [(b"key-%d" % number, b"v" * 200) for number in range(5)]
    assert engine.record(*LEDGER, entries) == [0, 1, 2, 3, 4]
    engine.commit()
    assert engine.record(*LEDGER, entries[:2]) == [6, 7]
    engine.close()
    assert [DefaultRecordBatch(each).records_count for each in west.log(*LEDGER).batches] == [2, 2, 1, 2]


def test_what_waits_of_one_partition_keeps_no_other_from_being_fetched(monkeypatch, engine, east, west, work):
    from kafka_mirror.copy.batches import source

    other = TopicPartition("orders", 1)
    for tp in (ORDERS, other):
        fill(east.log(*tp), 4)
    west.log("east.orders", 1)
    size = len(east.log(*ORDERS).batches[0])
    monkeypatch.setattr(source, "_AHEAD_BYTES", 2 * size)
    (moved,) = engine.copy([work(0, 12)], TransactionLimits(size, 10.0))
    engine.commit()
    (of_other,) = engine.copy([work(0, 12, source=other)], LIMITS)
    assert (moved.next_offset, of_other.next_offset) == (3, 12)


def test_small_batches_that_wait_do_not_keep_many_large_answers_in_memory(monkeypatch, engine, east, west, work):
    from kafka_mirror.copy.batches import source

    monkeypatch.setattr(source, "_ANSWERS_BYTES", 25_000)
    partitions = [TopicPartition("orders", number) for number in range(6)]
    for tp in partitions:
        east.log(*tp).append(batch_of([b"v" * 10_000]))
        east.log(*tp).append(batch_of([b"small"]))
        west.log("east.orders", tp.partition)
    kept = []
    for start, end in ((0, 1), (1, 2)):
        for tp in partitions:
            (moved,) = engine.copy([work(start, 2, source=tp)], TransactionLimits(5_000, 10.0))
            engine.commit()
            assert moved.next_offset == end
            waiting = engine._source._fetched.values()
            kept.append(sum(len(answer) for answer in {bytes(batch.data.obj) for fetched in waiting for batch, _ in fetched.batches}))
    assert 10_000 < max(kept) <= 40_000


def test_a_partition_that_stopped_keeps_nothing_in_memory(engine, east, work):
    fill(east.log(*ORDERS), 4)
    engine.copy([work(0, 5)], LIMITS)
    assert engine._source._fetched == {}


def test_a_broker_that_never_answers_is_given_up_long_before_the_transaction_is_too_old(lane_task, east, west, work):
    fill(east.log(*ORDERS), 2)
    west.is_silent_on = ProduceRequest
    engine = BatchEngine(replace(lane_task, request_seconds=0.3, transaction_timeout_ms=10_000), 1_000_000)
    with pytest.raises(ClusterUnreachable, match="no answer came in time"):
        engine.copy([work(0, 6)], LIMITS)
    west.is_silent_on = None
    engine.close()


def test_a_broker_that_holds_us_back_may_be_silent_for_as_long_as_it_said(lane_task, east, west, work):
    east.log(*ORDERS).append(batch_of([b"first"]))
    engine = BatchEngine(replace(lane_task, request_seconds=0.3, transaction_timeout_ms=2_000), 1_000_000)
    west.throttle_ms = 60_000
    (moved,) = engine.copy([work(0, 1)], LIMITS)
    assert moved.records == 1
    fill(east.log(*ORDERS), 1)
    west.is_silent_on = ProduceRequest
    with pytest.raises(TransactionTooSlow):
        engine.copy([work(1, 4)], LIMITS)
    west.is_silent_on = None
    engine.close()


def test_a_lane_bears_the_name_that_quotas_know_on_the_target(engine, lane_task, west):
    (fencing,) = west.of(InitProducerIdRequest)
    assert fencing.header.client_id == lane_task.producer_client_id
