"""What groups committed, commits for groups without members, and deletions: the messages, and how coordinators are asked.

Each coordinator is asked for its own groups. Groups whose coordinator moves or loads are asked for again, the others are not. A refusal
that concerns one group is the error of that group alone.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar

import kafka.errors as errors
from kafka.protocol.consumer import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest

from kafka_mirror.errors import DeadlineExceeded, KafkaFailure, MirrorError
from kafka_mirror.errors.words import show
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import BrokerConnection
from kafka_mirror.kafka.broker_pool import OF_GROUPS, BrokerPool
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import (
    COORDINATOR_MOVES,
    DENIED,
    LOST_TRACK_NEXT,
    TOPIC_DENIED,
    UNKNOWN_TOPIC,
    is_retriable,
    name_of,
    raise_for,
)
from kafka_mirror.kafka.model import Committed
from kafka_mirror.kafka.schemas import read_by

AT_ONCE = 500
"""Groups in one request."""
_UNASKED = 0
_BROKER_FAULT = errors.UnknownError.errno

Result = TypeVar("Result")
Take = Callable[[Mapping[str, tuple[int, Any]]], None]
"""Takes what a coordinator says of groups: an error code, and the answer where that is 0."""
Send = Callable[[BrokerConnection, Sequence[str], Take], None]
"""Sends a coordinator what there is to ask about some groups; what it says is for `Take`."""
Errors = MutableMapping[str, MirrorError]


def ask_coordinators(
    cluster: Cluster, verb: str, names: Iterable[str], send: Send, refused: Errors, operation: str = "DESCRIBE"
) -> dict[str, Any]:
    """What the coordinators answer, by group. What fails for one group alone goes into `refused` by its name; raises what concerns the
    cluster as a whole. `verb` says in errors what is done with groups, `operation` what they may refuse us."""
    wanted = sorted(set(names))
    answers: dict[str, Any] = {}
    for first in range(0, len(wanted), AT_ONCE):
        question = _Question(verb, wanted[first : first + AT_ONCE], send, refused, operation)
        try:
            cluster.ask(f"{verb} groups", question.ask)
        except DeadlineExceeded as late:
            refused.update(dict.fromkeys(question.waiting, late))
            if not question.answers:  # no broker answers at all: the next ones need not wait as long
                refused.update(dict.fromkeys(wanted[first + AT_ONCE :], late))
                break
        finally:
            answers |= question.answers
    return answers


class _Question:
    """Some groups, as far as they are answered."""

    def __init__(self, verb: str, names: Iterable[str], send: Send, refused: Errors, operation: str) -> None:
        self.answers: dict[str, Any] = {}
        self.waiting = dict.fromkeys(names, _UNASKED)
        """The error code, which passes, of those that are not answered yet."""
        self._verb = verb
        self._send = send
        self._refused = refused
        self._operation = operation

    def ask(self, pool: BrokerPool) -> None:
        """Asks for those that still wait. Raises kafka-python's error for a code that passes."""
        self.waiting = dict.fromkeys(self.waiting, _UNASKED)
        by_node: dict[int, list[str]] = {}
        for name, coordinator in pool.find_coordinators(self.waiting, OF_GROUPS).items():
            if coordinator.error_code:
                self._take(pool, {name: (coordinator.error_code, None)})
            else:
                by_node.setdefault(coordinator.node, []).append(name)
        connections = {pool.connect(node): there for node, there in by_node.items()}
        for connection, there in connections.items():
            self._send(connection, there, lambda said: self._take(pool, said))
        for connection in connections:
            while connection.in_flight:
                connection.receive()
        if self.waiting:
            raise_for(max(self.waiting.values()))
            raise errors.KafkaProtocolError("an answer leaves out groups that were asked for")

    def _take(self, pool: BrokerPool, said: Mapping[str, tuple[int, Any]]) -> None:
        if not said.keys() <= self.waiting.keys():
            raise errors.KafkaProtocolError("an answer is about other groups")
        for name, (code, answer) in said.items():
            if code and is_retriable(code):
                self.waiting[name] = code
                continue
            del self.waiting[name]
            if code:
                self._refused[name] = self._refusal(pool, name, code)
            else:
                self.answers[name] = answer

    def _refusal(self, pool: BrokerPool, name: str, code: int) -> MirrorError:
        group = f"the group {show(name)}"
        what = f"topics that {group} committed" if code == TOPIC_DENIED else group
        refusal = pool.errors.translate_code(code, f"{self._verb} {group}", operation=self._operation, what=what)
        return KafkaFailure(refusal.message, reason="UNKNOWN", next=LOST_TRACK_NEXT) if code == _BROKER_FAULT else refusal


