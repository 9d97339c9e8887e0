"""Where leader epochs end in the logs as they are now: asked of the leaders, whose numbers alone count."""

import pytest
from kafka.protocol.consumer import OffsetForLeaderEpochRequest

from mirror.kafka.cluster import Cluster
from mirror.kafka.record_builder import keyed_batches
from mirror.offsets.partition import TopicPartition
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import FENCED_LEADER_EPOCH, KAFKA_2_8

ORDERS, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture
def broker():
    made = WireBroker()
    for tp in (ORDERS, OTHER):
        append(made, tp, 5)
    yield made
    made.close()


@pytest.fixture
def cluster(broker):
    with Cluster("east", broker.settings, 5.0) as made:
        yield made


def append(broker, tp, records):
    for number in range(records):
        (batch,) = keyed_batches([(b"key", b"%d" % number)], 1000)
        broker.log(*tp).append(bytes(batch.data))


@pytest.mark.parametrize("versions", [{}, KAFKA_2_8])
def test_an_epoch_ends_where_the_next_one_begins(broker, cluster, versions):
    broker.versions.update(versions)
    broker.log(*ORDERS).elect(kept=3, epochs=2)
    append(broker, ORDERS, 9)
    broker.log(*OTHER).elect(kept=5)
    append(broker, OTHER, 1)
    assert cluster.epoch_ends({ORDERS: 0, OTHER: 0}, 1.0) == {ORDERS: 3, OTHER: 5}
    assert {request.replica_id for request in broker.of(OffsetForLeaderEpochRequest)} == {-1}


def test_a_log_that_grew_to_the_very_same_end_tells_it_too(broker, cluster):
    broker.log(*ORDERS).elect(kept=1)
    append(broker, ORDERS, 4)
    assert (broker.log(*ORDERS).end, cluster.epoch_ends({ORDERS: 0}, 1.0)) == (5, {ORDERS: 1})


def test_a_leader_that_knows_nothing_of_the_epoch_has_nothing_of_it(broker, cluster):
    broker.log(*ORDERS).starts = {}
    broker.log(*ORDERS).epoch_end = lambda _epoch: (-1, -1)
    assert cluster.epoch_ends({ORDERS: 0}, 1.0) == {ORDERS: 0}


def test_a_leader_that_moves_is_looked_for_and_asked_again(broker, cluster):
    broker.refusals[OffsetForLeaderEpochRequest, ORDERS].append(FENCED_LEADER_EPOCH)
    assert cluster.epoch_ends({ORDERS: 0, OTHER: 0}, 5.0) == {ORDERS: 5, OTHER: 5}
    asked = [[row.partition for row in request.topics[0].partitions] for request in broker.of(OffsetForLeaderEpochRequest)]
    assert asked == [[0, 1], [0]]


def test_a_leader_that_does_not_answer_says_nothing_and_so_it_is_absent(broker, cluster):
    broker.refusals[OffsetForLeaderEpochRequest, ORDERS].extend([FENCED_LEADER_EPOCH] * 1000)
    assert cluster.epoch_ends({ORDERS: 0, OTHER: 0}, 0.5) == {OTHER: 5}
    broker.hangs_up_on = OffsetForLeaderEpochRequest
    assert cluster.epoch_ends({ORDERS: 0, OTHER: 0}, 0.5) == {}
    assert cluster.epoch_ends({}, 0.5) == {}
