"""CPU a record: the same backlogs copied by us and by the real MirrorMaker 2, as it comes and tuned, in turns, in one run.

Counted in two ways. «With start»: everything from the start of the process to the last record, for us the whole `python -m kafka_mirror
copy` by spark-submit. «Without start»: for us a copy on a Spark that stays, whose server and Python workers are counted, less a copy of
next to nothing there; for MirrorMaker 2 from the moment when a quarter of the backlog has arrived, so that neither its
start nor most of its JVM's warming up counts. The start of a JVM costs us as much as a million records and more, and varies by a tenth
of that, so a copy by spark-submit less a start says nothing about a record. The brokers' CPU is counted over the same time as the
mirror's, so «with brokers» is the sum of what a record costs all of them.
"""

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lab.bench.backlog import Backlog
from lab.bench.mm2 import TUNED, MeasuredMirrorMaker
from lab.bench.results import append, median, spread
from lab.bench.stage import MeasuredSpark, Stage, open_stage

LARGE_BATCH_BYTES = 64 * 1024
BACKLOGS = (
    Backlog("100 B lz4, 64 KB batches", 100, 6_000_000, "lz4", batch_bytes=LARGE_BATCH_BYTES),
    Backlog("1 KB zstd, 64 KB batches", 1024, 1_500_000, "zstd", batch_bytes=LARGE_BATCH_BYTES),
    Backlog("1 KB lz4, 64 KB batches", 1024, 1_500_000, "lz4", batch_bytes=LARGE_BATCH_BYTES),
    Backlog("1 KB lz4, 5 KB batches", 1024, 600_000, "lz4", batch_bytes=5 * 1024),
    Backlog("1 KB", 1024, 1_000_000),
    Backlog("100 B", 100, 3_000_000),
    Backlog("1 KB, batches of one record", 1024, 300_000, batch_bytes=1),
    Backlog("100 B, batches of one record", 100, 600_000, batch_bytes=1),
)
RUNS = 5
_QUICK_SHARE = 10
OURS, MM2_DEFAULT, MM2_TUNED = "ours", "MM2 as it comes", "MM2 tuned"
MIRROR_MAKERS: Mapping[str, Mapping[str, str]] = {MM2_DEFAULT: {}, MM2_TUNED: TUNED}
"""What each MirrorMaker 2 has set beyond what all benchmarks set. With its own defaults it sends batches of at most 16 KB, at once."""
_LOOK_EVERY_SECONDS = 0.1
_DEADLINE_SECONDS = 300.0
_LEAST_MICROSECONDS = 0.01


@dataclass(frozen=True)
class Usage:
    """CPU seconds of a mirror, of the source's broker and of the target's."""

    mirror: float
    source: float
    target: float

    def less(self, other: "Usage") -> "Usage":
        """What was used since another reading, or beyond what another copy used; never less than nothing."""
        pairs = ((self.mirror, other.mirror), (self.source, other.source), (self.target, other.target))
        return Usage(*(max(late - early, 0.0) for late, early in pairs))


@dataclass(frozen=True)
class Copy:
    """One copy of one backlog: what was used from the start on, the part of it that is not the start's, how many records that part copied,
    the seconds of all of it, and which ways our copy's batches went."""

    whole: Usage
    part: Usage
    part_records: int
    seconds: float
    ways: str = "–"


def copy_by_us(stage: Stage, backlog: Backlog, spark: MeasuredSpark | None = None) -> Copy:
    """Copies with us, by spark-submit or on a Spark that stays; the part is the whole."""
    pair, before = stage.pair(), stage.broker_cpu()
    cost = stage.copy(pair.properties(backlog.topic), backlog.records, spark=spark)
    usage = Usage(cost.cpu, *stage.broker_cpu()).less(Usage(0.0, *before))
    stage.require(pair.remote(backlog.topic), backlog.records)
    stage.remove(pair.remote(backlog.topic))
    shares = json.loads(cost.output)["flows"][0]["result"]["batches"]
    return Copy(usage, usage, backlog.records, cost.seconds, " + ".join(sorted(share["way"] for share in shares)))


