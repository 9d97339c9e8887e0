"""Listing offsets: a leader that moves is asked again, what is gone is absent, and a refusal concerns its topic alone."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException
from confluent_kafka.admin import ListOffsetsResultInfo, OffsetSpec

from mirror.errors import AuthorizationRefused, ClusterUnreachable, KafkaFailure, MirrorError
from mirror.kafka import list_offsets as listing
from mirror.kafka.admin import Admin
from mirror.kafka.list_offsets import list_offsets
from mirror.kafka.model import End
from mirror.offsets.partition import TopicPartition

ORDERS, PAY = TopicPartition("orders", 0), TopicPartition("pay", 0)


class Client:
    """Answers each partition with what is next for it: an offset, or the code of an error."""

    def __init__(self, topics: Sequence[str] | None = ("orders", "pay"), **answers: list[int | KafkaError]) -> None:
        """`topics`: what the cluster says that it has; None: no broker can be reached."""
        self.topics = topics
        self.answers = answers
        self.asked: list[list[str]] = []

    def poll(self, _seconds: float) -> None:
        pass

    def list_topics(self, timeout: float) -> SimpleNamespace:
        self.asked.append(["topics"])
        if self.topics is None:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return SimpleNamespace(topics=dict.fromkeys(self.topics, SimpleNamespace(partitions={0: None})))

    def list_offsets(self, request: dict[Any, Any], **_options: Any) -> dict[Any, "Future[Any]"]:
        self.asked.append(sorted(tp.topic for tp in request))
        return {tp: self._answer(self.answers[tp.topic].pop(0)) for tp in request}

    def _answer(self, answer: int | KafkaError) -> "Future[Any]":
        future: Future[Any] = Future()
        if isinstance(answer, KafkaError):
            future.set_exception(KafkaException(answer))
        else:
            future.set_result(ListOffsetsResultInfo(answer, -1, 3))
        return future


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[TopicPartition, End]]:
    """Lists both partitions at a cluster that is a `Client`."""
    monkeypatch.setattr(listing, "_PAUSES", (0.0,))

    def ask(client: Client, errors: dict[str, MirrorError] | None = None) -> dict[TopicPartition, End]:
        monkeypatch.setattr("mirror.kafka.admin.AdminClient", lambda _settings: client)
        return list_offsets(Admin("east", {}, 1.0), [ORDERS, PAY], OffsetSpec.latest(), False, errors)

    return ask


def test_only_the_partition_whose_leader_moves_is_asked_again(listed):
    client = Client(orders=[KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION), 7], pay=[5])
    assert listed(client) == {ORDERS: End(7, 3), PAY: End(5, 3)}
    assert client.asked == [["orders", "pay"], ["orders"]]


def test_a_partition_whose_leader_goes_on_moving_is_absent(listed):
    moving = KafkaError(KafkaError.LEADER_NOT_AVAILABLE)
    assert listed(Client(orders=[moving, moving], pay=[5])) == {PAY: End(5, 3)}


UNLED = KafkaError(KafkaError._NOENT, "Failed to query partition leaders: No leaders found")
UNKNOWN = (
    UNLED,
    *map(
        KafkaError,
        (KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_ID),
    ),
)


@pytest.mark.parametrize("unknown", UNKNOWN, ids=KafkaError.name)
def test_partitions_that_client_or_broker_do_not_know_are_asked_for_again_if_the_cluster_has_them(listed, unknown):
    client = Client(orders=[unknown, 7], pay=[unknown, 5])
    assert listed(client) == {ORDERS: End(7, 3), PAY: End(5, 3)}
    assert client.asked == [["orders", "pay"], ["topics"], ["orders", "pay"]]


def test_an_answer_that_a_broken_connection_took_along_is_asked_for_again(listed):
    client = Client(orders=[OFFSET_INVALID, 7], pay=[5])
    assert listed(client) == {ORDERS: End(7, 3), PAY: End(5, 3)}
    assert client.asked == [["orders", "pay"], ["topics"], ["orders"]]


def test_an_answer_that_never_comes_is_no_offset(listed):
    assert listed(Client(orders=[OFFSET_INVALID, OFFSET_INVALID], pay=[5])) == {PAY: End(5, 3)}


def test_that_no_record_is_as_late_is_an_answer(listed):
    client = Client(orders=[-1], pay=[5])
    assert listed(client) == {ORDERS: End(-1, 3), PAY: End(5, 3)}


def test_a_partition_that_its_topic_does_not_have_is_absent_at_once(listed, monkeypatch):
    monkeypatch.setattr(Client, "list_topics", lambda self, timeout: SimpleNamespace(topics={"orders": SimpleNamespace(partitions={})}))
    client = Client(orders=[KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)], pay=[5])
    assert listed(client) == {PAY: End(5, 3)}
    assert client.asked == [["orders", "pay"]]


def test_a_cluster_that_cannot_be_reached_is_no_partition_without_leader(listed):
    with pytest.raises(ClusterUnreachable):
        listed(Client(topics=None, orders=[UNLED], pay=[UNLED]))


@pytest.mark.parametrize("unknown", UNKNOWN, ids=KafkaError.name)
def test_a_topic_that_is_gone_is_absent_at_once(listed, unknown):
    client = Client(topics=["pay"], orders=[unknown], pay=[UNLED, 5])
    assert listed(client) == {PAY: End(5, 3)}
    assert client.asked == [["orders", "pay"], ["topics"], ["pay"]]


def test_a_refused_topic_is_left_out_where_somebody_takes_the_error_and_raised_otherwise(listed):
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    errors: dict[str, MirrorError] = {}
    assert listed(Client(orders=[refused], pay=[5]), errors) == {PAY: End(5, 3)}
    assert {topic: (type(error), error.topic) for topic, error in errors.items()} == {"orders": (AuthorizationRefused, "orders")}
    with pytest.raises(AuthorizationRefused):
        listed(Client(orders=[refused], pay=[5]))


def test_what_a_leader_says_of_one_partition_hides_no_other_and_what_concerns_the_request_is_raised(listed):
    errors: dict[str, MirrorError] = {}
    assert listed(Client(orders=[KafkaError(KafkaError.UNKNOWN)], pay=[5]), errors) == {PAY: End(5, 3)}
    assert {topic: type(error) for topic, error in errors.items()} == {"orders": KafkaFailure}
    with pytest.raises(KafkaFailure, match="REQUEST_TIMED_OUT"):
        listed(Client(orders=[KafkaError(KafkaError.REQUEST_TIMED_OUT)], pay=[5]), {})


def test_whoever_waits_for_a_leader_itself_is_answered_at_once(monkeypatch):
    client = Client(orders=[KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION), 7], pay=[5])
    monkeypatch.setattr("mirror.kafka.admin.AdminClient", lambda _settings: client)
    ends = list_offsets(Admin("east", {}, 1.0), [ORDERS, PAY], OffsetSpec.latest(), False, {}, pauses=())
    assert (ends, client.asked) == ({PAY: End(5, 3)}, [["orders", "pay"]])
