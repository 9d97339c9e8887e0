"""Connections to the brokers of one cluster, and one policy of patience, of bootstrap servers and of errors for all that is asked.

A question is a function of a `BrokerPool`. It is asked again, within the pool's time, while Kafka calls what it gets an error that passes,
and where a broker does not answer or hangs up, over new connections that begin at the next bootstrap server. Each time an answer may take
twice as long: one server that hangs must not use up the time that the others need.

In a pool that carries batches only opening (`pick_connection`, `find_leaders`, `find_coordinator`) goes on over new connections. With a
broken connection goes what was under way on it, which only the owner of the pool knows. There the first one is an error, and the owner
closes the pool.

A broker that is cut off from its cluster, and not from us, goes on answering as the leader that it was. The others have struck it from
their list: who begins at one of them never asks it. So where what a broker said is in doubt, the cluster is asked by one of its bootstrap
servers at a time.
"""

import select
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar, cast

import kafka.errors as errors
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest

from kafka_mirror.errors import ClusterUnreachable, DeadlineExceeded, KafkaFailure, LedgerHidden, MirrorError, StaleAnswer, UnexpectedOffset
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import BrokerConnection, Needs
from kafka_mirror.kafka.client_login import python_settings
from kafka_mirror.kafka.cluster_answers import (
    METADATA,
    METADATA_NEWEST,
    METADATA_OLDEST,
    METADATA_WITH_IDS,
    Metadata,
    metadata,
    older_metadata,
)
from kafka_mirror.kafka.connection_errors import ConnectionErrors, is_without_login, raise_for, refuses_us
from kafka_mirror.kafka.idle_connections import IDLE, login_of
from kafka_mirror.kafka.schemas import read_by

_SEVERAL_COORDINATORS = 4
"""From this version of FindCoordinator on (Kafka 3.0) a request asks for several."""
OF_GROUPS, OF_TRANSACTIONS = 0, 1
"""What a coordinator is asked for."""
_FIRST_SECONDS = 3.0
"""How long an answer may take when it is asked for first."""
_PAUSE_SECONDS = 0.1
SOON_SECONDS = 0.01
"""How long the markers of a transaction take to be written, about."""
_REFUSALS = 2
"""How many refusals of our login are believed; one alone might be a broker that is just starting."""
_IDLE_SECONDS = 0.005
_GATHERING_SECONDS, _MUCH_GATHERING_SECONDS = 0.001, 0.004
"""For so long answers gather before they are looked at: to be woken for each costs more than reading it. The second one holds where much is
under way: then one answer more or less, a few milliseconds later, holds nothing up."""
_MUCH_BYTES = 256 * 1024
_FIRST_PORT = 9092
_SERVERS = "bootstrap.servers"
OF_ANOTHER_BROKER = (UnexpectedOffset, StaleAnswer, LedgerHidden, DeadlineExceeded, ClusterUnreachable, KafkaFailure)
"""After these, other brokers are asked: the one that was asked may be cut off from its cluster. It tells what is not so any more, refuses
what it cannot decide alone (NOT_COORDINATOR), or waits for a controller and peers that it does not reach, while the others live."""

Result = TypeVar("Result")


class Leader(NamedTuple):
    """Who leads a partition, by its node id, since which epoch, and the id of its topic ('': the cluster has none, before Kafka 2.8)."""

    node: int
    epoch: int
    topic_id: str = ""


class Coordinator(NamedTuple):
    """Who coordinates a group or a transactional id, if `error_code` is 0."""

    error_code: int
    node: int
    address: tuple[str, int]


