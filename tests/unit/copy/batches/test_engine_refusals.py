"""Brokers that refuse, break off, hang or are too old, and lanes that another attempt took over."""

from dataclasses import replace
from itertools import count

import pytest
from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.producer import EndTxnRequest, InitProducerIdRequest, ProduceRequest
from kafka.record.default_records import DefaultRecordBatchBuilder

from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.batches.source import BatchSource
from kafka_mirror.copy.model import BatchRefused, NothingRead, PoisonRecord, RefusedRecord, TransactionLimits
from kafka_mirror.errors import (
    AuthorizationRefused,
    ClusterTooOld,
    ClusterUnreachable,
    KafkaFailure,
    Overtaken,
    SourceTruncated,
    SourceUnreadable,
    TransactionTimeoutRefused,
)
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import receive
from kafka_mirror.ledger.record import Skipped
from tests.unit.copy.batches.batch_logs import LIMITS, assert_writing_is_refused, fill, hold_back, values
from tests.unit.copy.batches.conftest import LEDGER, ORDERS, REMOTE, batch_of
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1, KAFKA_2_8

CONCURRENT_TRANSACTIONS, MESSAGE_TOO_LARGE, TOPIC_AUTHORIZATION_FAILED, CORRUPT_MESSAGE = 51, 10, 29, 2
INVALID_TIMESTAMP, INVALID_RECORD = 32, 87
NOT_LEADER, INVALID_TRANSACTION_TIMEOUT, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR = 6, 50, 14, 16


def test_a_batch_that_the_target_refuses_names_its_offset_and_the_transaction_is_aborted(engine, east, west, work):
    fill(east.log(*ORDERS), 3)
    west.refusals[ProduceRequest, REMOTE].extend([0, MESSAGE_TOO_LARGE])
    with pytest.raises(BatchRefused, match=r"larger than max\.message\.bytes") as refusal:
        engine.copy([work(0, 9)], LIMITS)
    assert (refusal.value.source, refusal.value.start, refusal.value.first, refusal.value.records) == (ORDERS, 0, 3, 3)
    assert refusal.value.culprits == ()
    engine.close()
    assert (west.committed, west.aborted) == ([], 1)


def test_records_that_the_target_names_are_the_culprits(engine, east, west, work):
    fill(east.log(*ORDERS), 2)
    west.refusals[ProduceRequest, REMOTE].append(INVALID_TIMESTAMP)
    west.named = [1, 2]
    with pytest.raises(BatchRefused, match=r"timestamp is further .* \(INVALID_TIMESTAMP: record 1\)") as refusal:
        engine.copy([work(0, 6)], LIMITS)
    assert [(named.offset, named.timestamp, named.has_key) for named in refusal.value.culprits] == [
        (1, 1_700_000_000_001, True),
        (2, 1_700_000_000_002, True),
    ]


def test_a_record_without_a_key_that_a_compacted_topic_does_not_take_is_said_to_be_that(engine, east, west, work):
    keyless = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)
    keyless.append(0, 1, None, b"v", [])
    east.log(*ORDERS).append(keyless.build())
    west.refusals[ProduceRequest, REMOTE].append(INVALID_RECORD)
    west.named = [0]
    with pytest.raises(BatchRefused, match="it has no key, and the remote topic is compacted") as refusal:
        engine.copy([work(0, 1, needs_key=True)], LIMITS)
    assert [named.has_key for named in refusal.value.culprits] == [False]


REFUSED = RefusedRecord(4, 1_700_000_000_001, True, "too large")


def test_a_refused_record_stops_its_partition_in_front_of_it(engine, east, west, work):
    fill(east.log(*ORDERS), 3)
    (moved,) = engine.copy([replace(work(0, 9), refused={4: REFUSED})], LIMITS)
    assert (moved.next_offset, moved.records, moved.poison) == (4, 4, PoisonRecord(4, "too large"))
    assert values(west.log(*REMOTE)) == values(east.log(*ORDERS))[:4]


