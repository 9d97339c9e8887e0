"""What becomes of an answer to a fetch: batches wait, a quota is no silence, and each fault has its cause."""

import time

import kafka.errors as errors
import pytest
from kafka.protocol.consumer import FetchRequest

from kafka_mirror.errors import KafkaFailure
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import OF_SOURCE
from kafka_mirror.kafka.broker_pool import BrokerPool, Leader, receive
from kafka_mirror.kafka.fetch import BatchFetcher, Cause, FetchDispatch, FetchFault, FetchLimits, group_by_leader
from kafka_mirror.kafka.fetch_response import FetchResponse, PartitionData
from kafka_mirror.kafka.fetched_partition import FetchedPartition
from kafka_mirror.kafka.polling import LONGEST_THROTTLE_SECONDS
from tests.unit.copy.batches.wire_protocol import OFFSET_OUT_OF_RANGE
from tests.unit.formats.batches.test_record_batch import built
from tests.unit.kafka.test_old_messages import PLAIN, written

TP, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
LARGEST = 1 << 20
BATCH = built(PLAIN, 0, [(1000, b"k", b"v", [])] * 3)


def data(records=b"", *, partition=0, code=0, diverged_at=None, end=9):
    return PartitionData("orders", partition, code, end, (), memoryview(bytes(records)), diverged_at)


def answer(*partitions, code=0, throttle_ms=0):
    return FetchResponse(throttle_ms, code, partitions)


def fetched(node=1):
    return FetchedPartition(0, None, Leader(node, 0))


def fault_of(one, largest=LARGEST):
    ((tp, fault),) = FetchDispatch(largest).take(answer(one), {TP: fetched()})
    assert tp == TP
    return fault


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        (errors.OffsetOutOfRangeError.errno, Cause.OUT_OF_RANGE),
        (errors.NotLeaderForPartitionError.errno, Cause.LEADER_MOVED),
        (errors.LeaderNotAvailableError.errno, Cause.LEADER_MOVED),
        (errors.ReplicaNotAvailableError.errno, Cause.LEADER_MOVED),
        (errors.FencedLeaderEpochError.errno, Cause.LEADER_MOVED),
        (errors.UnknownLeaderEpochError.errno, Cause.LEADER_MOVED),
        (errors.UnknownTopicOrPartitionError.errno, Cause.PASSING),
        (errors.UnknownTopicIdError.errno, Cause.PASSING),
        (errors.KafkaStorageError.errno, Cause.PASSING),
        (errors.TopicAuthorizationFailedError.errno, Cause.DENIED),
        (errors.CorruptRecordError.errno, Cause.CORRUPT),
        (errors.UnknownError.errno, Cause.REFUSED),
    ],
)
def test_an_error_code_has_a_cause(code, cause):
    fault = fault_of(data(code=code, diverged_at=3))
    assert (fault.cause, fault.code, fault.position, fault.diverged_at) == (cause, code, 0, None)


def test_a_log_that_went_another_way_says_where():
    assert fault_of(data(BATCH, diverged_at=0)) == FetchFault(
        Cause.DIVERGED, 0, "the log was cut off at 0 while it was read", diverged_at=0
    )


def test_bytes_that_are_no_batches_are_a_fault_and_nothing_of_them_waits():
    fault = fault_of(data(b"\0" * 16 + b"\x07" + b"\0" * 60))
    assert fault.cause is Cause.NO_BATCHES


def test_batches_wait_and_move_the_position():
    waiting = {TP: fetched(), OTHER: fetched()}
    taken = list(FetchDispatch(LARGEST).take(answer(data(BATCH), data(partition=1)), waiting))
    assert taken == [(TP, None), (OTHER, None)]
    assert (waiting[TP].position, waiting[OTHER].position) == (3, 0)
    assert [batch.record_count for batch, _ in waiting[TP].pop_all()] == [3]


def test_what_is_wanted_no_more_is_left_out_even_if_that_changes_meanwhile():
    waiting = {TP: fetched(), OTHER: fetched()}
    taken = FetchDispatch(LARGEST).take(answer(data(), data(partition=1), data(partition=7)), waiting)
    assert next(taken) == (TP, None)
    del waiting[OTHER]
    assert list(taken) == []


def test_messages_of_an_older_format_are_unpacked_only_where_somebody_wants_that():
    old = written(0, PLAIN, 0, [(1, None, b"v")])
    for largest, expected in ((LARGEST, 1), (None, 0)):
        waiting = {TP: fetched()}
        assert list(FetchDispatch(largest).take(answer(data(old)), waiting)) == [(TP, None)]
        assert (len(waiting[TP].batches), waiting[TP].old is None) == (expected, bool(expected))


