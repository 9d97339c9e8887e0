"""Up to where logs are those in which positions were taken: asked of the leaders, whose numbers alone count."""

import pytest
from kafka.protocol.consumer import OffsetForLeaderEpochRequest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import LogPosition
from kafka_mirror.kafka.produce_request import keyed_batches
from tests.unit.copy.batches.wire_protocol import FENCED_LEADER_EPOCH, KAFKA_2_8

ORDERS, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture
def broker(broker):
    for tp in (ORDERS, OTHER):
        append(broker, tp, 5)
    return broker


@pytest.fixture
def cluster(broker):
    with Cluster("east", broker.settings, 5.0) as made:
        yield made


def append(broker, tp, records):
    for number in range(records):
        (batch,) = keyed_batches([(b"key", b"%d" % number)], 1000)
        broker.log(*tp).append(bytes(batch.data))


def shared(cluster, *partitions, seconds=1.0):
    """Up to where the logs hold what was read up to 5 in epoch 0."""
    positions = [LogPosition(tp, 0, 5) for tp in partitions]
    return {position.partition: end for position, end in cluster.find_shared_ends(positions, seconds).items()}


@pytest.mark.parametrize("versions", [{}, KAFKA_2_8])
def test_an_epoch_ends_where_the_next_one_begins(broker, cluster, versions):
    broker.versions.update(versions)
    broker.log(*ORDERS).elect(kept=3, epochs=2)
    append(broker, ORDERS, 9)
    broker.log(*OTHER).elect(kept=5)
    append(broker, OTHER, 1)
    assert shared(cluster, ORDERS, OTHER) == {ORDERS: 3, OTHER: 5}
    assert {request.replica_id for request in broker.of(OffsetForLeaderEpochRequest)} == {-1}


def test_a_log_that_grew_to_the_very_same_end_tells_it_too(broker, cluster):
    broker.log(*ORDERS).elect(kept=1)
    append(broker, ORDERS, 4)
    assert (broker.log(*ORDERS).end, shared(cluster, ORDERS)) == (5, {ORDERS: 1})


def test_a_leader_that_knows_nothing_of_the_epoch_has_nothing_of_it(broker, cluster):
    broker.log(*ORDERS).starts = {}
    broker.log(*ORDERS).epoch_end = lambda _epoch: (-1, -1)
    assert shared(cluster, ORDERS) == {ORDERS: 0}


def test_a_leader_that_moves_is_looked_for_and_asked_again(broker, cluster):
    broker.refusals[OffsetForLeaderEpochRequest, ORDERS].append(FENCED_LEADER_EPOCH)
    assert shared(cluster, ORDERS, OTHER, seconds=5.0) == {ORDERS: 5, OTHER: 5}
    asked = [sorted(row.partition for row in request.topics[0].partitions) for request in broker.of(OffsetForLeaderEpochRequest)]
    assert asked == [[0, 1], [0]]


def test_a_leader_that_does_not_answer_says_nothing_and_so_it_is_absent(broker, cluster):
    broker.refusals[OffsetForLeaderEpochRequest, ORDERS].extend([FENCED_LEADER_EPOCH] * 1000)
    assert shared(cluster, ORDERS, OTHER, seconds=0.5) == {OTHER: 5}
    broker.hangs_up_on = OffsetForLeaderEpochRequest
    assert shared(cluster, ORDERS, OTHER, seconds=0.5) == {}
    assert shared(cluster) == {}


def test_a_branch_that_goes_on_past_the_position_in_an_older_epoch_is_shared_up_to_where_that_epoch_begins(broker, cluster):
    broker.log(*ORDERS).starts = {0: 0, 2: 2, 3: 3, 6: 9}
    positions = [LogPosition(ORDERS, 4, offset) for offset in (3, 4, 9, 10)]
    assert [cluster.find_shared_ends([position], 1.0)[position] for position in positions] == [2, 3, 3, 9]
    broker.log(*ORDERS).starts = {3: 9, 6: 12}
    assert cluster.find_shared_ends(positions, 1.0) == dict.fromkeys(positions[:3], 0) | {positions[3]: 9}


def test_positions_of_several_epochs_cost_a_request_for_each_epoch_and_not_for_each_position(broker, cluster):
    broker.log(*ORDERS).starts = {0: 0, 1: 1, 2: 2, 3: 5}
    positions = [LogPosition(ORDERS, epoch, offset) for epoch in range(3) for offset in range(1, 6)]
    ends = cluster.find_shared_ends([*positions, LogPosition(OTHER, 0, 5)], 1.0)
    assert {(position.leader_epoch, end) for position, end in ends.items() if position.partition == ORDERS} == {(0, 1), (1, 2), (2, 5)}
    assert len(broker.of(OffsetForLeaderEpochRequest)) == 3
