"""A broker that is cut off from its controller and its peers, and not from its clients: it goes on answering as the leader that it was, for
the ledger and for the remote topic, while the others have elected another one. Whoever believes it copies a second time what is copied.

A client that begins at it is told of the other brokers too, so which one answers is chance. Here it is none: whoever begins at the deposed
leader reaches nobody else, and each step of a run is told where it begins. Only producers begin at the true leaders: whom the deposed one
keeps from its transaction coordinator gets no further than that.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mirror.config import Flow, load
from mirror.copy.model import LaneTask
from mirror.copy.run import copy_in_process, lane_task
from mirror.errors import StaleAnswer
from mirror.handover.lanes import Records, write_lane
from mirror.kafka.cluster import Cluster
from mirror.offsets.partition import TopicPartition
from mirror.plan.run import plan
from mirror.report.publish import publish
from mirror.report.verdict import DONE, NOTHING_TO_DO, verdict
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, Side
from tests.faults.injections_brokers import PROPERTIES
from tests.integration.conftest import Mirroring
from tests.waiting import eventually

DEPOSED = 1
KEPT, MORE, RUNS = 50, 30, 4
SERVERS = "bootstrap.servers"
REPLICAS = {0: [DEPOSED, 2, 3], 1: [DEPOSED, 2, 3]}


@dataclass
class Site:
    """A flow whose ledger and remote topic broker 1 leads, on a target from which it can be cut off."""

    mirroring: Mirroring
    topic: str
    target: KafkaCluster
    true_target: str

    @property
    def remote(self) -> str:
        return self.mirroring.pair.remote(self.topic)

    def produce(self, records: int, seed: int) -> None:
        self.mirroring.oracle.produce(self.mirroring.source, self.topic, records, seed=seed)

    def cut(self) -> None:
        """Returns when the others have elected other leaders, and broker 1 does not know. Who begins there does not reach the others."""
        self.target.network.gather(int(self.deposed.split(":")[1]))
        self.target.links.refuse()
        eventually(lambda: self._leaders(self.true_target).isdisjoint({DEPOSED, None}), "other leaders")
        assert self._leaders(self.deposed) == {DEPOSED}

    def heal(self) -> None:
        self.target.network.gather(None)
        self.target.links.heal()

    @property
    def deposed(self) -> str:
        return deposed(self.target)

    def _leaders(self, bootstrap: str) -> set[int | None]:
        """As a broker tells a client that begins there."""
        with Cluster("south", {"bootstrap.servers": bootstrap}) as cluster:
            topics = cluster.topics([self.remote, self.ledger])
            return {partition.leader for topic in topics.values() for partition in topic.partitions}

    @property
    def ledger(self) -> str:
        return f"mm2-ledger.{self.mirroring.pair.source}.internal"

    def exact(self) -> int:
        """How many records the witness finds on both sides, none lost, doubled, foreign or out of order."""
        both = Side(self.mirroring.source, self.topic), Side(self.true_target, self.remote)
        return self.mirroring.oracle.assert_mirrored(*both).records


def deposed(target: KafkaCluster) -> str:
    """`bootstrap.servers` of broker 1 alone."""
    return target.proxied_bootstrap.split(",")[0]


@pytest.fixture
def site(east: KafkaCluster, oracle: Oracle, tmp_path: Path) -> Iterator[Site]:
    target = KafkaCluster(tmp_path / "south", "south", 3, PROPERTIES, proxied=True, separable=DEPOSED)
    try:
        target.start()
        mark = uuid.uuid4().hex[:6]
        true_target = target.bootstrap_without(DEPOSED)
        pair = ClusterPair(f"east{mark}", f"south{mark}", east.bootstrap, f"{deposed(target)},{true_target}", mark, tmp_path)
        properties = {
            "source->target.mirror.lanes": "1",
            "admin.timeout.ms": "15000",
            "source->target.mirror.transaction.timeout.ms": "20000",
            "mirror.ledger.replication.factor": "3",
            "emit.offset-syncs.enabled": "false",
        }
        flow = load([pair.properties(extra=properties)]).flow(pair.flow)
        made = Site(Mirroring(pair, oracle, flow), pair.topic("orders"), target, true_target)
        oracle.create_topic(east.bootstrap, made.topic, len(REPLICAS))
        oracle.create_topic(target.bootstrap, made.remote, replicas=REPLICAS)
        for internal in (made.ledger, f"mm2-control.{pair.source}.internal"):
            oracle.create_topic(target.bootstrap, internal, configs={"cleanup.policy": "compact"}, replicas={0: REPLICAS[0]})
        yield made
    finally:
        target.discard()


class Beginnings:
    """Where the readers of the target begin, step by step. `servers`: all of them there, or anywhere with None; `once`: the first of each
    kind there, the others anywhere; `lanes`: the first attempt of each lane there, the others where the lane will have it."""

    def __init__(self, true_target: str, patch: pytest.MonkeyPatch) -> None:
        self.servers: str | None = None
        self.once: dict[str, str] = {}
        self.lanes = true_target
        self.turns: list[int] = []
        client, beginning_at = Flow.client, LaneTask.beginning_at

        def begun(flow: Flow, role: str, kind: str) -> dict[str, Any]:
            settings = client(flow, role, kind)
            if role != "target" or kind == "producer":
                return settings
            servers = self.once.pop(kind, self.servers)
            return {**settings, SERVERS: servers} if servers else settings

        def attempt(task: LaneTask, turn: int) -> LaneTask:
            self.turns.append(turn)
            if turn:
                return beginning_at(task, turn)
            ours = task.clients
            clients = replace(
                ours,
                target_admin={**ours.target_admin, SERVERS: self.lanes},
                target_consumer={**ours.target_consumer, SERVERS: self.lanes},
                target_producer={**ours.target_producer, SERVERS: true_target},
            )
            return replace(task, clients=clients)

        patch.setattr(Flow, "client", begun)
        patch.setattr(LaneTask, "beginning_at", attempt)


@pytest.fixture
def begin(site: Site, monkeypatch: pytest.MonkeyPatch) -> Beginnings:
    return Beginnings(site.true_target, monkeypatch)


def test_what_a_deposed_leader_says_doubles_nothing_and_makes_no_run_red_falsely(site: Site, begin: Beginnings) -> None:
    flow = site.mirroring.flow
    site.produce(KEPT, seed=1)
    assert site.mirroring.copy().state == DONE
    site.cut()
    site.produce(MORE, seed=2)
    begin.servers = site.true_target
    assert site.mirroring.copy().state == DONE, "the deposed leader knows nothing of this"
    assert site.exact() == KEPT + MORE

    begin.lanes = site.deposed
    for number in range(RUNS):
        site.produce(MORE, seed=3 + number)
        begin.servers = site.true_target if number % 2 else site.deposed
        planned = plan(flow)
        begin.turns.clear()
        begin.servers = None
        results = copy_in_process(flow, planned)
        assert max(begin.turns) > 0, "the deposed leader was believed"
        begin.servers = site.deposed
        with pytest.raises(StaleAnswer) as raised:
            publish(flow, planned, results)
        assert (raised.value.log, raised.value.retriable) == (TopicPartition(site.ledger, 0), True)
        begin.servers, begin.once = None, dict.fromkeys(("admin", "consumer"), site.deposed)
        judged = verdict(planned, results, publish(flow, planned, results))
        assert judged.state == DONE, str(judged)
        assert site.exact() == KEPT + MORE * (2 + number)

    seen: list[Records] = []

    def look(known: Records, _writer: Any) -> Records:
        seen.append(known)
        return known

    begin.servers = site.true_target
    planned = plan(flow)
    begin.turns.clear()
    begin.servers = None
    written = write_lane(lane_task(flow, planned, 0), look)
    assert begin.turns == [0, 1], "what the deposed leader told was not written behind"
    assert seen[0] != seen[1] == written

    site.heal()
    begin.lanes = site.true_target
    site.produce(MORE, seed=9)
    eventually(lambda: site.mirroring.copy().state == NOTHING_TO_DO, "the end of all work")
    assert site.exact() == KEPT + MORE * (2 + RUNS)
