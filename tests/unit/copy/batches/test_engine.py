"""The engine between two brokers that keep Kafka's rules."""

from dataclasses import replace

import pytest
from crc32c import crc32c
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.producer import EndTxnRequest, InitProducerIdRequest, ProduceRequest
from kafka.record.default_records import DefaultRecordBatch

from mirror.copy.batches.engine import BatchEngine
from mirror.copy.confluent.target import producer_settings
from mirror.copy.engine import BatchNotTaken, NothingRead, TransactionLimits
from mirror.errors import (
    AuthorizationRefused,
    ClusterUnreachable,
    EngineUnavailable,
    KafkaFailure,
    Overtaken,
    SourceTruncated,
    SourceUnreadable,
    TransactionTimeoutRefused,
    TransactionTooSlow,
)
from mirror.formats.record_batch import CODECS, Attribute
from mirror.offsets.map import Run
from mirror.offsets.partition import TopicPartition
from tests.unit.copy.batches.conftest import LEDGER, ORDERS, REMOTE, batch_of
from tests.unit.copy.batches.wire_broker import KAFKA_2_8, UNSUPPORTED_VERSION

LIMITS = TransactionLimits(32 * 1024 * 1024, 10.0)
CONCURRENT_TRANSACTIONS, MESSAGE_TOO_LARGE, TOPIC_AUTHORIZATION_FAILED = 51, 10, 29
NOT_LEADER, INVALID_TRANSACTION_TIMEOUT, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR = 6, 50, 14, 16


def payloads(log):
    return [each[61:] for each in log.batches]


def values(log):
    return [record.value for each in log.batches for record in DefaultRecordBatch(each)]


def sealed(batch):
    """With the checksum of its bytes."""
    batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")
    return batch


def fill(log, batches, records=3):
    """Batches of three records each, told apart by their values."""
    for number in range(batches):
        log.append(batch_of([b"%d-%d" % (log.end, number)] * records))


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


@pytest.mark.parametrize(("start", "end"), [(1, 6), (0, 5), (1, 2), (4, 6), (1, 4)])
def test_of_batches_at_the_edges_of_a_range_the_records_inside_it_are_copied(engine, east, west, work, start, end):
    fill(east.log(*ORDERS), 2)
    (moved,) = engine.copy([work(start, end)], LIMITS)
    assert (moved.next_offset, moved.records, moved.reencoding) == (end, end - start, None)
    assert values(west.log(*REMOTE)) == values(east.log(*ORDERS))[start:end]
    assert sum(run.length for run in moved.runs) == end - start


def test_of_a_batch_at_an_edge_that_cannot_be_opened_the_other_engine_copies_the_rest(engine, east, west, work):
    log = east.log(*ORDERS)
    closed = batch_of([b"v"] * 3)
    closed[22] |= CODECS.index("zstd")
    log.append(sealed(closed))
    fill(log, 1)
    (moved,) = engine.copy([work(1, 6)], LIMITS)
    assert (moved.next_offset, moved.records, moved.reencoding.until) == (1, 0, 3)
    assert "begins inside a batch" in moved.reencoding.reason
    assert west.of(ProduceRequest) == []


def test_a_batch_at_an_edge_is_not_opened_into_one_that_is_too_large(engine, east, west, work):
    east.log(*ORDERS).append(batch_of([b"v" * 200] * 3))
    (moved,) = engine.copy([work(1, 3, max_message_bytes=150)], LIMITS)
    assert (moved.next_offset, moved.reencoding.until) == (1, 3)
    (moved,) = engine.copy([work(1, 3, max_message_bytes=400)], LIMITS)
    assert (moved.next_offset, moved.records) == (3, 2)
    assert len(payloads(west.log(*REMOTE))) == 2


def test_a_batch_at_an_edge_whose_checksum_is_wrong_is_never_given_a_right_one(engine, east, west, work):
    spoilt = batch_of([b"value"] * 2)
    spoilt[-14] ^= 1  # inside the last record's value
    east.log(*ORDERS).append(spoilt)
    with pytest.raises(SourceUnreadable, match="checksum"):
        engine.copy([work(1, 2)], LIMITS)
    assert west.of(ProduceRequest) == []


@pytest.mark.parametrize(
    ("spoil", "limits", "why"),
    [
        (lambda batch: batch.__setitem__(slice(57, 61), (2).to_bytes(4, "big")), {}, "compaction left holes"),
        (lambda batch: batch.__setitem__(22, batch[22] | 0x08), {}, "LogAppendTime"),
        (lambda batch: batch.__setitem__(22, batch[22] | 0x40), {}, "tombstones"),
        (lambda batch: batch.__setitem__(21, 0x01), {}, "0x0100"),
        (lambda batch: batch.__setitem__(16, 1), {}, "magic 1"),
        (lambda batch: None, {"max_message_bytes": 100}, "max.message.bytes=100"),
        (lambda batch: None, {"compression": "zstd"}, "compression.type is zstd, and a batch is uncompressed"),
    ],
)
def test_what_cannot_be_carried_as_it_is_is_handed_over_for_the_rest_of_the_range(engine, east, west, work, spoil, limits, why):
    log = east.log(*ORDERS)
    spoilt = batch_of([b"a" * 50] * 3)
    spoil(spoilt)
    log.append(batch_of([]) if limits else batch_of([b"good"]))
    start = log.end
    log.append(spoilt)
    (moved,) = engine.copy([work(0, 4, **limits)], LIMITS)
    assert (moved.next_offset, moved.reencoding.until) == (start, None)
    assert why in moved.reencoding.reason