def copy_by_mirror_maker(stage: Stage, backlog: Backlog, settings: Mapping[str, str]) -> Copy:
    """Copies with MirrorMaker 2, from its start until all records have arrived, not one more."""
    pair = stage.pair()
    remote = pair.remote(backlog.topic)
    before, began = Usage(0.0, *stage.broker_cpu()), time.monotonic()
    with MeasuredMirrorMaker(pair, backlog.topic, {**settings, "target.producer.compression.type": backlog.codec}) as running:
        first, at_quarter = _wait(stage, running, remote, backlog.partitions, backlog.records // 4)
        last, at_end = _wait(stage, running, remote, backlog.partitions, backlog.records)
        seconds = time.monotonic() - began
    stage.require(remote, backlog.records)
    stage.remove(remote)
    return Copy(at_end.less(before), at_end.less(at_quarter), max(last - first, 1), seconds)


def measure(stage: Stage, backlogs: Sequence[Backlog], runs: int) -> dict[Backlog, dict[str, list[Copy]]]:
    """The contestants in turns, all backlogs in each turn. Each of ours is made twice: by spark-submit, and on a Spark that stays."""
    start = backlogs[0].make_start()
    for backlog in (start, *backlogs):
        backlog.produce(stage)
    copies: dict[Backlog, dict[str, list[Copy]]] = {backlog: {name: [] for name in (OURS, *MIRROR_MAKERS)} for backlog in backlogs}
    starts: list[Copy] = []
    with stage.spark_that_stays() as spark:
        copy_by_us(stage, start, spark)  # its Python workers have to start
        for _ in range(runs):
            starts.append(copy_by_us(stage, start, spark))
            for backlog, by_mirror in copies.items():
                whole, part = copy_by_us(stage, backlog), copy_by_us(stage, backlog, spark)
                by_mirror[OURS].append(replace(whole, part=part.part, ways=part.ways))
                for name, settings in MIRROR_MAKERS.items():
                    by_mirror[name].append(copy_by_mirror_maker(stage, backlog, settings))
                print(backlog.name, *(copy[-1] for copy in by_mirror.values()), sep="\n  ", flush=True)
    usual = _medians(copy.whole for copy in starts)
    print("start", usual, flush=True)
    for by_mirror in copies.values():
        by_mirror[OURS] = [replace(copy, part=copy.part.less(usual)) for copy in by_mirror[OURS]]
    return copies


def _medians(usages: Iterable[Usage]) -> Usage:
    mirror, source, target = zip(*((usage.mirror, usage.source, usage.target) for usage in usages), strict=True)
    return Usage(median(mirror), median(source), median(target))


def rows(backlog: Backlog, batches: str, copies: Mapping[str, Sequence[Copy]]) -> Iterator[tuple[str, ...]]:
    """One row a contestant; ratios are its median over ours."""
    figures = {name: _microseconds(backlog, runs) for name, runs in copies.items()}
    for name, ways in figures.items():
        cells: list[str] = []
        for way, values in ways.items():
            least = median(figures[OURS][way])
            # Of a backlog that was too small nothing is left when the start is taken out.
            cells += [spread(values, 2), f"{median(values) / least:.1f}" if least >= _LEAST_MICROSECONDS else "–"]
        source, target = (
            median([getattr(run.part, side) / run.part_records * 1e6 for run in copies[name]]) for side in ("source", "target")
        )
        seconds = spread([run.seconds for run in copies[name]])
        yield (
            f"{backlog.records:,} × {backlog.name}",
            batches,
            name,
            copies[name][0].ways,
            str(len(copies[name])),
            *cells,
            f"{source:.2f} + {target:.2f}",
            seconds,
        )


def _microseconds(backlog: Backlog, runs: Sequence[Copy]) -> dict[str, list[float]]:
    """A record's, without start, with it, and without it but with both brokers."""
    return {
        "without": [run.part.mirror / run.part_records * 1e6 for run in runs],
        "with": [run.whole.mirror / backlog.records * 1e6 for run in runs],
        "brokers": [(run.part.mirror + run.part.source + run.part.target) / run.part_records * 1e6 for run in runs],
    }


def _wait(stage: Stage, running: MeasuredMirrorMaker, topic: str, partitions: int, records: int) -> tuple[int, Usage]:
    """Waits until this many records have arrived; gives how many there are then, and what was used until then."""
    deadline = time.monotonic() + _DEADLINE_SECONDS
    while True:
        arrived, usage = stage.count_arrived(topic, partitions), Usage(running.cpu, *stage.broker_cpu())
        if arrived >= records:
            return arrived, usage
        if time.monotonic() > deadline:
            raise RuntimeError(f"{arrived} of {records} records have arrived in {topic} after {_DEADLINE_SECONDS:g} s.")
        time.sleep(_LOOK_EVERY_SECONDS)


def main(quick: bool = False) -> None:
    """Measures all backlogs and appends to the log; `quick` tries it out and writes nothing."""
    columns = (
        "backlog",
        "batches",
        "mirror",
        "went",
        "runs",
        "µs without start",
        "÷ ours",
        "µs with start",
        "÷ ours",
        "µs without start, with brokers",
        "÷ ours",
        "brokers µs (source + target)",
        "seconds",
    )
    backlogs = tuple(replace(backlog, records=backlog.records // _QUICK_SHARE) for backlog in BACKLOGS) if quick else BACKLOGS
    with open_stage() as stage:
        copies = measure(stage, backlogs, 1 if quick else RUNS)
        measured = [row for backlog in backlogs for row in rows(backlog, stage.batches(backlog.topic), copies[backlog])]
    append(
        "CPU a record with one engine, on a Spark that stays, beside MirrorMaker 2 as it comes and tuned",
        columns,
        measured,
        write=not quick,
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