@pytest.mark.parametrize(("others", "passed_over_to"), [(b"", 9), (BATCH, 0)])
def test_only_an_answer_with_room_says_that_a_leader_gave_nothing(others, passed_over_to):
    waiting = {TP: fetched(), OTHER: fetched()}
    list(FetchDispatch(LARGEST).take(answer(data(), data(others, partition=1)), waiting))
    assert waiting[TP].passed_over_to == passed_over_to


def test_an_error_of_the_whole_answer_is_raised():
    with pytest.raises(errors.KafkaStorageError):
        FetchDispatch(LARGEST).check(answer(code=errors.KafkaStorageError.errno))


@pytest.mark.parametrize(("throttle_ms", "seconds"), [(20_000, 20), (10**9, LONGEST_THROTTLE_SECONDS)])
def test_a_quota_counts_as_heard_until_it_ends(throttle_ms, seconds):
    dispatch = FetchDispatch(LARGEST)
    dispatch.check(answer(throttle_ms=throttle_ms))
    assert seconds - 1 < dispatch.heard_at - time.monotonic() <= seconds
    dispatch.hear()
    assert dispatch.heard_at > time.monotonic() + seconds - 1, "what comes meanwhile does not end it"


@pytest.mark.parametrize(("records", "is_heard"), [(BATCH, True), (b"", False)])
def test_a_cluster_is_heard_of_when_a_partition_is_read_further(records, is_heard):
    dispatch = FetchDispatch(LARGEST)
    dispatch.heard_at = 0.0
    list(dispatch.take(answer(data(records)), {TP: fetched()}))
    assert (dispatch.heard_at > 0) == is_heard


def test_partitions_are_asked_for_at_their_leaders():
    mine, yours = fetched(1), fetched(2)
    assert group_by_leader({TP: mine, OTHER: yours}) == {1: {TP: mine}, 2: {OTHER: yours}}


# ------------------------------------------------------------ over connections


@pytest.fixture
def broker(broker):
    for tp in (TP, OTHER):
        broker.log(*tp).append(BATCH)
    return broker


@pytest.fixture
def pool(broker):
    made = BrokerPool("east", broker.settings, 10.0, OF_SOURCE, carries_batches=True)
    yield made
    made.close()


LIMITS = FetchLimits(1 << 20, 1 << 20, wait_ms=1, committed=True)


def fetch(pool, fetcher):
    """Asks for both partitions, and waits for the answer."""
    waiting = {tp: FetchedPartition(0, None, leader) for tp, leader in pool.find_leaders([TP, OTHER]).items()}
    ((connection, questions),) = fetcher.idle_leaders(waiting)
    fetcher.ask(connection, questions, LIMITS)
    assert list(fetcher.idle_leaders(waiting)) == [], "a leader that is asked is not asked a second time"
    while connection.in_flight:
        receive([pool], 1.0)
    return waiting


def test_a_leader_is_asked_once_at_a_time_and_first_for_what_is_needed_first(pool, broker):
    waiting = fetch(pool, BatchFetcher(pool, LARGEST, pytest.fail))
    assert {tp: one.position for tp, one in waiting.items()} == {TP: 3, OTHER: 3}
    waiting[OTHER].pop_all()
    ((_, questions),) = BatchFetcher(pool, LARGEST, pytest.fail).idle_leaders(waiting)
    assert list(questions) == [OTHER, TP]


def test_a_fault_is_handed_over_unless_the_partition_is_wanted_no_more(pool, broker):
    for wanted, expected in (({TP, OTHER}, [(OTHER, Cause.OUT_OF_RANGE)]), ({TP}, [])):
        broker.refusals[FetchRequest, OTHER].append(OFFSET_OUT_OF_RANGE)
        faults = []
        fetcher = BatchFetcher(
            pool, LARGEST, lambda tp, fault, into=faults: into.append((tp, fault.cause)), lambda tp, _, among=wanted: tp in among
        )
        assert fetch(pool, fetcher)[TP].position == 3
        assert faults == expected


def test_an_error_of_the_whole_answer_is_one_of_ours(pool, broker):
    broker.change_fetches(lambda answer: setattr(answer, "error_code", errors.KafkaStorageError.errno))
    with pytest.raises(KafkaFailure, match="Cluster 'east': fetching failed: KAFKA_STORAGE_ERROR"):
        fetch(pool, BatchFetcher(pool, LARGEST, pytest.fail))
