"""The `cutover` DAG with real brokers, in this process: what its tasks do, leave in XCom and log, and which colour its runs have."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from services.consumers import read_offsets, set_offsets
from services.flows import ClusterPair
from services.oracle import Oracle, Record
from services.waiting import ADMIN_TIMEOUT_MS
from tests.airflow.task_log import TaskLog

TASKS = ("preflight", "catch_up", "fence", "last_copy", "audit_gate", "move_groups", "open")
GREEN = dict.fromkeys((*TASKS, "report"), "success")
PERSON = "dag_test"
"""Whom `dag.test` gives as the one who triggered the run."""


def red_from(task: str) -> dict[str, str]:
    """The states of a run in which this task failed, and with it the report."""
    behind = TASKS[TASKS.index(task) + 1 :]
    return {**GREEN, task: "failed", **dict.fromkeys(behind, "upstream_failed"), "report": "failed"}


@pytest.fixture
def file(pair: ClusterPair, mm2_properties: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    path = mm2_properties(extra={"source->target.mirror.lanes": "4", "admin.timeout.ms": ADMIN_TIMEOUT_MS})
    monkeypatch.setenv("MIRROR_CONFIG", str(path))
    return path


@pytest.fixture
def topic(pair: ClusterPair, oracle: Oracle, file: Path) -> str:
    """A topic of two partitions, copied but for its newest records."""
    from kafka_mirror.__main__ import main

    name = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, name, 2)
    oracle.produce(pair.source_bootstrap, name, 60, seed=1)
    assert main(["--config", str(file), "copy", "--without-spark"]) == 0
    oracle.produce(pair.source_bootstrap, name, 20, seed=2)
    return name


@pytest.fixture
def group(pair: ClusterPair, topic: str) -> str:
    """A group without members that has read a part of the topic."""
    name = f"billing-{pair.mark}"
    set_offsets(pair.source_bootstrap, name, {(topic, 0): 7, (topic, 1): 11})
    return name


@pytest.fixture
def cutover(pair: ClusterPair, topic: str, group: str, run_dag: Callable[..., Any]) -> Callable[..., Any]:
    """Runs the pair's DAG for a wave of the topic and its group, with other parameters if they are given."""

    def run(**conf: Any) -> Any:
        return run_dag(f"{pair.source}-to-{pair.target}.cutover", {"topics": topic, "groups": group, "quiet_seconds": 1, **conf})

    return run


@pytest.fixture
def waves(pair: ClusterPair, file: Path) -> Callable[[], Any]:
    """The waves that the control topic keeps."""
    from kafka_mirror.config import load
    from kafka_mirror.cutover.wave.run import read_waves

    return lambda: read_waves(load([file]).flow(pair.flow)).waves


@pytest.fixture
def transaction(pair: ClusterPair, oracle: Oracle, topic: str) -> str:
    """A transaction that a producer holds open in the topic."""
    name = f"writes-{pair.mark}"
    oracle.open_transaction(pair.source_bootstrap, topic, name, [Record(b"k", b"v", partition=0)])
    return name


def moved(pair: ClusterPair, topic: str, group: str) -> dict[int, int]:
    """The group's positions on the target."""
    return {tp.partition: offset for tp, offset in read_offsets(pair.target_bootstrap, group).items() if tp.topic == pair.remote(topic)}


def test_a_run_is_a_dry_run_unless_somebody_says_otherwise_and_changes_nothing(
    pair: ClusterPair, oracle: Oracle, topic: str, group: str, cutover: Any, waves: Any, task_log: TaskLog
) -> None:
    before = oracle.count(pair.target_bootstrap, pair.remote(topic))
    run = cutover()
    log = task_log.take()
    assert (run.state, run.tasks) == ("success", GREEN), log
    assert {name: value["step"].replace("-", "_") for name, value in run.xcom.items() if name in TASKS} == {name: name for name in TASKS}
    assert run.xcom["report"] == {"dry_run": True, "stops": []}
    for said in ("2 partitions would be watched until they are quiet for 1 s.", "nothing stops the wave"):
        assert said in log
    for name, said in (("fence", "would be watched"), ("last_copy", "would be copied"), ("catch_up", "The wave lags by")):
        assert any(said in line for line in run.xcom[name]["lines"]), name
    assert (waves(), moved(pair, topic, group)) == ({}, {})
    assert oracle.count(pair.target_bootstrap, pair.remote(topic)) == before


