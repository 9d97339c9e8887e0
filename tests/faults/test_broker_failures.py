"""Brokers that die, hang, or hand over their partitions in the middle of a copy: nothing lost, nothing doubled, order equal.

A run that meets such a fault ends well or is red and retriable, and the runs after it finish by themselves. Source, remote topic and
ledger are led by different brokers, so that each of them is hit: broker 1 leads the source, 2 the remote topic, 3 the ledger and all
transactions.
"""

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from kafka_mirror.copy.run_result import Verdict
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import lane_of
from lab.faults.injections import Kill, MoveLeaders, Pause, draw
from services.comparison import Comparison
from services.oracle import Record
from services.waiting import eventually
from tests.engine_hooks import EngineHooks, HitInTransaction
from tests.faults.conftest import Placed, ThreeBrokers

PARTITIONS = 4
RECORDS = 8_000
LONGEST_RUN = 120.0
"""Seconds: twice the longest wait of a run, four attempts that each wait for the client's deadline of 15 s."""


@dataclass
class UnderFire:
    """A flow that is copied while things happen, and how its runs went."""

    flow: Placed
    seed: int = 0

    def produce(self) -> None:
        self.seed += 1
        mirroring = self.flow.mirroring
        mirroring.oracle.produce(mirroring.source, self.flow.topic, RECORDS, seed=self.seed, codec="lz4")

    def hit(self, copied: int, inject: Callable[[], None]) -> None:
        """Hits a run in a transaction when this many records were copied, and then runs until all is copied."""
        self.produce()
        with pytest.MonkeyPatch.context() as patch:
            hit = HitInTransaction(patch, copied, inject)
            run(self.flow)
        hit.result()
        finished(self.flow)

    def compare(self) -> Comparison:
        return self.flow.mirroring.assert_mirrored(self.flow.topic)


def run(flow: Placed) -> Verdict | MirrorError:
    """One run, which must not take longer than its deadlines allow, and be red only for what mends itself."""
    started = time.monotonic()
    try:
        judged: Verdict | MirrorError = flow.mirroring.copy()
    except MirrorError as error:
        judged = error
    took = time.monotonic() - started
    print(f"{took:.1f} s: {judged}")
    assert took < LONGEST_RUN
    assert judged.retriable, str(judged)
    return judged


def finished(flow: Placed) -> None:
    """Runs until nothing is left to do, which must not take many."""
    for _ in range(4):
        judged = run(flow)
        if isinstance(judged, Verdict) and judged.state != "failed":
            return
    raise AssertionError(f"still not done: {judged}")


@pytest.fixture(autouse=True)
def healed(three_brokers: ThreeBrokers) -> Iterator[None]:
    """Each test leaves all brokers to the next one."""
    yield
    three_brokers.heal()


@pytest.fixture
def under_fire(three_brokers: ThreeBrokers) -> UnderFire:
    """A flow with small transactions, so that there are many moments to be hit in."""
    flow = three_brokers.place(
        source=dict.fromkeys(range(PARTITIONS), (1, 2, 3)),
        remote=dict.fromkeys(range(PARTITIONS), (2, 3, 1)),
        ledger=dict.fromkeys(range(2), (3, 1, 2)),
        configs={"min.insync.replicas": "2"},
        extra={"source->target.mirror.transaction.max.bytes": "65536"},
    )
    flow.mirroring.copy()  # so that there are coordinators to be moved
    three_brokers.keep_coordinators_at([3, 1, 2])
    return UnderFire(flow)


def test_a_killed_leader_of_the_target_delays_records_and_nothing_else(three_brokers: ThreeBrokers, under_fire: UnderFire) -> None:
    killed = Kill(three_brokers.cluster, 2)
    under_fire.hit(2000, killed.inject)
    killed.heal()
    assert under_fire.compare().equal


