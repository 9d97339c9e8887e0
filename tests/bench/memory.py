"""The memory of a lane's Python worker that copies the largest records that brokers take by default."""

import sys

from services.flows import ClusterPair
from tests.bench.backlog import Backlog
from tests.bench.results import append
from tests.bench.stage import Stage, stage

LARGE = Backlog("900 KB", 900_000, 1600, partitions=8)
QUICK = Backlog("900 KB", 900_000, 100, partitions=8)
LANES = (1, 16)


def peak(stage: Stage, backlog: Backlog, lanes: int) -> tuple[str, ...]:
    """One copy; gives what its largest Python process held at its peak."""
    pair: ClusterPair = stage.pair()
    cost = stage.copy(pair.properties(backlog.topic, {"source->target.mirror.lanes": str(lanes)}), backlog.records)
    stage.require(pair.remote(backlog.topic), backlog.records)
    stage.remove(pair.remote(backlog.topic))
    return (
        f"{backlog.records} × {backlog.name}",
        str(backlog.partitions),
        str(lanes),
        f"{cost.python_megabytes:.0f}",
        f"{cost.seconds:.1f}",
    )


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    backlog = QUICK if quick else LARGE
    with stage() as both:
        backlog.produce(both)
        rows = [peak(both, backlog, lanes) for lanes in LANES]
    append("Memory of a Python worker", ("backlog", "partitions", "lanes", "MB at the peak", "seconds"), rows, write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
