"""The DAGs of consumer groups with real brokers, in this process: `checkpoints` goes by what `refresh-groups` left in XCom."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pendulum
import pytest

from services.consumers import read_offsets, set_offsets
from services.flows import ClusterPair
from services.oracle import Oracle
from tests.airflow.spark_here import told
from tests.airflow.task_log import TaskLog


@pytest.fixture
def run(pair: ClusterPair, mm2_properties: Callable[..., Path], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs one of the pair's DAGs, the source's groups of this test alone."""
    extra = {"groups": f".*-{pair.mark}", "source->target.sync.group.offsets.enabled": "true", "source->target.mirror.lanes": "4"}
    monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties(extra=extra)))

    def one(what: str, conf: dict[str, Any] | None = None) -> Any:
        return run_dag(f"{pair.source}-to-{pair.target}.{what}", conf)

    return one


@pytest.fixture
def refreshed(pair: ClusterPair, run: Any, dags: Callable[[], dict[str, Any]]) -> Callable[..., Any]:
    """A run of `refresh-groups` with a logical date, as the scheduler makes it."""

    def one(ago: timedelta = timedelta(0)) -> Any:
        dag = dags()[f"{pair.source}-to-{pair.target}.refresh-groups"]
        for task in dag.tasks:
            task.retries = 0
        return dag.test(logical_date=pendulum.now("UTC") - ago)

    return one


@pytest.fixture
def copied(pair: ClusterPair, oracle: Oracle, mm2_properties: Callable[..., Path], run: Any) -> str:
    """A mirrored topic of 20 records, and a group that stands in the middle of it."""
    from kafka_mirror.__main__ import main

    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce(pair.source_bootstrap, topic, 20, seed=1)
    assert main(["--config", str(pair.directory / "mm2.properties"), "copy", "--without-spark"]) == 0
    set_offsets(pair.source_bootstrap, f"first-{pair.mark}", {(topic, 0): 11})
    return topic


def test_a_fresh_flow_lists_its_groups_and_then_goes_by_the_newest_refresh(
    pair: ClusterPair, run: Any, refreshed: Any, copied: str, task_log: TaskLog
) -> None:
    assert run("checkpoints", {"dry_run": True}).xcom["checkpoints"]["written"] == 1
    first = run("checkpoints")
    assert (first.state, first.xcom["checkpoints"]["written"]) == ("success", 1)
    assert "no fresh list of groups" in task_log.take()

    refreshed(timedelta(hours=1))
    set_offsets(pair.source_bootstrap, f"second-{pair.mark}", {(copied, 0): 5})
    assert str(refreshed().state) == "success"
    set_offsets(pair.source_bootstrap, f"third-{pair.mark}", {(copied, 0): 6})
    task_log.take()
    second = run("checkpoints").xcom["checkpoints"]
    assert (second["groups"], second["written"], second["unchanged"]) == (2, 1, 1), "the third group is not known yet"
    assert "no fresh list of groups" not in task_log.take()


def test_group_offsets_commits_for_idle_groups_and_says_what_became_of_each(pair: ClusterPair, run: Any, copied: str) -> None:
    done = run("group-offsets")
    assert (done.state, done.xcom["group_offsets"]) == (
        "success",
        {"group": [f"first-{pair.mark}"], "state": ["synced"], "synced": [1], "reason": [""]},
    )
    assert {tuple(tp): offset for tp, offset in read_offsets(pair.target_bootstrap, f"first-{pair.mark}").items()} == {
        (pair.remote(copied), 0): 11
    }
    assert run("group-offsets").xcom["group_offsets"]["state"] == ["up to date"]


def test_group_offsets_takes_back_what_a_run_of_the_dag_committed(pair: ClusterPair, run: Any, copied: str, task_log: TaskLog) -> None:
    run("group-offsets")
    (line,) = [line for line in task_log.take().splitlines() if "--undo" in line]
    name = line.split("'")[1]
    assert name.startswith(f"{pair.source}-to-{pair.target}.group-offsets / ")
    undone = run("group-offsets", {"undo": name})
    assert (undone.state, undone.xcom["group_offsets"]["state"]) == ("success", ["undone"])
    assert read_offsets(pair.target_bootstrap, f"first-{pair.mark}") == {}
    unknown = run("group-offsets", {"undo": name})
    assert unknown.state == "failed"


def test_very_many_groups_go_to_a_spark_job_and_its_answer_is_the_tasks(
    configured: Callable[..., None], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, task_log: TaskLog
) -> None:
    from airflow.sdk.exceptions import AirflowException

    from kafka_mirror.errors import ClusterUnreachable
    from kafka_mirror.formats.documents import to_document
    from kafka_mirror.groups.find import KnownGroups
    from kafka_mirror.groups.job import GroupWork
    from kafka_mirror.ledger.step import StepResult
    from kafka_mirror.spark.files import write_answer

    configured(
        "clusters = east, west",
        "east.bootstrap.servers = 127.0.0.1:1",
        "west.bootstrap.servers = 127.0.0.1:1",
        "east->west.enabled = true",
    )
    known = KnownGroups(("a", "b"), 20_001)
    monkeypatch.setattr("kafka_mirror.airflow.work.groups.recall_fresh_groups", lambda *_: known)
    answers: list[Any] = [
        StepResult({"written": 7}, {"written": 7}, ("seven",)),
        StepResult({"written": 1}, {}, (), (_report(ClusterUnreachable),)),
        None,
    ]
    asked = []

    def submit(hook: Any, application: str, **_: Any) -> None:
        work, result = (Path(each) for each in hook._application_args)
        asked.append((Path(application).name, *told(work)))
        answer = answers.pop(0)
        if answer is None:
            raise AirflowException("Cannot execute: spark-submit. Error code is: 137.")
        write_answer(result, to_document(answer))

    monkeypatch.setattr("kafka_mirror.airflow.spark_hook.JobHook.submit", submit)
    done = run_dag("east-to-west.checkpoints")
    assert (done.state, done.xcom["checkpoints"]) == ("success", {"written": 7})
    program, job, work = asked[0]
    assert (program, job.flow, work) == ("spark_job.py", "east->west", GroupWork("checkpoints", ("a", "b"), False, work.run))
    failed = run_dag("east-to-west.checkpoints")
    assert (failed.state, failed.xcom["checkpoints"]) == ("failed", {"written": 1})
    assert run_dag("east-to-west.checkpoints").state == "failed"
    assert "The Spark job ended without a result: Cannot execute: spark-submit. Error code is: 137." in task_log.take()


def _report(kind: Any) -> Any:
    return kind("west", "127.0.0.1:1", 30).report()
