"""The memory of a copy: of the whole job, JVM and driver included, beside MirrorMaker 2, and of the largest Python worker alone.

All processes of a mirror together at their peak; a page that several of them map is counted once. A Spark that stays is counted whole, with
what it held before, and its peak added to the command's. MirrorMaker 2 has the heap of its start script. The records of 900 KB are the
largest that brokers take by default. «G1» is the garbage collector of MirrorMaker 2's start script; the serial one is kinder to memory.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab.bench.backlog import Backlog
from lab.bench.mm2 import START_SCRIPT, TUNED, MeasuredMirrorMaker
from lab.bench.processes import RunningTree
from lab.bench.results import append, median, spread
from lab.bench.stage import Stage, open_stage
from services.flows import ClusterPair

BACKLOGS = (
    Backlog("100 B lz4, 64 KB batches", 100, 2_000_000, "lz4", batch_bytes=64 * 1024),
    Backlog("1 KB", 1024, 500_000),
    Backlog("900 KB", 900_000, 1600, partitions=8),
)
QUICK = (Backlog("1 KB", 1024, 50_000), Backlog("900 KB", 900_000, 100, partitions=8))
RUNS = 3
LANES = (1, 16)
_DEADLINE_SECONDS = 300.0


@dataclass(frozen=True)
class Peak:
    """Megabytes of all processes of one copy, of the JVMs among them, and of the largest process that is none; seconds of the copy."""

    whole: float
    java: float
    python: float
    seconds: float


def copy_by_submit(stage: Stage, backlog: Backlog, lanes: int) -> Peak:
    """One copy by spark-submit."""
    pair: ClusterPair = stage.pair()
    cost = stage.copy(pair.properties(backlog.topic, {"source->target.mirror.lanes": str(lanes)}), backlog.records, memory=True)
    clean(stage, pair, backlog)
    return Peak(cost.megabytes, cost.java_megabytes, cost.python_megabytes, cost.seconds)


def copy_on_server(stage: Stage, backlog: Backlog, lanes: int) -> Peak:
    """The first copy on a Spark that stays."""
    pair = stage.pair()
    with stage.spark_that_stays(memory=True) as spark:
        config = pair.properties(backlog.topic, {"source->target.mirror.lanes": str(lanes)})
        cost, tree = stage.copy(config, backlog.records, spark=spark, memory=True), spark.tree
        python = max(cost.python_megabytes, tree.python_megabytes)
        peak = Peak(cost.megabytes + tree.megabytes, cost.java_megabytes + tree.java_megabytes, python, cost.seconds)
    clean(stage, pair, backlog)
    return peak


def copy_by_mirror_maker(stage: Stage, backlog: Backlog, options: Sequence[str]) -> Peak:
    """One copy with MirrorMaker 2."""
    pair, began = stage.pair(), time.monotonic()
    with (
        MeasuredMirrorMaker(pair, backlog.topic, TUNED, options=options) as running,
        RunningTree(running.pid or 0, memory=True) as tree,
    ):
        while stage.count_arrived(pair.remote(backlog.topic), backlog.partitions) < backlog.records:
            if time.monotonic() > began + _DEADLINE_SECONDS or not running.running:
                raise RuntimeError(f"Not all of {backlog.name} has arrived.\n{running.log_tail()}")
            time.sleep(0.1)
        peak = Peak(tree.megabytes, tree.java_megabytes, 0.0, time.monotonic() - began)
    clean(stage, pair, backlog)
    return peak


def clean(stage: Stage, pair: ClusterPair, backlog: Backlog) -> None:
    """Counts the copied records, and deletes the remote topic."""
    stage.require(pair.remote(backlog.topic), backlog.records)
    stage.remove(pair.remote(backlog.topic))


def measure(stage: Stage, backlog: Backlog, runs: int) -> list[tuple[str, ...]]:
    """The contestants in turns; one row each. Ratios are to MirrorMaker 2."""
    contestants: dict[str, Callable[[], Peak]] = {
        "ours, spark-submit": lambda: copy_by_submit(stage, backlog, LANES[-1]),
        "ours, spark-submit, one lane": lambda: copy_by_submit(stage, backlog, LANES[0]),
        "ours, Spark that stays": lambda: copy_on_server(stage, backlog, LANES[-1]),
        "MM2 tuned": lambda: copy_by_mirror_maker(stage, backlog, ()),
        "MM2 tuned, G1": lambda: copy_by_mirror_maker(stage, backlog, START_SCRIPT),
    }
    figures: dict[str, list[Peak]] = {name: [] for name in contestants}
    for _ in range(runs):
        for name, copy in contestants.items():
            figures[name].append(copy())
    theirs = median([peak.whole for peak in figures["MM2 tuned"]])
    return [
        (
            f"{backlog.records:,} × {backlog.name}",
            name,
            spread([peak.whole for peak in peaks], 0),
            f"{median([peak.whole for peak in peaks]) / theirs:.2f}",
            spread([peak.java for peak in peaks], 0),
            spread([peak.python for peak in peaks], 0),
            spread([peak.seconds for peak in peaks]),
        )
        for name, peaks in figures.items()
    ]


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    with open_stage() as stage:
        rows: list[tuple[str, ...]] = []
        for backlog in QUICK if quick else BACKLOGS:
            backlog.produce(stage)
            rows += measure(stage, backlog, 1 if quick else RUNS)
    columns = (
        "backlog",
        "mirror",
        "MB of all processes at the peak",
        "÷ MM2",
        "MB of JVMs then",
        "MB of the largest Python process",
        "seconds",
    )
    append("Memory of a whole copy, beside MirrorMaker 2 tuned", columns, rows, write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
