"""The admin client of one cluster: its requests, waited for within a deadline, and what goes wrong with them as errors of ours.

What the admin client describes, as our values: topics with their ids, config entries.
"""

import time
from collections.abc import Callable, Mapping, Set
from concurrent import futures
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ConfigSource

from mirror.errors import MirrorError
from mirror.kafka.client_errors import ClientErrors, Errors, collect_refusal, kafka_error, retry_until, settings_with, to_mirror_error
from mirror.kafka.model import ConfigEntry, Partition, Topic

_LOOK_EVERY_SECONDS = 0.25
MISSING = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._NOENT,
    KafkaError.UNKNOWN_TOPIC_ID,
}
"""What brokers and the client say of topics and partitions that they do not know."""

_URL_SAFE = str.maketrans("+/", "-_")


class Admin:
    """Sends requests and waits for their answers. Raises the errors of `mirror.errors`, with the cluster's alias in their messages."""

    def __init__(self, alias: str, settings: Mapping[str, Any], timeout: float) -> None:
        self._timeout = timeout
        self._complaints = ClientErrors(alias, settings)
        self._client = AdminClient(settings_with(settings, self._complaints))

    def close(self) -> None:
        """Lets go of the client; pending calls are over by then, for each of them was waited for."""
        self._client.poll(0)

    def metadata(self) -> Any:
        """The client's view of the whole cluster: its id, and all topics that we may describe."""
        return self.send("asking for metadata", lambda _client, seconds: self._patient_metadata(seconds))

    def send(self, step: str, request: Callable[[AdminClient, float], Any]) -> Any:
        """Sends a request, `request(client, seconds)`, and gives its futures, which `result`, `failure` and `outcomes` wait for."""
        try:
            return request(self._client, self._timeout)
        except MirrorError:
            raise
        except Exception as failure:
            raise self._translated(failure, step) from failure

    def result(self, answer: "Future[Any]", step: str, topic: str, errors: Errors, operation: str, awaited: Set[int] = frozenset()) -> Any:
        """What an answer brings; None for something that does not exist, for a refusal of this topic alone that `errors` takes, and for
        the error codes that the caller has `awaited`."""
        self._wait(answer)
        try:
            return answer.result(0)
        except Exception as failure:
            error = kafka_error(failure)
            if error is not None and error.code() in MISSING | awaited:
                return None
            ours = self._translated(failure, step, topic, operation)
            if not collect_refusal(ours, errors):
                raise ours from failure
            return None

    def failure(self, answer: "Future[Any]", step: str, operation: str, topic: str | None = None) -> MirrorError | None:
        """What went wrong with a request, if anything did."""
        self._wait(answer)
        try:
            answer.result(0)
        except (KafkaException, TimeoutError) as failure:
            return self._translated(failure, step, topic, operation)
        return None

    def outcomes(self, answers: Mapping[str, "Future[Any]"], step: str, operation: str) -> dict[str, MirrorError | None]:
        """As `failure`, for the answers of several topics; `step` goes on with the topic's name."""
        return {topic: self.failure(answer, f"{step} {topic}", operation, topic) for topic, answer in answers.items()}

    def _wait(self, answer: "Future[Any]") -> None:
        """Waits for an answer, within the deadline. The client goes on asking a cluster that refuses our credentials; this does not."""
        if answer.done():
            return
        deadline = time.monotonic() + self._timeout + 5
        while not answer.done() and time.monotonic() < deadline:
            futures.wait((answer,), timeout=_LOOK_EVERY_SECONDS)
            self._client.poll(0)
            self._complaints.raise_refusal()

    def _patient_metadata(self, seconds: float) -> Any:
        def ask(share: float) -> Any:
            try:
                return self._client.list_topics(timeout=share)
            finally:
                self._client.poll(0)

        return retry_until(ask, seconds, self._complaints)

    def _translated(self, failure: BaseException, step: str, topic: str | None = None, operation: str | None = None) -> MirrorError:
        self._client.poll(0)
        return to_mirror_error(
            failure,
            self._complaints,
            step=step,
            seconds=self._timeout,
            topic=topic,
            operation=operation,
        )


def topic_of(described: Any) -> Topic:
    """A topic, its partitions in the order of their numbers."""
    partitions = sorted(
        Partition(p.id, _leader_of(p), tuple([node.id for node in p.replicas]), tuple([node.id for node in p.isr]))
        for p in described.partitions
    )
    return Topic(described.name, topic_id_of(described), tuple(partitions))


def topic_id_of(described: Any) -> str:
    """A topic's id, in Kafka's own alphabet."""
    return kafka_uuid(str(described.topic_id))


def _leader_of(partition: Any) -> int | None:
    leader = partition.leader
    return leader.id if leader is not None and leader.id >= 0 else None


def kafka_uuid(text: str) -> str:
    """A topic id as Kafka's own tools write it: URL-safe base64 (org.apache.kafka.common.Uuid). The client has the standard alphabet, whose
    `+` and `/` stand where Kafka has `-` and `_`."""
    return text.translate(_URL_SAFE)


def config_entry_of(entry: Any) -> ConfigEntry:
    """A config entry, with the broker's word for where its value comes from."""
    return ConfigEntry(entry.name, entry.value, ConfigSource(entry.source).name, bool(entry.is_read_only), bool(entry.is_sensitive))
