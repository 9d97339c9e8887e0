"""The `copy` DAG with real brokers and a real Spark job, in this process (`dag.test()`)."""

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config.flow import FlowName
from kafka_mirror.status.airflow_view import CopyRun
from services.flows import ClusterPair
from services.oracle import Oracle, Record, Side
from services.waiting import eventually
from tests.airflow.task_log import TaskLog

INCLUDE = Path(__file__).resolve().parents[2] / "include"
HANGING_WORKER = """
import ctypes, os
from kafka_mirror.copy.lane import LaneCopy

run = LaneCopy.run

def hanging(self):
    try:
        hung = os.open({marker!r}, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return run(self)
    os.write(hung, str(os.getpid()).encode())
    os.close(hung)
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):  # the second time waits for the first; no signal ends that
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)

LaneCopy.run = hanging
"""


@pytest.fixture
def copy(
    pair: ClusterPair, mm2_properties: Callable[..., Path], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs the pair's copy DAG; `extra` are further lines of its configuration."""

    def run(conf: dict[str, Any] | None = None, retries: int = 0, extra: dict[str, str] | None = None) -> Any:
        monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties(extra=extra)))
        return run_dag(f"{pair.source}-to-{pair.target}.copy", conf, retries)

    return run


def on_its_page(pair: ClusterPair, run: Any) -> CopyRun:
    """What the tab of the run shows, out of Airflow's database."""
    from kafka_mirror.airflow.page import read_copy_run

    found = read_copy_run(FlowName(pair.source, pair.target), run.run_id)
    assert found is not None
    return found


def test_a_run_mirrors_a_topic_and_the_next_one_starts_no_spark(
    pair: ClusterPair, copy: Callable[..., Any], oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic, partitions=3)
    oracle.produce(pair.source_bootstrap, topic, 600, seed=1, transactions=50, abort_percent=20, headers=2)

    first = copy()

    assert first.state == "success"
    assert first.tasks == {"plan": "success", "copy": "success"}
    oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic)))
    ranges, reached = first.xcom["plan"]["ranges"], first.xcom["copy"]["watermarks"]
    assert set(ranges) == {"topic", "partition", "topic_id", "start", "end", "reason", "leader_epoch", "records", "bytes"}
    assert set(reached) == {"topic", "partition", "source_offset", "target_offset", "records", "bytes"}
    assert sorted(ranges["partition"]) == sorted(reached["partition"]) == [0, 1, 2]
    ends = dict(zip(ranges["partition"], ranges["end"], strict=True))
    assert dict(zip(reached["partition"], reached["source_offset"], strict=True)) == ends
    records = sum(count.records for count in oracle.count(pair.source_bootstrap, topic))
    assert sum(reached["records"]) == records
    tab = on_its_page(pair, first)
    assert tab.verdict is not None
    assert (tab.run.state, tab.verdict.state, tab.verdict.records) == ("success", "done", records)
    assert {mark.partition: mark.source_offset for mark in tab.verdict.watermarks} == ends

    monkeypatch.setattr("kafka_mirror.airflow.spark_hook.JobHook.submit", lambda *_, **__: pytest.fail("Spark was started"))
    second = copy()

    assert second.state == "success"
    assert second.tasks == {"plan": "success", "copy": "success"}
    assert second.xcom["plan"]["ranges"]["topic"] == []
    assert "nothing to do" in str(on_its_page(pair, second).verdict)


def test_the_page_of_spark_is_a_link_while_the_job_runs(
    pair: ClusterPair, copy: Callable[..., Any], oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafka_mirror.airflow import spark_hook

    leave, values = spark_hook.leave, list[str]()
    monkeypatch.setattr(spark_hook, "leave", lambda key, value: (values.append(value), leave(key, value)))
    (tmp_path / "spark.properties").write_text("spark.ui.enabled true\nspark.ui.port 0\n")
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce(pair.source_bootstrap, topic, 5, seed=1)
    run = copy(extra={"source->target.mirror.spark.properties.file": str(tmp_path / "spark.properties")})
    assert run.state == "success"
    address, afterwards = values
    assert address.startswith("http://")
    assert afterwards == ""


@pytest.mark.usefixtures("spark_here")
def test_a_tampered_remote_topic_makes_the_run_red_and_names_the_error(pair: ClusterPair, copy: Callable[..., Any], oracle: Oracle) -> None:
    tampered, sound = pair.topic("tampered"), pair.topic("sound")
    for topic in (tampered, sound):
        oracle.create_topic(pair.source_bootstrap, topic)
        oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one")])
    assert copy().state == "success"
    oracle.produce_records(pair.target_bootstrap, pair.remote(tampered), [Record(value=b"not ours")])
    for topic in (tampered, sound):
        oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"two")])

    run = copy(retries=2)

    assert run.state == "failed"
    assert run.tasks == {"plan": "success", "copy": "failed"}
    [error] = run.xcom["copy"]["errors"]
    assert (error["code"], error["topic"], error["partition"], error["offset"]) == ("UnexplainedTarget", tampered, 0, 2)
    shown = on_its_page(pair, run).verdict
    assert shown is not None
    assert [(each.code, each.topic) for each in shown.errors] == [("UnexplainedTarget", tampered)]
    oracle.assert_mirrored(Side(pair.source_bootstrap, sound), Side(pair.target_bootstrap, pair.remote(sound)))


def test_a_dry_run_writes_nothing_and_starts_no_spark(pair: ClusterPair, copy: Callable[..., Any], oracle: Oracle) -> None:
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one")])

    run = copy({"dry_run": True})

    assert run.tasks == {"plan": "success", "copy": "success"}
    assert run.xcom["copy"].endswith("1 partitions and 1 offsets would be copied.")
    assert oracle.topic_id(pair.target_bootstrap, pair.remote(topic)) is None
    assert oracle.topic_id(pair.target_bootstrap, f"mm2-ledger.{pair.source}.internal") is None


def test_a_copy_that_reaches_its_time_limit_ends_with_all_that_it_started_and_the_next_try_copies_all(
    pair: ClusterPair, copy: Callable[..., Any], oracle: Oracle, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, task_log: TaskLog
) -> None:
    topic, marker = pair.topic("orders"), tmp_path / "hung"
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce(pair.source_bootstrap, topic, 100, seed=3)
    (tmp_path / "sitecustomize.py").write_text(HANGING_WORKER.format(marker=str(marker)))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{INCLUDE}")
    main = threading.main_thread().ident or 0

    def reach_limit() -> None:
        """As the timer of the task's execution_timeout would."""
        eventually(lambda: marker.exists() and marker.read_text(), "a lane that hangs")
        signal.pthread_kill(main, signal.SIGALRM)

    alarm = threading.Thread(target=reach_limit)
    alarm.start()
    run = copy(retries=1)
    alarm.join()

    assert (run.state, run.tasks["copy"]) == ("success", "success")
    oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic)))
    eventually(lambda: not Path(f"/proc/{marker.read_text()}/cmdline").exists(), "the end of the worker that hung")
    log = str(task_log.take())
    assert "took longer than it may (execution_timeout, 900.0 s), and is ended with what it started. Airflow starts try 2 of 2; " in log
