"""The task `copy` with a core and a Spark that answer as told: retries, other attempts, large plans, the Spark connection."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.airflow.work.copy import verdict_from_xcom
from kafka_mirror.config import load
from kafka_mirror.copy.model import LaneResult, Watermark
from kafka_mirror.copy.plan.model import Plan, Range
from kafka_mirror.copy.publish import Published
from kafka_mirror.copy.run_result import Verdict
from kafka_mirror.errors import (
    AuthorizationRefused,
    ClusterUnreachable,
    ConfigurationError,
    MirrorError,
    OtherCluster,
    Overtaken,
    PlanMismatch,
    RecordRefused,
    SourceGap,
)
from kafka_mirror.formats.documents import to_document
from kafka_mirror.groups.offset_syncs import OffsetSyncsResult
from kafka_mirror.spark.files import write_answer, write_failure
from kafka_mirror.spark.start import master_of
from tests.airflow.spark_here import told
from tests.airflow.task_log import TaskLog

COPY = "east-to-west.copy"
FLOW = (
    "clusters = east, west",
    "east.bootstrap.servers = 127.0.0.1:1",
    "west.bootstrap.servers = 127.0.0.1:1",
    "east->west.enabled = true",
)
ONE_RUN = (*FLOW, "mirror.follow.seconds = 0")
"""A flow whose runs end with their plans."""


class Core:
    """Stands in for the core and for spark-submit; what it shall do is set by the tests."""

    def __init__(self) -> None:
        self.ranges = (Range("orders", 0, "id", 5, 9, "new records"),)
        self.watermark = 9
        self.plan_errors: list[Exception] = []
        self.left_out: list[MirrorError] = []
        self.lane_errors: list[Any] = []
        self.silent = False
        self.jobs: list[Any] = []
        self.plans = 0
        self.by_person: list[bool] = []
        self.files: list[Path] = []
        self.syncs = OffsetSyncsResult()
        self.published: list[list[LaneResult]] = []
        self.outages: list[MirrorError] = []
        """Why the ledger cannot be read, each time that it cannot."""

    def plan(self, flow: Any, dry_run: bool = False, by_person: bool = False) -> Plan:
        self.plans += 1
        self.by_person.append(by_person)
        if self.plan_errors:
            raise self.plan_errors.pop(0)
        errors = tuple(error.report() for error in self.left_out)
        return Plan(flow.name, self.ranges, errors, config_hash=flow.config_hash, by_person=by_person)

    def submit(self, hook: Any, application: str = "", **_: Any) -> None:
        from airflow.sdk.exceptions import AirflowException

        self.jobs.append(hook)
        work_file, result_file = (Path(each) for each in hook._application_args)
        self.files += [work_file, result_file]
        assert work_file.stat().st_mode & 0o777 == 0o600
        assert told(work_file)[1].plan.ranges == self.ranges
        error = self.lane_errors.pop(0) if self.lane_errors else None
        if self.silent:
            raise AirflowException("Cannot execute: spark-submit. Error code is: 137.")
        if isinstance(error, PlanMismatch):
            write_failure(result_file, error)
            raise AirflowException("Cannot execute: spark-submit. Error code is: 1.")
        marks = () if error else tuple(Watermark(r.topic, r.partition, r.end, r.end, r.offsets, 7) for r in self.ranges)
        write_answer(result_file, to_document([LaneResult(3, marks, (error.report(),) if error else ())]))

    def publish(self, flow: Any, plan: Plan, results: Any = (), run: str | None = None) -> Published:
        if self.outages:
            raise self.outages.pop(0)
        self.published.append(list(results))
        return replace(self.reached(flow, plan), syncs=self.syncs)

    def reached(self, flow: Any, plan: Plan, run: str | None = None) -> Published:
        return Published(tuple(Watermark(r.topic, r.partition, self.watermark, self.watermark, 4, 7) for r in plan.ranges))


@pytest.fixture
def core(configured: Callable[..., None], airflow_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Core]:
    """The stand-in, in the place of what it stands for; afterwards, no file of a job is left."""
    configured(*ONE_RUN)
    core = Core()
    monkeypatch.setattr("kafka_mirror.copy.plan.run.plan", core.plan)
    monkeypatch.setattr("kafka_mirror.copy.run_result.publish", core.publish)
    monkeypatch.setattr("kafka_mirror.airflow.work.copy.read_reached", core.reached)
    monkeypatch.setattr(
        "kafka_mirror.airflow.spark_hook.JobHook.submit", lambda hook, *args, **options: core.submit(hook, *args, **options)
    )
    yield core
    assert not [path for path in core.files if path.exists()]


def test_a_copy_without_work_is_green_starts_no_spark_and_publishes_what_an_earlier_run_left(
    core: Core, run_dag: Callable[..., Any], task_log: TaskLog
) -> None:
    core.ranges = ()
    run = run_dag(COPY)
    assert (run.tasks, core.jobs, core.published) == ({"plan": "success", "copy": "success"}, [], [[]])
    assert (run.xcom["copy"]["state"], run.xcom["copy"]["watermarks"]["topic"]) == ("nothing to do", [])
    assert "nothing to do: no partition had new records." in task_log.take()


def test_what_cannot_be_copied_makes_a_copy_without_work_red_and_is_left_to_the_next_run(
    core: Core, run_dag: Callable[..., Any], task_log: TaskLog
) -> None:
    core.ranges, core.left_out = (
        (),
        [RecordRefused("orders", 0, 5, "east.orders", "too large"), ClusterUnreachable("east", "127.0.0.1:1", 30)],
    )
    run = run_dag(COPY, retries=1)
    assert (run.tasks, core.published) == ({"plan": "success", "copy": "failed"}, [[]])
    assert [error["code"] for error in run.xcom["copy"]["errors"]] == ["RecordRefused", "ClusterUnreachable"]
    assert "RecordRefused: orders-0@5" in task_log.take()


def test_a_dry_run_says_what_would_be_copied_and_is_red_if_it_would_fail(core: Core, run_dag: Callable[..., Any]) -> None:
    run = run_dag(COPY, {"dry_run": True})
    assert (run.tasks, run.xcom["copy"]) == (
        {"plan": "success", "copy": "success"},
        "east->west: 1 partitions and 4 offsets would be copied.",
    )
    core.left_out = [RecordRefused("orders", 1, 5, "east.orders", "too large")]
    red = run_dag(COPY, {"dry_run": True}, retries=1)
    assert (red.tasks["copy"], red.xcom["copy"]) == ("failed", f"{run.xcom['copy']} 1 would fail: RecordRefused.")
    assert (core.jobs, core.published) == ([], [])


def test_a_retriable_error_is_tried_again(core: Core, run_dag: Callable[..., Any], task_log: TaskLog) -> None:
    core.plan_errors = [ClusterUnreachable("east", "127.0.0.1:1", 30)]
    assert run_dag(COPY, retries=1).state == "success"
    assert core.plans == 2
    said = task_log.take()
    assert "ERROR kafka_mirror.airflow.tasks: Try 1 of 2 failed, and Airflow tries again after a pause, longer each time." in said
    assert "Traceback" not in said and "_execute_task" not in said


def test_a_run_that_a_person_triggers_is_planned_as_one_whoever_has_to_plan_again(
    core: Core, run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_mirror.airflow.tasks.PLAIN_BYTES", 10)
    monkeypatch.setattr("kafka_mirror.airflow.tasks.PACKED_BYTES", 10)
    run_dag(COPY)
    assert len(core.by_person) > 1
    assert all(core.by_person)


def test_any_other_error_fails_at_once_and_nothing_is_copied(core: Core, run_dag: Callable[..., Any], task_log: TaskLog) -> None:
    core.plan_errors = [OtherCluster("east", "a", "b"), OtherCluster("east", "a", "b")]
    run = run_dag(COPY, retries=1)
    assert (run.state, core.plans, core.jobs) == ("failed", 1, [])
    assert run.tasks == {"plan": "failed", "copy": "upstream_failed"}
    assert "The alias 'east' leads to cluster b" in task_log.take()


def test_a_lane_that_was_overtaken_is_fine_when_the_other_attempt_got_there(core: Core, run_dag: Callable[..., Any]) -> None:
    core.lane_errors = [Overtaken(3)]
    run = run_dag(COPY)
    assert (run.state, run.tasks["copy"]) == ("success", "success")


def test_a_lane_that_did_not_get_there_is_tried_again_if_that_may_help(core: Core, run_dag: Callable[..., Any]) -> None:
    core.watermark = 5
    core.lane_errors = [Overtaken(3), RecordRefused("orders", 0, 5, "east.orders", "too large")]
    run = run_dag(COPY, retries=2)
    assert (run.state, len(core.jobs)) == ("failed", 2)
    assert [error["code"] for error in run.xcom["copy"]["errors"]] == ["RecordRefused"]


def test_an_error_of_the_job_itself_is_bridged(core: Core, run_dag: Callable[..., Any], task_log: TaskLog) -> None:
    core.watermark = 5
    core.lane_errors = [PlanMismatch("one", "other"), PlanMismatch("one", "other")]
    assert run_dag(COPY, retries=1).state == "failed"
    assert len(core.jobs) == 1
    assert "The plan was made with configuration one, and this worker has other." in task_log.take()


def test_a_job_that_ends_without_a_word_is_judged_by_the_ledger(core: Core, run_dag: Callable[..., Any], task_log: TaskLog) -> None:
    core.silent = True
    run = run_dag(COPY, retries=1)
    assert (run.state, len(core.jobs)) == ("success", 1), "it had copied all that was planned"
    assert "The Spark job ended without a result: Cannot execute: spark-submit. Error code is: 137." in task_log.take()
    for core.watermark in (5, 7):
        del core.jobs[:], core.published[:]
        assert run_dag(COPY, retries=1).state == "failed", "a job that died is no budget that was spent"
        assert (len(core.jobs), len(core.published)) == (2, 2), "each try publishes what it copied"


def test_a_try_after_which_the_ledger_cannot_be_read_is_followed_by_another(core: Core, run_dag: Callable[..., Any]) -> None:
    core.outages = [ClusterUnreachable("west", "127.0.0.1:1", 30)]
    run = run_dag(COPY, retries=1)
    assert (run.state, len(core.jobs), len(core.published)) == ("success", 2, 1)


@pytest.mark.parametrize(("plain", "packed", "plans"), [(10, 1_000_000, 1), (10, 10, 2)])
def test_large_plans_travel_packed_and_the_largest_are_made_again(
    core: Core, run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, plain: int, packed: int, plans: int
) -> None:
    monkeypatch.setattr("kafka_mirror.airflow.tasks.PLAIN_BYTES", plain)
    monkeypatch.setattr("kafka_mirror.airflow.tasks.PACKED_BYTES", packed)
    run = run_dag(COPY)
    assert (run.state, core.plans) == ("success", plans)
    assert run.xcom["plan"]["totals"] == {"ranges": 1, "offsets": 4, "errors": 0}
    assert ("zlib+base64" in run.xcom["plan"]) == (plans == 1)
    judged = verdict_from_xcom(run.xcom["copy"])
    assert (judged.state, judged.records, [mark.source_offset for mark in judged.watermarks]) == ("done", 4, [9] if plans == 1 else [])
    core.watermark, core.lane_errors = 5, [RecordRefused("orders", 0, 5, "east.orders", "too large")]
    run = run_dag(COPY)
    assert (run.tasks, run.xcom["copy"]["totals"]["state"]) == ({"plan": "success", "copy": "failed"}, "failed")


def test_offset_syncs_that_could_not_be_written_are_in_the_verdict_beside_what_was_copied_and_left_to_the_next_run(
    core: Core, run_dag: Callable[..., Any], task_log: TaskLog
) -> None:
    refused = AuthorizationRefused("east", "WRITE", "topic mm2-offset-syncs").report()
    core.syncs = OffsetSyncsResult(3, 2, ("one is damaged",), (refused, replace(refused, code="KafkaFailure", retriable=True)))
    run = run_dag(COPY, retries=1)
    assert (run.tasks, len(core.jobs)) == ({"plan": "success", "copy": "failed"}, 1)
    assert (run.xcom["copy"]["records"], run.xcom["copy"]["offset_syncs"]) == (4, 3)
    said = task_log.take()
    assert "4 records were copied, and this failed" in said
    assert "AuthorizationRefused: Cluster 'east' refuses WRITE on topic mm2-offset-syncs." in said


@pytest.mark.parametrize("end", ["red", "killed", "too large for XCom"])
def test_assets_are_told_what_a_copy_brought_however_it_ended(
    core: Core, configured: Callable[..., None], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    configured(*ONE_RUN, "mirror.assets.topics = orders")
    if end == "red":
        core.left_out = [RecordRefused("orders", 1, 5, "east.orders", "too large")]
    elif end == "killed":
        core.outages = [OtherCluster("west", "a", "b")]
    else:
        monkeypatch.setattr("kafka_mirror.airflow.work.copy.verdict_from_xcom", lambda _: Verdict("done", records=4))
    run = run_dag(COPY)
    red = end != "too large for XCom"
    assert (run.state, run.tasks["copy"]) == (("failed", "failed") if red else ("success", "success")), "as red as the copy"
    assert (run.tasks["announce"], run.xcom["announce"]) == ("success", ["orders"])
    assert run_dag(COPY, {"dry_run": True}).tasks["announce"] == "skipped"


def test_an_expected_error_stands_in_the_log_in_lines_and_without_a_traceback(
    core: Core, run_dag: Callable[..., Any], task_log: TaskLog
) -> None:
    core.watermark, core.lane_errors = 5, [SourceGap("orders", 0, 5, log_start=7)]
    assert run_dag(COPY).tasks["copy"] == "failed"
    said = task_log.take()
    lines = (
        "SourceGap: orders-0@5: the source's log starts at 7, so 2 offsets [5, 7) are gone and were never copied. "
        "The partition stays at 5.",
        "Lost: Yes: the named offsets are gone from the source.",
        "Next: To skip the lost records and continue after them (this is recorded):",
        "    python -m kafka_mirror decide accept-gap --flow '<flow>' --topic orders --partition 0 --reason \"…\"",
        "(for every gap of a topic: mirror.on.gap=skip-and-record)",
    )
    assert "\n".join(f"ERROR kafka_mirror.airflow.tasks: {line}" for line in lines) in said
    assert "Task failed with exception" in said
    assert "Traceback" not in said and "_execute_task" not in said


def test_an_unexpected_error_keeps_its_traceback(core: Core, run_dag: Callable[..., Any], task_log: TaskLog) -> None:
    core.plan_errors = [ZeroDivisionError("a mistake of ours")]
    assert run_dag(COPY).state == "failed"
    said = task_log.take()
    assert "ZeroDivisionError: a mistake of ours" in said and "_execute_task" in said


def test_an_unknown_spark_connection_is_one_clear_sentence(
    core: Core, configured: Callable[..., None], run_dag: Callable[..., Any], task_log: TaskLog
) -> None:
    configured(*ONE_RUN, "mirror.spark.connection = spark_prod")
    core.watermark = 5
    run = run_dag(COPY, retries=1)
    assert (run.state, run.tasks["copy"], core.jobs) == ("failed", "failed", [])
    assert "mirror.spark.connection: Airflow has no connection of this name (it is 'spark_prod')" in task_log.take()


def test_the_job_starts_locally_without_any_connection(core: Core, run_dag: Callable[..., Any]) -> None:
    assert run_dag(COPY).state == "success"
    [hook] = core.jobs
    assert hook.master == "local[*,4]"
    command = hook._build_spark_submit_command("job.py")
    assert command[command.index("--deploy-mode") + 1] == "client"
    assert "--py-files" not in command
    assert f"spark.pyspark.driver.python={hook._environment['PYSPARK_PYTHON']}" in command
    assert hook._environment["SPARK_LOCAL_IP"] == "127.0.0.1"


def test_a_cluster_gets_our_code_and_keeps_its_own_settings(
    core: Core, run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, configured: Callable[..., None]
) -> None:
    monkeypatch.setenv(
        "AIRFLOW_CONN_SPARK_PROD", '{"conn_type": "spark", "host": "spark://master", "port": 7077, "extra": {"deploy-mode": "cluster"}}'
    )
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    configured(*ONE_RUN, "mirror.spark.connection = spark_prod")
    assert run_dag(COPY).state == "success"
    [hook] = core.jobs
    command = hook._build_spark_submit_command("job.py")
    assert command[command.index("--master") + 1] == "spark://master:7077"
    assert command[command.index("--deploy-mode") + 1] == "client"
    assert command[command.index("--py-files") + 1].endswith("mirror.zip")
    assert "--properties-file" not in command
    assert "PYSPARK_PYTHON" not in hook._environment
    assert f"spark.pyspark.driver.python={sys.executable}" in command
    assert "SPARK_LOCAL_IP" not in hook._environment


def test_a_properties_file_of_ones_own_takes_the_place_of_the_tuned_one(
    core: Core, configured: Callable[..., None], run_dag: Callable[..., Any], tmp_path: Path
) -> None:
    own = tmp_path / "spark.properties"
    own.write_text("spark.driver.memory 2g\n")
    configured(*ONE_RUN, f"mirror.spark.properties.file = {own}")
    assert run_dag(COPY).state == "success"
    command = core.jobs[0]._build_spark_submit_command("job.py")
    assert command[command.index("--properties-file") + 1] == str(own)
    assert load().flow("east->west").value("mirror.spark.properties.file") == str(own)


@pytest.mark.parametrize(
    "connection",
    [
        "spark://spark-master:7077",
        '{"conn_type": "spark", "host": "spark-master", "port": 7077}',
        '{"conn_type": "spark", "host": "spark://spark-master:7077"}',
    ],
)
def test_a_connection_is_the_same_master_for_the_dag_as_by_hand(connection: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_mirror.airflow import connections, spark_hook

    monkeypatch.setenv("AIRFLOW_CONN_SPARK_PROD", connection)
    monkeypatch.setattr("kafka_mirror.config.references._lookup", [connections.lookup])
    assert spark_hook.JobHook("spark_prod").master == master_of("spark_prod") == "spark://spark-master:7077"


def test_a_connection_that_leads_to_no_master_is_refused_before_spark_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_mirror.airflow import spark_hook

    monkeypatch.setenv("AIRFLOW_CONN_SPARK_PROD", "spark://spark-master")
    with pytest.raises(ConfigurationError, match="'spark://spark-master' is no Spark master"):
        spark_hook.JobHook("spark_prod")
