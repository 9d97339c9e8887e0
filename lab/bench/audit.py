"""What an audit costs: CPU a record that is read, both sides counted, of a backlog that was mirrored before.

One process without Spark; what an audit of next to nothing costs is left out. The load of the machine when it began stands in the row:
CPU is counted, not time, and a busy machine makes it dearer all the same. Batches that were forwarded are compared closed; with
mirror.engine=records all are opened. Gigabytes are those of both sides: of the values before they were compressed, and of the batches as
they stand in the log.
"""

import json
import os
import sys
from pathlib import Path

from kafka_mirror.copy.model import AUTO, RECORDS
from lab.bench.backlog import Backlog
from lab.bench.processes import Cost, cost_of
from lab.bench.results import append, median, spread
from lab.bench.stage import Stage, mirror_command, open_stage

LARGE_BATCH_BYTES = 64 * 1024
BACKLOGS = (
    Backlog("100 B lz4, 64 KB batches", 100, 4_000_000, "lz4", batch_bytes=LARGE_BATCH_BYTES),
    Backlog("1 KB zstd, 64 KB batches", 1024, 1_000_000, "zstd", batch_bytes=LARGE_BATCH_BYTES),
    Backlog("1 KB", 1024, 800_000),
)
QUICK = (Backlog("100 B lz4", 100, 100_000, "lz4"), Backlog("1 KB", 1024, 20_000))
ROUNDS = 5


def audit(config: Path, records: int) -> Cost:
    """One audit; raises RuntimeError unless it read this many records of each side, and found them equal."""
    cost = cost_of(mirror_command(config, "audit", "--without-spark", "--json"))
    result = json.loads(cost.output)["flows"][0]["result"]
    totals = (result["total_state"], result["total_source_records"], result["total_target_records"])
    if totals != ("equal", records, records):
        raise RuntimeError(f"The audit says {totals}, not equal with {records} records.")
    return cost


def mirror_backlog(stage: Stage, backlog: Backlog, engine: str) -> Path:
    """Copies a backlog by a flow of its own; gives its configuration."""
    config = stage.pair().properties(backlog.topic, {"source->target.mirror.engine": engine})
    stage.copy(config, backlog.records)
    return config


def rows_of(stage: Stage, backlog: Backlog, rounds: int) -> list[tuple[str, ...]]:
    """Produces a backlog, and measures both engines: batches as they come, and every batch rewritten."""
    start = backlog.make_start()
    start.produce(stage)
    backlog.produce(stage)
    return [measure(stage, start, backlog, engine, rounds) for engine in (AUTO, RECORDS)]


def measure(stage: Stage, start: Backlog, backlog: Backlog, engine: str, rounds: int) -> tuple[str, ...]:
    """Mirrors a backlog and audits it a few times."""
    load = os.getloadavg()[0]
    little = mirror_backlog(stage, start, engine)
    start_cpu = min(audit(little, start.records).cpu for _ in range(rounds))
    config = mirror_backlog(stage, backlog, engine)
    before = stage.broker_cpu()
    costs = [audit(config, backlog.records) for _ in range(rounds)]
    brokers = [(late - early) / rounds / backlog.records * 1e6 for early, late in zip(before, stage.broker_cpu(), strict=True)]
    microseconds = [(cost.cpu - start_cpu) / (2 * backlog.records) * 1e6 for cost in costs]
    return (
        f"{backlog.records:,} × {backlog.name}",
        stage.batches(backlog.topic),
        engine,
        str(rounds),
        f"{load:.1f}",
        spread(microseconds, 2),
        f"{1e6 / min(microseconds):,.0f}",
        f"{backlog.size / median(microseconds) / 1e3:.2f}",
        f"{stage.log_bytes(backlog.topic) / backlog.records / median(microseconds) / 1e3:.2f}",
        " + ".join(f"{side:.1f}" for side in brokers),
        spread([cost.seconds for cost in costs]),
        f"{max(cost.python_megabytes for cost in costs):.0f}",
    )


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    columns = (
        "backlog",
        "batches",
        "mirror.engine",
        "runs",
        "load before",
        "µs a record read",
        "records a second and core (best)",
        "GB/s a core",
        "GB/s a core, in the log",
        "brokers µs a record (source + target)",
        "seconds",
        "MB at the peak",
    )
    with open_stage() as stage:
        rows = [row for backlog in (QUICK if quick else BACKLOGS) for row in rows_of(stage, backlog, 1 if quick else ROUNDS)]
    append("An audit of batches that were forwarded, joined or rewritten, in GB/s", columns, rows, write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