def test_with_errors_tolerance_all_a_refused_record_alone_is_passed_over(engine, east, west, work):
    fill(east.log(*ORDERS), 3)
    (moved,) = engine.copy([replace(work(0, 9), refused={4: REFUSED}, skip_refused=True)], LIMITS)
    assert (moved.next_offset, moved.records, moved.runs) == (9, 8, (Run(0, 0, 4), Run(5, 4, 4)))
    assert moved.skipped == (Skipped(4, 5, "RecordRefused: too large"),)
    assert values(west.log(*REMOTE)) == values(east.log(*ORDERS))[:4] + values(east.log(*ORDERS))[5:]


def test_near_a_refused_record_batches_are_as_large_as_the_target_takes(engine, east, west, work):
    log = east.log(*ORDERS)
    for _ in range(10):
        log.append(batch_of([b"v" * 50_000] * 5))
    (moved,) = engine.copy([replace(work(0, 50), joined_to=40)], LIMITS)
    assert moved.runs == (Run(0, 0, 50),)
    assert moved.rewritten == {"the target refused a record near it": 8}
    assert [len(each) // 50_000 for each in west.log(*REMOTE).batches] == [20, 20, 5, 5]
    assert values(west.log(*REMOTE)) == values(log)


def test_another_record_at_the_offset_of_a_refused_one_is_copied(engine, east, work):
    fill(east.log(*ORDERS), 3)
    (moved,) = engine.copy([replace(work(0, 9), refused={4: replace(REFUSED, timestamp=5)})], LIMITS)
    assert (moved.next_offset, moved.records, moved.poison) == (9, 9, None)


@pytest.mark.parametrize(("start", "most", "end"), [(0, 1, 1), (3, 1, 4), (1, 4, 5), (2, 100, 9)])
def test_no_more_records_are_taken_than_a_transaction_may_have(engine, east, west, work, start, most, end):
    fill(east.log(*ORDERS), 3)
    (moved,) = engine.copy([replace(work(start, 9), max_records=most)], LIMITS)
    assert (moved.next_offset, moved.records) == (end, end - start)
    assert values(west.log(*REMOTE)) == values(east.log(*ORDERS))[start:end]


def test_a_topic_that_may_not_be_written_is_named_by_its_source_topic(engine, east, west, work):
    fill(east.log(*ORDERS), 1)
    west.refusals[ProduceRequest, REMOTE].append(TOPIC_AUTHORIZATION_FAILED)
    assert_writing_is_refused(engine, work)


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
    east.log(*ORDERS).elect(kept=3)
    fill(east.log(*ORDERS), 3)
    with pytest.raises(SourceTruncated) as truncated:
        engine.copy([replace(work(6, 9), leader_epoch=0)], LIMITS)
    assert truncated.value.diverged == 3


def test_an_offset_that_the_source_no_longer_has_is_named(engine, east, work):
    with pytest.raises(SourceUnreadable, match="orders-0@7: the source no longer has this offset"):
        engine.copy([work(7, 9)], LIMITS)


def test_a_topic_that_may_not_be_read_is_named(engine, east, work):
    fill(east.log(*ORDERS), 1)
    east.refusals[FetchRequest, ORDERS].append(TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(AuthorizationRefused, match="READ on topic orders") as refusal:
        engine.copy([work(0, 3)], LIMITS)
    assert refusal.value.topic == "orders"


def test_a_source_that_cannot_read_its_own_log_is_said_with_the_offset(engine, east, work):
    fill(east.log(*ORDERS), 1)
    east.refusals[FetchRequest, ORDERS].append(CORRUPT_MESSAGE)
    with pytest.raises(SourceUnreadable, match="orders-0@0: the source cannot read its own log: CORRUPT_MESSAGE"):
        engine.copy([work(0, 3)], LIMITS)


def change_partition(east, change):
    """Lets `change` see the second answer's one partition, and all that follow."""
    number = count()

    def change_answer(answer):
        if next(number):
            change(answer.responses[0].partitions[0])

    east.change_fetches(change_answer)


def test_bytes_that_are_no_batches_are_said_with_the_offset(engine, east, work):
    fill(east.log(*ORDERS), 1)
    change_partition(east, lambda partition: setattr(partition, "records", b"\0" * 16 + b"\7" + b"\0" * 60))
    with pytest.raises(SourceUnreadable, match="orders-0@3: the source sent no record batch: ") as unreadable:
        engine.copy([work(0, 6)], LIMITS)
    assert (unreadable.value.topic, unreadable.value.partition, unreadable.value.offset) == (*ORDERS, 3)


def test_a_log_that_is_cut_off_where_it_was_just_read_is_no_truncation_of_what_was_copied(engine, east, work):
    fill(east.log(*ORDERS), 2)
    cut = FetchResponse.FetchableTopicResponse.PartitionData.EpochEndOffset(epoch=0, end_offset=3)
    change_partition(east, lambda partition: setattr(partition, "diverging_epoch", cut))
    with pytest.raises(SourceUnreadable, match="orders-0@6: the source's log was cut off at 3 while it was read"):
        engine.copy([work(0, 9)], LIMITS)


@pytest.mark.parametrize("start", [None, 6])
def test_an_answer_about_work_that_was_given_up_or_set_elsewhere_since_counts_for_nothing(lane_task, east, work, start):
    fill(east.log(*ORDERS), 3)
    fill(east.log("orders", 1), 1)
    other = TopicPartition("orders", 1)
    source = BatchSource(lane_task)
    source.assign([work(0, 9), work(0, 3, source=other)])
    east.refusals[FetchRequest, ORDERS].append(NOT_LEADER)
    source.fetch()
    source.assign([work(0, 3, source=other)] if start is None else [work(start, 9), work(0, 3, source=other)])
    for _ in range(100):
        receive((source.pool,), 0.1)
        source.fetch()
        source.hand_over(1 << 20)
        if not source.has_work():
            break
    assert not source.has_work()
    source.close()


@pytest.mark.parametrize("throttle_ms", [0, 60_000])
def test_a_source_that_holds_us_back_is_not_silent(monkeypatch, lane_task, east, work, throttle_ms):
    fill(east.log(*ORDERS), 1)
    engine = BatchEngine(replace(lane_task, request_seconds=30), 1_000_000)
    hold_back(east, monkeypatch, throttle_ms)
    if throttle_ms:
        (moved,) = engine.copy([work(0, 3)], LIMITS)
        assert moved.records == 3
    else:
        with pytest.raises(NothingRead):
            engine.copy([work(0, 3)], LIMITS)
    engine.close()


def test_a_source_that_is_silent_is_not_waited_for_for_ever(lane_task, east, work):
    engine = BatchEngine(replace(lane_task, request_seconds=0.3), 1_000_000)
    with pytest.raises(NothingRead):
        engine.copy([work(0, 3)], TransactionLimits(1_000_000, 0.1))
    engine.close()


def test_a_target_that_is_too_old_is_refused_before_anything_is_asked_of_it(lane_task, west):
    west.versions = KAFKA_2_8 | {ProduceRequest: 8}
    with pytest.raises(
        ClusterTooOld, match=r"Cluster 'west' is older than Kafka 2\.8.*copied to: its broker .* up to version 8"
    ) as refusal:
        BatchEngine(lane_task, 1_000_000)
    error = refusal.value
    assert (error.broker, error.oldest, error.request) == (f"127.0.0.1:{west.port}", "2.8", "ProduceRequest")
    assert (error.newest, error.needed, error.retriable) == (8, 9, False)
    assert {type(request) for request in west.requests} == {ApiVersionsRequest}


def test_a_broker_so_old_that_it_cannot_say_its_versions_is_refused(lane_task, west):
    west.versions.update(KAFKA_2_1)
    with pytest.raises(ClusterTooOld, match=r"Cluster 'west' is older than Kafka 2\.8"):
        BatchEngine(lane_task, 1_000_000)


def test_a_source_that_is_too_old_is_refused_before_anything_is_written(engine, east, west, work):
    east.versions = KAFKA_2_1 | {FetchRequest: 8}
    with pytest.raises(ClusterTooOld, match=r"Cluster 'east' is older than Kafka 2\.1.*copied from"):
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
