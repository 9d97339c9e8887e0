"""Two clusters of one broker each, the witness, and flows between them that no other run has touched."""

import json
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from kafka_mirror.formats.batches.record_batch import batches_in
from lab.bench.processes import ENVIRONMENT, Cost, RunningTree, cost_of, cpu_seconds
from services.flows import ClusterPair
from services.java import ROOT
from services.kafka import KafkaCluster, run_clusters
from services.oracle import Oracle
from services.spark import SparkConnectServer

_MARK = "bench"
_NOT_YET = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}
"""What brokers say of a topic that was created a moment ago; it has no records then."""


def mirror_command(config: Path, *words: str) -> list[str]:
    """The command line of `kafka-mirror` with a configuration."""
    return [str(ROOT / ".venv" / "bin" / "python"), "-m", "kafka_mirror", "--config", str(config), *words]


@dataclass
class Stage:
    """Source and target cluster, and what a benchmark does with them."""

    directory: Path
    source: KafkaCluster
    target: KafkaCluster
    oracle: Oracle
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def pair(self, *, far: bool = False) -> ClusterPair:
        """A flow between the clusters under aliases of its own: its remote topics, ledger and internal topics do not exist yet. `far`: the
        way to the source leads through its network, which can delay it; only where the stage was set with `proxied`."""
        number = next(self._numbers)
        directory = self.directory / f"flow-{number}"
        directory.mkdir()
        source = self.source.proxied_bootstrap if far else self.source.bootstrap
        return ClusterPair(f"east{number}", f"west{number}", source, self.target.bootstrap, _MARK, directory)

    def copy(self, config: Path, records: int | None = None, *, spark: "MeasuredSpark | None" = None, memory: bool = False) -> Cost:
        """One `python -m kafka_mirror copy`, by spark-submit or on a Spark that stays, whose CPU seconds then are in the cost.

        Raises RuntimeError if it fails or copies another number of records.
        """
        command = mirror_command(config, "copy", "--json")
        if spark is None:
            cost = cost_of(command, memory=memory)
        else:
            before = spark.tree.cpu
            cost = cost_of([*command, "--master", spark.server.master], spark.server.environment(**ENVIRONMENT), memory=memory)
            spark_cpu = spark.tree.cpu - before
            cost = replace(cost, cpu=cost.cpu + spark_cpu, spark_cpu=spark_cpu)
        copied = json.loads(cost.output)["flows"][0]["result"]["records"]
        if records is not None and copied != records:
            raise RuntimeError(f"{copied} records were copied, not {records}.")
        return cost

    @contextmanager
    def spark_that_stays(self, *, memory: bool = False) -> Iterator["MeasuredSpark"]:
        """A Spark Connect server inside the block."""
        server = SparkConnectServer(self.directory / f"spark-{next(self._numbers)}", secrets.token_hex(16))
        try:
            server.start()
            with RunningTree(server.pid or 0, memory=memory) as tree:
                yield MeasuredSpark(server, tree)
        finally:
            server.stop()

    def batches(self, topic: str) -> str:
        """How large the batches of a source topic are on average, as they stand in its first partition's log: «15.6 KB of 15 records»."""
        size = count = records = 0
        for segment in self._segments(topic, 0):
            for batch in batches_in(segment.read_bytes()):
                size, count, records = size + batch.size, count + 1, records + batch.record_count
        return f"{size / count / 1024:.1f} KB of {records / count:.0f} records"

    def log_bytes(self, topic: str) -> int:
        """The bytes of a source topic's logs."""
        return sum(segment.stat().st_size for segment in self._segments(topic, "*"))

    def _segments(self, topic: str, partition: int | str) -> list[Path]:
        return sorted((self.directory / self.source.alias / "data-1").glob(f"{topic}-{partition}/*.log"))

    def broker_cpu(self) -> tuple[float, float]:
        """CPU seconds that the source's and the target's broker have used so far."""
        return cpu_seconds(self.source.pids), cpu_seconds(self.target.pids)

    def count_arrived(self, topic: str, partitions: int) -> int:
        """The sum of a target topic's end offsets; 0 while it does not exist."""
        # Asked for the offsets of a topic that is not there yet, the client may go on believing so.
        if topic not in self._admin.list_topics(timeout=60).topics:
            return 0
        ends = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(partitions)}
        answers = self._admin.list_offsets(ends, request_timeout=60).values()
        try:
            return sum(answer.result(65).offset for answer in answers)
        except KafkaException as failure:
            if failure.args[0].code() in _NOT_YET:
                return 0
            raise

    def require(self, topic: str, records: int) -> None:
        """Raises RuntimeError unless the witness counts exactly this many committed records in a target topic."""
        counted = sum(partition.records for partition in self.oracle.count(self.target.bootstrap, topic))
        if counted != records:
            raise RuntimeError(f"{topic} has {counted} records, not {records}.")

    def remove(self, *topics: str) -> None:
        """Deletes target topics; what a run has written is not needed once it is counted."""
        for topic in topics:
            self.oracle.delete_topic(self.target.bootstrap, topic)

    @property
    def _admin(self) -> AdminClient:
        if not hasattr(self, "_client"):
            self._client = AdminClient({"bootstrap.servers": self.target.bootstrap, "log_level": 0})
        return self._client


@dataclass(frozen=True)
class MeasuredSpark:
    """A Spark that stays, and what it costs."""

    server: SparkConnectServer
    tree: RunningTree


@contextmanager
def open_stage(**options: Any) -> Iterator[Stage]:
    """Starts everything, with these options of the clusters, and ends it with the block."""
    with tempfile.TemporaryDirectory(prefix="mirror-bench-") as name:
        directory = Path(name)
        # Brokers as they are in production, compiled in full: what they cost is measured.
        clusters = [KafkaCluster(directory / alias, alias, java=(), **options) for alias in ("east", "west")]
        with run_clusters(*clusters), Oracle(directory / "oracle.log") as oracle:
            yield Stage(directory, clusters[0], clusters[1], oracle)
