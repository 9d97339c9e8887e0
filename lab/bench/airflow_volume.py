"""What one flow at its defaults leaves in Airflow: task instances, rows of the database and bytes of logs, by DAG and day.

    python -m lab.bench.airflow_volume [--minutes 15] [--keep DIRECTORY]

A real Airflow at its own defaults, where the database and the logs are concerned, runs all DAGs of a flow on PostgreSQL, while a producer
writes to every topic all the time: each copy has work, as on a flow that is used. A short time is scaled by each DAG's schedule. At last
`airflow db clean`, as the handbook has it, deletes all, and what it leaves is counted. `--keep` puts the logs into a directory.
"""

import argparse
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from confluent_kafka import Consumer

from kafka_mirror.config import load
from lab.bench.airflow_rows import DAY, Volume, count_rows, count_volumes, format_table, read_table_sizes
from lab.bench.stage import Stage, open_stage
from services.airflow import AirflowServices
from services.airflow_api import AirflowApi
from services.flows import ClusterPair
from services.java import ROOT
from services.postgres import PostgresServer

TOPICS, PARTITIONS, RECORDS, SECONDS = 3, 4, 30, 10.0
"""The flow: how many topics, partitions of each, and records to each topic every how many seconds."""

DEFAULTS = {
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "30",
    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "300",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "300",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "300",
}
"""Airflow's own, where the tests' Airflow differs in something that shows in the database or in the logs."""

PAGE = ROOT / "docs" / "operate" / "airflow-retention.md"


@contextmanager
def keep_producing(stage: Stage, pair: ClusterPair) -> Iterator[None]:
    """Records in every topic until the block ends, and a consumer group that has read some of them."""
    topics, over = [pair.topic(f"orders{number}") for number in range(TOPICS)], threading.Event()
    for topic in topics:
        stage.oracle.create_topic(pair.source_bootstrap, topic, PARTITIONS)
        stage.oracle.produce(pair.source_bootstrap, topic, RECORDS)
    group = Consumer({"bootstrap.servers": pair.source_bootstrap, "group.id": "billing", "auto.offset.reset": "earliest"})
    group.subscribe(topics)
    group.consume(RECORDS, 30)
    group.commit(asynchronous=False)
    group.close()

    def write() -> None:
        for seed in iter(int, None):
            if over.wait(SECONDS):
                return
            for topic in topics:
                stage.oracle.produce(pair.source_bootstrap, topic, RECORDS, seed=seed)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def run_all(api: AirflowApi, configuration: Path, pair: ClusterPair, minutes: float) -> None:
    """Unpauses every DAG, pauses all of them after some minutes, and waits for the runs that have not ended."""
    flow = load([configuration]).flow(pair.flow)
    api.wait_for_dags([flow.dag_id(kind) for kind in ("copy", "freshness", "heartbeats", "checkpoints", "backfill")])
    for dag in api.dags():
        api.unpause(dag)
    time.sleep(minutes * 60)
    for dag in api.dags():
        api.pause(dag)
    deadline = time.monotonic() + 300
    while any(run["state"] == "running" for dag in api.dags() for run in api.runs(dag)) and time.monotonic() < deadline:
        time.sleep(2)


def clean(airflow: AirflowServices) -> str:
    """What the handbook's command said, with all that is older than now."""
    [tables] = re.findall(r"--tables (\S+)", PAGE.read_text(encoding="utf-8"))
    before = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"
    options = ("--skip-archive", "--error-on-cleanup-failure", "--yes")
    return airflow.command("db", "clean", "--clean-before-timestamp", before, "--tables", tables, *options)


def list_long_messages(logs: Path, volumes: list[Volume]) -> list[str]:
    """The messages that make the logs long, with their bytes a day: digits and quoted words taken out, the longest first."""
    sizes: Counter[str] = Counter()
    for volume in volumes:
        for file in logs.glob(f"dag_id={volume.dag}/run_id=scheduled*/**/*.log"):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                [message] = re.findall(r'"event":\s*"((?:[^"\\]|\\.)*)', line)[:1] or [line]
                sizes[f"{volume.dag.rpartition('.')[2]}: {re.sub(r'[0-9a-f-]*[0-9][0-9a-f-]*', '#', message)[:90]}"] += round(
                    volume.scale_to_day(len(line) + 1)
                )
    return [f"{size / 1e6:8.2f} MB  {message}" for message, size in sizes.most_common(60)]


def report(airflow: AirflowServices, database: PostgresServer, logs: Path, grown: Mapping[str, int], seconds: float) -> None:
    """Prints what was counted: by DAG, by table, and by the messages that make the logs long. Cleans, and prints what is left."""
    volumes = count_volumes(database.url, logs)
    print(format_table(volumes))
    for volume in volumes:
        print(volume.dag, volume.runs, dict(sorted(volume.rows.items())), dict(sorted(volume.row_bytes.items())))
    total = sum(grown.values())
    print(f"The database grew by {total:,} bytes in {seconds:.0f} s, with indexes: {total / seconds * DAY / 1e6:.0f} MB a day.")
    print(*(f"{size:12,} {table}" for table, size in sorted(grown.items(), key=lambda growth: -growth[1])), sep="\n")
    others = sum(file.stat().st_size for file in logs.rglob("*.log") if "dag_id=" not in str(file))
    print(f"Other logs: {others:,} bytes, {others / seconds * DAY / 1e6:.1f} MB a day")
    print(*list_long_messages(logs, volumes), sep="\n")
    print("Rows before the cleaning:", count_rows(database.url))
    print(clean(airflow))
    print("Rows after it:", count_rows(database.url))


def main(minutes: float, keep: Path | None) -> None:
    """Measures and prints."""
    with open_stage() as stage:
        stage.directory.chmod(0o711)  # a root user's PostgreSQL runs as another user, who must get through
        pair = stage.pair()
        configuration = pair.properties(extra={"mirror.follow.seconds": "1"})
        database = PostgresServer(stage.directory / "postgres")
        airflow = AirflowServices(stage.directory / "airflow", database.url, environment={"MIRROR_CONFIG": str(configuration), **DEFAULTS})
        logs = stage.directory / "airflow" / "logs"
        try:
            database.start()
            airflow.start()
            with keep_producing(stage, pair):
                began, before = time.monotonic(), read_table_sizes(database.url)
                run_all(airflow.api(), configuration, pair, minutes)
                seconds, after = time.monotonic() - began, read_table_sizes(database.url)
            grown = {table: size - before[table] for table, size in after.items() if size > before[table]}
            report(airflow, database, logs, grown, seconds)
        finally:
            airflow.stop()
            if keep:
                shutil.copytree(logs, keep, dirs_exist_ok=True)
            database.remove()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m lab.bench.airflow_volume")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    main(options.minutes, options.keep)
