"""The real MirrorMaker 2 as its operators run it, as a process whose cost can be read at any moment."""

from collections.abc import Mapping, Sequence

from lab.bench.processes import cpu_seconds
from services.flows import ClusterPair
from services.mirrormaker import MirrorMaker

TUNED = {"target.producer.batch.size": "524288", "source.consumer.max.poll.records": "5000"}
"""What makes it fast: large producer batches and large polls."""


START_SCRIPT = ("-XX:-UseSerialGC", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
"""The garbage collector of its start script. The serial one, which it has otherwise here, takes less CPU time and memory."""


class MeasuredMirrorMaker(MirrorMaker):
    """MirrorMaker 2 with two tasks and the heap of its start script; `options` are further ones of its JVM."""

    def __init__(self, pair: ClusterPair, topics: str, extra: Mapping[str, str] | None = None, *, options: Sequence[str] = ()) -> None:
        super().__init__(pair, {"tasks.max": "2", **(extra or {})}, topics)
        self.java = {"heap": "2g", "options": ("-Xms256m", *options)}

    @property
    def cpu(self) -> float:
        """CPU seconds used since its start. Raises RuntimeError with the end of its log if it has ended."""
        if self.pid is None:
            raise RuntimeError(f"MirrorMaker 2 has ended.\n{self.log_tail()}")
        return cpu_seconds([self.pid])
