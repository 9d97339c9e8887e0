"""A run of the `copy` DAG through Airflow's real scheduler on PostgreSQL: idle, and with a little to copy, by spark-submit and on a Spark
that stays.

CPU seconds are those of the tasks: LocalExecutor's workers, which supervise them, everything that these started (JVM, driver and Spark's
Python workers included), and the Spark that stays. Scheduler, api-server and dag-processor are not in it. Seconds are from the trigger by
REST until Airflow calls the run ended.
"""

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass

import psutil

from kafka_mirror.config import load
from lab.bench.processes import RunningTree, cpu_seconds, cpu_with_children
from lab.bench.results import append, spread
from lab.bench.stage import MeasuredSpark, Stage, open_stage
from services.airflow import AirflowServices
from services.airflow_api import AirflowApi
from services.flows import ClusterPair
from services.postgres import PostgresServer

RUNS, QUICK_RUNS = 7, 2
RECORDS = 30
_CONNECTION = "bench_spark"
_WEEKLY = {"source->target.mirror.copy.interval.seconds": "604800", "source->target.refresh.topics.interval.seconds": "604800"}


@dataclass(frozen=True)
class Figures:
    """One run: seconds from trigger to end, CPU seconds in all, and of each task's process as far as it was seen alive."""

    seconds: float
    cpu: float
    tasks: dict[str, float]


class ScheduledFlow:
    """The flow's copy DAG in a running Airflow."""

    def __init__(self, airflow: AirflowServices, pair: ClusterPair, tree: RunningTree, spark: MeasuredSpark | None) -> None:
        """`tree` is the scheduler's."""
        self._airflow = airflow
        self._api: AirflowApi = airflow.api()
        self._scheduler = psutil.Process(airflow.pid("scheduler"))
        self._tree = tree
        self._spark = spark
        self.dag = f"{pair.source}-to-{pair.target}.copy"

    def run(self, verdict: str) -> Figures:
        """Triggers a run and waits for its end. Raises RuntimeError unless it is green with this verdict."""
        with watch_tasks(self._scheduler) as cpu_of_tasks:
            before, began = self.cpu, time.monotonic()
            run = self._api.trigger(self.dag)
            while (state := self._api.run(self.dag, run)["state"]) not in ("success", "failed"):
                time.sleep(0.05)
            seconds = time.monotonic() - began
            self._settle()
            cpu = self.cpu - before
        tasks = sorted(self._api.tasks(self.dag, run), key=lambda task: task["start_date"])
        if state != "success" or self._api.xcom(self.dag, run, "copy")["state"] != verdict:
            raise RuntimeError(f"{run} is {state}: { {task['task_id']: task['state'] for task in tasks} }")
        return Figures(seconds, cpu, {task["task_id"]: cpu_of_tasks.get(task["id"], 0.0) for task in tasks})

    @property
    def cpu(self) -> float:
        """CPU seconds of all tasks so far, and of the Spark that stays."""
        return self.tasks_cpu + self.spark_cpu

    @property
    def tasks_cpu(self) -> float:
        """CPU seconds of all tasks so far, and of what they started."""
        return self._tree.cpu - cpu_seconds([self._scheduler.pid])

    @property
    def spark_cpu(self) -> float:
        """CPU seconds of the Spark that stays so far, Python workers included."""
        return self._spark.tree.cpu if self._spark else 0.0

    @property
    def airflow_cpu(self) -> float:
        """CPU seconds of Airflow's own components so far: scheduler, dag-processor with what it starts, api-server."""
        others = (psutil.Process(self._airflow.pid(name)) for name in ("dag-processor", "api-server"))
        cpu = sum(cpu_with_children(process) for other in others for process in (other, *other.children(recursive=True)))
        return cpu + cpu_seconds([self._scheduler.pid])

    def begin(self, *, follows: bool) -> None:
        """Unpauses the DAG and waits for its scheduled run, to its end unless it `follows`: until the next is due."""
        self._api.wait_for_dags([self.dag])
        self._api.unpause(self.dag)
        deadline = time.monotonic() + 60
        while not (runs := self._api.runs(self.dag)) and time.monotonic() < deadline:
            time.sleep(0.1)
        if not follows:
            self._api.wait_for_run(self.dag, runs[-1]["dag_run_id"])

    def _settle(self) -> None:
        """Waits until no task's process is left: a worker knows what one cost when it has ended."""
        deadline = time.monotonic() + 30
        while any(_children(worker) for worker in self._scheduler.children()) and time.monotonic() < deadline:
            time.sleep(0.05)


