"""CPU a record, of batches as they come and with every batch rewritten: the same backlogs, copied in this process in turns, planning and
publishing left out, and what a copy of next to nothing costs.

`python -m lab.bench.in_process` appends to the log; `--quick` tries it out and writes nothing.
"""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from kafka_mirror.config import load
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.ledger.clusters import clusters
from kafka_mirror.topics.topics import refresh_topics
from lab.bench.backlog import Backlog
from lab.bench.results import append, median, spread
from lab.bench.stage import Stage, open_stage

LARGE_BATCH_BYTES = 64 * 1024
BACKLOGS = (
    Backlog("1 KB, batches of one record", 1024, 200_000, batch_bytes=1),
    Backlog("100 B, batches of one record", 100, 300_000, batch_bytes=1),
    Backlog("1 KB lz4, 5 KB batches", 1024, 200_000, "lz4", batch_bytes=5 * 1024),
    Backlog("1 KB", 1024, 300_000),
    Backlog("100 B", 100, 1_000_000),
    Backlog("1 KB lz4, 64 KB batches", 1024, 300_000, "lz4", batch_bytes=LARGE_BATCH_BYTES),
    Backlog("1 KB zstd, 64 KB batches", 1024, 300_000, "zstd", batch_bytes=LARGE_BATCH_BYTES),
    Backlog("100 B lz4, 64 KB batches", 100, 2_000_000, "lz4", batch_bytes=LARGE_BATCH_BYTES),
)
QUICK = tuple(replace(backlog, records=backlog.records // 5) for backlog in BACKLOGS)
ROUNDS = 3
ENGINES = ("auto", "records")
"""What mirror.engine says."""


def copy(stage: Stage, backlog: Backlog, engine: str) -> tuple[float, float, float]:
    """CPU microseconds a record of this process and of the target's broker, and seconds."""
    pair = stage.pair()
    flow = load([pair.properties(backlog.topic, {"source->target.mirror.engine": engine, "source->target.mirror.lanes": "4"})]).flow(
        pair.flow
    )
    with clusters(flow) as (source, target):
        refresh_topics(flow, source, target)
    planned = plan(flow)
    brokers, cpu, began = stage.broker_cpu()[1], time.process_time(), time.monotonic()
    results = copy_in_process(flow, planned)
    seconds, used = time.monotonic() - began, time.process_time() - cpu
    broker = stage.broker_cpu()[1] - brokers
    if errors := [error for result in results for error in result.errors]:
        raise RuntimeError(str(errors[0]))
    stage.require(pair.remote(backlog.topic), backlog.records)
    stage.remove(pair.remote(backlog.topic))
    return used * 1e6 / backlog.records, broker * 1e6 / backlog.records, seconds


def rows(backlog: Backlog, figures: dict[str, list[tuple[float, float, float]]]) -> Iterator[tuple[str, ...]]:
    """One row for each value of mirror.engine; the ratio is its median over that of `auto`."""
    least = median([cpu for cpu, _, _ in figures["auto"]])
    for engine, runs in figures.items():
        cpu, broker, seconds = ([run[place] for run in runs] for place in range(3))
        yield (
            f"{backlog.records:,} × {backlog.name}",
            engine,
            str(len(runs)),
            spread(cpu),
            f"{median(cpu) / least:.1f}",
            spread(broker),
            spread(seconds),
        )


def main(quick: bool = False) -> None:
    """Measures all backlogs."""
    columns = ("backlog", "mirror.engine", "runs", "µs a record", "÷ auto", "target's broker µs", "seconds")
    measured: list[tuple[str, ...]] = []
    with open_stage() as stage:
        for backlog in QUICK if quick else BACKLOGS:
            backlog.produce(stage)
            start = backlog.make_start()
            start.produce(stage)
            figures: dict[str, list[tuple[float, float, float]]] = {engine: [] for engine in ENGINES}
            for _ in range(2 if quick else ROUNDS):
                for engine in ENGINES:
                    # What a lane costs before its first record is no record's.
                    of_the_start = copy(stage, start, engine)[0] * start.records
                    cpu, broker, seconds = copy(stage, backlog, engine)
                    figures[engine].append((cpu - of_the_start / backlog.records, broker, seconds))
            measured += rows(backlog, figures)
            print(*measured[-2:], sep="\n", flush=True)
    append("CPU a record, batches as they come beside every batch rewritten, without start", columns, measured, write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
