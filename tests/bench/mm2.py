"""The real MirrorMaker 2 in dedicated mode, as a process whose cost can be read at any moment."""

from collections.abc import Mapping
from pathlib import Path

from services.flows import ClusterPair
from services.java import java_command
from services.processes import Server
from tests.bench.processes import cpu_seconds

TUNED = {"target.producer.batch.size": "524288", "source.consumer.max.poll.records": "5000"}
"""What makes it fast: large producer batches and large polls."""

_INTERNAL = {
    f"{prefix}{store}.storage.replication.factor": "1" for prefix in ("", "source.", "target.") for store in ("offset", "status", "config")
}


class MirrorMaker:
    """MirrorMaker 2 for one flow: two tasks, the heap of its start script, nothing in the other direction."""

    def __init__(self, pair: ClusterPair, topics: str, extra: Mapping[str, str] | None = None) -> None:
        settings = {
            "tasks.max": "2",
            f"{pair.target}->{pair.source}.enabled": "false",
            f"{pair.target}->{pair.source}.emit.heartbeats.enabled": "false",
            **_INTERNAL,
            **(extra or {}),
        }
        self._config: Path = pair.properties(topics, settings, file="mirror-maker.properties")
        self._server = Server("mirror-maker", pair.directory)

    def __enter__(self) -> "MirrorMaker":
        self._server.start(java_command("org.apache.kafka.connect.mirror.MirrorMaker", self._config, heap="2g", options=("-Xms256m",)))
        return self

    def __exit__(self, *_: object) -> None:
        self._server.kill()

    @property
    def cpu(self) -> float:
        """CPU seconds used since its start. Raises RuntimeError with the end of its log if it has ended."""
        pid = self._server.pid
        if pid is None:
            raise RuntimeError(f"MirrorMaker 2 has ended.\n{self._server.log_tail()}")
        return cpu_seconds([pid])