@pytest.mark.parametrize(
    ("conf", "task", "sentence"),
    [
        ({"topics": "nothing-has-this-name"}, "report", "matches no topic"),
        ({"topics": " "}, "preflight", "The wave cannot be read: it names no pattern."),
        ({"mode": "failover"}, "preflight", "A failover declares the source lost, and says why."),
        ({"mode": "failover", "dry_run": False}, "preflight", "A failover declares the source lost, and says why."),
        ({"wave": "no/name", "dry_run": False}, "preflight", "no/name"),
    ],
    ids=("pattern", "no topics", "no reason", "no reason for real", "name"),
)
def test_bad_input_is_red_with_one_sentence_and_changes_nothing(
    conf: dict[str, Any], task: str, sentence: str, cutover: Any, waves: Any, task_log: TaskLog
) -> None:
    run = cutover(**conf)
    log = task_log.take()
    assert (run.state, run.tasks[task], run.tasks["report"]) == ("failed", "failed", "failed")
    assert any(sentence in said[:300] for said in log.split("ERROR kafka_mirror.airflow.tasks: ")[1:]), log
    assert "Traceback" not in log
    assert waves() == {}


def test_a_wave_moves_and_a_second_run_has_nothing_left_to_do(
    pair: ClusterPair, topic: str, group: str, cutover: Any, waves: Any, task_log: TaskLog
) -> None:
    run = cutover(dry_run=False, reason="east closes")
    log = task_log.take()
    assert (run.state, run.tasks) == ("success", GREEN), log
    report = run.xcom["report"]
    assert (report["state"], report["audited_records"], report["why"]) == ("open", 80, "east closes")
    assert report["who"] == f"{PERSON} (run {pair.source}-to-{pair.target}.cutover / {run.run_id})"
    assert [(step["step"], step["state"]) for step in report["steps"]] == [(name.replace("_", "-"), "done") for name in TASKS]
    assert f"# Wave {report['wave']} of {pair.flow}: open" in log
    assert moved(pair, topic, group) == {0: 7, 1: 11}
    [record] = waves().values()
    assert record.state == "open"

    again = cutover(dry_run=False)
    assert (again.state, again.tasks) == ("success", GREEN)
    assert again.xcom["open"]["lines"] == ["The wave is open already."]
    assert (again.xcom["report"], list(waves().values())) == (report, [record])


def test_a_name_that_another_wave_has_is_red_although_that_wave_is_open(cutover: Any, pair: ClusterPair, oracle: Oracle) -> None:
    assert cutover(dry_run=False, wave="mine").state == "success"
    other = pair.topic("payments")
    oracle.create_topic(pair.source_bootstrap, other, 1)
    run = cutover(dry_run=False, wave="mine", topics=other)
    assert (run.state, run.tasks["preflight"], run.tasks["report"]) == ("failed", "failed", "failed")
    assert "report" not in run.xcom, "it would be the report of another wave"


def test_a_step_that_is_stopped_is_red_with_the_reason_and_the_way_back(
    pair: ClusterPair, topic: str, group: str, cutover: Any, oracle: Oracle, transaction: str, task_log: TaskLog, waves: Any
) -> None:
    run = cutover(dry_run=False, by="read-only-check", wave="mine")
    log = task_log.take()
    assert (run.state, run.tasks) == ("failed", red_from("fence")), log
    assert run.xcom["fence"]["findings"][0]["code"] == "TransactionOpen"
    assert f"{pair.flow}: fence of the wave mine is stopped" in log
    assert f"cutover rollback --flow '{pair.flow}' --wave mine" in log
    assert "the wave mine is under way, and its next step is fence. The log of the task fence says why." in log
    assert run.xcom["report"]["state"] == "under way"
    assert (waves()["mine"].next_step, moved(pair, topic, group)) == ("fence", {})

    oracle.end_transaction(transaction, "abort")
    again = cutover(dry_run=False, by="read-only-check", wave="mine")
    assert (again.state, again.tasks, moved(pair, topic, group)) == ("success", GREEN, {0: 7, 1: 11})


