"""CPU a record: the same backlogs copied by us and by the real MirrorMaker 2, in turns, in one run.

Counted in two ways. «with start»: everything from the start of the process to the last record, for us the whole `python -m mirror copy`
with Spark. «without»: for us the command less one that copies next to nothing; for MirrorMaker 2 from the moment when a quarter of the
backlog has arrived, so that neither its start nor most of its JVM's warming up counts.
"""

import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.bench.backlog import Backlog
from tests.bench.mm2 import TUNED, MeasuredMirrorMaker
from tests.bench.results import append, median, spread
from tests.bench.stage import Stage, stage

BACKLOGS = (Backlog("100 B", 100, 2_000_000), Backlog("1 KB", 1024, 500_000), Backlog("1 KB zstd", 1024, 500_000, "zstd"))
QUICK = (Backlog("100 B", 100, 100_000), Backlog("1 KB", 1024, 20_000), Backlog("1 KB zstd", 1024, 20_000, "zstd"))
ROUNDS = 3
OURS, MM2_TUNED, MM2 = "ours", "MM2 tuned", "MM2"
_LOOK_EVERY_SECONDS = 0.1
_DEADLINE_SECONDS = 300.0


@dataclass(frozen=True)
class Figures:
    """One copy of one backlog: CPU microseconds a record of the mirror (both ways) and of the brokers, and seconds."""

    with_start: float
    without: float
    source_broker: float
    target_broker: float
    seconds: float


def ours(stage: Stage, backlog: Backlog, start_cpu: float) -> Figures:
    """Copies with us. `start_cpu` is what a copy of next to nothing cost."""
    pair = stage.pair()
    before = stage.broker_cpu()
    cost = stage.copy(pair.properties(backlog.topic), backlog.records)
    source, target = _microseconds(before, stage.broker_cpu(), backlog)
    stage.require(pair.remote(backlog.topic), backlog.records)
    stage.remove(pair.remote(backlog.topic))
    each = 1e6 / backlog.records
    return Figures(cost.cpu * each, max(cost.cpu - start_cpu, 0.0) * each, source, target, cost.seconds)


def mirror_maker(stage: Stage, backlog: Backlog, settings: Mapping[str, str]) -> Figures:
    """Copies with MirrorMaker 2, from its start until all records have arrived, not one more."""
    pair = stage.pair()
    remote = pair.remote(backlog.topic)
    before, began = stage.broker_cpu(), time.monotonic()
    with MeasuredMirrorMaker(pair, backlog.topic, settings) as running:
        quarter = _wait(stage, running, remote, backlog.partitions, backlog.records // 4)
        end = _wait(stage, running, remote, backlog.partitions, backlog.records)
        seconds = time.monotonic() - began
        source, target = _microseconds(before, stage.broker_cpu(), backlog)
    stage.require(remote, backlog.records)
    stage.remove(remote)
    without = (end[1] - quarter[1]) / max(end[0] - quarter[0], 1) * 1e6
    return Figures(end[1] / backlog.records * 1e6, without, source, target, seconds)


def measure(stage: Stage, backlog: Backlog, rounds: int) -> dict[str, list[Figures]]:
    """The contestants in turns."""
    backlog.produce(stage)
    start = backlog.of_the_start()
    start.produce(stage)
    codec = {"target.producer.compression.type": backlog.codec}
    figures: dict[str, list[Figures]] = {OURS: [], MM2_TUNED: [], MM2: []}
    for _ in range(rounds):
        pair = stage.pair()
        start_cpu = stage.copy(pair.properties(start.topic), start.records).cpu
        figures[OURS].append(ours(stage, backlog, start_cpu))
        figures[MM2_TUNED].append(mirror_maker(stage, backlog, {**TUNED, **codec}))
        figures[MM2].append(mirror_maker(stage, backlog, {}))
    return figures


def rows(backlog: Backlog, figures: Mapping[str, list[Figures]]) -> Iterator[tuple[str, ...]]:
    """One row a contestant; ratios are its median over ours."""
    for name, runs in figures.items():
        ratios = [
            median([getattr(run, way) for run in runs]) / max(median([getattr(run, way) for run in figures[OURS]]), 1e-9)
            for way in ("without", "with_start")
        ]
        yield (
            f"{backlog.records:,} × {backlog.name}",
            name,
            str(len(runs)),
            spread([run.without for run in runs]),
            f"{ratios[0]:.1f}",
            spread([run.with_start for run in runs]),
            f"{ratios[1]:.1f}",
            f"{median([run.source_broker for run in runs]):.1f} + {median([run.target_broker for run in runs]):.1f}",
            spread([run.seconds for run in runs]),
        )


def _wait(stage: Stage, running: MeasuredMirrorMaker, topic: str, partitions: int, records: int) -> tuple[int, float]:
    """Waits until so many records have arrived; gives how many there are then, and MirrorMaker 2's CPU seconds until then."""
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while True:
        arrived, cpu = stage.arrived(topic, partitions), running.cpu
        if arrived >= records:
            return arrived, cpu
        if time.monotonic() > deadline:
            raise RuntimeError(f"{arrived} of {records} records have arrived in {topic} after {_DEADLINE_SECONDS:g} s.")
        time.sleep(_LOOK_EVERY_SECONDS)


def _microseconds(before: tuple[float, float], after: tuple[float, float], backlog: Backlog) -> tuple[float, float]:
    source, target = ((late - early) / backlog.records * 1e6 for early, late in zip(before, after, strict=True))
    return source, target


def main(quick: bool = False) -> None:
    """Measures all backlogs and appends to the log; `quick` tries it out and writes nothing."""
    columns = (
        "backlog",
        "mirror",
        "runs",
        "µs without start",
        "÷ ours",
        "µs with start",
        "÷ ours",
        "brokers µs (source + target)",
        "seconds",
    )
    with stage() as both:
        for backlog in QUICK if quick else BACKLOGS:
            measured = list(rows(backlog, measure(both, backlog, 1 if quick else ROUNDS)))
            append("CPU a record, beside MirrorMaker 2", columns, measured, write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
