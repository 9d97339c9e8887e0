"""Consumer groups of one cluster: which there are, what they committed, and committing for them.

Through kafka-python: librdkafka's Python client appends a NUL byte to the metadata of every commit, so what Java committed would not be
the same on both clusters, and it asks for one group at a time.

Asking a cluster about its groups: over new connections while a coordinator moves or a connection breaks, and what it refuses as errors
of ours.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

import kafka.errors as errors
from kafka import KafkaAdminClient
from kafka import TopicPartition as PythonTopicPartition
from kafka.structs import OffsetAndMetadata

from mirror.errors import AuthenticationFailed, AuthorizationRefused, ClusterUnreachable, DeadlineExceeded, KafkaFailure, MirrorError
from mirror.errors.display import show
from mirror.kafka.cluster import Cluster
from mirror.kafka.coordinator_faults import LOST_TRACK_NEXT
from mirror.kafka.kafka_python import LOOK_SECONDS, python_settings, unreachable_broker
from mirror.kafka.model import Committed
from mirror.kafka.unstable_offsets import unstable_offsets
from mirror.offsets.partition import TopicPartition

_PAUSE_SECONDS = 0.1

Result = TypeVar("Result")

AT_ONCE = 500
"""Groups in one request."""
_COMMITS_AT_ONCE = 8
_TYPES = ("classic", "consumer")
_PROTOCOLS = ("consumer", "")
_IDLE = ("empty", "dead")
_MOVED = (errors.NotCoordinatorError, errors.CoordinatorLoadInProgressError, errors.CoordinatorNotAvailableError)
_LOAD_NEXT = "Look at the brokers' load and the network; the next run goes on by itself."
_REFUSED = (errors.GroupAuthorizationFailedError, errors.TopicAuthorizationFailedError, errors.ClusterAuthorizationFailedError)

Errors = MutableMapping[str, MirrorError]


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
                remaining = max(int((deadline - time.monotonic()) * 1000), 1000)
                self._client = KafkaAdminClient(
                    **python_settings(self._settings),
                    bootstrap_timeout_ms=remaining,
                    request_timeout_ms=remaining,
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
        named = f"the group {show(group[0])}" if len(group) == 1 else "the groups"
        if isinstance(failure, errors.GroupAuthorizationFailedError):
            return AuthorizationRefused(alias, operation, named)
        if isinstance(failure, errors.TopicAuthorizationFailedError):
            return AuthorizationRefused(alias, operation, f"topics that {named} committed")
        if isinstance(failure, errors.ClusterAuthorizationFailedError):
            return AuthorizationRefused(alias, operation, "the cluster")
        if isinstance(failure, errors.SaslAuthenticationFailedError):
            return AuthenticationFailed(alias, str(self._settings["bootstrap.servers"]), str(failure))
        if isinstance(failure, errors.KafkaConnectionError):
            settings, timeout = self._settings, self._cluster.timeout
            detail = unreachable_broker(self._cluster.advertised, min(timeout, LOOK_SECONDS)) or str(failure)
            return ClusterUnreachable(alias, str(settings["bootstrap.servers"]), timeout, f"{step}: {detail}")
        if failure.retriable:
            return DeadlineExceeded(
                f"Cluster '{alias}': {step} did not end within {self._cluster.timeout:g} s: {failure}.",
                next=LOST_TRACK_NEXT if isinstance(failure, _MOVED) else _LOAD_NEXT,
            )
        reason = str(getattr(failure, "message", "")) or type(failure).__name__
        return KafkaFailure(
            f"Cluster '{alias}': {step}{f' of {named}' if len(group) == 1 and named not in step else ''} failed: {failure}.",
            reason=reason,
            next="Look at the brokers; the next run goes on by itself.",
        )


@dataclass(frozen=True)
class Group:
    """A group as its cluster lists it, in Kafka's words: type (`classic`, `consumer`, `share` …), protocol type, state."""

    name: str
    type: str
    protocol: str
    state: str

    @property
    def has_offsets(self) -> bool:
        """Whether it is a group of consumers, of either protocol, or one that only commits: whose offsets MirrorMaker 2 translates.

        Brokers before 3.8 know classic groups only and name no type.
        """
        return self.type.lower() in ("", *_TYPES) and self.protocol in _PROTOCOLS

    @property
    def is_streams(self) -> bool:
        """Whether it is a group of Kafka Streams' own protocol (KIP-1071): it commits offsets as any other, and MirrorMaker 2 leaves it
        out."""
        return self.type.lower() == "streams"

    @property
    def is_idle(self) -> bool:
        """Whether it has no members."""
        return self.state.lower() in _IDLE