def test_a_coordinator_that_dies_before_it_answers_a_commit_leaves_no_doubt(
    three_brokers: ThreeBrokers, under_fire: UnderFire, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = Kill(three_brokers.cluster, 3)
    hooks, commits = EngineHooks(monkeypatch), itertools.count()

    def commit_and_kill(commit: Callable[[], None]) -> None:
        if next(commits) == 4:
            with ThreadPoolExecutor(1) as threads:
                threads.submit(killed.inject)
                commit()
            return
        commit()

    hooks.around_commit = commit_and_kill
    under_fire.produce()
    finished(under_fire.flow)
    killed.heal()
    assert under_fire.compare().equal


def test_a_broker_that_hangs_and_wakes_up_as_if_nothing_had_happened_does_no_harm(
    three_brokers: ThreeBrokers, under_fire: UnderFire
) -> None:
    paused = Pause(three_brokers.cluster, 2)
    woken = threading.Timer(8, paused.heal)

    def pause() -> None:
        paused.inject()
        woken.start()

    under_fire.hit(2000, pause)
    woken.join()
    assert under_fire.compare().equal


def test_leaders_that_move_while_they_are_read_and_written_change_nothing(three_brokers: ThreeBrokers, under_fire: UnderFire) -> None:
    flow = under_fire.flow
    moved = MoveLeaders(three_brokers.cluster, three_brokers.oracle, (flow.ledger, flow.remote, flow.topic))
    under_fire.hit(500, moved.inject)
    known = {tp: record.watermark for tp, record in flow.mirroring.ledger().items()}
    lanes = flow.mirroring.flow.value("mirror.lanes")
    with ThreadPoolExecutor(1) as threads:
        moving = threads.submit(moved.inject)
        while not moving.done():
            view = flow.mirroring.ledger_view()
            # A lane whose leader is not there yet says so; what is read of the others is whole.
            expected = {tp: mark for tp, mark in known.items() if lane_of(tp.topic, tp.partition, lanes) not in view.unreadable}
            assert {tp: record.watermark for tp, record in view.records.items()} == expected
    moving.result()
    assert under_fire.compare().equal


def test_the_end_of_a_transaction_that_a_newer_leader_wrote_is_no_truncated_source(
    three_brokers: ThreeBrokers,
) -> None:
    flow = three_brokers.place(source={0: (1, 2, 3)}, remote={0: (2, 3)}, ledger={0: (3, 2)})
    oracle, bootstrap = three_brokers.oracle, three_brokers.cluster.bootstrap
    oracle.open_transaction(bootstrap, flow.topic, flow.topic, [Record(b"k", b"v")] * 5)
    MoveLeaders(three_brokers.cluster, oracle, (flow.topic,)).inject()
    oracle.end_transaction(flow.topic, "commit")
    assert flow.mirroring.copy().records == 5
    flow.produce(5, 0)
    judged = flow.mirroring.copy()
    assert (judged.state, judged.records) == ("done", 5), str(judged)


def test_while_a_broker_is_dead_only_what_it_alone_has_waits_and_goes_on_by_itself(
    three_brokers: ThreeBrokers, under_fire: UnderFire
) -> None:
    safe = {0: (3, 2), 1: (3, 2)}
    leaderless = three_brokers.place(safe, {0: [1], 1: [3]}, {0: (3, 2)})
    too_few = three_brokers.place(safe, {0: (1, 3), 1: (3, 2)}, {0: (3, 2)}, configs={"min.insync.replicas": "2"})
    no_ledger = three_brokers.place(safe, safe, {0: [1], 1: [3]})
    flows = (leaderless, too_few, no_ledger)
    for flow in flows:
        assert flow.mirroring.copy().state == "done"
        for number in safe:
            flow.produce(50, number)
    killed = Kill(three_brokers.cluster, 1)
    under_fire.hit(2000, killed.inject)
    oracle, bootstrap = three_brokers.oracle, three_brokers.cluster.bootstrap
    eventually(lambda: oracle.partitions(bootstrap, leaderless.remote)[0].leader is None, "the remote partition has no leader")
    eventually(lambda: oracle.partitions(bootstrap, too_few.remote)[0].in_sync == (3,), "one replica is in sync")
    eventually(lambda: oracle.partitions(bootstrap, no_ledger.ledger)[0].leader is None, "the ledger's partition has no leader")

    for flow in (leaderless, too_few):
        judged = flow.mirroring.copy()
        assert [(error.code, error.partition, error.retriable) for error in judged.errors] == [("TargetUnavailable", 0, True)], str(judged)
        assert judged.records == 50
    assert len(too_few.remote_records(0)) == 0
    judged = no_ledger.mirroring.copy()
    assert [(error.topic, error.partition, error.retriable) for error in judged.errors] == [(no_ledger.ledger, 0, True)], str(judged)
    assert judged.records == 50

    killed.heal()
    assert under_fire.compare().equal
    for flow in flows:
        finished(flow)
        flow.mirroring.assert_mirrored(flow.topic)


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_eight_faults_by_chance_for_each_seed(three_brokers: ThreeBrokers, under_fire: UnderFire, seed: int) -> None:
    chance = random.Random(seed)
    flow = under_fire.flow
    for number in range(8):
        fault = draw(three_brokers.cluster, three_brokers.oracle, (flow.ledger, flow.remote, flow.topic), chance)
        copied, seconds = chance.randrange(RECORDS // 2), chance.choice((2, 8, 30))
        three_brokers.await_replicas(flow.ledger, flow.remote, flow.topic)

        healing = threading.Timer(seconds, fault.heal)

        def inject(fault: Kill | Pause | MoveLeaders = fault, healing: threading.Timer = healing) -> None:
            fault.inject()
            healing.start()

        under_fire.hit(copied, inject)
        healing.join()
        comparison = under_fire.compare()
        assert comparison.equal
        print(f"seed {seed}, round {number}: {fault.name} at {copied} records for {seconds} s, {comparison.records} records equal")
