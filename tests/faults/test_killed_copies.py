"""The whole Spark job killed or frozen at random moments, on real brokers: nothing lost, nothing doubled, order equal.

Each round produces more, starts a copy, hits it at a moment drawn from the seed (how much of the round has been written, plus a few
milliseconds), lets the next run go on by itself, and has the independent witness compare everything copied so far.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mirror.kafka.cluster import Cluster
from mirror.offsets.partition import TopicPartition
from services.comparison import Comparison
from services.flows import ClusterPair
from services.oracle import Oracle, Side
from tests.faults.copy_process import CopyProcess

RECORDS = 40_000
PARTITIONS = 6


@dataclass
class Series:
    """A flow under fire: what is copied, and with which seed the moments are drawn."""

    pair: ClusterPair
    oracle: Oracle
    config: Path
    topic: str
    target: Cluster
    random: random.Random

    def produce(self, seed: int) -> None:
        self.oracle.produce(
            self.pair.source_bootstrap, self.topic, RECORDS, seed=seed, transactions=400, abort_percent=20, producers=3, codec="lz4"
        )

    def written(self) -> int:
        """Offsets on the target, committed or not: how far the copy under way has come."""
        remote = self.pair.remote(self.topic)
        partitions = [TopicPartition(remote, number) for number in range(PARTITIONS)]
        return sum(self.target.offsets(partitions, "latest").values())

    def wait_for_moment(self, copy: CopyProcess, before: int) -> None:
        """Until a random part of the round is written, or the copy ended, whichever comes first."""
        wanted = before + self.random.random() * RECORDS * 0.8
        while copy.running and self.written() < wanted:
            time.sleep(0.005)
        time.sleep(self.random.random() * 0.05)

    def copy(self) -> CopyProcess:
        return CopyProcess(self.config, self.config.parent / "copies.log")

    def compare(self) -> Comparison:
        return self.oracle.assert_mirrored(
            Side(self.pair.source_bootstrap, self.topic), Side(self.pair.target_bootstrap, self.pair.remote(self.topic))
        )


@pytest.fixture
def series(pair: ClusterPair, oracle: Oracle) -> Iterator[Callable[[int], Series]]:
    """A flow with small transactions, so that there are many moments to be hit in."""

    def make(seed: int) -> Series:
        topic = pair.topic("orders")
        oracle.create_topic(pair.source_bootstrap, topic, PARTITIONS)
        config = pair.properties(
            extra={
                "source->target.mirror.lanes": "4",
                "source->target.mirror.transaction.max.bytes": "131072",
                "source->target.mirror.transaction.timeout.ms": "20000",
            }
        )
        print(f"seed {seed}")
        return Series(pair, oracle, config, topic, target, random.Random(seed))

    with Cluster(pair.target, {"bootstrap.servers": pair.target_bootstrap}) as target:
        yield make


def killed(series: Series, copy: CopyProcess) -> str:
    """kill -9 of everything."""
    hit = copy.running
    copy.kill()
    return "killed" if hit else "killed after its end"


def frozen(series: Series, copy: CopyProcess) -> str:
    """Everything is stopped, another run takes over and finishes, and the zombie wakes up."""
    hit = copy.running
    copy.freeze()
    assert series.copy().wait() == 0, series.config.parent.joinpath("copies.log").read_text()[-3000:]
    copy.thaw()
    copy.wait()
    return "frozen" if hit else "frozen after its end"


def run_series(series: Series, rounds: int) -> dict[str, int]:
    """So many rounds; gives how often each fault was injected."""
    faults: dict[str, int] = {}
    order = [killed if number % 5 < 3 else frozen for number in range(rounds)]
    series.random.shuffle(order)
    for number, inject in enumerate(order):
        series.produce(seed=1000 + number)
        before = series.written() if number else 0
        copy = series.copy()
        series.wait_for_moment(copy, before)
        fault = inject(series, copy)
        faults[fault] = faults.get(fault, 0) + 1
        assert series.copy().wait() == 0, series.config.parent.joinpath("copies.log").read_text()[-3000:]
        comparison = series.compare()
        print(f"round {number}: {fault}, {comparison.records} records equal")
    return faults


def test_five_hits_lose_and_double_nothing(series: Callable[[int], Series]) -> None:
    faults = run_series(series(20261121), 5)
    assert sum(count for fault, count in faults.items() if "after" not in fault) >= 4


@pytest.mark.faults
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_six_hits_for_each_seed(series: Callable[[int], Series], seed: int) -> None:
    faults = run_series(series(seed), 6)
    assert sum(count for fault, count in faults.items() if "after" not in fault) >= 5
