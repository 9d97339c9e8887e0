"""DAGs of people with the mirror's operators, as the handbook has them, with real brokers (`dag.test()`)."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from services.flows import ClusterPair
from services.oracle import Oracle, Record
from tests.airflow.conftest import ROOT

GUIDE = ROOT / "docs" / "guides" / "own-dags.md"


@pytest.fixture
def guide_dag(pair: ClusterPair, tmp_path: Path, airflow_home: Path) -> Callable[..., Any]:
    """Reads the guide's example of this DAG as a DAG file: `guide_dag("orders-daily", topic)`, for the pair's flow and this topic."""

    def read(dag_id: str, topic: str, **changes: str) -> Any:
        from airflow.dag_processing.dagbag import DagBag

        (example,) = (code for code in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL) if f'DAG("{dag_id}"' in code)
        for old, new in {"east->west": pair.flow, '"orders"': f'"{topic}"', **changes}.items():
            assert old in example, example
            example = example.replace(old, new)
        folder = tmp_path / "own"
        folder.mkdir(exist_ok=True)
        (folder / "own.py").write_text(example)
        bag = DagBag(folder)
        assert not bag.import_errors
        return bag.dags[dag_id]

    return read


def links(dag: Any, run: Any, task_id: str) -> dict[str, str]:
    """What Airflow's api-server shows of a task's links, by their names."""
    from airflow.models.taskinstance import TaskInstance
    from airflow.serialization.serialized_objects import DagSerialization
    from airflow.utils.session import create_session
    from sqlalchemy import select

    DagSerialization._load_operator_extra_links = True  # as in the api-server; the run's own code needs none
    with create_session() as session:
        where = (TaskInstance.dag_id == dag.dag_id, TaskInstance.run_id == run.run_id, TaskInstance.task_id == task_id)
        instance = session.scalar(select(TaskInstance).where(*where))
        task = DagSerialization.from_dict(DagSerialization.to_dict(dag)).get_task(task_id)
        return {name: task.get_extra_links(instance, name) for name in task.extra_links}


def keys_in_xcom(run: Any) -> set[str]:
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    with create_session() as session:
        return {row.key for row in session.scalars(XComModel.get_many(run_id=run.run_id))}


def yesterday(hour: int) -> int:
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return round((midnight - timedelta(hours=24 - hour)).timestamp() * 1000)


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_dag_waits_for_the_days_records_proves_them_and_goes_on(
    deferrable: bool,
    pair: ClusterPair,
    oracle: Oracle,
    mm2_properties: Callable[..., Path],
    guide_dag: Callable[..., Any],
    run_dag: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kafka_mirror.__main__ import main
    from kafka_mirror.backfill import arrival

    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    records = [Record(b"k", b"%d" % hour, timestamp=yesterday(hour)) for hour in (-2, 1, 12, 23, 25)]
    oracle.produce_records(pair.source_bootstrap, topic, records)
    file = mm2_properties()
    monkeypatch.setenv("MIRROR_CONFIG", str(file))

    looks: list[str] = []
    find = arrival.find_arrival

    def find_and_copy(*arguments: Any) -> Any:
        """The copy comes after the first look, so the sensor must wait."""
        found = find(*arguments)
        looks.append(str(found))
        if len(looks) == 1:
            assert main(["--config", str(file), "copy", "--without-spark"]) == 0
        return found

    monkeypatch.setattr(arrival, "find_arrival", find_and_copy)
    wait = f"deferrable={deferrable}, poke_interval=1"
    run = run_dag(guide_dag("orders-daily", topic, **{"deferrable=True": wait}), logical_date=datetime.now(UTC))
    assert (run.state, run.tasks) == ("success", {"arrived": "success", "proof": "success", "report": "success"})
    assert "4 offsets are not on the target" in looks[0]
    assert len(looks) == 2
    assert run.xcom["arrived"]["offsets"] == 4, "the last record is of the day after"
    assert (run.xcom["proof"]["total_state"], run.xcom["proof"]["total_source_records"]) == ("equal", 3)


def test_a_sensor_for_a_topic_that_the_flow_does_not_mirror_fails_at_once(
    pair: ClusterPair,
    oracle: Oracle,
    mm2_properties: Callable[..., Path],
    guide_dag: Callable[..., Any],
    run_dag: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    task_log: Any,
) -> None:
    monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties()))
    dag = guide_dag("orders-daily", "no-such-topic")
    run = run_dag(dag, logical_date=datetime.now(UTC))
    assert run.tasks["arrived"] == "failed"
    assert "does not mirror no-such-topic" in task_log.take()
    page = f"/mirror/flows/{pair.source}-to-{pair.target}"
    assert links(dag, run, "arrived") == {"Mirror": page, "Runbook": "/mirror/runbook#usageerror", "Spark UI": ""}
    assert links(dag, run, "report") == {}, "a task of the person's own"


def test_a_copy_and_a_backfill_are_one_task_each(
    pair: ClusterPair,
    oracle: Oracle,
    mm2_properties: Callable[..., Path],
    guide_dag: Callable[..., Any],
    run_dag: Callable[..., Any],
    spark_here: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce_records(pair.source_bootstrap, topic, [Record(b"k", b"%d" % hour, timestamp=yesterday(hour)) for hour in (1, 2, 3)])
    monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties()))
    dag = guide_dag("orders-by-hand", topic)
    run = run_dag(dag)
    assert (run.state, run.tasks) == ("success", {"copy": "success", "history": "success"})
    assert (run.xcom["copy"]["state"], run.xcom["copy"]["records"], run.xcom["history"]["state"]) == ("done", 3, "done")
    assert [record.value for record in oracle.dump(pair.target_bootstrap, pair.remote(topic))] == [b"1", b"2", b"3"]
    again = run_dag(dag)
    assert (again.xcom["copy"]["records"], again.xcom["history"]["live_records"]) == (0, 0)


def test_a_hook_says_whether_a_copy_would_work(
    pair: ClusterPair, oracle: Oracle, mm2_properties: Callable[..., Path], airflow_home: Path
) -> None:
    from kafka_mirror.airflow.operators import MirrorHook

    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    file = mm2_properties(topics=topic)
    assert MirrorHook(pair.flow, str(file)).test_connection() == (
        True,
        f"{pair.flow}: both clusters answer, and 1 topics are to be mirrored.",
    )
    broken = file.with_name("broken.properties")
    broken.write_text(file.read_text().replace(pair.target_bootstrap, "127.0.0.1:1") + "admin.timeout.ms = 2000\n")
    works, sentence = MirrorHook(pair.flow, str(broken)).test_connection()
    assert not works
    assert "127.0.0.1:1" in sentence


def test_a_wave_moves_in_one_task_that_begins_as_a_dry_run(
    pair: ClusterPair,
    oracle: Oracle,
    mm2_properties: Callable[..., Path],
    guide_dag: Callable[..., Any],
    run_dag: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from kafka_mirror.__main__ import main

    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce(pair.source_bootstrap, topic, 5, seed=1)
    file = mm2_properties(topics=topic)
    monkeypatch.setenv("MIRROR_CONFIG", str(file))
    assert main(["--config", str(file), "copy", "--without-spark"]) == 0
    tried = run_dag(guide_dag("move-orders", topic))
    assert (tried.state, tried.xcom["move"]["steps"][0]["step"]) == ("success", "preflight")
    assert main(["--config", str(file), "cutover", "status", "--flow", pair.flow]) == 0, "no wave is noted"
    dag = guide_dag("move-orders", topic, **{'by="read-only-check"': 'by="read-only-check", plan_only=False'})
    moved = run_dag(dag)
    assert (moved.state, moved.xcom["move"]["state"]) == ("success", "open")
    assert links(dag, moved, "move")["Runbook"] == ""
    assert keys_in_xcom(moved) == {"return_value"}, "a link costs no row"
