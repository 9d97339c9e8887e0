"""A far source: seconds of a copy by us and by the real MirrorMaker 2, tuned, when every byte between source and mirror takes long.

The delay lies on the way to the source alone, and is that of each direction: a question and its answer take twice as long. «Seconds» are
from the start of the process until all records have arrived, «of the records» those from the first one to the last.
"""

import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from lab.bench.backlog import Backlog
from lab.bench.mm2 import TUNED, MeasuredMirrorMaker
from lab.bench.processes import Cost
from lab.bench.results import append, median, spread
from lab.bench.stage import MeasuredSpark, Stage, open_stage
from services.flows import ClusterPair

DELAYS, QUICK_DELAYS = (50, 100, 200), (100,)
BACKLOG, QUICK = Backlog("1 KB", 1024, 200_000, partitions=10), Backlog("1 KB", 1024, 20_000, partitions=10)
RUNS = 5
_LOOK_EVERY_SECONDS = 0.05
_DEADLINE_SECONDS = 300.0


@dataclass
class Figures:
    """The figures of one mirror: seconds in all, seconds from the first record to the last, and CPU seconds of each copy."""

    seconds: list[float] = field(default_factory=list)
    of_records: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def note(self, began: float, arrival: tuple[float, float], cpu: float) -> None:
        """Takes down one copy."""
        first, last = arrival
        self.seconds.append(last - began)
        self.of_records.append(last - first)
        self.cpu.append(cpu)


def copy_by_us(stage: Stage, backlog: Backlog, figures: Figures, spark: MeasuredSpark | None) -> None:
    """One copy with us."""
    pair = stage.pair(far=True)
    config = pair.properties(backlog.topic)
    with ThreadPoolExecutor(1) as threads:
        began = time.monotonic()
        copied = threads.submit(stage.copy, config, backlog.records, spark=spark)
        arrival = await_records(stage, pair, backlog, copied)
        figures.note(began, arrival, copied.result().cpu)
    stage.require(pair.remote(backlog.topic), backlog.records)
    stage.remove(pair.remote(backlog.topic))


def copy_by_mirror_maker(stage: Stage, backlog: Backlog, figures: Figures) -> None:
    """One copy with MirrorMaker 2."""
    pair = stage.pair(far=True)
    began = time.monotonic()
    with MeasuredMirrorMaker(pair, backlog.topic, TUNED) as running:
        arrival = await_records(stage, pair, backlog)
        figures.note(began, arrival, running.cpu)
    stage.require(pair.remote(backlog.topic), backlog.records)
    stage.remove(pair.remote(backlog.topic))


def await_records(stage: Stage, pair: ClusterPair, backlog: Backlog, copied: "Future[Cost] | None" = None) -> tuple[float, float]:
    """Waits until all records have arrived; gives the moments of the first and of the last. Ends with a copy that ended too soon."""
    deadline, first = time.monotonic() + _DEADLINE_SECONDS, 0.0
    while True:
        ended = copied is not None and copied.done()
        arrived, now = stage.count_arrived(pair.remote(backlog.topic), backlog.partitions), time.monotonic()
        first = first or (now if arrived else 0.0)
        if arrived >= backlog.records:
            return first, now
        if ended and copied is not None:
            copied.result()
        if ended or now > deadline:
            raise RuntimeError(f"{arrived} of {backlog.records} records have arrived.")
        time.sleep(_LOOK_EVERY_SECONDS)


def measure(stage: Stage, spark: MeasuredSpark, backlog: Backlog, runs: int) -> dict[str, Figures]:
    """The contestants in turns."""
    figures = {name: Figures() for name in ("ours, spark-submit", "ours, Spark that stays", "MM2 tuned")}
    by_submit, on_server, mm2 = figures.values()
    for _ in range(runs):
        copy_by_us(stage, backlog, by_submit, None)
        copy_by_us(stage, backlog, on_server, spark)
        copy_by_mirror_maker(stage, backlog, mm2)
    return figures


def rows(delay: int, backlog: Backlog, figures: dict[str, Figures]) -> list[tuple[str, ...]]:
    """One row a contestant; ratios are its median over ours by spark-submit."""
    least = next(iter(figures.values()))
    return [
        (
            f"{delay} ms",
            f"{backlog.records:,} × {backlog.name}, {backlog.partitions} partitions",
            name,
            str(len(runs.seconds)),
            spread(runs.seconds),
            f"{median(runs.seconds) / median(least.seconds):.1f}",
            spread(runs.of_records),
            f"{median(runs.of_records) / max(median(least.of_records), _LOOK_EVERY_SECONDS):.1f}",
            spread(runs.cpu),
        )
        for name, runs in figures.items()
    ]


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    backlog, measured = QUICK if quick else BACKLOG, []
    with open_stage(proxied=True) as stage, stage.spark_that_stays() as spark:
        backlog.produce(stage)
        for delay in QUICK_DELAYS if quick else DELAYS:
            stage.source.network.delay(delay)
            measured += rows(delay, backlog, measure(stage, spark, backlog, 1 if quick else RUNS))
            stage.source.network.delay(0)
    columns = ("delay each way", "backlog", "mirror", "runs", "seconds", "÷ ours", "seconds of the records", "÷ ours", "CPU s")
    append("A far source, beside MirrorMaker 2 tuned", columns, measured, write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