def test_a_step_that_waits_gives_its_place_away_and_looks_again(
    pair: ClusterPair, oracle: Oracle, cutover: Any, transaction: str, monkeypatch: pytest.MonkeyPatch, task_log: TaskLog
) -> None:
    from kafka_mirror.airflow.work import cutover as tasks

    wait, waited = tasks._wait, []

    def let_it_end(outcome: Any, *more: Any) -> None:
        if not waited:
            oracle.end_transaction(transaction, "commit")
        waited.append(outcome.step)
        wait(outcome, *more)

    monkeypatch.setattr(tasks, "_wait", let_it_end)
    monkeypatch.setattr(tasks, "_AT_ONCE_SECONDS", 0.5)
    monkeypatch.setattr(tasks, "LOOK_AGAIN", timedelta(0))
    run = cutover(dry_run=False)
    log = task_log.take()
    assert (run.state, run.tasks) == ("success", GREEN), log
    assert set(waited) == {"fence"}
    assert "fence waits: " in log
    assert run.xcom["report"]["audited_records"] == 81


def test_a_wait_ends_after_its_minutes_and_begins_anew_with_a_cleared_task(monkeypatch: pytest.MonkeyPatch, airflow_home: Path) -> None:
    from airflow.sdk.exceptions import AirflowFailException, AirflowRescheduleException

    from kafka_mirror.airflow.work import cutover as tasks
    from kafka_mirror.cutover.wave.step import StepOutcome

    now, waited_since, pushed = [datetime(2026, 11, 1, tzinfo=UTC)], list[datetime](), list[Any]()

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return now[0]

    monkeypatch.setattr(tasks, "datetime", Clock)
    instance = SimpleNamespace(get_first_reschedule_date=lambda context: next(iter(waited_since), None))
    monkeypatch.setattr(tasks, "get_current_context", lambda: {"ti": instance})
    monkeypatch.setattr(tasks, "push_return_value", pushed.append)

    def wait() -> None:
        outcome = StepOutcome("move-groups", "waiting", ("billing has members.",))
        tasks._wait(outcome, "value", timedelta(minutes=5), "move_groups", "kafka-mirror cutover rollback")

    for _ in range(3):
        with pytest.raises(AirflowRescheduleException):
            wait()
        waited_since.append(now[0])
        now[0] += timedelta(minutes=2)
    with pytest.raises(AirflowFailException, match=r"move-groups has waited for 5 minutes: billing has members\.") as late:
        wait()
    assert "Clear the task move_groups with those after it" in str(late.value)
    assert str(late.value).endswith("or roll back: kafka-mirror cutover rollback")
    assert pushed == ["value"]
    waited_since.clear()
    with pytest.raises(AirflowRescheduleException):
        wait()


def test_steps_have_the_time_that_their_work_may_take(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    from kafka_mirror.airflow.work.cutover import _AT_ONCE_SECONDS

    configured(
        "clusters = east, west",
        "east.bootstrap.servers = 127.0.0.1:1",
        "west.bootstrap.servers = 127.0.0.1:1",
        "east->west.enabled = true",
        "east->west.mirror.run.max.seconds = 7200",
        "east->west.mirror.task.max.seconds = 60",
        "east->west.mirror.audit.max.seconds = 40000",
    )
    dag = dags()["east-to-west.cutover"]
    limits = {task.task_id: task.execution_timeout.total_seconds() for task in dag.tasks}
    assert limits["last_copy"] > 7200 + 600 + _AT_ONCE_SECONDS, "its last pass begins within that time"
    assert limits["catch_up"] == limits["last_copy"] + 40_000, "and a whole audit follows it"
    assert limits["audit_gate"] == 40_000
    longest_quiet = dag.params.get_param("quiet_seconds").schema["maximum"]
    assert min(limits[name] for name in ("fence", "move_groups")) > max(longest_quiet, _AT_ONCE_SECONDS)
    dag.params.validate()
    DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