_FETCH_OLDEST, STABLE_VERSION, _SEVERAL_GROUPS, _FETCH_NEWEST = 2, 7, 8, 9
"""Versions of OffsetFetch: that of Kafka 2.1 at least, the first that tells what is stable (2.5), the first that asks for several groups
(3.0), and the last that goes by topics' names."""
_COMMIT_OLDEST, _COMMIT_NEWEST = 2, 9
_UNSTABLE = errors.UnstableOffsetCommitError.errno
_NO_GROUP = errors.GroupIdNotFoundError.errno

Offsets = dict[TopicPartition, Committed | None]
"""What a group committed; None: a transaction that is still open commits there."""


def send_fetch(
    connection: BrokerConnection, names: Sequence[str], take: Take, *, partitions: Mapping[str, Collection[TopicPartition]] | None = None
) -> None:
    """Asks for what groups committed; with `partitions` whether a transaction that is still open commits there, of which a coordinator that
    is too old for that tells nothing."""
    version = connection.choose_version(OffsetFetchRequest.API_KEY, _FETCH_NEWEST, _FETCH_OLDEST)
    is_stable = partitions is not None
    if is_stable and version < STABLE_VERSION:
        take({name: (0, {}) for name in names})
    elif version < _SEVERAL_GROUPS:
        of_topic = OffsetFetchRequest.OffsetFetchRequestTopic
        for name in names:
            topics = None if partitions is None else _numbers(partitions[name], of_topic)
            request = OffsetFetchRequest(version=version, group_id=name, topics=topics, require_stable=is_stable)
            send_of_one(connection, request, take, name, _read_fetched)
    else:
        of_group = OffsetFetchRequest.OffsetFetchRequestGroup
        groups = [
            of_group(group_id=name, topics=None if partitions is None else _numbers(partitions[name], of_group.OffsetFetchRequestTopics))
            for name in names
        ]
        request = OffsetFetchRequest(version=version, groups=groups, require_stable=is_stable)
        _send(connection, request, take, read_fetched)


def send_commit(
    connection: BrokerConnection, names: Sequence[str], take: Take, *, offsets: Mapping[str, Mapping[TopicPartition, Committed]]
) -> None:
    """Commits for groups, each in a request of its own. The answer has Kafka's word for each partition that was refused."""
    version = connection.choose_version(OffsetCommitRequest.API_KEY, _COMMIT_NEWEST, _COMMIT_OLDEST)
    of_topic = OffsetCommitRequest.OffsetCommitRequestTopic
    for name in names:
        topics = topics_of(offsets[name], of_topic, of_topic.OffsetCommitRequestPartition)
        request = OffsetCommitRequest(version=version, group_id=name, member_id="", topics=topics)
        send_of_one(connection, request, take, name, read_changed)


