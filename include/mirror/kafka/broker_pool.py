"""Connections to the brokers of one cluster: who leads a partition, who coordinates a transactional id, and what they answer next.

Opening is patient: while a partition has no leader, or one that does not answer yet, it asks again until its time is up. What is open is
not mended: the first broken connection is an error, and whoever holds the pool closes it.
"""

import select
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

import kafka.errors as errors
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from mirror.errors import MirrorError
from mirror.kafka.bootstrap_servers import servers
from mirror.kafka.broker_connection import OF_SOURCE, OF_TARGET, BrokerConnection
from mirror.kafka.cluster_answers import (
    METADATA,
    METADATA_NEWEST,
    METADATA_OLDEST,
    METADATA_WITH_IDS,
    Metadata,
    metadata,
    older_metadata,
)
from mirror.kafka.connection_errors import ConnectionErrors, raise_for, refuses_us
from mirror.kafka.idle_connections import IDLE, login_of
from mirror.kafka.kafka_python import python_settings
from mirror.offsets.partition import TopicPartition

_FIND_COORDINATOR = 4
_SEVERAL_COORDINATORS = 4
"""From this version on (Kafka 3.0) a request asks for several."""
_OF_GROUPS, _OF_TRANSACTIONS = 0, 1
_PAUSE_SECONDS = 0.1
_IDLE_SECONDS = 0.005
_GATHERING_SECONDS, _MUCH_GATHERING_SECONDS = 0.001, 0.004
"""For so long answers gather before they are looked at: to be woken for each costs more than reading it. The second one holds where much is
under way: then one answer more or less, a few milliseconds later, holds nothing up."""
_MUCH_BYTES = 256 * 1024
_FIRST_PORT = 9092

Result = TypeVar("Result")


class Leader(NamedTuple):
    """Who leads a partition, by its node id, since which epoch, and the id of its topic ('': the cluster has none, before Kafka 2.8)."""

    node: int
    epoch: int
    topic_id: str = ""


