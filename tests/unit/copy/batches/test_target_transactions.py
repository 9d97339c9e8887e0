"""Transactions of version 1: brokers before Kafka 4.0, and clusters that have not gone over to version 2."""

import pytest
from kafka.protocol.producer import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, ProduceRequest
from kafka.record.default_records import DefaultRecordBatch

from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.errors import ClusterUnreachable, KafkaFailure, Overtaken
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.unit.copy.batches.batch_logs import LIMITS, assert_writing_is_refused
from tests.unit.copy.batches.conftest import LEDGER, ORDERS, REMOTE, batch_of
from tests.unit.copy.batches.wire_protocol import KAFKA_2_8, KAFKA_4_3

COORDINATOR_NOT_AVAILABLE, TOPIC_AUTHORIZATION_FAILED, INVALID_TXN_STATE, INVALID_PRODUCER_ID_MAPPING, CONCURRENT_TRANSACTIONS = (
    15,
    29,
    48,
    49,
    51,
)


@pytest.fixture(params=[(0, KAFKA_2_8), (1, KAFKA_4_3), (0, KAFKA_4_3)], ids=["2.8", "4.3 at 1", "4.3 at 0"])
def west(request, west):
    west.transaction_version, west.versions = request.param
    return west


@pytest.fixture
def east(east):
    east.versions = dict(KAFKA_2_8)
    for number in range(4):
        east.log(*ORDERS).append(batch_of([b"%d" % number] * 3))
    return east


def test_the_epoch_stays_and_the_sequences_go_on_from_one_transaction_to_the_next(engine, east, west, work):
    engine.copy([work(0, 6)], LIMITS)
    engine.record(*LEDGER, [(b"k", b"v")])
    engine.commit()
    (moved,) = engine.copy([work(6, 12)], LIMITS)
    engine.record(*LEDGER, [(b"k", b"v")])
    engine.commit()
    assert moved.runs == (Run(6, 7, 6),)
    headers = [DefaultRecordBatch(each) for each in west.log(*REMOTE).batches]
    assert [(each.producer_epoch, each.base_sequence) for each in headers] == [(0, 0), (0, 3), (0, 6), (0, 9)]
    assert west.committed == [{REMOTE, LEDGER}] * 2
    assert [each[61:] for each in west.log(*REMOTE).batches] == [each[61:] for each in east.log(*ORDERS).batches]


def test_a_partition_is_added_once_to_each_transaction_that_writes_to_it(engine, east, west, work):
    other = TopicPartition("orders", 1)
    west.log("east.orders", 1)
    east.log(*other).append(batch_of([b"other"]))
    engine.copy([work(0, 12), work(0, 1, source=other)], LIMITS)
    engine.record(*LEDGER, [(b"k", b"v")])
    engine.commit()
    engine.record(*LEDGER, [(b"k", b"v")])
    engine.commit()
    added = [
        {TopicPartition(topic.name, each) for topic in request.v3_and_below_topics for each in topic.partitions}
        for request in west.of(AddPartitionsToTxnRequest)
    ]
    assert sum(map(len, added)) == 4
    assert set.union(*added) == {REMOTE, TopicPartition("east.orders", 1), LEDGER}


def test_a_new_attempt_has_a_higher_epoch_and_begins_its_sequences_anew(lane_task, engine, east, west, work):
    engine.copy([work(0, 6)], LIMITS)
    engine.commit()
    engine.close()
    successor = BatchEngine(lane_task, 1_000_000)
    successor.copy([work(6, 12)], LIMITS)
    successor.commit()
    successor.close()
    headers = [DefaultRecordBatch(each) for each in west.log(*REMOTE).batches]
    assert [(each.producer_epoch, each.base_sequence) for each in headers] == [(0, 0), (0, 3), (1, 0), (1, 3)]


def test_a_partition_is_added_as_soon_as_the_markers_of_the_last_transaction_are_written(engine, east, west, work):
    west.refusals[AddPartitionsToTxnRequest, REMOTE].extend([CONCURRENT_TRANSACTIONS] * 3)
    (moved,) = engine.copy([work(0, 12)], LIMITS)
    assert moved.runs == (Run(0, 0, 12),)
    assert len(west.of(AddPartitionsToTxnRequest)) == 4


def test_a_transaction_is_given_up_under_a_higher_epoch_so_that_nothing_late_can_join_the_next(engine, east, west, work):
    engine.copy([work(0, 12)], LIMITS)
    before = west.owners["mirror.4.east.1.0"].epoch
    engine.close()
    assert (west.aborted, west.committed, west.of(EndTxnRequest)) == (1, [], [])
    assert west.owners["mirror.4.east.1.0"].epoch > before


def test_a_transaction_of_which_only_the_partitions_are_known_is_given_up_too(engine, east, west, work):
    west.hangs_up_on = ProduceRequest
    with pytest.raises(ClusterUnreachable):
        engine.copy([work(0, 12)], LIMITS)
    west.hangs_up_on = None
    engine.close()
    assert west.aborted == 1


def test_a_zombie_adds_nothing_and_aborts_nothing_of_its_successor(lane_task, engine, east, west, work):
    successor = BatchEngine(lane_task, 1_000_000)
    successor.copy([work(0, 6)], LIMITS)
    with pytest.raises(Overtaken):
        engine.copy([work(0, 6)], LIMITS)
    engine.close()
    successor.commit()
    successor.close()
    assert (west.committed, west.aborted) == ([{REMOTE}], 0)


def test_a_transactional_id_that_expires_in_a_lane_ends_it_and_is_told_as_that(lane_task, engine, east, west, work):
    engine.copy([work(0, 6)], LIMITS)
    west.refusals[EndTxnRequest, None].append(INVALID_PRODUCER_ID_MAPPING)
    with pytest.raises(Overtaken, match="expired there"):
        engine.commit()
    engine.close()
    assert west.committed == []


def test_a_zombie_that_does_not_know_of_its_successor_does_not_fence_it_when_it_closes(lane_task, engine, east, west, work):
    engine.copy([work(0, 6)], LIMITS)
    successor = BatchEngine(lane_task, 1_000_000)
    successor.copy([work(0, 6)], LIMITS)
    engine.close()
    successor.commit()
    successor.close()
    assert west.committed == [{REMOTE}]
    assert len(west.of(InitProducerIdRequest)) == 3


def test_a_topic_that_may_not_be_added_is_named_by_its_source_topic(engine, east, west, work):
    west.refusals[AddPartitionsToTxnRequest, REMOTE].append(TOPIC_AUTHORIZATION_FAILED)
    assert_writing_is_refused(engine, work)


def test_what_else_refuses_a_partition_ends_the_attempt_before_a_batch_is_sent(engine, east, west, work):
    west.refusals[AddPartitionsToTxnRequest, REMOTE].append(INVALID_TXN_STATE)
    with pytest.raises(KafkaFailure, match=r"adding east\.orders-0 to the transaction") as failure:
        engine.copy([work(0, 3)], LIMITS)
    assert failure.value.retriable
    assert west.of(ProduceRequest) == []


def test_a_coordinator_that_moves_is_looked_for_and_asked_again(engine, east, west, work):
    west.refusals[AddPartitionsToTxnRequest, REMOTE].append(COORDINATOR_NOT_AVAILABLE)
    west.refusals[EndTxnRequest, None].append(COORDINATOR_NOT_AVAILABLE)
    engine.copy([work(0, 3)], LIMITS)
    engine.commit()
    assert west.committed == [{REMOTE}]
