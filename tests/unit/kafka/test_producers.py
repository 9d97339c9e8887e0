"""What is made of Kafka's answers about the producers of partitions, and about the transaction that holds one back."""

import time

import pytest
from kafka.protocol.admin import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from kafka.protocol.metadata import MetadataRequest

from kafka_mirror.errors import AuthorizationRefused, BlockedByOpenTransaction, ClusterUnreachable, KafkaFailure
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.idle_connections import IDLE
from kafka_mirror.kafka.model import ActiveProducer
from kafka_mirror.kafka.producers import OpenTransaction, active_producers, holders
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1

ORDERS, HIDDEN, ODD = (TopicPartition(name, 0) for name in ("orders", "hidden", "odd"))
CODES = {"hidden": 29, "odd": 6}


def tell(request):
    of_topic = DescribeProducersResponse.TopicResponse
    of_partition = of_topic.PartitionResponse
    busy = {"producer_id": 7, "producer_epoch": 1, "last_timestamp": 1_000, "current_txn_start_offset": 0}
    idle = {"producer_id": 8, "producer_epoch": 0, "last_timestamp": -1, "current_txn_start_offset": -1}
    rest = {"last_sequence": 0, "coordinator_epoch": 0}
    producers = [of_partition.ProducerState(**each, **rest) for each in (busy, idle)]
    topics = [
        of_topic(
            name=topic.name,
            partitions=[
                of_partition(partition_index=number, error_code=CODES.get(topic.name, 0), error_message=None, active_producers=producers)
                for number in topic.partition_indexes
            ],
        )
        for topic in request.topics
    ]
    return DescribeProducersResponse(topics=topics)


@pytest.fixture
def broker(broker):
    for tp in (ORDERS, HIDDEN, ODD):
        broker.log(*tp)
    broker.answers[DescribeProducersRequest] = tell
    return broker


@pytest.fixture
def cluster(broker):
    with Cluster("east", broker.settings, 0.5) as made:
        yield made


def test_producers_are_known_by_partition_and_a_topic_that_fails_is_told_apart(cluster, broker):
    refused = {}
    found = active_producers(cluster, [HIDDEN, ORDERS, ODD], refused)
    assert found == {ORDERS: (ActiveProducer(7, 1, 1_000, 0), ActiveProducer(8, 0, None, None))}
    assert {name: type(error) for name, error in refused.items()} == {"hidden": AuthorizationRefused, "odd": KafkaFailure}


def test_a_topic_that_is_gone_is_told_apart_too(cluster, broker):
    refused = {}
    assert active_producers(cluster, [TopicPartition("gone", 0)], refused) == {}
    assert refused["gone"].reason == "UNKNOWN_TOPIC_OR_PARTITION"


def test_what_a_broker_leads_that_is_too_old_to_tell_is_left_out_and_no_error(cluster, broker):
    broker.versions.update(KAFKA_2_1)
    refused = {}
    assert active_producers(cluster, [ORDERS], refused) == {}
    assert refused == {}


def test_an_answer_about_other_partitions_is_none(cluster, broker):
    broker.answers[DescribeProducersRequest] = lambda _request: DescribeProducersResponse(topics=[])
    with pytest.raises(KafkaFailure, match="other partitions"):
        active_producers(cluster, [ORDERS], {})


def test_a_cluster_that_cannot_be_asked_is_an_error():
    with pytest.raises(ClusterUnreachable):
        active_producers(Cluster("east", {"bootstrap.servers": "127.0.0.1:1"}, 0.5), [ORDERS], {})


def test_no_partitions_ask_nobody(cluster, broker):
    assert active_producers(cluster, [], {}) == {}
    assert broker.of(MetadataRequest) == []


LONGEST = 900
TRANSACTIONAL_ID_AUTHORIZATION_FAILED, COORDINATOR_LOAD_IN_PROGRESS = 53, 14


class Kafka:
    """What a broker says. `open_at` are the answers of the partition's leader, one after the other: where the producer's transaction
    begins, -1 if it has none. `codes`: the error codes with which it lists transactions, one after the other."""

    def __init__(self, open_at=(30,), listed=("tx",), codes=(), age=5.0, our_clock=0.0, lists=2, **told):
        """`age`: of the transaction, by the clock of its coordinator; `our_clock` is so many seconds ahead of that."""
        self.open_at, self.listed, self.codes, self.age, self.lists = open_at, listed, codes, age, lists
        self.told = {"state": "Ongoing", "began": int((time.time() - age - our_clock) * 1000), "partitions": [0]} | told

    def answers(self):
        open_at, codes = list(self.open_at), list(self.codes)

        def producers(request):
            of_topic = DescribeProducersResponse.TopicResponse
            of_partition = of_topic.PartitionResponse
            numbers = {"last_sequence": 0, "last_timestamp": 0, "coordinator_epoch": 0}
            producer = of_partition.ProducerState(producer_id=7, producer_epoch=1, current_txn_start_offset=open_at.pop(0), **numbers)
            told = of_partition(partition_index=0, error_code=0, error_message=None, active_producers=[producer])
            return DescribeProducersResponse(topics=[of_topic(name="orders", partitions=[told])])

        def listed(request):
            assert request.producer_id_filters == [7]
            is_left_out = request.duration_filter >= 0 and self.age * 1000 <= request.duration_filter
            of_name = ListTransactionsResponse.TransactionState
            states = [of_name(transactional_id=name, producer_id=7, transaction_state="Ongoing") for name in self.listed]
            return ListTransactionsResponse(
                throttle_time_ms=0,
                error_code=codes.pop(0) if codes else 0,
                unknown_state_filters=[],
                transaction_states=[] if is_left_out else states,
            )

        def described(request):
            kind = DescribeTransactionsResponse.TransactionState
            told = {"transaction_state": self.told["state"], "transaction_start_time_ms": self.told["began"], "transaction_timeout_ms": 1}
            topics = [kind.TopicData(topic="orders", partitions=self.told["partitions"])]
            names = request.transactional_ids
            states = [kind(error_code=0, transactional_id=name, producer_id=7, producer_epoch=1, topics=topics, **told) for name in names]
            return DescribeTransactionsResponse(transaction_states=states)

        return {DescribeProducersRequest: producers, ListTransactionsRequest: listed, DescribeTransactionsRequest: described}


