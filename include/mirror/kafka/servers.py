"""Which of a cluster's bootstrap servers a client begins at: any of them, or one alone."""

from collections.abc import Mapping
from typing import Any

_SERVERS = "bootstrap.servers"


def servers(settings: Mapping[str, Any]) -> list[str]:
    """The bootstrap servers of a client's settings, one by one."""
    return [server.strip() for server in str(settings.get(_SERVERS, "")).split(",") if server.strip()]


def beginning_at(settings: Mapping[str, Any], turn: int) -> dict[str, Any]:
    """The client's settings with one bootstrap server alone, another one each turn; with turn 0 as they are."""
    found = servers(settings)
    return {**settings, _SERVERS: found[turn % len(found)]} if turn and found else dict(settings)
