"""The task of a flow that follows: what it copies itself, and what it leaves to Spark."""

import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from kafka_mirror.airflow.work import follow
from kafka_mirror.config import load
from kafka_mirror.copy.model import LaneResult, Watermark
from kafka_mirror.copy.plan.model import BEHIND, Plan, Range
from kafka_mirror.copy.run_result import RunResult
from kafka_mirror.spark.run import SparkRunner
from tests.unit.copy.made_up_mirror import CONFIGURATION

PLAN = Plan("east->west", (Range("orders", 0, "id", 5, 9, BEHIND, records=5, bytes=50),))


@pytest.fixture
def copied(monkeypatch, tmp_path):
    """Runs the task with a threshold: where it copied, and how many records it says."""
    where = []

    def here(_flow, plan, run, _max_bytes, stop):
        where.append(f"in {run}")
        assert not stop.is_set()
        runner.end()
        assert stop.is_set(), "who ends the task ends its lanes"
        return [LaneResult(0, (Watermark("orders", 0, 9, 9, 4, 40),))]

    def on_spark(_runner, _flow, plan, run, due):
        where.append(f"on Spark for {run}")
        return RunResult(plan)

    def run(threshold):
        file = tmp_path / "mm2.properties"
        file.write_text(f"{CONFIGURATION}east->west.mirror.copy.spark.threshold = {threshold}\n")
        context = {"task_state_store": {}, "dag_run": SimpleNamespace()}
        result = follow.follow_in_task(load([file]).flow("east->west"), PLAN, context, runner)
        return where, result.bytes

    runner = SparkRunner("local[1]")
    monkeypatch.setattr(follow, "run_name", lambda: "a run")
    monkeypatch.setattr(follow, "due_time", lambda _flow, _begun: time.monotonic() + 60)
    monkeypatch.setattr(follow, "copy_in_process", here)
    monkeypatch.setattr(follow, "follow_with_spark", on_spark)
    monkeypatch.setattr(
        "kafka_mirror.copy.follow.plan_anew", lambda flow, *_: (flow, SimpleNamespace(plan=PLAN, ledger=SimpleNamespace(records={})))
    )
    monkeypatch.setattr("kafka_mirror.copy.follow.sync_meanwhile", lambda *_: nullcontext())
    monkeypatch.setattr(follow, "checkpoints_meanwhile", lambda _flow, due: where.append("checkpoints") or nullcontext())
    return run


def test_the_task_copies_a_little_itself_and_ends_when_it_is_told_to(copied):
    assert copied(1000) == (["checkpoints", "in a run"], 40)


@pytest.mark.parametrize("threshold", [0, 40])
def test_without_a_threshold_and_past_it_a_job_copies(copied, threshold):
    assert copied(threshold) == (["checkpoints", "on Spark for a run"], 0)
