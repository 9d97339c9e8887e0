"""What an audit costs: CPU a record that is read, both sides counted, of a backlog that was mirrored before.

One process without Spark; what an audit of next to nothing costs is left out. The load of the machine when it began stands in the row:
CPU is counted, not time, and a busy machine makes it dearer all the same.
"""

import json
import os
import sys
from pathlib import Path

from services.java import ROOT
from tests.bench.backlog import Backlog
from tests.bench.processes import Cost, cost_of
from tests.bench.results import append, spread
from tests.bench.stage import Stage, stage

BACKLOGS = (Backlog("100 B", 100, 2_000_000), Backlog("1 KB", 1024, 500_000), Backlog("1 KB zstd", 1024, 500_000, "zstd"))
QUICK = (Backlog("100 B", 100, 100_000), Backlog("1 KB", 1024, 20_000))
ROUNDS = 3


def audit(config: Path, records: int) -> Cost:
    """One audit; raises RuntimeError unless so many records of each side were read and equal."""
    command = [str(ROOT / ".venv" / "bin" / "python"), "-m", "mirror", "--config", str(config), "audit", "--without-spark", "--json"]
    cost = cost_of(command, {"PYTHONPATH": f"{ROOT / 'include'}{os.pathsep}{ROOT}"})
    found = json.loads(cost.output)["flows"][0]["result"]
    read = (found["total_state"], found["total_source_records"], found["total_target_records"])
    if read != ("equal", records, records):
        raise RuntimeError(f"The audit says {read}, not equal with {records} records.")
    return cost


def mirrored(stage: Stage, backlog: Backlog) -> Path:
    """A flow of its own that has copied a backlog; gives its configuration."""
    backlog.produce(stage)
    config = stage.pair().properties(backlog.topic)
    stage.copy(config, backlog.records)
    return config


def row(stage: Stage, backlog: Backlog, rounds: int) -> tuple[str, ...]:
    """Mirrors a backlog and audits it a few times."""
    load = os.getloadavg()[0]
    start = backlog.of_the_start()
    little = mirrored(stage, start)
    start_cpu = min(audit(little, start.records).cpu for _ in range(rounds))
    config = mirrored(stage, backlog)
    before = stage.broker_cpu()
    costs = [audit(config, backlog.records) for _ in range(rounds)]
    brokers = [(late - early) / rounds / backlog.records * 1e6 for early, late in zip(before, stage.broker_cpu(), strict=True)]
    each = [(cost.cpu - start_cpu) / (2 * backlog.records) * 1e6 for cost in costs]
    return (
        f"{backlog.records:,} × {backlog.name}",
        str(rounds),
        f"{load:.1f}",
        spread(each, 2),
        f"{1e6 / min(each):,.0f}",
        " + ".join(f"{side:.1f}" for side in brokers),
        spread([cost.seconds for cost in costs]),
        f"{max(cost.python_megabytes for cost in costs):.0f}",
    )


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    columns = (
        "backlog",
        "runs",
        "load before",
        "µs a record read",
        "records a second and core (best)",
        "brokers µs a record (source + target)",
        "seconds",
        "MB at the peak",
    )
    with stage() as both:
        rows = [row(both, backlog, 1 if quick else ROUNDS) for backlog in (QUICK if quick else BACKLOGS)]
    append("An audit", columns, rows, write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
