"""A thousand partitions with ten records each in one `python -m mirror copy`, its Spark start included; compared, then timed.

Run with `make bench`: it appends a dated row a run to RESULTS.md. Seconds are of the whole command; CPU seconds are of the command and all
processes that it waited for (JVM, driver, workers), without the brokers.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from services.flows import ClusterPair
from services.java import ROOT
from services.kafka import KafkaCluster
from services.oracle import Oracle, Side

TOPICS, PARTITIONS, RECORDS = 20, 50, 10
RUNS = 5
RESULTS = Path(__file__).with_name("RESULTS.md")


def copy(config: Path) -> tuple[float, float]:
    """One copy; gives seconds and CPU seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "mirror", "--config", str(config), "copy", "--json"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT / "include")}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def produce(pair: ClusterPair, oracle: Oracle, topics: list[str]) -> None:
    """Ten records into every partition."""
    for seed, topic in enumerate(topics):
        for partition in range(PARTITIONS):
            oracle.produce(pair.source_bootstrap, topic, RECORDS, seed=seed * 1000 + partition, partition=partition)


def measure(directory: Path) -> list[tuple[float, float]]:
    """The runs, each after new records; the first one, which also creates the remote topics, is not counted."""
    with KafkaPair(directory) as pair, Oracle(directory / "oracle.log") as oracle:
        config, topics = pair.properties(), [pair.topic(f"t{number}") for number in range(TOPICS)]
        for topic in topics:
            oracle.create_topic(pair.source_bootstrap, topic, PARTITIONS)
        copy(config)
        figures = []
        for _ in range(RUNS):
            produce(pair, oracle, topics)
            figures.append(copy(config))
        for topic in topics:
            compared = oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic)))
            assert compared.records == RUNS * PARTITIONS * RECORDS
        return figures


class KafkaPair:
    """Two clusters of one broker each."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._clusters = [KafkaCluster(directory / alias, alias) for alias in ("east", "west")]

    def __enter__(self) -> ClusterPair:
        for cluster in self._clusters:
            cluster.start()
        east, west = self._clusters
        return ClusterPair("east", "west", east.bootstrap, west.bootstrap, "bench", self._directory)

    def __exit__(self, *_: object) -> None:
        for cluster in self._clusters:
            cluster.stop()


def main() -> None:
    """Measures and appends to the log."""
    with tempfile.TemporaryDirectory(prefix="mirror-bench-") as directory:
        figures = measure(Path(directory))
    walls, cpus = zip(*figures, strict=True)
    row = (
        f"| {datetime.now(UTC):%Y-%m-%d %H:%M} | {TOPICS * PARTITIONS} × {RECORDS} | {RUNS} | {os.cpu_count()} | "
        f"{statistics.median(walls):.1f} ({min(walls):.1f}–{max(walls):.1f}) | "
        f"{statistics.median(cpus):.1f} ({min(cpus):.1f}–{max(cpus):.1f}) |"
    )
    if not RESULTS.exists():
        RESULTS.write_text(
            "# Measured\n\n`python -m mirror copy` over partitions × records each, Spark's start included, remote topics existing; every\n"
            "run compared record by record. Medians, with the smallest and the largest; machines are noisy.\n\n"
            "| when (UTC) | partitions × records | runs | cores | seconds | CPU seconds |\n|---|---|---|---|---|---|\n"
        )
    with RESULTS.open("a") as log:
        log.write(row + "\n")
    print(row)


if __name__ == "__main__":
    main()
