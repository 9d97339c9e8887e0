"""How old a record is when it arrives: a thousand records a second over a hundred partitions, copied by lanes that follow,
by the `copy` DAG on Airflow's real scheduler and a Spark that stays, and then by MirrorMaker 2, tuned.

The age is the time at which a consumer on the target, which reads committed records, has a record, less the record's own timestamp. Ours
«CPU s a minute» are those of the tasks and of the Spark that stays, Python workers included; «Airflow's» those of scheduler, dag-processor
and api-server, which run for all DAGs. Of the first minute nothing is counted.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from lab.bench.airflow_run import run_airflow
from lab.bench.arrivals import Arrivals, percentile, produce_steadily, read_arrivals
from lab.bench.mm2 import TUNED, MeasuredMirrorMaker
from lab.bench.results import append
from lab.bench.stage import Stage, open_stage
from services.flows import ClusterPair

TOPIC, PARTITIONS, RATE = "events-bench", 100, 1000
MINUTES, QUICK_MINUTES = 10, 1.5
_MINUTE = 60.0
_WARM_SECONDS, _QUICK_WARM_SECONDS = 60.0, 15.0
_LAST_SECONDS = 90.0
_SETTINGS = {
    "source->target.mirror.follow.seconds": "1",  # the default, which the pairs of tests switch off; a run every five minutes
    "source->target.refresh.topics.interval.seconds": "604800",
}


@dataclass(frozen=True)
class Figures:
    """Ages in seconds, sorted, and CPU seconds a minute: of the mirror (tasks, or all of it), of the Spark that stays, of Airflow's
    components, of both brokers."""

    ages: list[float]
    mirror: float
    spark: float
    airflow: float
    brokers: float

    def row(self, name: str) -> tuple[str, ...]:
        """Its cells."""
        ages = [f"{percentile(self.ages, share):.2f}" for share in (0.5, 0.9, 0.99)]
        parts = f" ({self.mirror:.1f} tasks, {self.spark:.1f} Spark)" if self.spark else ""
        airflow = f"{self.airflow:.1f}" if self.airflow else "–"
        cpu = f"{self.mirror + self.spark:.1f}{parts}"
        return (name, f"{len(self.ages):,}", *ages, f"{self.ages[-1]:.2f}", cpu, airflow, f"{self.brokers:.1f}")


def measure(stage: Stage, pair: ClusterPair, cpu: Callable[[], tuple[float, float, float]], minutes: float, warm: float) -> Figures:
    """Produces for some minutes while a mirror runs, and waits until all has arrived. `cpu` reads the CPU seconds of the mirror, of its
    Spark and of Airflow."""
    seconds = warm + minutes * _MINUTE
    with read_arrivals(pair.target_bootstrap, pair.remote(TOPIC), PARTITIONS) as arrivals, ThreadPoolExecutor(1) as threads:
        records = threads.submit(produce_steadily, pair.source_bootstrap, TOPIC, PARTITIONS, RATE, seconds)
        time.sleep(warm)
        begin, before = time.time(), (*cpu(), sum(stage.broker_cpu()))
        time.sleep(minutes * _MINUTE)
        end, after = time.time(), (*cpu(), sum(stage.broker_cpu()))
        await_all(arrivals, records.result())
    used = [(late - early) / (end - begin) * _MINUTE for early, late in zip(before, after, strict=True)]
    return Figures(arrivals.ages_of(begin, end), *used)


def await_all(arrivals: Arrivals, records: int) -> None:
    """Waits until this many have arrived. Raises RuntimeError if they do not, or if there are more."""
    deadline = time.monotonic() + _LAST_SECONDS
    while len(arrivals.ages) < records and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1.0)
    if len(arrivals.ages) != records:
        raise RuntimeError(f"{len(arrivals.ages)} records have arrived, not {records}.")


def measure_us(stage: Stage, minutes: float, warm: float) -> Figures:
    """Measures lanes that follow, on a Spark that stays."""
    pair = stage.pair()
    stage.copy(pair.properties(TOPIC, _SETTINGS))
    with stage.spark_that_stays() as spark, run_airflow(stage, pair, _SETTINGS, spark) as flow:
        return measure(stage, pair, lambda: (flow.tasks_cpu, flow.spark_cpu, flow.airflow_cpu), minutes, warm)


def measure_mirror_maker(stage: Stage, minutes: float, warm: float) -> Figures:
    """Measures MirrorMaker 2, once it has copied what there was."""
    pair = stage.pair()
    with MeasuredMirrorMaker(pair, TOPIC, TUNED) as running:
        before = sum(partition.records for partition in stage.oracle.count(stage.source.bootstrap, TOPIC))
        while stage.count_arrived(pair.remote(TOPIC), PARTITIONS) < before:
            time.sleep(0.2)
        return measure(stage, pair, lambda: (running.cpu, 0.0, 0.0), minutes, warm)


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    minutes, warm = (QUICK_MINUTES, _QUICK_WARM_SECONDS) if quick else (MINUTES, _WARM_SECONDS)
    with open_stage() as stage:
        stage.oracle.create_topic(stage.source.bootstrap, TOPIC, PARTITIONS)
        produce_steadily(stage.source.bootstrap, TOPIC, PARTITIONS, RATE, 1.0)
        rows = [measure_us(stage, minutes, warm).row("ours, following"), measure_mirror_maker(stage, minutes, warm).row("MM2 tuned")]
    columns = ("mirror", "records", "age s p50", "p90", "p99", "largest", "CPU s a minute", "Airflow's", "brokers'")
    title = f"A record's age on arrival, {RATE:,} a second over {PARTITIONS} partitions"
    append(title, ("minutes", *columns), [(f"{minutes:g}", *row) for row in rows], write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
