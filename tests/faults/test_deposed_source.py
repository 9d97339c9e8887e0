"""A broker of the source that is cut off from its controller and its peers, and not from the mirror: it goes on telling the ends of the
logs that it led, while producers write to the true leaders. A wave that believes it opens without records that were acknowledged.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafka_mirror.config import load
from kafka_mirror.cutover.wave.record import OPENED
from kafka_mirror.cutover.wave.run import WaveRun, run_wave
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import AUDIT_GATE, CATCH_UP, DONE, FENCE, LAST_COPY, MOVE_GROUPS, PREFLIGHT, StepOptions
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.decide.run import decide
from kafka_mirror.errors import MirrorError, SourceUnreadable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.control_records import RESTART
from lab.faults.injections import SEPARABLE, CutOff
from services.consumers import read_offsets, set_offsets
from services.flow_in_process import Mirroring
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.waiting import eventually
from tests.faults.deposed_leader import REPLICAS, deposed

KEPT, LATE = 40, 25
EXTRA = {"source->target.mirror.lanes": "1", "admin.timeout.ms": "15000", "emit.offset-syncs.enabled": "false"}


@dataclass
class Site:
    """A flow whose source's partition the broker leads that can be cut off. That broker is the first of `bootstrap.servers`."""

    mirroring: Mirroring
    topic: str
    fault: CutOff

    @property
    def servers(self) -> str:
        return f"{deposed(self.fault.cluster)},{self.fault.others}"

    def produce(self, records: int, seed: int) -> None:
        self.mirroring.oracle.produce(self.fault.others, self.topic, records, seed=seed)

    def run(self, until: str | None = None) -> WaveRun:
        options = StepOptions("deposed", "ben", "a test", dry_run=False, quiet_seconds=1.0, timeout=15.0)
        return run_wave(self.mirroring.flow, Wave((self.topic,)), options, until=until)

    def copies(self) -> int:
        return sum(count.records for count in self.mirroring.oracle.count(self.mirroring.target, self.mirroring.pair.remote(self.topic)))


@pytest.fixture
def site(separable: KafkaCluster, west: KafkaCluster, oracle: Oracle, tmp_path: Path) -> Iterator[Site]:
    mark = uuid.uuid4().hex[:6]
    others = separable.bootstrap_without(SEPARABLE)
    pair = ClusterPair(f"north{mark}", f"west{mark}", f"{deposed(separable)},{others}", west.bootstrap, mark, tmp_path)
    mirroring = Mirroring(pair, oracle, load([pair.properties(extra=EXTRA)]).flow(pair.flow))
    topic = pair.topic("stock")
    oracle.create_topic(separable.bootstrap, topic, replicas={0: REPLICAS})
    made = Site(mirroring, topic, CutOff(separable, oracle, (topic,)))
    made.produce(KEPT, seed=1)
    assert mirroring.copy().errors == ()
    made.fault.lead()
    try:
        yield made
    finally:
        made.fault.heal()


@pytest.mark.parametrize(
    "behind",
    [
        CATCH_UP,
        MOVE_GROUPS,
        *(pytest.param(step, marks=pytest.mark.faults) for step in (PREFLIGHT, FENCE, LAST_COPY, AUDIT_GATE)),
    ],
)
def test_a_wave_stops_at_what_another_server_of_the_source_knows_and_opens_with_it_once_all_agree(site: Site, behind: str) -> None:
    assert site.run(until=behind).state == DONE
    site.fault.attract_clients()
    site.fault.inject()
    site.produce(LATE, seed=2)
    place = TopicPartition(site.topic, 0)
    with Cluster("north", {"bootstrap.servers": site.servers}, 10) as cluster:
        assert cluster.offsets([place], "latest") == {place: KEPT}, "the deposed leader is not the one that is asked"
    run = site.run()
    codes = {finding.code for outcome in run.outcomes for finding in outcome.findings}
    assert run.record.state != OPENED, run.outcomes
    assert "ClusterContradictsItself" in codes, run.outcomes
    site.fault.heal()
    run = site.run()
    assert run.record.state == OPENED, run.outcomes
    assert site.copies() == KEPT + LATE


@pytest.mark.faults
def test_a_copy_that_gets_an_end_before_the_watermark_says_so_and_does_not_call_the_source_cut_off(site: Site) -> None:
    """The copies before went on with the true leader. Who believed the deposed one, and decided as it is advised, would copy twice."""
    mirroring = site.mirroring
    site.fault.attract_clients()
    site.fault.inject()
    site.produce(LATE, seed=2)
    with_the_deposed = mirroring.flow
    others = ClusterPair(
        mirroring.pair.source, mirroring.pair.target, site.fault.others, mirroring.target, mirroring.pair.mark, mirroring.pair.directory
    )
    mirroring.flow = load([others.properties(extra=EXTRA, file="others.properties")]).flow(others.flow)
    assert mirroring.copy().records == LATE
    mirroring.flow = with_the_deposed
    judged = mirroring.copy()
    assert [(error.code, error.retriable) for error in judged.errors] == [("SourceUnreadable", True)], str(judged)
    assert "is cut off from its cluster" in judged.errors[0].message
    with pytest.raises(SourceUnreadable):
        decide(mirroring.flow, DecisionRequest(RESTART, who="ben", why="a test", topic=site.topic, partition=0))
    site.fault.heal()
    assert mirroring.copy().errors == ()
    assert site.copies() == KEPT + LATE


def test_a_group_whose_coordinator_is_cut_off_moves_to_where_it_stands_by_the_true_one_or_not_at_all(site: Site) -> None:
    """The wave's partition is led by another broker, so that only the group's place is in doubt."""
    pair, oracle = site.mirroring.pair, site.mirroring.oracle
    group, place = f"readers-{pair.mark}", (site.topic, 0)
    oracle.move_replicas(site.servers, site.topic, {0: [*REPLICAS[1:], SEPARABLE]})
    oracle.elect_leaders(site.servers, site.topic, [0])
    set_offsets(site.servers, group, {place: 10})
    fault = CutOff(site.fault.cluster, oracle, ("__consumer_offsets",))
    fault.lead()
    assert site.run(until=AUDIT_GATE).state == DONE
    fault.inject()
    try:
        eventually(lambda: moved_on(site, group, place), "the true coordinator takes commits")
        run = site.run()
    finally:
        fault.heal()
    codes = {finding.code for outcome in run.outcomes for finding in outcome.findings}
    assert run.record.state == OPENED or "ClusterContradictsItself" in codes, run.outcomes
    assert site.run().record.state == OPENED
    assert set(read_offsets(site.mirroring.target, group).values()) == {30}


def moved_on(site: Site, group: str, place: tuple[str, int]) -> bool:
    """Whether the group stands at 30 by a broker that is not cut off."""
    try:
        set_offsets(site.fault.others, group, {place: 30})
    except MirrorError:
        return False
    return set(read_offsets(site.fault.others, group).values()) == {30}
