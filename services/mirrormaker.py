"""The real MirrorMaker 2 in dedicated mode, beside the mirror on the same clusters."""

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from services.flows import ClusterPair
from services.java import java_command
from services.processes import Server

_ONE_BROKER = {
    f"{prefix}{store}.storage.replication.factor": "1" for prefix in ("", "source.", "target.") for store in ("offset", "status", "config")
}


class MirrorMaker:
    """MirrorMaker 2 for one flow, nothing in the other direction; it may be stopped, killed and started again. As a context manager it
    runs inside, and is killed at the end."""

    java: Mapping[str, Any] = {"options": ("-XX:TieredStopAtLevel=1",)}
    """How its JVM is started: soon up rather than fast."""

    def __init__(self, pair: ClusterPair, extra: Mapping[str, str] | None = None, topics: str | None = None) -> None:
        settings = {
            f"{pair.target}->{pair.source}.enabled": "false",
            f"{pair.target}->{pair.source}.emit.heartbeats.enabled": "false",
            **_ONE_BROKER,
            **(extra or {}),
        }
        self.config: Path = pair.properties(topics, settings, file="mirror-maker.properties")
        self._server = Server("mirror-maker", pair.directory)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Starts it; it takes some ten seconds until it copies."""
        self._server.start(java_command("org.apache.kafka.connect.mirror.MirrorMaker", self.config, **self.java))

    def stop(self) -> None:
        """Stops it in order: its tasks write their offsets, its workers leave their groups."""
        self._server.stop(180, signal.SIGTERM)

    def kill(self) -> None:
        """kill -9: its workers stay in their groups until their session times out."""
        self._server.kill()

    @property
    def pid(self) -> int | None:
        """Its process; None if it has ended."""
        return self._server.pid

    @property
    def running(self) -> bool:
        """Whether it runs."""
        return self._server.running

    def log_tail(self, lines: int = 30) -> str:
        """The last lines of its log."""
        return self._server.log_tail(lines)
