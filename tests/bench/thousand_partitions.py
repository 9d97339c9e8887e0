"""A thousand partitions with ten records each: the first copy, and then ten more in each of them a minute, beside MirrorMaker 2.

«CPU first»: from the start of the process until all records have arrived, everything it had to create included. «CPU a minute»: for us one
`python -m mirror copy` with its Spark, which a minute's schedule runs once; for MirrorMaker 2, which runs on, what it uses in a minute.
"""

import sys
import time

from services.flows import ClusterPair
from services.oracle import Record, Side
from tests.bench.mm2 import MeasuredMirrorMaker
from tests.bench.results import append, spread
from tests.bench.stage import Stage, stage

PARTITIONS, RECORDS = 50, 10
TOPICS, QUICK_TOPICS = 20, 2
RUNS, MINUTES, MINUTE = 3, 2, 60.0
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
        """How many a round adds."""
        return len(self.topics) * PARTITIONS * RECORDS

    def produce(self) -> None:
        """One round."""
        self.rounds += 1
        for topic in self.topics:
            records = [Record(b"key-%d" % n, b"value " * 16, partition=n % PARTITIONS) for n in range(PARTITIONS * RECORDS)]
            self._stage.oracle.produce_records(self._stage.source.bootstrap, topic, records)

    def compare(self, pair: ClusterPair) -> None:
        """The witness compares each topic with its mirror."""
        for topic in self.topics:
            compared = self._stage.oracle.assert_mirrored(
                Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic))
            )
            if compared.records != self.rounds * PARTITIONS * RECORDS:
                raise RuntimeError(f"{topic} has {compared.records} records after {self.rounds} rounds.")


def mirror_maker(stage: Stage, thousand: ThousandPartitions, minutes: int, minute: float) -> tuple[str, ...]:
    """MirrorMaker 2 from its start through some minutes."""
    pair = stage.pair()
    per_minute = []
    began = time.monotonic()
    with MeasuredMirrorMaker(pair, r"t\d+-bench") as running:
        _wait(stage, thousand, pair)
        first, first_cpu = time.monotonic() - began, running.cpu
        for _ in range(minutes):
            began, before = time.monotonic(), running.cpu
            thousand.produce()
            _wait(stage, thousand, pair)
            time.sleep(max(0.0, minute - (time.monotonic() - began)))
            per_minute.append((running.cpu - before) * minute / (time.monotonic() - began))
        thousand.compare(pair)
    for topic in thousand.topics:
        stage.remove(pair.remote(topic))
    return ("MM2", f"{first:.1f}", f"{first_cpu:.1f}", "always", spread(per_minute))


def ours(stage: Stage, thousand: ThousandPartitions, runs: int) -> tuple[str, ...]:
    """Copies with us, each after new records."""
    pair = stage.pair()
    config = pair.properties(r"t\d+-bench")
    first = stage.copy(config, thousand.records * thousand.rounds)
    copies = []
    for _ in range(runs):
        thousand.produce()
        copies.append(stage.copy(config, thousand.records))
    thousand.compare(pair)
    return ("ours", f"{first.seconds:.1f}", f"{first.cpu:.1f}", spread([c.seconds for c in copies]), spread([c.cpu for c in copies]))


def _wait(stage: Stage, thousand: ThousandPartitions, pair: ClusterPair) -> None:
    deadline = time.monotonic() + _DEADLINE_SECONDS
    missing = list(thousand.topics)
    while missing:
        missing = [topic for topic in missing if stage.arrived(pair.remote(topic), PARTITIONS) < thousand.rounds * PARTITIONS * RECORDS]
        if time.monotonic() > deadline:
            raise RuntimeError(f"Not all records of {', '.join(missing)} have arrived after {_DEADLINE_SECONDS:g} s.")
        time.sleep(0.1)


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    with stage() as both:
        thousand = ThousandPartitions(both, QUICK_TOPICS if quick else TOPICS)
        thousand.produce()
        rows = [ours(both, thousand, 1 if quick else RUNS), mirror_maker(both, thousand, 1 if quick else MINUTES, 5.0 if quick else MINUTE)]
        partitions = len(thousand.topics) * PARTITIONS
    columns = ("partitions × records", "mirror", "seconds first", "CPU s first", "seconds a copy", "CPU s a minute")
    append("Many partitions, few records", columns, [(f"{partitions} × {RECORDS}", *row) for row in rows], write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
