"""The DAGs themselves: their ids, schedules and texts, and what they do with a configuration that is wrong."""

import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.task_log import TaskLog

ROOT = Path(__file__).resolve().parents[2]
TWO_WAYS = (
    "clusters = east, west",
    "east.bootstrap.servers = 127.0.0.1:1",
    "west.bootstrap.servers = 127.0.0.1:1",
    "east->west.enabled = true",
    "west->east.enabled = true",
    "sync.group.offsets.enabled = true",
    "mirror.schemas.source.url = http://a:8081",
    "mirror.schemas.target.url = http://b:8081",
)


KINDS = [
    "audit",
    "backfill",
    "checkpoints",
    "copy",
    "cutover",
    "freshness",
    "group-offsets",
    "heartbeats",
    "refresh-groups",
    "refresh-topics",
    "schemas",
    "topic-acls",
    "topic-configs",
]
"""What each flow has a DAG for."""


def test_every_flow_has_its_dags(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    configured(*TWO_WAYS)
    assert set(dags()) == {f"{flow}.{kind}" for flow in ("east-to-west", "west-to-east") for kind in KINDS}


def test_file_may_choose_flows_and_kinds(configured: Callable[..., None], airflow_home: Path) -> None:
    from kafka_mirror.airflow.dags import mirror_dags

    configured(*TWO_WAYS)
    assert set(mirror_dags(flows="east->west")) == {f"east-to-west.{kind}" for kind in KINDS}
    assert set(mirror_dags(flows=["west->east"], kinds=("copy", "audit"))) == {"west-to-east.copy", "west-to-east.audit"}
    assert set(mirror_dags(kinds="backfill")) == {"east-to-west.backfill", "west-to-east.backfill"}
    assert mirror_dags(kinds="configuration") == {}


def test_file_may_name_its_configuration_and_has_an_alarm_of_its_own(
    configured: Callable[..., None], airflow_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.definitions.context import _AIRFLOW_PARSING_CONTEXT_DAG_ID

    from kafka_mirror.airflow.dags import mirror_dags
    from kafka_mirror.airflow.flow_files import configured_flow

    configured(*TWO_WAYS)
    paris = tmp_path / "of paris.properties"
    clusters = "clusters=paris,hub\nparis.bootstrap.servers=localhost:1\nhub.bootstrap.servers=localhost:2\n"
    paris.write_text(f"{clusters}paris->hub.enabled=true\nhub->paris.enabled=true\nhub->paris.mirror.lanes=banana\n")
    alarm = "mirror.configuration." + str(paris).strip("/").replace("/", "_").replace(" ", "_")
    assert set(mirror_dags(config=str(paris), kinds=("copy", "configuration"))) == {"paris-to-hub.copy", "hub-to-paris.copy", alarm}
    assert configured_flow("paris->hub").file == str(paris), "its tasks read it from there"
    monkeypatch.setenv(_AIRFLOW_PARSING_CONTEXT_DAG_ID, alarm)
    assert set(mirror_dags(config=str(paris))) == {alarm}
    assert set(mirror_dags()) == set()


def test_flow_that_is_chosen_and_not_there_is_an_alarm_and_an_unknown_kind_an_error(
    configured: Callable[..., None], airflow_home: Path
) -> None:
    from kafka_mirror.airflow.dags import KINDS as KNOWN
    from kafka_mirror.airflow.dags import mirror_dags
    from kafka_mirror.errors import UsageError

    assert set(KNOWN) == {*KINDS, "configuration"}
    configured(*TWO_WAYS)
    made = mirror_dags(flows=["east->west", "esat->west"], kinds=["copy", "configuration"])
    assert set(made) == {"east-to-west.copy", "mirror.configuration"}
    said = made["mirror.configuration"].doc_md
    assert said is not None
    assert "no flow of this name is enabled; there are: east->west, west->east (it is 'esat->west')" in said
    with pytest.raises(UsageError, match=r"no kind of DAG 'copi'.*Did you mean 'copy'"):
        mirror_dags(kinds="copi")


def test_file_that_is_read_to_run_a_task_gives_its_dag_alone(
    configured: Callable[..., None], airflow_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from airflow.sdk.definitions.context import _AIRFLOW_PARSING_CONTEXT_DAG_ID

    from kafka_mirror.airflow.dags import mirror_dags

    configured(*TWO_WAYS, "west->east.mirror.lanes = banana")
    for dag_id in ("east-to-west.copy", "west-to-east.audit", "mirror.configuration"):
        # Airflow's own context manager would leave the variable behind, for all tests to come.
        monkeypatch.setenv(_AIRFLOW_PARSING_CONTEXT_DAG_ID, dag_id)
        assert set(mirror_dags()) == {dag_id}


def test_every_dag_says_what_it_is_for(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    configured(*TWO_WAYS)
    for dag_id, dag in dags().items():
        assert dag.tags == {"mirror", "east->west" if dag_id.startswith("east") else "west->east"}
        for heading in ("**When not to use it.**", "**When it is red**"):
            assert heading in dag.doc_md
    configured(*TWO_WAYS, "west->east.mirror.lanes = banana")
    assert "**When not to use it.**" in dags()["mirror.configuration"].doc_md


def test_windows_follow_the_interval_and_begin_on_whole_ones(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    configured(*TWO_WAYS, "mirror.copy.interval.seconds = 77", "east->west.refresh.topics.interval.seconds = 1")
    found = dags()
    copy, refresh = found["east-to-west.copy"], found["east-to-west.refresh-topics"]
    assert copy.timetable.delta == timedelta(seconds=77)
    assert int(copy.start_date.timestamp()) % 77 == 0
    assert refresh.timetable.delta == timedelta(seconds=10), "no DAG runs more often than every ten seconds"
    for dag in found.values():
        assert not dag.catchup
        assert dag.max_active_runs == (2 if dag.dag_id.endswith(".copy") else 1), "copies hand over"
        assert dag.start_date < datetime.now(UTC)


def test_the_scheduler_sees_aligned_windows(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    from airflow.serialization.definitions.dag import SerializedDAG
    from airflow.serialization.serialized_objects import DagSerialization

    configured(*TWO_WAYS, "mirror.copy.interval.seconds = 77")
    dag: SerializedDAG = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dags()["east-to-west.copy"]))
    run = dag.next_dagrun_info(last_automated_run_info=None)
    assert run is not None
    assert run.data_interval.end - run.data_interval.start == timedelta(seconds=77)
    assert int(run.data_interval.start.timestamp()) % 77 == 0
    assert run.data_interval.end <= datetime.now(UTC) + timedelta(seconds=77)


def test_a_flow_copies_once_at_a_time_and_retries_with_a_pause(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    configured(*TWO_WAYS, "mirror.follow.seconds = 0", "east->west.mirror.copy.pool = copies")
    dag, opposite = dags()["east-to-west.copy"], dags()["west-to-east.copy"]
    copy = dag.get_task("copy")
    assert (copy.pool, copy.max_active_tis_per_dag, dag.max_active_runs) == ("copies", 1, 1)
    assert opposite.get_task("copy").pool == "default_pool"
    for name in ("plan", "copy"):
        task = dag.get_task(name)
        assert (task.retries, task.retry_delay, task.retry_exponential_backoff) == (3, timedelta(seconds=10), 2.0)
    assert [task.task_id for task in dag.topological_sort()] == ["plan", "copy"]


def test_runs_that_follow_hand_over_to_the_next_one(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    configured(*TWO_WAYS)
    dag = dags()["east-to-west.copy"]
    assert (dag.max_active_runs, dag.get_task("copy").max_active_tis_per_dag) == (2, 2)


def test_every_task_has_the_links_and_none_that_costs_a_row(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    from kafka_mirror.airflow.links import StatusPageLink

    configured(*TWO_WAYS)
    tasks = [task for dag in dags().values() for task in dag.tasks]
    assert {type(task) for task in tasks} <= set(StatusPageLink().operators)
    assert [task for task in tasks if task.operator_extra_links] == []


def test_no_task_leaves_more_than_one_row_in_xcom(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    configured(*TWO_WAYS)
    several = [(dag.dag_id, task.task_id) for dag in dags().values() for task in dag.tasks if getattr(task, "multiple_outputs", False)]
    assert several == [], "Airflow would push a row for each key of their documents"


@pytest.mark.parametrize(
    ("switch", "kind"),
    [
        ("refresh.topics.enabled", "refresh-topics"),
        ("refresh.groups.enabled", "refresh-groups"),
        ("emit.checkpoints.enabled", "checkpoints"),
        ("sync.group.offsets.enabled", "group-offsets"),
        ("emit.heartbeats.enabled", "heartbeats"),
        ("sync.topic.configs.enabled", "topic-configs"),
        ("sync.topic.acls.enabled", "topic-acls"),
    ],
)
def test_a_dag_that_is_switched_off_does_not_exist(
    switch: str, kind: str, configured: Callable[..., None], dags: Callable[[], dict[str, Any]]
) -> None:
    configured(*TWO_WAYS, f"east->west.{switch} = false")
    found = dags()
    assert {f"east-to-west.{each}" for each in KINDS} - set(found) == {f"east-to-west.{kind}"}
    assert {f"west-to-east.{each}" for each in KINDS} <= set(found)


def test_an_invalid_flow_keeps_its_dags_and_they_fail_with_all_problems(
    configured: Callable[..., None], dags: Callable[[], dict[str, Any]], run_dag: Callable[..., Any], task_log: TaskLog
) -> None:
    configured(*TWO_WAYS, "west->east.mirror.lanes = banana", "west->east.mirror.lane = 3")
    found = dags()
    assert set(found) == {"mirror.configuration", *(f"{flow}.{kind}" for flow in ("east-to-west", "west-to-east") for kind in KINDS)}
    assert "must be" in found["west-to-east.copy"].doc_md
    for what in KINDS:
        assert run_dag(f"west-to-east.{what}").state == "failed"
        shown = task_log.take()
        assert "west->east.mirror.lanes: must be" in shown
        assert "mirror.lane" in shown
    assert "cannot run" not in found["east-to-west.copy"].doc_md


def test_a_file_that_cannot_be_read_is_one_failing_dag(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dags: Callable[[], dict[str, Any]], run_dag: Callable[..., Any]
) -> None:
    monkeypatch.setenv("MIRROR_CONFIG", str(tmp_path / "none.properties"))
    [(dag_id, dag)] = dags().items()
    assert dag_id == "mirror.configuration"
    assert "the file cannot be read: No such file or directory" in dag.doc_md
    assert str(tmp_path / "none.properties") in dag.doc_md
    assert run_dag(dag_id).state == "failed"


def test_only_the_alarm_comes_up_unpaused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, configured: Callable[..., None], dags: Callable[[], dict[str, Any]]
) -> None:
    configured(*TWO_WAYS, "west->east.mirror.lanes = banana")
    monkeypatch.setenv("MIRROR_CONFIG", f"{tmp_path / 'none.properties'},{tmp_path / 'mm2.properties'}")
    found = dags()
    assert {dag_id for dag_id, dag in found.items() if dag.is_paused_upon_creation is False} == {"mirror.configuration"}
    assert {dag.is_paused_upon_creation for dag_id, dag in found.items() if dag_id != "mirror.configuration"} == {None}
    for named in (str(tmp_path / "none.properties"), str(tmp_path / "mm2.properties"), "west->east", "mirror.lanes"):
        assert named in found["mirror.configuration"].doc_md


def test_pair_that_only_beats_and_is_wrong_is_in_the_alarm_too(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    configured(*TWO_WAYS[:4], "west->east.emit.heartbeats.interval.seconds = soon")
    found = dags()
    assert "west-to-east.copy" not in found
    assert "emit.heartbeats.interval.seconds" in found["mirror.configuration"].doc_md


def test_flows_of_other_files_live_on_beside_the_failing_dag(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, configured: Callable[..., None], dags: Callable[[], dict[str, Any]]
) -> None:
    configured(*TWO_WAYS)
    monkeypatch.setenv("MIRROR_CONFIG", f"{tmp_path / 'none.properties'},{tmp_path / 'mm2.properties'}")
    found = dags()
    assert {"mirror.configuration", "east-to-west.copy", "west-to-east.copy"} <= set(found)
    assert "No such file" in found["mirror.configuration"].doc_md


def test_a_readable_configuration_has_no_failing_dag(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    configured(*TWO_WAYS)
    assert "mirror.configuration" not in dags()


def test_runs_have_a_deadline_where_somebody_is_to_be_told(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    from kafka_mirror.airflow.deadlines import WATCHED

    configured(*TWO_WAYS)
    assert [dag.dag_id for dag in dags().values() if dag.deadline] == []
    told = "mirror.alert.connections = mail, slack"
    configured(*TWO_WAYS, told, "west->east.mirror.deadline.run.seconds = -1", "east->west.mirror.heartbeats.trigger = true")
    found = dags()
    alerts = {dag_id: dag.deadline[0] for dag_id, dag in found.items() if dag.deadline}
    of_long_runs = {"audit", "backfill", "cutover", "heartbeats"}
    assert set(alerts) == {f"east-to-west.{kind}" for kind in set(KINDS) - of_long_runs}
    assert set(WATCHED) == set(KINDS) - {"audit", "backfill", "cutover", "freshness"}, "of these the end is told"
    assert alerts["east-to-west.freshness"].interval == timedelta(seconds=900)
    assert alerts["east-to-west.copy"].interval == timedelta(seconds=900 + 300 + 2 * 60), "it copies, and hands over"
    callback = alerts["east-to-west.copy"].callback
    assert callback.path == "kafka_mirror.airflow.deadlines.tell_missed_run"
    assert callback.kwargs == {"flow": "east->west", "connections": ["mail", "slack"], "seconds": 1320}
    for dag in found.values():
        DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))


def test_parsing_imports_nothing_heavy_and_is_quick(configured: Callable[..., None], airflow_home: Path) -> None:
    configured(*TWO_WAYS)
    program = """
import json, sys, time
import airflow.sdk
from airflow.dag_processing.dagbag import DagBag
began = time.process_time()
bag = DagBag(sys.argv[1])
provider = "airflow.providers.apache.spark.hooks.spark_submit"
heavy = (provider, "pyspark", "confluent_kafka", "kafka", "pandas", "numpy")
heavy += ("kafka_mirror.kafka.cluster", "kafka_mirror.status.alerts.webhook")
heavy = [name for name in heavy if name in sys.modules]
print(json.dumps([len(bag.dags), bag.import_errors, heavy, time.process_time() - began]))
"""
    done = subprocess.run([sys.executable, "-c", program, str(ROOT / "dags")], capture_output=True, text=True, check=True)
    count, errors, heavy, seconds = json.loads(done.stdout.splitlines()[-1])
    assert (count, errors, heavy) == (2 * len(KINDS), {}, [])
    assert seconds < 2, "of CPU, for every task run parses its file again; a quarter of a second where this was written"