class BrokerPool:
    """The connections of one user of a cluster. Every method raises errors of ours; inside of a question, what the connections raise."""

    def __init__(
        self, alias: str, settings: Mapping[str, Any], seconds: float, needs: Needs | None = None, *, carries_batches: bool = False
    ) -> None:
        """`settings` are librdkafka's; `seconds`: how long a question may take in all, and any answer to what is sent beside; `needs`: what
        every broker must take."""
        self.alias = alias
        self._needs = needs
        self._carries_batches = carries_batches
        self.seconds = self._answer_seconds = seconds
        self._is_asking = False
        self.errors = ConnectionErrors(alias, settings, seconds)
        self.last: tuple[str, int] = ("", 0)
        """The broker that was tried last."""
        self._settings = self.guard("logging in", lambda: python_settings(settings))
        self._login = login_of(settings)
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

    def ask(self, step: str, question: Callable[["BrokerPool"], Result]) -> Result:
        """What the question gives. Raises errors of ours, in which `step` says what was asked."""
        return self._ask(step, lambda: question(self), mends=not self._carries_batches)

    def pick_connection(self) -> BrokerConnection:
        """A connection to any broker."""
        return next(iter(self._connections.values()), None) or self._ask("connecting", self._open_first)

    def connect(self, node: int) -> BrokerConnection:
        """The connection to a broker, by a node id from metadata or of a coordinator. A login that ends soon gets a new connection, if
        nothing is under way on the old one."""
        if node not in self._brokers:
            raise errors.LeaderNotAvailableError
        return self._open(self._brokers[node])

    def learn(self, brokers: Mapping[int, tuple[str, int]]) -> None:
        """Takes host and port of brokers by their node ids, as metadata have them."""
        self._brokers.update(brokers)

    def find_leaders(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Leader]:
        """Who leads each of the partitions, and is connected."""
        wanted = set(partitions)
        return self._ask("finding the leaders of partitions", lambda: self._find_leaders(wanted)) if wanted else {}

    def find_coordinator(self, transactional_id: str) -> int:
        """The node id of the coordinator of a transactional id; it is connected."""

        def connect_coordinator() -> int:
            """Raises kafka-python's error for an error code."""
            coordinator = self.find_coordinators([transactional_id], OF_TRANSACTIONS)[transactional_id]
            raise_for(coordinator.error_code)
            self.connect(coordinator.node)
            return coordinator.node

        return self._ask("finding the coordinator of a transactional id", connect_coordinator)

    def find_coordinators(self, keys: Iterable[str], kind: int) -> dict[str, Coordinator]:
        """Who coordinates each group or transactional id, as any broker says: a part of a question."""
        connection, wanted = self.pick_connection(), list(keys)
        version = connection.choose_version(FindCoordinatorRequest.API_KEY, _SEVERAL_COORDINATORS, 1)
        coordinators: dict[str, Coordinator]
        if version >= _SEVERAL_COORDINATORS:
            request = FindCoordinatorRequest(version=version, key_type=kind, coordinator_keys=wanted)
            coordinators = connection.ask(request, _read_coordinators)
        else:
            answers: dict[str, Any] = {}
            for key in wanted:
                connection.send(FindCoordinatorRequest(version=version, key_type=kind, key=key), partial(answers.__setitem__, key))
            while connection.in_flight:
                connection.receive()
            coordinators = {key: read_by(_read_coordinator, answer) for key, answer in answers.items()}
        if coordinators.keys() != set(wanted):
            raise errors.KafkaProtocolError("the answer names other coordinators than were asked for")
        self.learn({one.node: one.address for one in coordinators.values() if not one.error_code})
        return coordinators

    def guard(self, step: str, call: Callable[[], Result]) -> Result:
        """What `call` gives. What a connection raises becomes an error of ours."""
        try:
            return call()
        except (OSError, errors.KafkaError) as failure:
            raise self.translate(failure, step) from failure

    def check_silence(self, seconds: float, step: str) -> None:
        """Raises ClusterUnreachable if a broker has owed an answer for that many seconds, and no quota of its own explains it."""
        now = time.monotonic()
        for connection in self._connections.values():
            if connection.in_flight and now - connection.silent_since >= seconds:
                host, port = connection.address
                raise self.translate(TimeoutError(f"no answer came in time from {host}:{port}"), step)

    def translate(self, failure: Exception, step: str) -> MirrorError:
        """The error of ours for what a connection raised."""
        return self.errors.translate(failure, step, self.last)

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

    def _ask(self, step: str, call: Callable[[], Result], *, mends: bool = True) -> Result:
        """What the call gives; within a question it is a part of that. `mends`: whether it goes on over new connections."""
        if self._is_asking:
            return call()
        deadline, refusals = time.monotonic() + self.seconds, 0
        is_busy = any(connection.in_flight for connection in self.connections)
        self._let_answers_take(self.seconds if is_busy else min(_FIRST_SECONDS, self.seconds))
        self._is_asking = True
        try:
            while True:
                try:
                    return call()
                except (OSError, errors.KafkaError) as failure:
                    refusals += refuses_us(failure)
                    pause = SOON_SECONDS if isinstance(failure, errors.ConcurrentTransactionsError) else _PAUSE_SECONDS
                    is_late = time.monotonic() + pause >= deadline
                    if is_late or not _passes(failure, refusals) or (isinstance(failure, OSError) and not mends):
                        self.close()
                        passes = isinstance(failure, errors.KafkaError) and failure.retriable
                        raise (self.errors.report_late if passes else self.translate)(failure, step) from failure
                    if isinstance(failure, OSError):
                        self.close()
                        self._servers.append(self._servers.pop(0))  # the next one is asked first
                        self._let_answers_take(max(pause, min(2 * self._answer_seconds, deadline - time.monotonic())))
                time.sleep(pause)
        except BaseException:
            if not is_busy and any(connection.in_flight for connection in self.connections):
                self.close()
            raise
        finally:
            self._is_asking = False
            self._let_answers_take(self.seconds)

    def _let_answers_take(self, seconds: float) -> None:
        self._answer_seconds = seconds
        for connection in self.connections:
            connection.seconds = seconds

    def _open_first(self) -> BrokerConnection:
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
        opened = IDLE.take(address, self._login, self._answer_seconds) or BrokerConnection(address, self._settings, self._answer_seconds)
        self._connections[address] = opened
        if self._needs is not None:
            opened.check_release(self._needs)
        return opened

    def _find_leaders(self, wanted: set[TopicPartition]) -> dict[TopicPartition, Leader]:
        answer = ask_metadata(self.pick_connection(), sorted({tp.topic for tp in wanted}))
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
            self.connect(node)
        return leaders


