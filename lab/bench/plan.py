"""Planning over ten thousand partitions in which nothing happens: what a run costs when its flow is idle."""

import sys
import time

from kafka_mirror.config import load
from kafka_mirror.copy.plan.run import plan
from lab.bench.results import append, spread
from lab.bench.stage import Stage, open_stage
from services.oracle import Record

PARTITIONS = 50
TOPICS, QUICK_TOPICS = 200, 4
RUNS = 5


def fill(stage: Stage, topics: int) -> int:
    """Topics with one record a partition; gives the number of partitions."""
    for number in range(topics):
        topic = f"t{number}-bench"
        stage.oracle.create_topic(stage.source.bootstrap, topic, PARTITIONS)
        records = [Record(b"key", b"value", partition=partition) for partition in range(PARTITIONS)]
        stage.oracle.produce_records(stage.source.bootstrap, topic, records)
    return topics * PARTITIONS


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    with open_stage() as stage:
        partitions = fill(stage, QUICK_TOPICS if quick else TOPICS)
        pair = stage.pair()
        config = pair.properties(r"t\d+-bench")
        first = stage.copy(config, partitions)
        flow = load([config]).flow(pair.flow)
        seconds, cpus = [], []
        for _ in range(RUNS + 1):
            began, cpu = time.monotonic(), time.process_time()
            idle = plan(flow)
            seconds.append(time.monotonic() - began)
            cpus.append(time.process_time() - cpu)
            if idle.ranges or idle.errors:
                raise RuntimeError(f"The plan is not idle: {len(idle.ranges)} ranges, {idle.errors[:3]}")
        commands = [stage.copy(config, 0) for _ in range(RUNS)]
    row = (
        str(partitions),
        spread(seconds[1:], 2),
        spread(cpus[1:], 2),
        spread([command.seconds for command in commands], 2),
        spread([command.cpu for command in commands], 2),
        f"{first.seconds:.1f}",
        f"{first.cpu:.1f}",
    )
    columns = ("idle partitions", "seconds a plan", "CPU s", "seconds an idle command", "CPU s", "seconds the first copy", "CPU s")
    append("Planning when nothing happens", columns, [row], write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
