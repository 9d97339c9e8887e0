"""Requests and answers of our own encoding, judged by kafka-python's schemas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.producer import ProduceRequest, ProduceResponse

from kafka_mirror.kafka.produce_request import Acknowledgement, ProduceRequests, read_produced

VERSIONS = st.integers(9, 12)
topics = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=249)
batches = st.tuples(st.integers(0, 2**31 - 1), st.binary(min_size=61, max_size=61), st.binary(min_size=1, max_size=40_000))
of_topics = st.dictionaries(topics, st.lists(batches, min_size=1, max_size=4), min_size=1, max_size=4)


@given(of_topics, VERSIONS, st.text(min_size=1, max_size=200), st.integers(0, 2**31 - 1))
def test_a_request_is_the_one_that_kafka_python_would_read(wanted, version, transactional_id, timeout):
    given_records = {name: [(*each[:2], memoryview(each[2])) for each in of_topic] for name, of_topic in wanted.items()}
    parts = ProduceRequests(transactional_id, timeout).build_parts(given_records)
    read = ProduceRequest.decode(b"".join(parts), version=version)
    assert (read.transactional_id, read.acks, read.timeout_ms) == (transactional_id, -1, timeout)
    found = {each.name: [(data.index, bytes(data.records)) for data in each.partition_data] for each in read.topic_data}
    assert found == {name: [(number, header + records) for number, header, records in each] for name, each in wanted.items()}


def test_records_are_handed_on_where_they_stand():
    records = memoryview(b"records")
    assert any(part is records for part in ProduceRequests("id", 1).build_parts({"orders": [(0, b"header", records)]}))


rows = st.dictionaries(
    st.tuples(topics, st.integers(0, 2**31 - 1)),
    st.tuples(st.sampled_from((0, 0, 0, 0, 6, 51, 87)), st.integers(-1, 2**63 - 1), st.none() | st.text(max_size=20)),
    min_size=1,
    max_size=8,
)


@given(rows, VERSIONS, st.integers(0, 1000))
def test_an_answer_says_what_kafka_python_reads_in_it(wanted, version, throttle):
    answer = read_produced(memoryview(answered(wanted, version, throttle)), version)
    assert {(each.topic, each.partition): (each.error_code, each.base_offset, each.message) for each in answer.batches} == wanted
    assert answer.throttle_time_ms == throttle


@pytest.mark.parametrize("version", [10, 11, 12])
def test_an_answer_that_names_another_leader_is_read(version):
    kind = ProduceResponse.TopicProduceResponse.PartitionProduceResponse
    body = bytearray(
        answered({("orders", 3): (6, -1, None)}, version, 0, current_leader=kind.LeaderIdAndEpoch(leader_id=2, leader_epoch=7))
    )
    assert read_produced(memoryview(body), version) == (0, [Acknowledgement("orders", 3, 6, -1)])


def answered(wanted, version, throttle, **more):
    """An answer as a broker encodes it."""
    kind = ProduceResponse.TopicProduceResponse
    by_topic: dict[str, list[object]] = {}
    for (topic, partition), (code, offset, message) in wanted.items():
        by_topic.setdefault(topic, []).append(
            kind.PartitionProduceResponse(
                index=partition,
                error_code=code,
                base_offset=offset,
                log_append_time_ms=-1,
                log_start_offset=0,
                record_errors=[],
                error_message=message,
                **more,
            )
        )
    responses = [kind(name=name, partition_responses=of_topic) for name, of_topic in by_topic.items()]
    return ProduceResponse(responses=responses, throttle_time_ms=throttle).encode(version=version)
