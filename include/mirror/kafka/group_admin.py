"""Asking a cluster about its groups: over new connections while a coordinator moves or a connection breaks, and what it refuses as errors
of ours."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import kafka.errors as errors
from kafka import KafkaAdminClient

from mirror.errors import AuthenticationFailed, AuthorizationRefused, DeadlineExceeded, KafkaFailure, MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.python_client import python_settings

_PAUSE_SECONDS = 0.1

Result = TypeVar("Result")


class GroupAdmin:
    """kafka-python's admin client of one cluster. It connects when it is first asked; several threads may ask at a time."""

    def __init__(self, cluster: Cluster, settings: Mapping[str, Any], at_once: int) -> None:
        """`settings` are librdkafka's, of an admin client of that cluster; `at_once`: how many threads ask at a time."""
        self._cluster = cluster
        self._settings = settings
        self._at_once = at_once
        self._client: Any = None
        self._connecting = threading.Lock()

    def close(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def ask(self, step: str, call: Callable[[KafkaAdminClient], Result], group: Sequence[str] = (), operation: str = "DESCRIBE") -> Result:
        """What the client answers; asked again, over new connections, while a coordinator moves or a connection breaks.

        `step`, the names in `group` and `operation` say in errors what was asked.
        """
        deadline = time.monotonic() + self._cluster.timeout
        while True:
            client = self._client
            try:
                client = self._connected(deadline)
                return call(client)
            except errors.KafkaError as failure:
                if not failure.retriable or time.monotonic() + _PAUSE_SECONDS >= deadline:
                    raise self._translated(failure, step, group, operation) from failure
                self._drop(client)
            time.sleep(_PAUSE_SECONDS)

    def _connected(self, deadline: float) -> KafkaAdminClient:
        with self._connecting:
            if self._client is None:
                # librdkafka's client says in one sentence why a cluster cannot be reached; this one says that time is up.
                self._cluster.cluster_id()
                left = max(int((deadline - time.monotonic()) * 1000), 1000)
                self._client = KafkaAdminClient(
                    **python_settings(self._settings),
                    bootstrap_timeout_ms=left,
                    request_timeout_ms=left,
                    max_in_flight_requests_per_connection=4 * self._at_once,
                )
            return self._client

    def _drop(self, client: Any) -> None:
        """The next call connects anew; whoever still waits on this client is answered."""
        with self._connecting:
            if client is None or self._client is not client:
                return
            self._client = None
            client.close()

    def _translated(self, failure: errors.KafkaError, step: str, group: Sequence[str], operation: str) -> MirrorError:
        alias = self._cluster.alias
        named = f"the group {group[0]}" if len(group) == 1 else "the groups"
        if isinstance(failure, errors.GroupAuthorizationFailedError):
            return AuthorizationRefused(alias, operation, named)
        if isinstance(failure, errors.TopicAuthorizationFailedError):
            return AuthorizationRefused(alias, operation, f"topics that {named} committed")
        if isinstance(failure, errors.ClusterAuthorizationFailedError):
            return AuthorizationRefused(alias, operation, "the cluster")
        if isinstance(failure, errors.SaslAuthenticationFailedError):
            return AuthenticationFailed(alias, str(self._settings["bootstrap.servers"]), str(failure))
        if failure.retriable:
            return DeadlineExceeded(
                f"Cluster '{alias}': {step} did not end within {self._cluster.timeout:g} s: {failure}.",
                next="Look at the brokers' load and the network; the next run goes on by itself.",
            )
        reason = str(getattr(failure, "message", "")) or type(failure).__name__
        return KafkaFailure(
            f"Cluster '{alias}': {step}{f' of {named}' if len(group) == 1 else ''} failed: {failure}.",
            reason=reason,
            next="Look at the brokers; the next run goes on by itself.",
        )