def topics_of(offsets: Mapping[TopicPartition, Committed], of_topic: Any, of_partition: Any) -> list[Any]:
    """Positions by topic, in the classes of a request."""
    by_topic: dict[str, list[Any]] = {}
    for (topic, partition), committed in sorted(offsets.items()):
        row = of_partition(
            partition_index=partition,
            committed_offset=committed.offset,
            committed_leader_epoch=-1 if committed.leader_epoch is None else committed.leader_epoch,
            committed_metadata=committed.metadata,
        )
        by_topic.setdefault(topic, []).append(row)
    return [of_topic(name=topic, partitions=rows) for topic, rows in by_topic.items()]


def send_delete(
    connection: BrokerConnection, names: Sequence[str], take: Take, *, partitions: Mapping[str, Collection[TopicPartition]]
) -> None:
    """Deletes offsets of groups, each in a request of its own; the answer as with `send_commit`."""
    version = connection.choose_version(OffsetDeleteRequest.API_KEY, 0)
    of_topic = OffsetDeleteRequest.OffsetDeleteRequestTopic
    for name in names:
        by_topic: dict[str, list[Any]] = {}
        for topic, partition in sorted(partitions[name]):
            by_topic.setdefault(topic, []).append(of_topic.OffsetDeleteRequestPartition(partition_index=partition))
        topics = [of_topic(name=topic, partitions=rows) for topic, rows in by_topic.items()]
        request = OffsetDeleteRequest(version=version, group_id=name, topics=topics)
        send_of_one(connection, request, take, name, read_deleted)


def read_fetched(answer: Any) -> dict[str, tuple[int, Offsets]]:
    """What an answer says of several groups."""
    return {str(group.group_id): _read_fetched(group) for group in answer.groups}


def send_of_one(connection: BrokerConnection, request: Any, take: Take, name: str, read: Callable[[Any], tuple[int, Any]]) -> None:
    """Sends a request about one group; its answer does not name the group."""
    _send(connection, request, take, lambda answer: {name: read(answer)})


def read_changed(answer: Any, whole: Collection[int] = ()) -> tuple[int, dict[TopicPartition, str]]:
    """An error code that concerns the group as a whole, as those in `whole` do, and Kafka's word for each partition that was refused."""
    codes = {
        TopicPartition(str(topic.name), int(row.partition_index)): int(row.error_code)
        for topic in answer.topics
        for row in topic.partitions
    }
    of_group = next((code for code in codes.values() if code in COORDINATOR_MOVES or code in DENIED or code in whole), 0)
    return of_group, {tp: name_of(code) for tp, code in codes.items() if code}


def read_deleted(answer: Any) -> tuple[int, dict[TopicPartition, str]]:
    """The error code of a deletion, and those of its partitions; a group that is gone has nothing there."""
    if answer.error_code:
        return 0 if answer.error_code == _NO_GROUP else int(answer.error_code), {}
    return read_changed(answer)


# ------------------------------------------------------------ inside


def _send(connection: BrokerConnection, request: Any, take: Take, read: Callable[[Any], Mapping[str, tuple[int, Any]]]) -> None:
    connection.send(request, lambda answer: take(read_by(read, answer)))


def _numbers(partitions: Collection[TopicPartition], of_topic: Callable[..., Any]) -> list[Any]:
    numbers: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        numbers.setdefault(topic, []).append(partition)
    return [of_topic(name=name, partition_indexes=there) for name, there in numbers.items()]


def _read_fetched(group: Any) -> tuple[int, Offsets]:
    code = int(group.error_code)
    offsets: Offsets = {}
    for topic in group.topics:
        for row in topic.partitions:
            tp = TopicPartition(str(topic.name), int(row.partition_index))
            if row.error_code == _UNSTABLE:
                offsets[tp] = None
            elif row.error_code and row.error_code not in UNKNOWN_TOPIC:
                code = code or int(row.error_code)
            elif row.committed_offset >= 0:
                epoch = int(row.committed_leader_epoch)
                offsets[tp] = Committed(int(row.committed_offset), str(row.metadata or ""), None if epoch < 0 else epoch)
    return (0 if code == _NO_GROUP else code), offsets
