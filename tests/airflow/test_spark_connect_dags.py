"""Audits and steps for very many groups on a Spark that stays: the tasks' sessions, their ends, and their errors."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from kafka_mirror.airflow.dags.steps import GroupOperator
from kafka_mirror.airflow.operators import MirrorAuditOperator
from kafka_mirror.airflow.work.audit import name_auditor
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.audit.parallel import compare_by_job
from kafka_mirror.audit.reader import AuditContext
from kafka_mirror.config import Flow, load
from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.errors import SparkServerRefused, SparkServerUnavailable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoints import CheckpointsResult
from kafka_mirror.groups.find import KnownGroups
from kafka_mirror.groups.job import GROUP_STEPS, GroupStep, run_group_step
from tests.airflow.task_log import TaskLog
from tests.spark_session import SparkOfThisProcess

FLOW = (
    "clusters = east, west",
    "east.bootstrap.servers = 127.0.0.1:1",
    "west.bootstrap.servers = 127.0.0.1:1",
    "east->west.enabled = true",
    "mirror.spark.connection = mirror_spark",
    "mirror.follow.seconds = 0",
)
TP = TopicPartition("orders", 0)
RANGE = AuditRange(TP, TP, 0, 9, 0, 9, 9, 9)
CONTEXT = AuditContext("east", "west", 4, ClientSettings({}, {}, {}, {}))
CHECKPOINTS = "east-to-west.checkpoints"
MASTER = "sc://127.0.0.1:15002/;token=token-1"


@pytest.fixture
def spark(airflow_home: Any, configured: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> SparkOfThisProcess:
    """The server of the flow's connection; what its workers run asks no cluster."""
    configured(*FLOW)
    monkeypatch.setenv("AIRFLOW_CONN_MIRROR_SPARK", "spark-connect://:token-1@127.0.0.1:15002")
    server = SparkOfThisProcess()
    monkeypatch.setattr("kafka_mirror.spark.connect.flow_session", server.flow_session)
    monkeypatch.setattr("kafka_mirror.airflow.spark_hook.JobHook.submit", lambda *_, **__: pytest.fail("a job of spark-submit"))

    def emit(_context: Any, names: Sequence[str], _dry_run: bool) -> CheckpointsResult:
        return CheckpointsResult(len(names), len(names))

    def compare(_context: Any, ranges: Sequence[AuditRange]) -> list[Outcome]:
        return [Outcome(each) for each in ranges]

    monkeypatch.setitem(GROUP_STEPS, "checkpoints", GroupStep(emit, GROUP_STEPS["checkpoints"].done))
    monkeypatch.setattr("kafka_mirror.audit.parallel.compare_audit_ranges", compare)
    return server


@pytest.fixture
def flow(spark: SparkOfThisProcess, monkeypatch: pytest.MonkeyPatch) -> Flow:
    """The flow, for operators outside of a run; what they know of theirs is told them."""
    monkeypatch.setattr("kafka_mirror.airflow.work.audit.run_name", lambda: "east-to-west.backfill / manual__1")
    monkeypatch.setattr("kafka_mirror.airflow.spark_hook.connect_master", lambda _flow: MASTER)
    return load().flow("east->west")


@pytest.fixture
def many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    known = KnownGroups(("a", "b", "c"), 20_001)
    monkeypatch.setattr("kafka_mirror.airflow.work.groups.recall_fresh_groups", lambda *_: known)


def test_a_step_for_very_many_groups_runs_on_the_server_of_the_flows_connection(
    spark: SparkOfThisProcess, many_groups: None, run_dag: Callable[..., Any]
) -> None:
    run = run_dag(CHECKPOINTS)
    assert (run.state, run.xcom["checkpoints"]["written"]) == ("success", 3)
    assert spark.sessions == [("checkpoints", "its DAG", MASTER)]


def test_a_server_that_is_gone_is_tried_again_and_one_that_refuses_is_not(
    spark: SparkOfThisProcess, many_groups: None, run_dag: Callable[..., Any], task_log: TaskLog
) -> None:
    spark.failure = SparkServerUnavailable("127.0.0.1:15002", "connection refused")
    assert run_dag(CHECKPOINTS, retries=1).state == "failed"
    assert len(spark.sessions) == 2
    assert "The Spark server at 127.0.0.1:15002 ended, was restarted, has no room, or does not answer" in task_log.take()
    spark.failure = SparkServerRefused.for_its_token("127.0.0.1:15002")
    assert run_dag(CHECKPOINTS, retries=1).state == "failed"
    assert len(spark.sessions) == 3
    assert "The Spark server at 127.0.0.1:15002 refuses the token. Nothing ran there." in task_log.take()


def test_a_large_audit_runs_on_the_server_and_a_killed_task_interrupts_it(spark: SparkOfThisProcess, flow: Flow) -> None:
    audit = MirrorAuditOperator(task_id="audit", flow=flow.name)
    audit.on_kill()
    assert spark.interrupted == 0, "nothing runs yet"
    spark.meanwhile = audit.on_kill
    compare = compare_by_job(flow, partial(audit.spark_runner, flow), name_auditor(audit))
    assert compare(CONTEXT, [RANGE]) == [Outcome(RANGE)]
    assert spark.sessions == [("audit", "east-to-west.backfill / manual__1 / audit", MASTER)]
    assert spark.interrupted == len(spark.tasks) > 0


def test_a_killed_task_interrupts_its_step_for_groups(spark: SparkOfThisProcess, flow: Flow) -> None:
    step = GroupOperator(flow=flow.name, step="checkpoints")
    step.on_kill()
    spark.meanwhile = step.on_kill
    done = run_group_step("checkpoints", flow, KnownGroups(("a", "b"), 20_001), False, partial(step.spark_runner, flow))
    assert done.totals["written"] == 2
    assert spark.interrupted == 1
