"""Which of a cluster's bootstrap servers a client begins at: any of them, or one alone."""

from collections.abc import Mapping
from typing import Any

from mirror.errors import ClusterUnreachable, DeadlineExceeded, KafkaFailure, LedgerHidden, StaleAnswer, UnexpectedOffset

OF_ANOTHER_BROKER = (UnexpectedOffset, StaleAnswer, LedgerHidden, DeadlineExceeded, ClusterUnreachable, KafkaFailure)
"""After these, other brokers are asked: the one that was asked may be cut off from its cluster. It tells what is not so any more, refuses
what it cannot decide alone (NOT_COORDINATOR), or waits for a controller and peers that it does not reach, while the others live."""
_SERVERS = "bootstrap.servers"


def servers(settings: Mapping[str, Any]) -> list[str]:
    """The bootstrap servers of a client's settings, one by one."""
    return [server.strip() for server in str(settings.get(_SERVERS, "")).split(",") if server.strip()]


def beginning_at(settings: Mapping[str, Any], turn: int) -> dict[str, Any]:
    """The client's settings with one bootstrap server alone, another one each turn; with turn 0 as they are."""
    found = servers(settings)
    return {**settings, _SERVERS: found[turn % len(found)]} if turn and found else dict(settings)