class Groups:
    """The groups of one cluster. Every call ends within the cluster's deadline; raises the errors of `mirror.errors`."""

    def __init__(self, cluster: Cluster, settings: Mapping[str, Any]) -> None:
        """`settings` are librdkafka's, of an admin client of that cluster."""
        self._cluster = cluster
        self._settings = settings
        self._admin = GroupAdmin(cluster, settings, _COMMITS_AT_ONCE)

    def __enter__(self) -> "Groups":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._admin.close()

    def listed(self) -> dict[str, Group]:
        """All groups that we may describe, by name, of every type."""
        rows = self._admin.ask("listing groups", lambda client: client.list_groups())
        groups = (
            Group(row["group_id"], row.get("group_type") or "", row.get("protocol_type") or "", row.get("group_state") or "")
            for row in rows
        )
        return {group.name: self._with_state(group) for group in groups}

    def committed(self, names: Iterable[str], errors: Errors) -> dict[str, dict[TopicPartition, Committed]]:
        """What the groups committed, by group and partition; a group without any has an empty entry. What fails for one group alone goes
        into `errors` by its name."""
        wanted = sorted(set(names))
        committed: dict[str, dict[TopicPartition, Committed]] = {}
        for first in range(0, len(wanted), AT_ONCE):
            committed |= self._committed(wanted[first : first + AT_ONCE], errors)
        return committed

    def unstable(self, partitions: Mapping[str, Collection[TopicPartition]], errors: Errors) -> dict[str, tuple[TopicPartition, ...]]:
        """Those of the partitions for which a transaction that is still open commits offsets, by group, for groups that have some.
        `errors` as in `committed`."""
        return unstable_offsets(self._cluster, self._settings, partitions, errors)

    def commit(self, offsets: Mapping[str, Mapping[TopicPartition, Committed]], errors: Errors) -> dict[str, dict[TopicPartition, str]]:
        """Commits for groups without members; gives, by group, Kafka's word for the partitions that were refused (`UNKNOWN_MEMBER_ID` …).

        What fails for a group as a whole goes into `errors`; some of its offsets may be committed then.
        """
        return self._change(offsets, lambda group: self._commit(group, offsets[group]), errors)

    def delete(self, partitions: Mapping[str, Collection[TopicPartition]], errors: Errors) -> dict[str, dict[TopicPartition, str]]:
        """Deletes what groups without members committed for these partitions; a group that is gone has nothing there. Gives what was
        refused, as `commit` does. Needs the right to DELETE the group, and to READ the topics (KIP-496)."""
        return self._change(partitions, lambda group: self._delete(group, partitions[group]), errors)

    # ------------------------------------------------------------ inside

    def _change(
        self, names: Collection[str], change: Callable[[str], dict[TopicPartition, str]], errors_by_group: Errors
    ) -> dict[str, dict[TopicPartition, str]]:
        """Changes some groups at a time; what fails for one of them is its own."""
        refused: dict[str, dict[TopicPartition, str]] = {}

        def one(group: str) -> None:
            try:
                refused[group] = change(group)
            except MirrorError as error:
                errors_by_group[group] = error

        if names:
            with ThreadPoolExecutor(_COMMITS_AT_ONCE) as threads:
                for _ in threads.map(one, names):
                    pass
        return refused

    def _with_state(self, group: Group) -> Group:
        """Brokers before 2.6 do not list states, so each group is described."""
        if group.state:
            return group
        described = self._admin.ask("describing groups", lambda client: client.describe_groups([group.name]))
        return Group(group.name, group.type, group.protocol, described[group.name]["group_state"])

    def _committed(self, names: Sequence[str], errors_by_group: Errors) -> dict[str, dict[TopicPartition, Committed]]:
        """As `committed`, for groups that fit into one request. The client raises what is wrong with any of them, so they are then asked
        for half by half."""
        try:
            answer = self._admin.ask("listing group offsets", lambda client: client.list_group_offsets(list(names)), group=names)
        except (AuthorizationRefused, KafkaFailure) as error:
            if len(names) == 1:
                errors_by_group[names[0]] = error
                return {}
            half = len(names) // 2
            return self._committed(names[:half], errors_by_group) | self._committed(names[half:], errors_by_group)
        return {
            group: {TopicPartition(tp.topic, tp.partition): _from_client(offset) for tp, offset in offsets.items() if offset.offset >= 0}
            for group, offsets in answer.items()
        }

    def _commit(self, group: str, offsets: Mapping[TopicPartition, Committed]) -> dict[TopicPartition, str]:
        request = {
            PythonTopicPartition(*tp): OffsetAndMetadata(
                committed.offset, committed.metadata, -1 if committed.leader_epoch is None else committed.leader_epoch
            )
            for tp, committed in offsets.items()
        }
        return self._ask_partitions("committing", group, lambda client: client.alter_group_offsets(group, request), "READ")

    def _delete(self, group: str, partitions: Collection[TopicPartition]) -> dict[TopicPartition, str]:
        request = [PythonTopicPartition(*tp) for tp in partitions]

        def call(client: KafkaAdminClient) -> dict[Any, Any]:
            try:
                return dict(client.delete_group_offsets(group, request))
            except errors.GroupIdNotFoundError:
                return {}

        return self._ask_partitions("deleting", group, call, "DELETE")

    def _ask_partitions(
        self, verb: str, group: str, change: Callable[[KafkaAdminClient], dict[Any, Any]], operation: str
    ) -> dict[TopicPartition, str]:
        """Changes offsets of a group; Kafka's word for each partition that was refused."""

        def call(client: KafkaAdminClient) -> dict[Any, Any]:
            answer = change(client)
            for kind in answer.values():
                if kind in _MOVED or kind in _REFUSED:
                    raise kind
            return answer

        answer = self._admin.ask(f"{verb} offsets of the group {show(group)}", call, group=(group,), operation=operation)
        return {TopicPartition(tp.topic, tp.partition): str(kind.message) for tp, kind in answer.items() if kind is not errors.NoError}


def _from_client(offset: OffsetAndMetadata) -> Committed:
    epoch = offset.leader_epoch
    return Committed(offset.offset, offset.metadata or "", None if epoch is None or epoch < 0 else epoch)
