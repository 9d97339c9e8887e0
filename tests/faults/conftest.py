"""A cluster of three brokers, and flows on it whose replicas stand where a test wants them."""

import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_mirror.config import load
from lab.faults.injections import BROKERS, PROPERTIES, SEPARABLE
from services.flow_in_process import Mirroring
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, PartitionState
from services.waiting import eventually

Replicas = Mapping[int, Sequence[int]]


@dataclass
class Placed:
    """A flow with one topic, both of whose clusters are the same three brokers."""

    mirroring: Mirroring
    topic: str

    @property
    def remote(self) -> str:
        return self.mirroring.pair.remote(self.topic)

    @property
    def ledger(self) -> str:
        return f"mm2-ledger.{self.mirroring.pair.source}.internal"

    def produce(self, records: int, partition: int, seed: int = 0, bootstrap: str | None = None) -> None:
        self.mirroring.oracle.produce(bootstrap or self.mirroring.source, self.topic, records, seed=seed, partition=partition)

    def remote_records(self, partition: int) -> list[tuple[bytes | None, bytes | None]]:
        records = self.mirroring.oracle.dump(self.mirroring.target, self.remote)
        return [(record.key, record.value) for record in records if record.partition == partition]

    def source_records(self, partition: int) -> list[tuple[bytes | None, bytes | None]]:
        records = self.mirroring.oracle.dump(self.mirroring.source, self.topic)
        return [(record.key, record.value) for record in records if record.partition == partition]


@dataclass
class ThreeBrokers:
    """The cluster, and how flows are put on it."""

    cluster: KafkaCluster
    oracle: Oracle
    directory: Path

    def heal(self) -> None:
        """All brokers run and answer, whatever a test that failed has left."""
        for broker in BROKERS:
            self.cluster.resume(broker)
        self.cluster.start()

    def await_replicas(self, *topics: str) -> None:
        """Returns when all replicas of these topics, and of the coordinators', are in sync: a fault that comes earlier is two at once."""

        def lagging() -> dict[str, list[PartitionState]]:
            named = {topic: self.oracle.partitions(self.cluster.bootstrap, topic) for topic in (*topics, "__transaction_state")}
            behind = {topic: [each for each in states if set(each.in_sync) != set(each.replicas)] for topic, states in named.items()}
            return {topic: states for topic, states in behind.items() if states}

        eventually(lambda: not lagging(), f"all replicas in sync of {topics}")

    def keep_coordinators_at(self, replicas: Sequence[int]) -> None:
        """The first of these brokers decides all transactions, as long as it lives."""
        topic, bootstrap = "__transaction_state", self.cluster.bootstrap
        numbers = range(len(self.oracle.partitions(bootstrap, topic)))
        self.oracle.move_replicas(bootstrap, topic, dict.fromkeys(numbers, replicas))

        def led() -> bool:
            self.oracle.elect_leaders(bootstrap, topic, numbers)
            return {state.leader for state in self.oracle.partitions(bootstrap, topic)} == {replicas[0]}

        eventually(led, f"broker {replicas[0]} is the coordinator")

    def place(
        self,
        source: Replicas,
        remote: Replicas,
        ledger: Replicas,
        extra: Mapping[str, str] | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> Placed:
        """A flow of one topic with these replicas; as many lanes as the ledger has partitions. `configs` are the remote topic's."""
        mark = uuid.uuid4().hex[:6]
        bootstrap = self.cluster.bootstrap
        pair = ClusterPair(f"north{mark}", f"south{mark}", bootstrap, bootstrap, mark, self.directory)
        properties = {
            "source->target.mirror.lanes": str(len(ledger)),
            "admin.timeout.ms": "15000",
            "source->target.mirror.transaction.timeout.ms": "20000",
            "offset-syncs.topic.replication.factor": "3",
            # Their topic would be led by the very brokers that are killed, and what is judged here is the copy.
            "emit.offset-syncs.enabled": "false",
            **(extra or {}),
        }
        # The remote topic stands on the same cluster and must not be mirrored again.
        file = pair.properties(f"[a-z]+-{mark}", properties, file=f"{mark}.properties")
        placed = Placed(Mirroring(pair, self.oracle, load([file]).flow(pair.flow)), pair.topic("orders"))
        for topic, replicas, settings in (
            (placed.topic, source, {}),
            (placed.remote, remote, configs or {}),
            (placed.ledger, ledger, {"cleanup.policy": "compact"}),
        ):
            self.oracle.create_topic(bootstrap, topic, configs=settings, replicas=replicas)
        return placed


@pytest.fixture(scope="package")
def three_brokers(services_directory: Path, oracle: Oracle) -> Iterator[ThreeBrokers]:
    """Three brokers and a controller that no test hurts. A test that hurts a broker heals it."""
    directory = services_directory / "north"
    cluster = KafkaCluster(directory, "north", 3, PROPERTIES)
    try:
        cluster.start()
        (directory / "flows").mkdir()
        yield ThreeBrokers(cluster, oracle, directory / "flows")
    finally:
        cluster.discard()
        shutil.rmtree(directory / "data-1", ignore_errors=True)


@pytest.fixture(scope="package")
def separable(services_directory: Path) -> Iterator[KafkaCluster]:
    """Three brokers of which one can be cut off: one cluster for all files with a deposed leader, which go to one worker."""
    cluster = KafkaCluster(services_directory / "separable", "separable", 3, PROPERTIES, proxied=True, separable=SEPARABLE)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.discard()
