"""A thousand partitions with ten records each: the first copy, and then ten more in each of them a minute, beside MirrorMaker 2.

«CPU first»: from the start of the process until all records have arrived, everything it had to create included. «CPU a minute»: for us one
`python -m kafka_mirror copy` each minute, by spark-submit or on a Spark that stays, whose server and Python workers are counted through
the whole minute; for MirrorMaker 2, which runs on, what it uses in a minute.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from lab.bench.mm2 import TUNED, MeasuredMirrorMaker
from lab.bench.processes import Cost
from lab.bench.results import append, spread
from lab.bench.stage import MeasuredSpark, Stage, open_stage
from services.flows import ClusterPair
from services.oracle import Record, Side

PARTITIONS, RECORDS = 50, 10
TOPICS, QUICK_TOPICS = 20, 2
TOPICS_PATTERN = r"t\d+-bench"
RUNS, MINUTE, QUICK_MINUTE = 5, 60.0, 8.0
_DEADLINE_SECONDS = 300.0


class ThousandPartitions:
    """The topics, filled by ten records a partition at a time."""

    def __init__(self, stage: Stage, topics: int) -> None:
        self._stage = stage
        self.topics = [f"t{number}-bench" for number in range(topics)]
        self.rounds = 0
        for topic in self.topics:
            stage.oracle.create_topic(stage.source.bootstrap, topic, PARTITIONS)

    @property
    def records(self) -> int:
        """How many records a round adds."""
        return len(self.topics) * PARTITIONS * RECORDS

    def produce(self) -> None:
        """Produces one round."""
        self.rounds += 1
        for topic in self.topics:
            records = [Record(b"key-%d" % n, b"value " * 16, partition=n % PARTITIONS) for n in range(PARTITIONS * RECORDS)]
            self._stage.oracle.produce_records(self._stage.source.bootstrap, topic, records)

    def compare(self, pair: ClusterPair) -> None:
        """The witness compares each topic with its mirror."""
        for topic in self.topics:
            comparison = self._stage.oracle.assert_mirrored(
                Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic))
            )
            if comparison.records != self.rounds * PARTITIONS * RECORDS:
                raise RuntimeError(f"{topic} has {comparison.records} records after {self.rounds} rounds.")

    def await_copies(self, pair: ClusterPair) -> None:
        """Waits until all records have arrived on the target."""
        deadline = time.monotonic() + _DEADLINE_SECONDS
        missing = list(self.topics)
        while missing:
            missing = [
                topic for topic in missing if self._stage.count_arrived(pair.remote(topic), PARTITIONS) < self.rounds * PARTITIONS * RECORDS
            ]
            if time.monotonic() > deadline:
                raise RuntimeError(f"Not all records of {', '.join(missing)} have arrived after {_DEADLINE_SECONDS:g} s.")
            time.sleep(0.1)


@dataclass
class Figures:
    """The figures of one mirror: seconds and CPU seconds of its first copies, seconds of the later ones, and CPU seconds a minute."""

    name: str
    first: list[float] = field(default_factory=list)
    first_cpu: list[float] = field(default_factory=list)
    copies: list[float] = field(default_factory=list)
    per_minute: list[float] = field(default_factory=list)

    def row(self) -> tuple[str, ...]:
        """Its cells."""
        seconds = spread(self.copies) if self.copies else "always"
        return (self.name, spread(self.first), spread(self.first_cpu), seconds, spread(self.per_minute, 2))


def per_minute(minutes: int, minute: float, cpu: Callable[[], float], work: Callable[[], None]) -> list[float]:
    """Does some work at the beginning of each minute; gives each minute's CPU seconds."""
    used = []
    for _ in range(minutes):
        began, before = time.monotonic(), cpu()
        work()
        time.sleep(max(0.0, minute - (time.monotonic() - began)))
        used.append((cpu() - before) * MINUTE / max(time.monotonic() - began, MINUTE))
    return used


def measure_mirror_maker(stage: Stage, thousand: ThousandPartitions, figures: Figures, minutes: int, minute: float) -> None:
    """Runs MirrorMaker 2 from its start through some minutes."""
    pair = stage.pair()
    began = time.monotonic()
    with MeasuredMirrorMaker(pair, TOPICS_PATTERN, TUNED) as running:
        thousand.await_copies(pair)
        figures.first.append(time.monotonic() - began)
        figures.first_cpu.append(running.cpu)

        def work() -> None:
            thousand.produce()
            thousand.await_copies(pair)

        figures.per_minute += per_minute(minutes, minute, lambda: running.cpu, work)
        thousand.compare(pair)
    stage.remove(*map(pair.remote, thousand.topics))


def measure_us(
    stage: Stage, thousand: ThousandPartitions, figures: Figures, minutes: int, minute: float, spark: MeasuredSpark | None = None
) -> None:
    """Copies once, and then each minute; with spark-submit no process of ours runs between two copies."""
    pair = stage.pair()
    config = pair.properties(TOPICS_PATTERN)
    first = stage.copy(config, thousand.records * thousand.rounds, spark=spark)
    figures.first.append(first.seconds)
    figures.first_cpu.append(first.cpu)
    commands: list[Cost] = []

    def work() -> None:
        thousand.produce()
        commands.append(stage.copy(config, thousand.records, spark=spark))

    def cpu() -> float:
        return sum(command.cpu - command.spark_cpu for command in commands) + (spark.tree.cpu if spark else 0.0)

    figures.per_minute += per_minute(minutes, minute, cpu, work)
    figures.copies += [command.seconds for command in commands]
    thousand.compare(pair)
    stage.remove(*map(pair.remote, thousand.topics))


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    runs, minute = (1, QUICK_MINUTE) if quick else (RUNS, MINUTE)
    figures = [Figures("ours, Spark that stays"), Figures("ours, spark-submit"), Figures("MM2 tuned")]
    on_server, by_submit, mm2 = figures
    with open_stage() as stage, stage.spark_that_stays() as spark:
        thousand = ThousandPartitions(stage, QUICK_TOPICS if quick else TOPICS)
        thousand.produce()
        # The first copies in turns; the last of them goes on for some minutes.
        for minutes in (*[0] * (runs - 1), runs):
            measure_us(stage, thousand, on_server, minutes, minute, spark)
            measure_us(stage, thousand, by_submit, minutes, 0.0)
            measure_mirror_maker(stage, thousand, mm2, minutes, minute)
        partitions = len(thousand.topics) * PARTITIONS
    columns = ("partitions × records", "mirror", "seconds first", "CPU s first", "seconds a copy", "CPU s a minute")
    rows = [(f"{partitions} × {RECORDS}", *mirror.row()) for mirror in figures]
    append("Many partitions, few records", columns, rows, write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