def ask_metadata(connection: BrokerConnection, names: Iterable[str] | None, operations: bool = False) -> Metadata:
    """What a broker says of topics, None: of all; with `operations` what we may do with them too. No topic is created by asking. Raises as
    the connection does."""
    version = connection.choose_version(METADATA, METADATA_NEWEST, METADATA_OLDEST)
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
    """Waits for a broker's answer, for `seconds` at most, and hands over what has come. What the network did not take before goes out
    meanwhile."""
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
        waiting[connection].guard("writing", connection.flush)
    for connection in readable:
        waiting[connection].guard("waiting for an answer", connection.receive)


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


def servers(settings: Mapping[str, Any]) -> list[str]:
    """The bootstrap servers of a client's settings, one by one."""
    return [server.strip() for server in str(settings.get(_SERVERS, "")).split(",") if server.strip()]


def begin_at_server(settings: Mapping[str, Any], turn: int) -> dict[str, Any]:
    """The client's settings with one bootstrap server alone, another one each turn; with turn 0 as they are."""
    addresses = servers(settings)
    return {**settings, _SERVERS: addresses[turn % len(addresses)]} if turn and addresses else dict(settings)


def connect_anew() -> None:
    """Closes the connections that this process keeps: before another broker is asked. One address may lead to several brokers, and a
    connection to the one that was wrong would be asked again and again."""
    IDLE.close()


def ask_with_server(settings: Mapping[str, Any], ask: Callable[[Mapping[str, Any]], Result]) -> Result:
    """What `ask` gives with these client settings. An offset that one broker gave another one may never reach, so after DeadlineExceeded or
    StaleAnswer it looks again with each bootstrap server alone, until one gives it all. Raises the first error if none does."""
    try:
        return ask(settings)
    except (DeadlineExceeded, StaleAnswer) as late:
        first = late
        connect_anew()
    number = len(servers(settings))
    for turn in range(1, number + 1 if number > 1 else 1):
        try:
            return ask(begin_at_server(settings, turn))
        except MirrorError as error:
            if not error.retriable:
                raise
    raise first


def _address(server: str) -> tuple[str, int]:
    host, _, port = server.rpartition("://")[2].rpartition(":")
    return (host.strip("[]"), int(port)) if host else (port, _FIRST_PORT)


def _passes(failure: Exception, refusals: int) -> bool:
    """Whether it may be otherwise when it is asked again; `refusals`: how often our login was refused."""
    if refuses_us(failure):
        return refusals < _REFUSALS and not is_without_login(failure)
    return isinstance(failure, OSError) or bool(getattr(failure, "retriable", False))


def _read_coordinators(answer: Any) -> dict[str, Coordinator]:
    return {str(one.key): _read_coordinator(one) for one in answer.coordinators}


def _read_coordinator(answer: Any) -> Coordinator:
    return Coordinator(int(answer.error_code), int(answer.node_id), (str(answer.host), int(answer.port)))
