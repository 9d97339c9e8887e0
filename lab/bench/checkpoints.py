"""Consumer groups with ten partitions each: translating their offsets, writing checkpoints, committing them on the target.

A command each, from the start of its process to its end: first 1,000 groups in the process itself, then 4,000 by the Spark job. «again»:
when no group has moved since.
"""

import json
import sys
from pathlib import Path

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed
from lab.bench.processes import Cost, cost_of
from lab.bench.results import append
from lab.bench.stage import Stage, mirror_command, open_stage

PARTITIONS = 10
RECORDS = 10_000
COUNTS, QUICK_COUNTS = (1_000, 4_000), (10, 30)
TOPIC = "orders-bench"


def commit(stage: Stage, groups: int) -> None:
    """Lets the groups commit offsets somewhere in the topic."""
    settings = {"bootstrap.servers": stage.source.bootstrap}
    offsets = {
        f"group-{number}": {
            TopicPartition(TOPIC, partition): Committed((number * 7 + partition * 13 + 1) % (RECORDS // PARTITIONS // 2))
            for partition in range(PARTITIONS)
        }
        for number in range(groups)
    }
    with Cluster("east", settings, 120) as cluster:
        errors: dict[str, object] = {}
        refused = Groups(cluster).commit(offsets, errors)  # type: ignore[arg-type]
        if errors or any(refused.values()):
            raise RuntimeError(f"Not every group could commit: {errors}")


def run_step(config: Path, what: str) -> tuple[Cost, dict[str, object]]:
    """Runs a step; gives its cost and its result."""
    cost = cost_of(mirror_command(config, what, "--json"))
    return cost, json.loads(cost.output)["flows"][0]["result"]


def measure(stage: Stage, config: Path, groups: int, how: str) -> tuple[str, ...]:
    """One row: checkpoints, again, committed offsets, again."""
    commit(stage, groups)
    costs = []
    for what, column, expected in (
        ("checkpoints", "written", groups * PARTITIONS),
        ("checkpoints", "written", 0),
        ("group-offsets", "synced", groups * PARTITIONS),
        ("group-offsets", "synced", 0),
    ):
        cost, result = run_step(config, what)
        done = result[column] if column == "written" else sum(result["synced"])  # type: ignore[call-overload]
        if done != expected:
            raise RuntimeError(f"{what} did {done} partitions, not {expected}.")
        costs += [f"{cost.seconds:.1f}", f"{cost.cpu:.1f}"]
    return (f"{groups} × {PARTITIONS}", how, *costs)


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    few, many = QUICK_COUNTS if quick else COUNTS
    rows = []
    with open_stage() as stage:
        stage.oracle.create_topic(stage.source.bootstrap, TOPIC, PARTITIONS)
        stage.oracle.produce(stage.source.bootstrap, TOPIC, RECORDS, seed=1, transactions=50)
        for groups, how in ((few, "task"), (many, "Spark job")):
            pair = stage.pair()
            threshold = "20000" if how == "task" else str(min(20_000, groups * PARTITIONS - 1))
            config = pair.properties(TOPIC, {"groups": "group-.*", "mirror.checkpoints.spark.threshold": threshold})
            stage.copy(config)
            rows.append(measure(stage, config, groups, how))
            delete_groups(stage, groups)
    columns = ("groups × partitions", "by", "checkpoints s", "CPU s", "again s", "CPU s", "offsets s", "CPU s", "again s", "CPU s")
    append("Consumer groups", columns, rows, write=not quick)


def delete_groups(stage: Stage, groups: int) -> None:
    """Deletes the groups on the target: the next flow gives its remote topics other names, but not its groups."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": stage.target.bootstrap, "log_level": 0})
    for answer in admin.delete_consumer_groups([f"group-{number}" for number in range(groups)], request_timeout=120).values():
        answer.result(125)


if __name__ == "__main__":
    main("--quick" in sys.argv)