def test_where_only_batches_carry_a_record_each_one_that_can_be_handed_on_is(engine, east, west, work):
    log = east.log(*ORDERS)
    log.append(batch_of([b"good"]))
    holes = batch_of([b"hole"] * 3)
    holes[57:61] = (2).to_bytes(4, "big")
    log.append(holes)
    (moved,) = engine.copy([replace(work(0, 4, compression="zstd"), batch_by_batch=True)], LIMITS)
    assert (moved.next_offset, moved.reencoding.until) == (1, 4)  # it is not what it says
    assert payloads(west.log(*REMOTE)) == payloads(log)[:1]


@pytest.mark.parametrize("attribute", [Attribute.LOG_APPEND_TIME, Attribute.DELETE_HORIZON])
def test_where_only_batches_carry_a_record_those_that_cannot_be_handed_on_are_opened(engine, east, west, work, attribute):
    log = east.log(*ORDERS)
    log.append(batch_of([b"good"]))
    marked = batch_of([b"marked"] * 3)
    marked[22] |= attribute
    log.append(sealed(marked))
    (moved,) = engine.copy([replace(work(0, 4), batch_by_batch=True)], LIMITS)
    assert (moved.next_offset, moved.records, moved.reencoding) == (4, 4, None)
    assert values(west.log(*REMOTE)) == [b"good", *[b"marked"] * 3]


def test_a_batch_whose_checksum_is_wrong_is_never_given_a_right_one(engine, east, west, work):
    spoilt = batch_of([b"value"])
    spoilt[-3] ^= 1
    east.log(*ORDERS).append(spoilt)
    with pytest.raises(SourceUnreadable, match="orders-0@0: the checksum of a batch"):
        engine.copy([work(0, 1)], LIMITS)
    assert west.of(ProduceRequest) == []


def test_a_batch_that_the_target_refuses_names_its_offset_and_the_transaction_is_aborted(engine, east, west, work):
    fill(east.log(*ORDERS), 3)
    west.refusals[ProduceRequest, REMOTE].extend([0, MESSAGE_TOO_LARGE])
    with pytest.raises(BatchNotTaken) as refusal:
        engine.copy([work(0, 9)], LIMITS)
    assert (refusal.value.source, refusal.value.offset) == (ORDERS, 3)
    engine.close()
    assert (west.committed, west.aborted) == ([], 1)


