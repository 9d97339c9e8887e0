"""What is made of Kafka's answers about the transaction that holds back a partition."""

import time
from types import SimpleNamespace as Answer

import kafka.errors as errors
import pytest
from kafka import TopicPartition as ClientTopicPartition

from mirror.kafka import open_transactions
from mirror.kafka.open_transactions import OpenTransaction, holders
from mirror.offsets.partition import TopicPartition

ORDERS = TopicPartition("orders", 0)
LONGEST = 900


class Kafka:
    """The admin client. `open_at` are the answers of the partition's leader, one after the other: where the producer's transaction begins,
    -1 if it has none."""

    def __init__(self, open_at=(30,), listed=("tx",), failure=None, age=5.0, our_clock=0.0, **told):
        """`age`: of the transaction, by the clock of its coordinator; `our_clock` is so many seconds ahead of that."""
        self.open_at, self.listed, self.failure, self.age = list(open_at), listed, failure, age
        partitions = {ClientTopicPartition(*ORDERS)}
        began = int((time.time() - age - our_clock) * 1000)
        described = {"state": "Ongoing", "coordinator_id": 2, "transaction_start_time_ms": began, "topic_partitions": partitions}
        self.told = Answer(**(described | told))
        self.closed = False

    def describe_producers(self, partitions):
        offset = self.open_at.pop(0)
        producer = Answer(producer_id=7, producer_epoch=1, current_transaction_start_offset=offset)
        return {partitions[0]: Answer(active_producers=[producer])}

    def list_transactions(self, producer_id_filters, duration_filter_ms=None):
        assert producer_id_filters == [7]
        if duration_filter_ms is not None and self.age is not None and self.age * 1000 <= duration_filter_ms:
            return {1: [], 2: []}
        if self.failure:
            raise self.failure
        return {1: [], 2: [Answer(transactional_id=name) for name in self.listed]}

    def describe_transactions(self, names):
        return dict.fromkeys(names, self.told)

    def close(self):
        self.closed = True


@pytest.fixture
def asked(monkeypatch):
    """`asked(kafka)`: what is said of a partition whose last stable offset is 30."""

    def ask(client):
        monkeypatch.setattr(open_transactions, "KafkaAdminClient", lambda **_settings: client)
        found = holders(Answer(timeout=1.0), {"bootstrap.servers": "h:1"}, {ORDERS: 30}, LONGEST)
        assert client.closed
        return found.get(ORDERS)

    return ask


def test_the_coordinator_says_for_how_long_it_is_open_and_who_holds_it(asked):
    found = asked(Kafka())
    assert found.seconds == pytest.approx(5, abs=2)
    assert str(found) == "transactional id 'tx', producer id 7 with epoch 1, coordinator is broker 2"


@pytest.mark.parametrize("our_clock", [-100_000, -600, 0, 600, 100_000])
@pytest.mark.parametrize("age", [0, 5, 800, 900, 901, 5_000])
def test_whether_it_is_open_for_too_long_does_not_hang_on_our_clock(asked, age, our_clock):
    """A clock that is behind would have it begin in the future; by one that is ahead, it began long ago."""
    assert (asked(Kafka(age=age, our_clock=our_clock)).seconds > LONGEST) == (age > LONGEST)


@pytest.mark.parametrize("age", [5, 5_000])
def test_a_broker_that_cannot_compare_leaves_it_to_our_clock(asked, age):
    class Older(Kafka):
        def list_transactions(self, producer_id_filters, duration_filter_ms=None):
            if duration_filter_ms is not None:
                raise errors.UnsupportedVersionError
            return super().list_transactions(producer_id_filters)

    assert asked(Older(age=age)).seconds == pytest.approx(age, abs=2)


def test_one_that_has_ended_meanwhile_is_none(asked):
    assert asked(Kafka(open_at=[-1])) is None
    assert asked(Kafka(open_at=[40])) is None, "another one begins further on"
    assert asked(Kafka(open_at=[30, -1], state="CompleteCommit")) is None


@pytest.mark.parametrize("told", [{"state": "CompleteAbort"}, {"state": "Empty"}, {"topic_partitions": set()}])
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
        (Kafka(failure=errors.TransactionalIdAuthorizationFailedError()), "TransactionalIdAuthorizationFailed"),
        (Kafka(failure=errors.UnsupportedVersionError()), "UnsupportedVersion"),
        (Kafka(transaction_start_time_ms=-1), "its coordinator does not say when it began"),
    ],
)
def test_what_kafka_does_not_tell_is_said_and_the_producer_named_all_the_same(asked, kafka, why):
    found = asked(kafka)
    assert (found.seconds, found.is_over, found.why, found.producer_id) == (None, False, why, 7)


def test_a_cluster_that_does_not_answer_is_no_error_of_its_own(monkeypatch):
    def refuses(**_settings):
        raise errors.KafkaTimeoutError

    monkeypatch.setattr(open_transactions, "KafkaAdminClient", refuses)
    assert holders(Answer(timeout=1.0), {"bootstrap.servers": "h:1"}, {ORDERS: 30}, LONGEST) == {
        ORDERS: OpenTransaction(why="KafkaTimeout")
    }
