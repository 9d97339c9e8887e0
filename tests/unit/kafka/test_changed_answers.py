"""Answers that no honest broker gives: right ones with bytes changed, and counts that have nothing to do with what follows them.

Whatever the bytes, a reader comes to an end after work and memory that grow no faster than the answer: the end is a result or an error.
"""

import struct
import sys
import tracemalloc
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.errors import KafkaError, KafkaProtocolError
from kafka.protocol.admin import (
    DescribeAclsResponse,
    DescribeGroupsResponse,
    DescribeProducersResponse,
    DescribeTransactionsResponse,
    ListGroupsResponse,
    ListTransactionsResponse,
)
from kafka.protocol.consumer import ListOffsetsResponse, OffsetCommitResponse, OffsetDeleteResponse, OffsetFetchResponse
from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse
from kafka.protocol.producer import TxnOffsetCommitResponse

from kafka_mirror.kafka import acls, broker_pool, group_offsets, groups, producers, schemas
from kafka_mirror.kafka.cluster_answers import listed_offsets, metadata, older_metadata, older_offsets
from kafka_mirror.kafka.fetch_response import fetch_response
from kafka_mirror.kafka.produce_request import read_produced
from kafka_mirror.kafka.schemas import ConsumerGroupDescribeResponse
from tests.unit.kafka.test_cluster_answers import brokers, metadata_bytes, offsets_bytes, rows, topics
from tests.unit.kafka.test_fetch_response import VERSIONS, answers, encoded, names

CALLS, CALLS_A_BYTE = 20_000, 40
"""What a reader may call, in all and for each byte."""
MEMORY, MEMORY_A_BYTE = 1_000_000, 400

NEVER_ENDS = (b"\xff" * 9 + b"\x00", b"\xff" * 9 + b"\x01", b"\x80" * 12, b"\xff" * 30)
COUNTS = (b"\x00", b"\x01", b"\x02", b"\x03", b"\x7f", b"\xff\xff\xff\xff\x0f", *NEVER_ENDS)
ROW = bytes(14) + b"\x02" + bytes(4) + b"\x02" + bytes(4) + b"\x01\x00"
"""A partition in metadata: one replica, which is in sync."""
FIELDS = (*COUNTS, *(bytes(size) for size in (2, 4, 16, 17, 27, 60)), ROW, b"\x16" + b"a" * 21, struct.pack(">i", 2**31 - 1), b"\xff" * 16)

changes = st.lists(
    st.tuples(st.sampled_from(("set", "insert", "delete", "repeat")), st.floats(0, 1), st.sampled_from(FIELDS), st.integers(1, 60)),
    min_size=1,
    max_size=6,
)
fields = st.lists(st.sampled_from(FIELDS), max_size=16).map(b"".join)


def changed(whole, edits):
    """An answer after these changes."""
    data = bytearray(whole)
    for kind, place, field, size in edits:
        at = int(place * len(data))
        if kind == "set":
            data[at : at + len(field)] = field
        elif kind == "insert":
            data[at:at] = field
        elif kind == "delete":
            del data[at : at + size]
        else:
            data[at:at] = data[at : at + size]
    return bytes(data)


class WorkedTooMuchError(BaseException):
    """A reader called more than its answer is worth."""


def check_ends(read, data):
    """Reads; counts calls and memory."""
    left = CALLS + CALLS_A_BYTE * len(data)

    def count(frame, event, argument):
        nonlocal left
        left -= event in ("call", "c_call")
        if left < 0:
            sys.setprofile(None)
            raise WorkedTooMuchError(data.hex())

    traced = tracemalloc.is_tracing()
    tracemalloc.start()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    sys.setprofile(count)
    try:
        read(memoryview(data))
    except (ValueError, KafkaError):
        pass
    finally:
        sys.setprofile(None)
        _, peak = tracemalloc.get_traced_memory()
        if not traced:
            tracemalloc.stop()
    assert peak - before <= MEMORY + MEMORY_A_BYTE * len(data)


def read_metadata(body):
    for topic in metadata(body, 12).topics:
        assert topic.leaders is not None
        assert topic.topic is not None


@settings(max_examples=300)
@given(topics, brokers, changes)
def test_changed_metadata_are_read_or_refused(given_topics, given_brokers, edits):
    check_ends(read_metadata, changed(metadata_bytes(given_topics, given_brokers, 12), edits))