@contextmanager
def watch_tasks(scheduler: psutil.Process) -> Iterator[dict[str, float]]:
    """CPU seconds of each task's process and of the children that it waited for, as of the last look, by the id of the task instance."""
    cpu_of_tasks: dict[str, float] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            for task in (task for worker in scheduler.children() for task in _children(worker)):
                with suppress(psutil.Error, IndexError):  # it is ending
                    cpu_of_tasks[task.cmdline()[0].rpartition(" ")[2]] = cpu_with_children(task)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield cpu_of_tasks
    finally:
        over.set()
        thread.join()


def _children(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return list(process.children())
    return []


@contextmanager
def run_airflow(
    stage: Stage, pair: ClusterPair, settings: Mapping[str, str], spark: MeasuredSpark | None = None
) -> Iterator[ScheduledFlow]:
    """An Airflow with the flow of this pair, ready to be triggered; with a Spark that stays or by spark-submit."""
    connection = {"source->target.mirror.spark.connection": _CONNECTION} if spark else {}
    config = pair.properties(extra={**settings, **connection})
    home = stage.directory / f"airflow-{pair.source}"
    database = PostgresServer(home / "postgres")
    airflow = AirflowServices(
        home / "airflow",
        database.url,
        environment={"MIRROR_CONFIG": str(config), **({f"AIRFLOW_CONN_{_CONNECTION.upper()}": spark.server.connection} if spark else {})},
        components=("scheduler", "dag-processor", "api-server"),
    )
    stage.directory.chmod(0o711)  # a root user's PostgreSQL runs as another user, who must get through
    try:
        database.start()
        airflow.start()
        with RunningTree(airflow.pid("scheduler") or 0) as tree:
            flow = ScheduledFlow(airflow, pair, tree, spark)
            flow.begin(follows=load([config]).flow(pair.flow).value("mirror.follow.seconds") > 0)
            yield flow
    finally:
        airflow.stop()
        database.remove()


def measure(stage: Stage, runs: int, spark: MeasuredSpark | None) -> dict[str, list[Figures]]:
    """Runs with records and without, in turns."""
    pair = stage.pair()
    topic = f"orders-{pair.source}-bench"
    stage.oracle.create_topic(pair.source_bootstrap, topic, 3)
    figures: dict[str, list[Figures]] = {"idle": [], "with records": []}
    with run_airflow(stage, pair, _WEEKLY, spark) as flow:
        for number in range(runs + 1):
            stage.oracle.produce(pair.source_bootstrap, topic, RECORDS, seed=number)
            figures["with records"].append(flow.run("done"))
            figures["idle"].append(flow.run("nothing to do"))
    stage.require(pair.remote(topic), RECORDS * (runs + 1))
    stage.oracle.delete_topic(pair.source_bootstrap, topic)
    return figures


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    rows = []
    with open_stage() as stage:
        for how in ("by spark-submit", "on a Spark that stays"):
            with nullcontext() if how == "by spark-submit" else stage.spark_that_stays() as spark:
                figures = measure(stage, QUICK_RUNS if quick else RUNS, spark)
            for name, all_runs in figures.items():
                runs = all_runs[1:]  # the first ones fill caches
                tasks = ", ".join(f"{task} {spread([run.tasks.get(task, 0.0) for run in runs], 2)}" for task in runs[0].tasks)
                seconds, cpu = [run.seconds for run in runs], [run.cpu for run in runs]
                rows.append((f"{name}, {how}", spread(seconds), spread(cpu, 2), tasks))
    append(
        "A run of the copy DAG through the scheduler", ("run", "seconds", "CPU s of the tasks", "each task's CPU s"), rows, write=not quick
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
