"""Three clusters of the scenarios' own: heartbeats have one name for all, so on clusters that others share they would be everybody's."""

import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.client import MirrorClient
from kafka_mirror.config import load
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.status.steps import run_step
from services.flow_in_process import Mirroring
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, Record
from services.waiting import ADMIN_TIMEOUT_MS

ONE_BROKER = {
    f"{name}replication.factor": "1" for name in ("", "offset-syncs.topic.", "checkpoints.topic.", "heartbeats.topic.", "mirror.ledger.")
}


@dataclass
class Mesh:
    """Clusters by alias and what an operator does with the flows between them; `configure` comes first."""

    bootstraps: Mapping[str, str]
    oracle: Oracle
    directory: Path
    file: Path = field(init=False)

    def configure(self, *flows: str, **properties: str) -> None:
        """Writes mm2.properties with these flows enabled and these lines; a line's key is given as it is by `**{"a->b.topics": ...}`."""
        lines = {
            "clusters": ", ".join(self.bootstraps),
            **{f"{alias}.bootstrap.servers": bootstrap for alias, bootstrap in self.bootstraps.items()},
            **{f"{flow}.enabled": "true" for flow in flows},
            **ONE_BROKER,
            "mirror.lanes": "4",
            "admin.timeout.ms": ADMIN_TIMEOUT_MS,
            **properties,
        }
        self.file = self.directory / "mm2.properties"
        self.file.write_text("".join(f"{_key(name)} = {_value(text)}\n" for name, text in lines.items()))

    def flow(self, name: str) -> Mirroring:
        """One of the flows."""
        source, target = name.split("->")
        pair = ClusterPair(source, target, self.bootstraps[source], self.bootstraps[target], "", self.directory)
        return Mirroring(pair, self.oracle, load([self.file]).flow(name))

    def copy(self, *flows: str) -> None:
        """A run of `refresh-topics` and one of `copy` for each of these flows, one flow after the other, all of them green."""
        for name in flows:
            self.step("refresh-topics", name)
            verdict = self.flow(name).copy()
            assert verdict.errors == ()

    def step(self, step: str, flow: str) -> StepResult:
        """A run of a step beside the copy, without an error."""
        done = run_step(step, load([self.file]).flow(flow))
        assert done.errors == ()
        return done

    def beat(self) -> list[str]:
        """One heartbeat of every pair that beats; gives the pairs."""
        beating = load([self.file]).for_heartbeats()
        assert beating.invalid == ()
        for flow in beating.flows:
            run_step("heartbeats", flow)
        return [flow.name for flow in beating.flows]

    def produce(self, alias: str, topic: str, partitions: int = 10, records: int = 10, first: int = 0) -> None:
        """So many records into each partition, every key once."""
        self.oracle.produce_records(
            self.bootstraps[alias],
            topic,
            [
                Record(f"{alias} {number}".encode(), os.urandom(40), (("from", alias.encode()),), partition=partition)
                for number in range(first, first + records)
                for partition in range(partitions)
            ],
        )

    def create(self, alias: str, topic: str, partitions: int = 10, **configs: str) -> None:
        """A topic; in the names of configs, `_` stands for `.`."""
        self.oracle.create_topic(
            self.bootstraps[alias], topic, partitions, {name.replace("_", "."): each for name, each in configs.items()}
        )

    def count(self, alias: str, topic: str) -> int:
        """The committed records of a topic."""
        return sum(each.records for each in self.oracle.count(self.bootstraps[alias], topic))

    def topics(self, alias: str) -> set[str]:
        """Every topic of a cluster but those that are the brokers' or the mirror's own."""
        with self._cluster(alias) as cluster:
            return {name for name in cluster.names() if not name.endswith(".internal")}

    def internal_topics(self, alias: str) -> set[str]:
        """The topics that the mirror keeps for itself there."""
        with self._cluster(alias) as cluster:
            return {name for name in cluster.names() if name.endswith(".internal")}

    def configs(self, alias: str, topic: str) -> dict[str, str | None]:
        """What is set on a topic itself."""
        with self._cluster(alias) as cluster:
            return {name: entry.value for name, entry in cluster.configs([topic])[topic].items() if not entry.is_default}

    def client(self, alias: str, **properties: str) -> MirrorClient:
        """What applications ask there."""
        return MirrorClient({"bootstrap.servers": self.bootstraps[alias], **properties}, 15)

    def _cluster(self, alias: str) -> Cluster:
        return Cluster(alias, {"bootstrap.servers": self.bootstraps[alias]}, 15)


@pytest.fixture(scope="package")
def three_clusters(services_directory: Path) -> Iterator[list[KafkaCluster]]:
    """Three clusters of one broker, launched together."""
    mark = uuid.uuid4().hex[:6]
    clusters = [KafkaCluster(services_directory / f"{name}-{mark}", name) for name in ("one", "two", "three")]
    try:
        for cluster in clusters:
            cluster.launch()
        for cluster in clusters:
            cluster.wait_ready()
        yield clusters
    finally:
        for cluster in clusters:
            cluster.discard()


@pytest.fixture
def make_mesh(three_clusters: list[KafkaCluster], oracle: Oracle, tmp_path: Path) -> Iterator[Any]:
    """`make_mesh("primary", "backup")`: clusters under these aliases; all their topics go when the test ends."""
    made: list[Mesh] = []

    def make(*aliases: str) -> Mesh:
        mesh = Mesh({alias: each.bootstrap for alias, each in zip(aliases, three_clusters, strict=False)}, oracle, tmp_path)
        made.append(mesh)
        return mesh

    yield make
    for mesh in made:
        for alias, bootstrap in mesh.bootstraps.items():
            for topic in mesh.topics(alias) | mesh.internal_topics(alias):
                oracle.delete_topic(bootstrap, topic)


def _key(text: str) -> str:
    """A key as a properties file has it."""
    return "".join(f"\\{character}" if character in " :=#!\\" else character for character in text)


def _value(text: str) -> str:
    return text.replace("\\", "\\\\")
