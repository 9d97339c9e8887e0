"""Brokers that die, hang, or hand over their partitions in the middle of a copy: nothing lost, nothing doubled, order equal.

A run that meets such a fault ends well or is red and retriable, and the runs behind it finish by themselves. Source, remote topic and
ledger are led by different brokers, so that each of them is hit: broker 1 leads the source, 2 the remote topic, 3 the ledger and all
transactions.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from mirror.copy.confluent_engine import ConfluentEngine
from mirror.errors import MirrorError
from mirror.kafka.cluster import Cluster
from mirror.offsets.partition import TopicPartition
from mirror.report.verdict import Verdict
from services.comparison import Comparison
from services.oracle import Record
from tests.faults.conftest import Placed, ThreeBrokers
from tests.faults.injections_brokers import Kill, MoveLeaders, Pause, draw, wait

PARTITIONS = 4
RECORDS = 8_000
LONGEST_RUN = 120.0
"""Seconds: twice the longest wait of a run, four attempts that each wait for the client's deadline of 15 s."""


@dataclass
class UnderFire:
    """A flow that is copied while things happen, and how its runs went."""

    flow: Placed
    target: Cluster
    seed: int = 0

    def produce(self) -> None:
        self.seed += 1
        mirroring = self.flow.mirroring
        mirroring.oracle.produce(
            mirroring.source, self.flow.topic, RECORDS, seed=self.seed, transactions=200, abort_percent=20, producers=2, codec="lz4"
        )

    def written(self) -> int:
        """Offsets on the target, committed or not: how far the copy under way has come."""
        remote = [TopicPartition(self.flow.remote, number) for number in range(PARTITIONS)]
        return sum(self.target.offsets(remote, "latest").values())

    def run(self) -> Verdict | MirrorError:
        """One run, which must not take longer than its deadlines allow, and be red only for what mends itself."""
        started = time.monotonic()
        try:
            judged: Verdict | MirrorError = self.flow.mirroring.copy()
        except MirrorError as error:
            judged = error
        took = time.monotonic() - started
        print(f"{took:.1f} s: {judged}")
        assert took < LONGEST_RUN
        assert judged.retriable, str(judged)
        return judged

    def hit(self, share: float, inject: Callable[[], None]) -> None:
        """A run that is hit once so much of the round is written, and those that it takes to finish."""
        self.produce()
        before = self.written()
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(self.run)
            wait(lambda: running.done() or self.written() - before > share * RECORDS, "the copy gets so far")
            assert not running.done(), "the copy was over before it could be hit"
            inject()
            judged = running.result(LONGEST_RUN)
        self.finish(judged)

    def finish(self, judged: Verdict | MirrorError) -> None:
        for _ in range(4):
            if isinstance(judged, Verdict) and judged.state != "failed":
                return
            judged = self.run()
        raise AssertionError(f"still not done: {judged}")

    def compare(self) -> Comparison:
        return self.flow.mirroring.assert_mirrored(self.flow.topic)


@pytest.fixture
def under_fire(three_brokers: ThreeBrokers) -> Iterator[UnderFire]:
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
    with Cluster(flow.mirroring.pair.target, {"bootstrap.servers": flow.mirroring.target}) as target:
        yield UnderFire(flow, target)


def test_a_killed_leader_of_source_or_target_delays_records_and_nothing_else(three_brokers: ThreeBrokers, under_fire: UnderFire) -> None:
    for broker in (1, 2):
        killed = Kill(three_brokers.cluster, broker)
        under_fire.hit(0.2, killed.inject)
        under_fire.compare()
        killed.heal()


