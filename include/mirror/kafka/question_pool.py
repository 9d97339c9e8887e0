"""Asking a cluster over connections of our own: one policy of patience, of bootstrap servers and of errors for every question.

A question is a function of an `AskingPool`. It is asked again, within the cluster's deadline, while Kafka calls what it gets an error that
passes, and where a broker does not answer or hangs up, over new connections that begin at the next bootstrap server. Each time an answer
may take twice as long: one server that hangs must not use up the time that the others need.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

import kafka.errors as errors
from kafka.protocol.metadata import FindCoordinatorRequest

from mirror.errors import MirrorError
from mirror.kafka.broker_connection import BrokerConnection, Needs
from mirror.kafka.broker_pool import BrokerPool
from mirror.kafka.connection_errors import ConnectionErrors, is_without_login, refuses_us
from mirror.kafka.schema_answers import read_by

_FIRST_SECONDS = 3.0
"""How long an answer may take when it is asked for first."""
_PAUSE_SECONDS = 0.1
_REFUSALS = 2
"""How many refusals of our login are believed; one alone might be a broker that is just starting."""
_SEVERAL_COORDINATORS = 4
"""From this version of FindCoordinator on (Kafka 3.0) a request asks for several."""
OF_GROUPS, OF_TRANSACTIONS = 0, 1
"""What a coordinator is asked for."""

Result = TypeVar("Result")


class Coordinator(NamedTuple):
    """Who coordinates a group or a transactional id, if `error_code` is 0."""

    error_code: int
    node: int
    address: tuple[str, int]


class AskingPool(BrokerPool):
    """Connections for questions: to brokers of any version, over which each question says what it needs."""

    def __init__(self, alias: str, settings: Mapping[str, Any], seconds: float, needs: Needs | None = None) -> None:
        """`settings` are librdkafka's; `seconds`: how long a question may take in all; `needs`: what every broker must take."""
        super().__init__(alias, settings, min(_FIRST_SECONDS, seconds))
        self._required = needs
        self.limit = seconds
        self._errors = ConnectionErrors(alias, settings, seconds)
        self._is_asking = False

    def ask(self, step: str, question: Callable[["AskingPool"], Result]) -> Result:
        """What the question gives. Raises errors of ours, in which `step` says what was asked."""
        return self._patient(step, lambda: question(self))

    def coordinators(self, keys: Iterable[str], kind: int) -> dict[str, Coordinator]:
        """Who coordinates each group or transactional id."""
        connection, wanted = self.some(), list(keys)
        version = connection.version(FindCoordinatorRequest.API_KEY, _SEVERAL_COORDINATORS, 1)
        coordinators: dict[str, Coordinator] = {}
        if version >= _SEVERAL_COORDINATORS:
            request = FindCoordinatorRequest(version=version, key_type=kind, coordinator_keys=wanted)
            coordinators = connection.ask(request, _coordinators)
        else:
            for key in wanted:
                request = FindCoordinatorRequest(version=version, key_type=kind, key=key)
                connection.send(request, partial(_keep, coordinators, key))
            while connection.in_flight:
                connection.receive()
        if coordinators.keys() != set(wanted):
            raise errors.KafkaProtocolError("the answer names other coordinators than were asked for")
        self.learn({one.node: one.address for one in coordinators.values() if not one.error_code})
        return coordinators

    # ------------------------------------------------------------ inside

    def _patient(self, step: str, call: Callable[[], Result]) -> Result:
        if self._is_asking:
            return call()
        deadline = time.monotonic() + self.limit
        self.seconds, refusals, self._is_asking = min(_FIRST_SECONDS, self.limit), 0, True
        try:
            while True:
                try:
                    return call()
                except (OSError, errors.KafkaError) as failure:
                    refusals += refuses_us(failure)
                    late = time.monotonic() + _PAUSE_SECONDS >= deadline
                    if late or not _passes(failure, refusals):
                        self.close()
                        raise self._as_mirror_error(failure, step) from failure
                    if isinstance(failure, OSError):
                        self._begin_elsewhere()
                        self.seconds = max(_PAUSE_SECONDS, min(2 * self.seconds, deadline - time.monotonic()))
                time.sleep(_PAUSE_SECONDS)
        except BaseException:
            if any(connection.in_flight for connection in self.connections):
                self.close()
            raise
        finally:
            self._is_asking = False

    def _as_mirror_error(self, failure: Exception, step: str) -> MirrorError:
        if isinstance(failure, errors.KafkaError) and failure.retriable:
            return self._errors.late(failure, step)
        return self._errors.translated(failure, step, self.last)

    def _check(self, connection: BrokerConnection) -> None:
        if self._required is not None:
            connection.check_release(self._required)


def open_pool(alias: str, settings: Mapping[str, Any], seconds: float, needs: Needs | None = None) -> AskingPool:
    """A pool for questions to a cluster. Raises TokenUnavailable."""
    try:
        return AskingPool(alias, settings, seconds, needs)
    except errors.KafkaError as failure:
        raise ConnectionErrors(alias, settings, seconds).translated(failure, "logging in", ("", 0)) from failure


@contextmanager
def asking(alias: str, settings: Mapping[str, Any], seconds: float) -> Iterator[AskingPool]:
    """A pool for a few questions; its connections are for others in this process afterwards."""
    pool = open_pool(alias, settings, seconds)
    try:
        yield pool
    finally:
        pool.release()


def _passes(failure: Exception, refusals: int) -> bool:
    """Whether it may be otherwise when it is asked again; `refusals`: how often our login was refused."""
    if refuses_us(failure):
        return refusals < _REFUSALS and not is_without_login(failure)
    return isinstance(failure, OSError) or bool(getattr(failure, "retriable", False))


def _keep(coordinators: dict[str, Coordinator], key: str, answer: Any) -> None:
    coordinators[key] = read_by(_coordinator, answer)


def _coordinators(answer: Any) -> dict[str, Coordinator]:
    return {str(one.key): _coordinator(one) for one in answer.coordinators}


def _coordinator(answer: Any) -> Coordinator:
    return Coordinator(int(answer.error_code), int(answer.node_id), (str(answer.host), int(answer.port)))