def test_a_topic_that_may_not_be_written_is_named_by_its_source_topic(engine, east, west, work):
    fill(east.log(*ORDERS), 1)
    west.refusals[ProduceRequest, REMOTE].append(TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(AuthorizationRefused, match=r"WRITE on topic east\.orders") as refusal:
        engine.copy([work(0, 3)], LIMITS)
    assert refusal.value.topic == "orders"


def test_the_ledgers_topic_that_may_not_be_written_is_named_itself(engine, east, west, work):
    west.refusals[ProduceRequest, LEDGER].append(TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(AuthorizationRefused) as refusal:
        engine.record(*LEDGER, [(b"k", b"v")])
    assert refusal.value.topic == LEDGER.topic


def test_a_zombie_writes_nothing_and_aborts_nothing_of_its_successor(lane_task, engine, east, west, work):
    fill(east.log(*ORDERS), 2)
    successor = BatchEngine(lane_task, 1_000_000)
    successor.copy([work(0, 6)], LIMITS)
    with pytest.raises(Overtaken):
        engine.copy([work(0, 6)], LIMITS)
    engine.close()
    successor.commit()
    successor.close()
    assert west.committed == [{REMOTE}]
    assert len(west.log(*REMOTE).batches) == 2


def test_a_zombie_cannot_commit(lane_task, engine, east, west, work):
    fill(east.log(*ORDERS), 2)
    engine.copy([work(0, 6)], LIMITS)
    BatchEngine(lane_task, 1_000_000).close()
    with pytest.raises(Overtaken):
        engine.commit()
    assert west.aborted == 1


def test_a_commit_whose_answer_is_lost_is_not_taken_back(engine, east, west, work):
    fill(east.log(*ORDERS), 1)
    engine.copy([work(0, 3)], LIMITS)
    west.hangs_up_on = EndTxnRequest
    with pytest.raises(ClusterUnreachable):
        engine.commit()
    west.hangs_up_on = None
    engine.close()
    assert (west.committed, west.aborted) == ([{REMOTE}], 0)


@pytest.mark.parametrize("side", ["east", "west"])
def test_a_broken_connection_names_its_cluster(request, engine, east, west, work, side):
    broker = request.getfixturevalue(side)
    fill(east.log(*ORDERS), 1)
    broker.hangs_up_on = FetchRequest if side == "east" else ProduceRequest
    with pytest.raises(ClusterUnreachable, match=f"Cluster '{side}'"):
        engine.copy([work(0, 3)], LIMITS)


def test_a_leader_that_moved_ends_the_attempt_and_names_no_partition_to_be_left_out(engine, east, west, work):
    fill(east.log(*ORDERS), 1)
    east.refusals[FetchRequest, ORDERS].append(NOT_LEADER)
    with pytest.raises(KafkaFailure, match="orders-0@0") as failure:
        engine.copy([work(0, 3)], LIMITS)
    assert (failure.value.topic, failure.value.retriable) == (None, True)


def test_a_source_that_was_truncated_below_the_watermark_says_where(engine, east, work):
    fill(east.log(*ORDERS), 3)
    east.log(*ORDERS).diverged = 4
    with pytest.raises(SourceTruncated) as truncated:
        engine.copy([work(6, 9)], LIMITS)
    assert truncated.value.diverged == 4


def test_an_offset_that_the_source_no_longer_has_is_named(engine, east, work):
    with pytest.raises(SourceUnreadable, match="orders-0@7: the source no longer has this offset"):
        engine.copy([work(7, 9)], LIMITS)


def test_a_source_that_is_silent_is_not_waited_for_for_ever(lane_task, east, work):
    engine = BatchEngine(replace(lane_task, request_seconds=0.3), 1_000_000)
    with pytest.raises(NothingRead):
        engine.copy([work(0, 3)], TransactionLimits(1_000_000, 0.1))
    engine.close()


def test_ledger_records_have_the_offsets_at_which_they_stand_in_batches_that_the_topic_takes(lane_task, west):
    engine = BatchEngine(lane_task, 500)
    entries = [(b"key-%d" % number, b"v" * 200) for number in range(5)]
    assert engine.record(*LEDGER, entries) == [0, 1, 2, 3, 4]
    engine.commit()
    assert engine.record(*LEDGER, entries[:2]) == [6, 7]
    engine.close()
    assert [DefaultRecordBatch(each).records_count for each in west.log(*LEDGER).batches] == [2, 2, 1, 2]


def too_old(versions):
    return versions | {FetchRequest: 11, ProduceRequest: 8}


def test_a_target_that_is_too_old_is_refused_before_anything_is_asked_of_it(lane_task, west):
    west.versions = too_old(KAFKA_2_8)
    with pytest.raises(EngineUnavailable, match=r"Cluster 'west'.*older than Kafka 2\.8") as refusal:
        BatchEngine(lane_task, 1_000_000)
    assert "mirror.engine=records" in refusal.value.next
    assert {type(request) for request in west.requests} == {ApiVersionsRequest}


def test_a_broker_so_old_that_it_cannot_say_its_versions_is_refused(lane_task, west):
    west.refusals[ApiVersionsRequest, None].append(UNSUPPORTED_VERSION)
    with pytest.raises(EngineUnavailable, match=r"Cluster 'west'.*older than Kafka 2\.8"):
        BatchEngine(lane_task, 1_000_000)


def test_a_source_that_is_too_old_is_refused_before_anything_is_written(engine, east, west, work):
    east.versions = too_old(KAFKA_2_8)
    with pytest.raises(EngineUnavailable, match="Cluster 'east'"):
        engine.copy([work(0, 3)], LIMITS)
    assert west.of(ProduceRequest) == []


def test_fencing_waits_for_a_coordinator_that_loads_and_for_the_abort_of_an_earlier_transaction(lane_task, west):
    west.refusals[InitProducerIdRequest, None].extend([COORDINATOR_LOAD_IN_PROGRESS, CONCURRENT_TRANSACTIONS, NOT_COORDINATOR])
    BatchEngine(lane_task, 1_000_000).close()
    assert len(west.of(InitProducerIdRequest)) == 4


def test_a_timeout_that_the_brokers_do_not_allow_is_told_as_such(lane_task, west):
    west.refusals[InitProducerIdRequest, None].append(INVALID_TRANSACTION_TIMEOUT)
    with pytest.raises(TransactionTimeoutRefused):
        BatchEngine(lane_task, 1_000_000)


def marker_of(producer_id):
    """The end of a transaction, as a broker writes it: one control record."""
    made = batch_of([b"\x00\x00\x00\x00\x00\x00"], producer_id=producer_id, transactional=True)
    made[22] |= 0x20
    return made


def test_what_waits_of_one_partition_keeps_no_other_from_being_fetched(monkeypatch, engine, east, west, work):
    from mirror.copy.batches import source

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
    from mirror.copy.batches import source

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


def test_a_lane_bears_the_name_that_quotas_know_on_the_target_whatever_engine_it_has(engine, lane_task, west):
    (fencing,) = west.of(InitProducerIdRequest)
    assert fencing.header.client_id == producer_settings(lane_task, 1_000_000)["client.id"]