def test_a_coordinator_that_dies_before_it_answers_a_commit_leaves_no_doubt(
    three_brokers: ThreeBrokers, under_fire: UnderFire, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = Kill(three_brokers.cluster, 3)
    commit, commits = ConfluentEngine.commit, threading.Semaphore(4)

    def commit_and_kill(engine: ConfluentEngine) -> None:
        if not commits.acquire(blocking=False):
            monkeypatch.undo()
            with ThreadPoolExecutor(1) as threads:
                threads.submit(killed.inject)
                commit(engine)
            return
        commit(engine)

    monkeypatch.setattr(ConfluentEngine, "commit", commit_and_kill)
    under_fire.produce()
    under_fire.finish(under_fire.run())
    under_fire.compare()
    killed.heal()


def test_a_broker_that_hangs_and_wakes_up_as_if_nothing_had_happened_does_no_harm(
    three_brokers: ThreeBrokers, under_fire: UnderFire
) -> None:
    paused = Pause(three_brokers.cluster, 2)
    woken = threading.Timer(8, paused.heal)

    def pause() -> None:
        paused.inject()
        woken.start()

    under_fire.hit(0.2, pause)
    woken.join()
    under_fire.compare()


def test_leaders_that_move_while_they_are_read_and_written_change_nothing(three_brokers: ThreeBrokers, under_fire: UnderFire) -> None:
    flow = under_fire.flow
    moved = MoveLeaders(three_brokers.cluster, three_brokers.oracle, (flow.ledger, flow.remote, flow.topic))
    under_fire.hit(0.1, moved.inject)
    known = {tp: record.watermark for tp, record in flow.mirroring.ledger().items()}
    with ThreadPoolExecutor(1) as threads:
        moving = threads.submit(moved.inject)
        while not moving.done():
            assert {tp: record.watermark for tp, record in flow.mirroring.ledger().items()} == known
    moving.result()
    under_fire.compare()


def test_the_end_of_a_transaction_that_a_newer_leader_wrote_is_no_truncated_source(three_brokers: ThreeBrokers) -> None:
    flow = three_brokers.place(source={0: (1, 2, 3)}, remote={0: (2, 3)}, ledger={0: (3, 2)})
    oracle, bootstrap = three_brokers.oracle, three_brokers.cluster.bootstrap
    oracle.open_transaction(bootstrap, flow.topic, flow.topic, [Record(b"k", b"v")] * 5)
    MoveLeaders(three_brokers.cluster, oracle, (flow.topic,)).inject()
    oracle.end_transaction(flow.topic, "commit")
    assert flow.mirroring.copy().records == 5
    flow.produce(5, 0)
    judged = flow.mirroring.copy()
    assert (judged.state, judged.records) == ("done", 5), str(judged)


def test_a_partition_that_cannot_be_written_is_left_out_and_goes_on_by_itself(three_brokers: ThreeBrokers) -> None:
    one_lane = three_brokers.place(
        source=dict.fromkeys(range(3), (3, 2)),
        remote={0: [1], 1: [1, 3], 2: [3, 2]},
        ledger={0: [3, 2]},
        configs={"min.insync.replicas": "2"},
    )
    two_lanes = three_brokers.place(source={0: [3, 2], 1: [3, 2]}, remote={0: [3, 2], 1: [3, 2]}, ledger={0: [1], 1: [3, 2]})
    for flow in (one_lane, two_lanes):
        assert flow.mirroring.copy().state == "done"
        for number in range(3 if flow is one_lane else 2):
            flow.produce(50, number)
    killed = Kill(three_brokers.cluster, 1)
    killed.inject()
    oracle, bootstrap = three_brokers.oracle, three_brokers.cluster.bootstrap
    wait(lambda: oracle.partitions(bootstrap, one_lane.remote)[0].leader is None, "the remote partition has no leader")
    wait(lambda: oracle.partitions(bootstrap, two_lanes.ledger)[0].leader is None, "the ledger's partition has no leader")

    judged = one_lane.mirroring.copy()
    assert {error.partition: error.code for error in judged.errors} == dict.fromkeys((0, 1), "TargetUnavailable"), str(judged)
    assert judged.retriable
    assert [len(one_lane.remote_records(number)) for number in (1, 2)] == [0, 50]

    judged = two_lanes.mirroring.copy()
    (error,) = judged.errors
    assert (error.topic, error.partition, error.retriable) == (two_lanes.ledger, 0, True)
    assert sorted(len(two_lanes.remote_records(number)) for number in (0, 1)) == [0, 50]

    killed.heal()
    for flow in (one_lane, two_lanes):
        UnderFire.finish(UnderFire(flow, None), flow.mirroring.copy())
        flow.mirroring.assert_mirrored(flow.topic)


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_eight_faults_by_chance_for_each_seed(three_brokers: ThreeBrokers, under_fire: UnderFire, seed: int) -> None:
    chance = random.Random(seed)
    flow = under_fire.flow
    for number in range(8):
        fault = draw(three_brokers.cluster, three_brokers.oracle, (flow.ledger, flow.remote, flow.topic), chance)
        share, seconds = chance.random() * 0.6, chance.choice((2, 8, 30))

        healing = threading.Timer(seconds, fault.heal)

        def inject(fault: Kill | Pause | MoveLeaders = fault, healing: threading.Timer = healing) -> None:
            fault.inject()
            healing.start()

        under_fire.hit(share, inject)
        healing.join()
        comparison = under_fire.compare()
        print(f"seed {seed}, round {number}: {fault.name} at {share:.0%} for {seconds} s, {comparison.records} records equal")
