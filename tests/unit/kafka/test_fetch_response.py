"""Answers to a fetch as our own code reads them, judged by kafka-python's schemas."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer import FetchResponse

from kafka_mirror.kafka.fetch_response import PartitionData, fetch_response

NEWEST = 13
VERSIONS = (10, 11, 12, NEWEST)
"""Those of Kafka 2.1, 2.3, 2.7 and 3.1."""
KIND = FetchResponse.FetchableTopicResponse
PARTITION = KIND.PartitionData
PLAIN = {"error_code": 0, "aborted": [], "records": b"", "diverged_at": None, "leader": None}
OFFSETS = st.integers(0, 2**63 - 1)
topics = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=249)
partitions = st.builds(
    dict,
    error_code=st.sampled_from((0, 0, 1, 3, 6)),
    aborted=st.lists(st.tuples(st.integers(0, 2**40), OFFSETS), max_size=4),
    records=st.binary(max_size=40_000),
    diverged_at=st.none() | OFFSETS,
    leader=st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
answers = st.dictionaries(topics, st.dictionaries(st.integers(0, 2**31 - 1), partitions, min_size=1, max_size=4), max_size=3)


@given(answers, st.integers(0, 9999), st.sampled_from((0, 71)), st.sampled_from(VERSIONS))
def test_an_answer_says_what_kafka_python_writes_into_it(wanted, throttle, code, version):
    read = fetch_response(memoryview(encoded(wanted, throttle, code, version)), version, names(wanted))
    assert (read.throttle_time_ms, read.error_code) == (throttle, code)
    assert [data._replace(records=bytes(data.records)) for data in read.partitions] == [
        PartitionData(topic, number, data["error_code"], 1, tuple(data["aborted"]), data["records"], diverged(data, version))
        for topic, of_topic in wanted.items()
        for number, data in of_topic.items()
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_reader_of_uncommitted_records_is_told_of_no_transaction_and_of_no_records(version):
    wanted = {"orders": {3: {**PLAIN, "aborted": None, "records": None}}}
    (data,) = fetch_response(memoryview(encoded(wanted, 0, 0, version)), version, names(wanted)).partitions
    assert (data.aborted, bytes(data.records), data.diverged_at) == ((), b"", None)


@pytest.mark.parametrize("version", VERSIONS)
def test_batches_stay_where_they_stand_in_the_answer(version):
    wanted = {"orders": {3: {**PLAIN, "records": b"batches"}}}
    body = bytearray(encoded(wanted, 0, 0, version))
    (data,) = fetch_response(memoryview(body), version, names(wanted)).partitions
    assert data.records.obj is body


def test_an_answer_about_a_topic_that_nobody_asked_for_is_refused():
    with pytest.raises(ValueError, match="not asked for"):
        fetch_response(memoryview(encoded({"orders": {3: PLAIN}}, 0, 0, NEWEST)), NEWEST, names({"bills": {}}))


def encoded(wanted, throttle, code, version=12):
    """An answer as a broker encodes it."""
    responses = [
        KIND(topic=topic, topic_id=id_of(topic), partitions=[partition(number, version, **data) for number, data in of_topic.items()])
        for topic, of_topic in wanted.items()
    ]
    return FetchResponse(throttle_time_ms=throttle, error_code=code, session_id=0, responses=responses).encode(version=version)


def id_of(topic):
    return uuid.uuid5(uuid.NAMESPACE_DNS, topic)


def names(wanted):
    """The topics that were asked for, by their ids."""
    return {id_of(topic).bytes: topic for topic in wanted}


def diverged(data, version):
    """Before version 12 a broker does not say where its log went another way."""
    return data["diverged_at"] if version >= 12 else None


def partition(number, version, error_code, aborted, records, diverged_at, leader):
    tagged = {}
    if diverged_at is not None and version >= 12:
        tagged["diverging_epoch"] = PARTITION.EpochEndOffset(epoch=1, end_offset=diverged_at)
    if leader is not None and version >= 12:
        tagged["current_leader"] = PARTITION.LeaderIdAndEpoch(leader_id=leader[0], leader_epoch=leader[1])
    transactions = aborted and [PARTITION.AbortedTransaction(producer_id=producer, first_offset=first) for producer, first in aborted]
    return PARTITION(
        partition_index=number,
        error_code=error_code,
        high_watermark=1,
        last_stable_offset=1,
        log_start_offset=0,
        aborted_transactions=transactions,
        preferred_read_replica=-1,
        records=records,
        **tagged,
    )