class BrokerPool:
    """The connections of one user of a cluster, which carry batches. Every method raises errors of ours."""

    def __init__(self, alias: str, settings: Mapping[str, Any], seconds: float, *, writes: bool = False) -> None:
        """`settings` are librdkafka's; `seconds`: how long opening a connection, and any answer, may take; `writes`: whether batches are
        written, and not read alone."""
        self.alias = alias
        self.seconds = seconds
        self._needs = OF_TARGET if writes else OF_SOURCE
        self.patience: float | None = None
        """For how many seconds opening is tried again; None: as long as an answer may take."""
        self._errors = ConnectionErrors(alias, settings, seconds)
        self._settings = python_settings(settings)
        self._login = login_of(settings)
        self.last: tuple[str, int] = ("", 0)
        """The broker that was tried last."""
        self._servers = [_address(server) for server in servers(settings)]
        self._connections: dict[tuple[str, int], BrokerConnection] = {}
        self._brokers: dict[int, tuple[str, int]] = {}

    @property
    def connections(self) -> list[BrokerConnection]:
        """What is open."""
        return list(self._connections.values())

    @property
    def brokers(self) -> Mapping[int, tuple[str, int]]:
        """Host and port of the brokers that are known, by node id."""
        return self._brokers

    def some(self) -> BrokerConnection:
        """A connection to any broker."""
        return next(iter(self._connections.values()), None) or self._patient("connecting", self._first)

    def to(self, node: int) -> BrokerConnection:
        """The connection to a broker whose node id was told by `leaders` or `coordinator`. A login that ends soon gets a new connection,
        if nothing is under way on the old one."""
        if node not in self._brokers:
            raise errors.LeaderNotAvailableError
        return self._open(self._brokers[node])

    def learn(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        """Takes host and port of brokers by their node ids, as metadata told them."""
        self._brokers.update(brokers)

    def leaders(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Leader]:
        """Who leads each of the partitions, and is connected."""
        wanted = set(partitions)
        return self._patient("finding the leaders of partitions", lambda: self._leaders(wanted)) if wanted else {}

    def coordinator(self, transactional_id: str) -> int:
        """The node id of the coordinator of a transactional id; it is connected."""
        return self._patient("finding the coordinator of a transactional id", lambda: self._coordinator(transactional_id, _OF_TRANSACTIONS))

    def group_coordinator(self, group: str) -> int:
        """The node id of the coordinator of a group; it is connected."""
        return self._patient("finding the coordinator of a group", lambda: self._coordinator(group, _OF_GROUPS))

    def guarded(self, step: str, call: Callable[[], Result]) -> Result:
        """What `call` gives. What a connection raises becomes an error of ours."""
        try:
            return call()
        except (OSError, errors.KafkaError) as failure:
            raise self.translated(failure, step) from failure

    def check_silence(self, seconds: float, step: str) -> None:
        """Raises ClusterUnreachable if a broker has owed an answer for so many seconds, and no quota of its own explains that."""
        now = time.monotonic()
        for connection in self._connections.values():
            if connection.in_flight and now - connection.silent_since >= seconds:
                host, port = connection.address
                raise self.translated(TimeoutError(f"no answer came in time from {host}:{port}"), step)

    def translated(self, failure: Exception, step: str) -> MirrorError:
        """The error of ours for what a connection raised."""
        return self._errors.translated(failure, step, self.last)

    def refused(self, code: int, step: str, *, topic: str | None = None, operation: str = "", what: str = "") -> MirrorError:
        """The error of ours for an error code in an answer. `operation` on `what` is what it may refuse us, `topic` our name for it."""
        return self._errors.refused(code, step, topic=topic, operation=operation, what=what)

    def discard(self, connection: BrokerConnection) -> None:
        """Closes one connection."""
        connection.close()
        self._connections = {address: one for address, one in self._connections.items() if one is not connection}

    def close(self) -> None:
        """Closes every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def release(self) -> None:
        """Lets go of every connection: those on which nothing is under way are for others in this process."""
        for address, connection in self._connections.items():
            IDLE.put(address, self._login, connection)
        self._connections.clear()

    # ------------------------------------------------------------ inside

    def _patient(self, step: str, call: Callable[[], Result]) -> Result:
        deadline = time.monotonic() + (self.seconds if self.patience is None else self.patience)
        while True:
            try:
                return call()
            except (OSError, errors.KafkaError) as failure:
                lasting = refuses_us(failure) or (isinstance(failure, errors.KafkaError) and not failure.retriable)
                if isinstance(failure, OSError):
                    self._begin_elsewhere()
                if lasting or time.monotonic() + _PAUSE_SECONDS >= deadline:
                    raise self.translated(failure, step) from failure
            time.sleep(_PAUSE_SECONDS)

    def _begin_elsewhere(self) -> None:
        """Closes every connection; the next bootstrap server is the first to be asked."""
        self.close()
        self._servers.append(self._servers.pop(0))

    def _first(self) -> BrokerConnection:
        failure: OSError | None = None
        for address in self._servers:
            try:
                return self._open(address)
            except OSError as refused:
                if refuses_us(refused):
                    raise
                failure = refused
        raise failure or OSError("no bootstrap server is named")

    def _open(self, address: tuple[str, int]) -> BrokerConnection:
        there = self._connections.get(address)
        if there is not None and (there.in_flight or time.monotonic() < there.renew_at):
            return there
        if there is not None:
            there.close()
        self.last = address
        opened = IDLE.take(address, self._login, self.seconds) or BrokerConnection(address, self._settings, self.seconds)
        self._connections[address] = opened
        self._check(opened)
        return opened

    def _check(self, connection: BrokerConnection) -> None:
        """Refuses a broker that is of no use here."""
        connection.check_release(self._needs)

    def _leaders(self, wanted: set[TopicPartition]) -> dict[TopicPartition, Leader]:
        answer = ask_metadata(self.some(), sorted({tp.topic for tp in wanted}))
        self.learn(answer.brokers)
        leaders: dict[TopicPartition, Leader] = {}
        for topic in answer.topics:
            raise_for(topic.error_code)
            for number, (node, epoch) in topic.leaders.items():
                tp = TopicPartition(topic.name, number)
                if tp in wanted:
                    if node not in answer.brokers:
                        raise errors.LeaderNotAvailableError
                    leaders[tp] = Leader(node, epoch, topic.id)
        if wanted - leaders.keys():
            raise errors.UnknownTopicOrPartitionError
        for node in {leader.node for leader in leaders.values()}:
            self.to(node)
        return leaders

    def _coordinator(self, key: str, kind: int) -> int:
        connection = self.some()
        version = connection.version(FindCoordinatorRequest.API_KEY, _FIND_COORDINATOR)
        if version < _SEVERAL_COORDINATORS:
            coordinator = connection.ask(FindCoordinatorRequest(version=version, key_type=kind, key=key))
        else:
            request = FindCoordinatorRequest(version=version, key_type=kind, coordinator_keys=[key])
            coordinators: list[Any] = list(connection.ask(request).coordinators or ())
            if len(coordinators) != 1:
                raise errors.KafkaProtocolError(f"{len(coordinators)} coordinators of one transactional id or group")
            (coordinator,) = coordinators
        raise_for(coordinator.error_code)
        self._brokers[coordinator.node_id] = (coordinator.host, coordinator.port)
        self.to(coordinator.node_id)
        return int(coordinator.node_id)


def ask_metadata(connection: BrokerConnection, names: Iterable[str] | None, operations: bool = False) -> Metadata:
    """What a broker says of topics, None: of all; with `operations` what we may do with them too. No topic is created by asking. Raises as
    the connection does."""
    version = connection.version(METADATA, METADATA_NEWEST, METADATA_OLDEST)
    topics = None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(
        version=version, topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=operations
    )
    if version < METADATA_WITH_IDS:
        return cast(Metadata, connection.ask(request, older_metadata))
    answers: list[Metadata] = []
    connection.queue_parts(METADATA, version, [request.encode()], partial(metadata, version=version), answers.append)
    connection.flush()
    while not answers:
        connection.receive()
    return answers[0]


def receive(pools: Sequence[BrokerPool], seconds: float) -> None:
    """Waits for at most so many seconds until a broker answers, and hands over what those that do have sent. What a network did not take
    before goes out meanwhile."""
    waiting = {connection: pool for pool in pools for connection in pool.connections if connection.in_flight}
    if not waiting:
        time.sleep(min(seconds, _IDLE_SECONDS))
        return
    is_much = sum(connection.bytes_in_flight for connection in waiting) >= _MUCH_BYTES
    time.sleep(_MUCH_GATHERING_SECONDS if is_much else _GATHERING_SECONDS)
    readable = [connection for connection in waiting if connection.has_buffered]
    writable: list[BrokerConnection] = []
    if not readable:
        readable, writable = _ready(list(waiting), seconds)
    for connection in writable:
        waiting[connection].guarded("writing", connection.flush)
    for connection in readable:
        waiting[connection].guarded("waiting for an answer", connection.receive)


def _ready(connections: Iterable[BrokerConnection], seconds: float) -> tuple[list[BrokerConnection], list[BrokerConnection]]:
    """Which of the connections have something to read, or an end to tell of; and which go on with what they did not send. `select` would
    take no file descriptor from 1024 on."""
    by_descriptor = {connection.fileno(): connection for connection in connections}
    poll = select.poll()
    for descriptor, connection in by_descriptor.items():
        poll.register(descriptor, select.POLLIN | select.POLLOUT if connection.has_unsent else select.POLLIN)
    events = poll.poll(seconds * 1000)
    readable = [by_descriptor[descriptor] for descriptor, event in events if event & ~select.POLLOUT]
    return readable, [by_descriptor[descriptor] for descriptor, event in events if event & select.POLLOUT]


def _address(server: str) -> tuple[str, int]:
    host, _, port = server.rpartition("://")[2].rpartition(":")
    return (host.strip("[]"), int(port)) if host else (port, _FIRST_PORT)
