"""librdkafka's admin client of one cluster, for what changes it: its requests, waited for within a deadline, and what goes wrong with
them as errors of ours."""

import time
from collections.abc import Callable, Mapping
from concurrent import futures
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from kafka_mirror.errors import MirrorError
from kafka_mirror.kafka.client_errors import ClientErrors, settings_with, to_mirror_error

_LOOK_EVERY_SECONDS = 0.25


class Admin:
    """Sends requests and waits for their answers. Raises the errors of `kafka_mirror.errors`, with the cluster's alias in their
    messages."""

    def __init__(self, alias: str, settings: Mapping[str, Any], timeout: float) -> None:
        self._timeout = timeout
        self._complaints = ClientErrors(alias, settings)
        self._client = AdminClient(settings_with(settings, self._complaints))

    def close(self) -> None:
        """Lets go of the client; pending calls are over by then, for each of them was waited for."""
        self._client.poll(0)

    def send(self, step: str, request: Callable[[AdminClient, float], Any]) -> Any:
        """Sends a request, `request(client, seconds)`, and gives its futures, which `failure` and `outcomes` wait for."""
        try:
            return request(self._client, self._timeout)
        except MirrorError:
            raise
        except Exception as failure:
            raise self._translated(failure, step) from failure

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