@settings(max_examples=300)
@given(st.sampled_from((b"\x01", *COUNTS)), st.sampled_from(COUNTS), st.sampled_from(COUNTS), fields)
def test_metadata_of_any_counts_are_read_or_refused(nodes, how_many, partitions, rest):
    topic = bytes(2) + b"\x00" + bytes(16) + b"\x00" + partitions
    check_ends(read_metadata, bytes(4) + nodes + b"\x01" + bytes(4) + how_many + topic + ROW + rest)


@settings(max_examples=300)
@given(rows, changes)
def test_changed_offsets_are_read_or_refused(wanted, edits):
    check_ends(listed_offsets, changed(offsets_bytes(wanted, 7, 0), edits))


@settings(max_examples=300)
@given(st.sampled_from(COUNTS), st.sampled_from(COUNTS), st.sampled_from(COUNTS), st.integers(0, 40), fields)
def test_offsets_of_any_counts_are_read_or_refused(how_many, first, second, name, rest):
    of_topics = bytes([name + 1]) + b"a" * name + first + b"\x00" + b"\x01" + second
    check_ends(listed_offsets, bytes(4) + how_many + of_topics + rest)


@settings(max_examples=300)
@given(answers, changes, st.sampled_from(VERSIONS))
def test_a_changed_fetch_is_read_or_refused(wanted, edits, version):
    check_ends(lambda body: fetch_response(body, version, names(wanted)), changed(encoded(wanted, 0, 0, version), edits))


@settings(max_examples=300)
@given(fields, st.sampled_from(VERSIONS))
def test_a_fetch_of_any_counts_is_read_or_refused(rest, version):
    check_ends(lambda body: fetch_response(body, version), bytes(10) + rest)


@settings(max_examples=300)
@given(fields)
def test_an_acknowledgement_of_any_counts_is_read_or_refused(rest):
    check_ends(lambda body: read_produced(body, 12), rest)


BY_SCHEMA = {
    "ACLs": (DescribeAclsResponse[3], acls._read_bindings),
    "ACLs of 2.1": (DescribeAclsResponse[1], acls._read_bindings),
    "producers": (DescribeProducersResponse[0], producers._read_producers),
    "transactions": (ListTransactionsResponse[1], producers._read_names),
    "a transaction": (DescribeTransactionsResponse[0], producers._read_transactions),
    "coordinators": (FindCoordinatorResponse[4], broker_pool._read_coordinators),
    "a coordinator of 2.1": (FindCoordinatorResponse[2], broker_pool._read_coordinator),
    "metadata of 2.1": (MetadataResponse[7], older_metadata),
    "metadata of 2.4": (MetadataResponse[9], older_metadata),
    "offsets of 2.1": (ListOffsetsResponse[4], older_offsets),
    "groups": (ListGroupsResponse[5], groups._read_listing),
    "groups of 2.1": (ListGroupsResponse[2], groups._read_listing),
    "members": (DescribeGroupsResponse[5], groups._read),
    "members of 2.1": (DescribeGroupsResponse[2], partial(groups._read, tells=False)),
    "members by KIP-848": (ConsumerGroupDescribeResponse[0], groups._read),
    "what groups committed": (OffsetFetchResponse[9], group_offsets.read_fetched),
    "what a group of 2.1 committed": (OffsetFetchResponse[5], group_offsets._read_fetched),
    "a commit": (OffsetCommitResponse[9], group_offsets.read_changed),
    "positions in a transaction": (TxnOffsetCommitResponse[3], group_offsets.read_changed),
    "a deletion": (OffsetDeleteResponse[0], group_offsets.read_deleted),
}
"""What kafka-python's schemas read, and what is made of it."""


def read_by_schema(kind, read):
    """Reads an answer without its header as a connection does."""
    head = bytes(5 if kind.flexible_version_q(kind._class_version) else 4)
    return lambda body: schemas.read_by(read, schemas.read_by_schema(kind[None], kind._class_version, memoryview(head + bytes(body))))


@pytest.mark.parametrize("what", BY_SCHEMA)
@settings(max_examples=60)
@given(st.binary(max_size=60) | fields)
def test_what_a_schema_reads_ends_as_a_value_or_as_an_error_of_the_protocol(what, rest):
    with suppress(KafkaProtocolError):
        read_by_schema(*BY_SCHEMA[what])(rest)
    check_ends(read_by_schema(*BY_SCHEMA[what]), rest)


@pytest.mark.parametrize("what", [what for what, (kind, _) in BY_SCHEMA.items() if kind.flexible_version_q(kind._class_version)])
def test_a_length_without_end_costs_no_time(what):
    with pytest.raises(KafkaProtocolError, match="a length has no end"):
        read_by_schema(*BY_SCHEMA[what])(bytes(10) + b"\xff" * 4_000_000)
