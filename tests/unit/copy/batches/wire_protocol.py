"""What the tests' broker speaks: its requests, their versions in two releases of Kafka, error codes."""

import socket

from kafka.protocol.admin import (
    DescribeAclsRequest,
    DescribeGroupsRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListGroupsRequest,
    ListTransactionsRequest,
)
from kafka.protocol.consumer import (
    FetchRequest,
    ListOffsetsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetForLeaderEpochRequest,
)
from kafka.protocol.metadata import ApiVersionsRequest, FindCoordinatorRequest, MetadataRequest
from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
)

from kafka_mirror.kafka.schemas import ConsumerGroupDescribeRequest

HEADER = 61
INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_RECORD, PRODUCER_FENCED = 47, 45, 87, 90
UNKNOWN_TOPIC_OR_PARTITION, OFFSET_OUT_OF_RANGE, UNSUPPORTED_VERSION = 3, 1, 35
INVALID_TXN_STATE, OPERATION_NOT_ATTEMPTED = 48, 55
FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_ID = 74, 100
REQUESTS = {
    each.API_KEY: each
    for each in (
        ApiVersionsRequest,
        MetadataRequest,
        FindCoordinatorRequest,
        InitProducerIdRequest,
        AddPartitionsToTxnRequest,
        ProduceRequest,
        EndTxnRequest,
        FetchRequest,
        ListOffsetsRequest,
        OffsetForLeaderEpochRequest,
        DescribeAclsRequest,
        DescribeProducersRequest,
        DescribeTransactionsRequest,
        ListTransactionsRequest,
        ListGroupsRequest,
        DescribeGroupsRequest,
        ConsumerGroupDescribeRequest,
        OffsetFetchRequest,
        OffsetCommitRequest,
        OffsetDeleteRequest,
        AddOffsetsToTxnRequest,
        TxnOffsetCommitRequest,
    )
}
KAFKA_4_3 = {
    ApiVersionsRequest: 4,
    MetadataRequest: 13,
    FindCoordinatorRequest: 6,
    InitProducerIdRequest: 6,
    AddPartitionsToTxnRequest: 5,
    ProduceRequest: 13,
    EndTxnRequest: 5,
    FetchRequest: 17,
    ListOffsetsRequest: 11,
    OffsetForLeaderEpochRequest: 4,
    DescribeAclsRequest: 3,
    DescribeProducersRequest: 0,
    DescribeTransactionsRequest: 0,
    ListTransactionsRequest: 2,
    ListGroupsRequest: 5,
    DescribeGroupsRequest: 6,
    ConsumerGroupDescribeRequest: 0,
    OffsetFetchRequest: 10,
    OffsetCommitRequest: 10,
    AddOffsetsToTxnRequest: 4,
    TxnOffsetCommitRequest: 5,
    OffsetDeleteRequest: 0,
}
KAFKA_2_8 = {
    ApiVersionsRequest: 3,
    MetadataRequest: 11,
    FindCoordinatorRequest: 3,
    InitProducerIdRequest: 4,
    AddPartitionsToTxnRequest: 3,
    ProduceRequest: 9,
    EndTxnRequest: 3,
    FetchRequest: 12,
    ListOffsetsRequest: 6,
    OffsetForLeaderEpochRequest: 4,
    ListGroupsRequest: 4,
    DescribeGroupsRequest: 5,
    ConsumerGroupDescribeRequest: -1,
    OffsetFetchRequest: 7,
    OffsetCommitRequest: 8,
    AddOffsetsToTxnRequest: 3,
    TxnOffsetCommitRequest: 3,
    OffsetDeleteRequest: 0,
}
KAFKA_2_4 = KAFKA_2_8 | {MetadataRequest: 9, FetchRequest: 11, ListOffsetsRequest: 5, OffsetForLeaderEpochRequest: 3}
KAFKA_2_1 = {
    ApiVersionsRequest: 2,
    MetadataRequest: 7,
    FindCoordinatorRequest: 2,
    InitProducerIdRequest: 1,
    AddPartitionsToTxnRequest: 1,
    ProduceRequest: 7,
    EndTxnRequest: 1,
    FetchRequest: 10,
    ListOffsetsRequest: 4,
    OffsetForLeaderEpochRequest: 2,
    DescribeAclsRequest: 1,
    DescribeProducersRequest: -1,
    DescribeTransactionsRequest: -1,
    ListTransactionsRequest: -1,
    ListGroupsRequest: 2,
    DescribeGroupsRequest: 2,
    ConsumerGroupDescribeRequest: -1,
    OffsetFetchRequest: 5,
    OffsetCommitRequest: 6,
    OffsetDeleteRequest: -1,
}
"""The highest version of each request."""


def read_exactly(connection: socket.socket, size: int) -> bytes:
    """Reads `size` bytes. Raises OSError if the connection ends in front of that."""
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise OSError
        data += part
    return data