@pytest.fixture
def asked(broker):
    """`asked(kafka)`: what is said of a partition whose last stable offset is 30."""

    def ask(kafka):
        broker.versions[ListTransactionsRequest] = kafka.lists
        broker.answers.update(kafka.answers())
        with Cluster("east", broker.settings, 2.0) as cluster:
            return holders(cluster, {ORDERS: 30}, LONGEST).get(ORDERS)

    yield ask
    IDLE.close()


def test_the_coordinator_says_for_how_long_it_is_open_and_who_holds_it(asked):
    found = asked(Kafka())
    assert found.seconds == pytest.approx(5, abs=2)
    assert str(found) == "transactional id 'tx', producer id 7 with epoch 1, coordinator is broker 1"


@pytest.mark.parametrize("our_clock", [-100_000, -600, 0, 600, 100_000])
@pytest.mark.parametrize("age", [0, 5, 800, 900, 901, 5_000])
def test_whether_it_is_open_for_too_long_does_not_hang_on_our_clock(asked, age, our_clock):
    """A clock that is behind would have it begin in the future; by one that is ahead, it began long ago."""
    assert (asked(Kafka(age=age, our_clock=our_clock)).seconds > LONGEST) == (age > LONGEST)


@pytest.mark.parametrize("age", [5, 5_000])
def test_a_broker_that_cannot_compare_leaves_it_to_our_clock(asked, age):
    assert asked(Kafka(age=age, lists=0)).seconds == pytest.approx(age, abs=2)


def test_one_that_has_ended_meanwhile_is_none(asked):
    assert asked(Kafka(open_at=[-1])) is None
    assert asked(Kafka(open_at=[40])) is None, "another one begins further on"
    assert asked(Kafka(open_at=[30, -1], state="CompleteCommit")) is None


@pytest.mark.parametrize("told", [{"state": "CompleteAbort"}, {"state": "Empty"}, {"partitions": []}])
def test_one_that_is_over_for_its_coordinator_and_still_open_in_the_partition_is_named_as_such(asked, told):
    found = asked(Kafka(open_at=[30, 30], **told))
    assert found.is_over
    assert found.transactional_id == "tx"


def test_a_marker_that_is_about_to_be_written_is_no_end(asked):
    assert not asked(Kafka(state="PrepareCommit")).is_over


@pytest.mark.parametrize(
    ("kafka", "why"),
    [
        (Kafka(listed=()), "no coordinator shows us its transaction (DESCRIBE on its transactional id)"),
        (Kafka(codes=[TRANSACTIONAL_ID_AUTHORIZATION_FAILED]), "TransactionalIdAuthorizationFailed"),
        (Kafka(lists=-1), "its brokers are older than Kafka 3.0"),
        (Kafka(began=-1), "its coordinator does not say when it began"),
    ],
)
def test_what_kafka_does_not_tell_is_said_and_the_producer_named_all_the_same(asked, kafka, why):
    found = asked(kafka)
    assert (found.seconds, found.is_over, found.why, found.producer_id) == (None, False, why, 7)


def test_brokers_that_tell_of_no_producers_are_too_old(asked, broker):
    broker.versions[DescribeProducersRequest] = -1
    found = asked(Kafka())
    assert (found.seconds, found.producer_id, found.why) == (None, None, "its brokers are older than Kafka 2.8")
    error = BlockedByOpenTransaction("orders", 0, 30, 40, 1000.0, str(found), found.why)
    assert "find-hanging" not in error.next
    assert "--start-offset" not in error.next
    assert "transaction.timeout.ms" in error.next
    assert "kafka-transactions.sh" in BlockedByOpenTransaction("orders", 0, 30, 40, 1000.0).next


def test_a_coordinator_that_loads_is_waited_for(asked):
    assert asked(Kafka(open_at=[30, 30], codes=[COORDINATOR_LOAD_IN_PROGRESS])).transactional_id == "tx"


def test_a_cluster_that_does_not_answer_is_no_error_of_its_own():
    silent = Cluster("east", {"bootstrap.servers": "127.0.0.1:1"}, 0.1)
    assert holders(silent, {ORDERS: 30}, LONGEST) == {ORDERS: OpenTransaction(why="ClusterUnreachable")}
