"""A flow on a target of which one broker is cut off from its controller and its peers, and not from its clients.

A client that bootstraps at such a broker learns the addresses of the others too, so chance decides which one answers. Here a client that
bootstraps at the deposed leader reaches no other broker, and the test says for each step of a run where it bootstraps.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.copy.model import LaneTask
from kafka_mirror.kafka.cluster import Cluster
from lab.faults.injections import SEPARABLE, CutOff
from services.comparison import Account
from services.flow_in_process import Mirroring
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, Side

SERVERS = "bootstrap.servers"
REPLICAS = [SEPARABLE, *(broker for broker in (1, 2, 3) if broker != SEPARABLE)]
PROPERTIES = {
    "source->target.mirror.lanes": "1",
    "admin.timeout.ms": "15000",
    "source->target.mirror.transaction.timeout.ms": "20000",
    "mirror.ledger.replication.factor": "3",
    "emit.offset-syncs.enabled": "false",
}


@dataclass
class Site:
    """A flow of two partitions whose ledger and remote topic the broker leads that can be cut off."""

    mirroring: Mirroring
    topic: str
    target: KafkaCluster
    fault: CutOff

    @property
    def flow(self) -> Flow:
        return self.mirroring.flow

    @property
    def remote(self) -> str:
        return self.mirroring.pair.remote(self.topic)

    @property
    def ledger(self) -> str:
        return f"mm2-ledger.{self.mirroring.pair.source}.internal"

    @property
    def deposed(self) -> str:
        """`bootstrap.servers` of the broker that is cut off, alone."""
        return deposed(self.target)

    @property
    def others(self) -> str:
        """`bootstrap.servers` of the brokers that are not."""
        return self.fault.others

    def produce(self, records: int, seed: int) -> None:
        self.mirroring.oracle.produce(self.mirroring.source, self.topic, records, seed=seed)

    def cut(self) -> None:
        """Returns when the others have elected other leaders, and the deposed one does not know."""
        self.fault.lead()
        self.fault.attract_clients()
        self.fault.inject()
        with Cluster("south", {SERVERS: self.deposed}) as cluster:
            topics = cluster.topics([self.remote, self.ledger])
        assert {partition.leader for topic in topics.values() for partition in topic.partitions} == {SEPARABLE}

    def exact(self) -> int:
        """How many records the witness finds on both sides, none lost, doubled, foreign or out of order."""
        return self.mirroring.oracle.assert_mirrored(*self._sides).records

    def accounts(self) -> list[Account]:
        """What the witness finds wrong, partition by partition."""
        return self.mirroring.oracle.account(*self._sides)

    @property
    def _sides(self) -> tuple[Side, Side]:
        return Side(self.mirroring.source, self.topic), Side(self.others, self.remote)


def deposed(target: KafkaCluster) -> str:
    """`bootstrap.servers` of the broker that can be cut off, through the cluster's network."""
    return target.proxied_bootstrap.split(",")[SEPARABLE - 1]


@contextmanager
def new_site(source: str, target: KafkaCluster, oracle: Oracle, directory: Path, extra: Mapping[str, str]) -> Iterator[Site]:
    """A flow of its own, whose target is whole again at the end."""
    mark = uuid.uuid4().hex[:6]
    others = target.bootstrap_without(SEPARABLE)
    pair = ClusterPair(f"east{mark}", f"south{mark}", source, f"{deposed(target)},{others}", mark, directory)
    mirroring = Mirroring(pair, oracle, load([pair.properties(extra={**PROPERTIES, **extra})]).flow(pair.flow))
    topic = pair.topic("orders")
    remote, internal = pair.remote(topic), (f"mm2-ledger.{pair.source}.internal", f"mm2-control.{pair.source}.internal")
    oracle.create_topic(source, topic, 2)
    oracle.create_topic(target.bootstrap, remote, replicas={0: REPLICAS, 1: REPLICAS})
    for name in internal:
        oracle.create_topic(target.bootstrap, name, configs={"cleanup.policy": "compact"}, replicas={0: REPLICAS})
    site = Site(mirroring, topic, target, CutOff(target, oracle, (remote, *internal)))
    try:
        yield site
    finally:
        site.fault.heal()


class Beginnings:
    """Where the readers of the target begin, step by step. `servers`: all of them there, or anywhere with None; `once`: the first of each
    kind there, the others anywhere; `lanes`: the first attempt of each lane there, the others where the lane will have it.

    Producers begin at the true leaders, but for `producers`, those of each lane's first attempt: whom the deposed leader keeps from its
    transaction coordinator gets no further than that.
    """

    def __init__(self, others: str, patch: pytest.MonkeyPatch) -> None:
        self.servers: str | None = None
        self.once: dict[str, str] = {}
        self.lanes = self.producers = others
        self.turns: list[int] = []
        client, with_first_server = Flow.client, LaneTask.with_first_server

        def begun(flow: Flow, role: str, kind: str) -> dict[str, Any]:
            settings = client(flow, role, kind)
            if role != "target" or kind == "producer":
                return settings
            servers = self.once.pop(kind, self.servers)
            return {**settings, SERVERS: servers} if servers else settings

        def attempt(task: LaneTask, turn: int) -> LaneTask:
            self.turns.append(turn)
            if turn:
                return with_first_server(task, turn)
            ours = task.clients
            clients = replace(
                ours,
                target_admin={**ours.target_admin, SERVERS: self.lanes},
                target_consumer={**ours.target_consumer, SERVERS: self.lanes},
                target_producer={**ours.target_producer, SERVERS: self.producers},
            )
            return replace(task, clients=clients)

        patch.setattr(Flow, "client", begun)
        patch.setattr(LaneTask, "with_first_server", attempt)
