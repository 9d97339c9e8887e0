"""A flow of a thousand partitions that is followed by default, beside MirrorMaker 2: CPU seconds a minute with ten records in each
partition, and with none.

Ours run on Airflow's real scheduler and a Spark that stays; their CPU seconds are those of the tasks and of Spark, as in `follow`.
The minutes with records come one after the other. Those without begin in a run that is idle: the run after one that has copied still takes
its lanes over and follows.
"""

import sys
import time
from collections.abc import Callable

from lab.bench.airflow_run import run_airflow
from lab.bench.mm2 import TUNED, MeasuredMirrorMaker
from lab.bench.results import append, spread
from lab.bench.stage import Stage, open_stage
from lab.bench.thousand_partitions import MINUTE, PARTITIONS, RECORDS, TOPICS, TOPICS_PATTERN, ThousandPartitions, per_minute
from services.flows import ClusterPair

MINUTES, QUICK_TOPICS = 5, 2
INTERVAL = 300
_SETTINGS = {
    "source->target.mirror.follow.seconds": "1",
    "source->target.mirror.copy.interval.seconds": str(INTERVAL),
    "source->target.refresh.topics.interval.seconds": "604800",
}


def measure_busy_and_idle(
    thousand: ThousandPartitions, pair: ClusterPair, cpu: Callable[[], float], minutes: int, idle_from: Callable[[], None]
) -> tuple[list[float], list[float]]:
    """Measures some minutes with records, and as many without; gives each minute's CPU seconds."""

    def work() -> None:
        thousand.produce()
        thousand.await_copies(pair)

    busy = per_minute(minutes, MINUTE, cpu, work)
    idle_from()
    return busy, per_minute(minutes, MINUTE, cpu, lambda: None)


def measure_us(stage: Stage, thousand: ThousandPartitions, minutes: int) -> tuple[str, ...]:
    """Measures the copy DAG."""
    pair = stage.pair()
    with stage.spark_that_stays() as spark, run_airflow(stage, pair, {**_SETTINGS, "source->target.topics": TOPICS_PATTERN}, spark) as flow:
        thousand.await_copies(pair)

        def await_idle_run() -> None:
            now = time.time()
            time.sleep(2 * INTERVAL - now % INTERVAL + MINUTE)

        busy, idle = measure_busy_and_idle(thousand, pair, lambda: flow.cpu, minutes, await_idle_run)
        thousand.compare(pair)
    return ("ours, following", spread(busy, 2), spread(idle, 2))


def measure_mirror_maker(stage: Stage, thousand: ThousandPartitions, minutes: int) -> tuple[str, ...]:
    """Measures MirrorMaker 2, once it has copied what there was."""
    pair = stage.pair()
    with MeasuredMirrorMaker(pair, TOPICS_PATTERN, TUNED) as running:
        thousand.await_copies(pair)
        time.sleep(MINUTE / 2)
        busy, idle = measure_busy_and_idle(thousand, pair, lambda: running.cpu, minutes, lambda: None)
        thousand.compare(pair)
    return ("MM2 tuned", spread(busy, 2), spread(idle, 2))


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    minutes = 1 if quick else MINUTES
    with open_stage() as stage:
        thousand = ThousandPartitions(stage, QUICK_TOPICS if quick else TOPICS)
        thousand.produce()
        rows = [measure_us(stage, thousand, minutes), measure_mirror_maker(stage, thousand, minutes)]
        partitions = len(thousand.topics) * PARTITIONS
    columns = ("partitions × records a minute", "mirror", "CPU s a minute", "CPU s a minute without records")
    append("Following many partitions", columns, [(f"{partitions} × {RECORDS}", *row) for row in rows], write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
