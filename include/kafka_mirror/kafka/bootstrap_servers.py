"""Asking a cluster by one of its bootstrap servers at a time, where what a broker said is in doubt.

A broker that is cut off from its cluster, and not from us, goes on answering as the leader that it was. It names the other brokers as
well, so a client that begins there asks one of them or it, by chance. The others have struck it from their list: who begins at one of them
never asks it.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kafka_mirror.errors import ClusterUnreachable, DeadlineExceeded, KafkaFailure, LedgerHidden, MirrorError, StaleAnswer, UnexpectedOffset

Result = TypeVar("Result")

OF_ANOTHER_BROKER = (UnexpectedOffset, StaleAnswer, LedgerHidden, DeadlineExceeded, ClusterUnreachable, KafkaFailure)
"""After these, other brokers are asked: the one that was asked may be cut off from its cluster. It tells what is not so any more, refuses
what it cannot decide alone (NOT_COORDINATOR), or waits for a controller and peers that it does not reach, while the others live."""
_SERVERS = "bootstrap.servers"


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
    from kafka_mirror.kafka.idle_connections import IDLE  # who only plans a copy asks for no broker, and loads no client

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
