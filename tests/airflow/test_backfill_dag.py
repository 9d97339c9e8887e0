"""The `backfill` DAG with real brokers and a real Spark job, in this process (`dag.test()`)."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from services.flows import ClusterPair
from services.oracle import Oracle, Record, Side

DAY = 86_400_000
FIRST = 1_793_491_200_000  # 2026-11-01
TWO_DAYS = {"from": "2026-11-01T00:00:00Z", "to": "2026-11-03T00:00:00Z"}
SMALL = {"run_max_bytes": "10", "transaction_max_bytes": "100", "lanes": "1"}
"""A transaction has a batch at least."""
_BATCH = 8
HISTORY = {"history": True}
GREEN = dict.fromkeys(("resolve", "live", "history", "audit", "summary"), "success")


@pytest.fixture
def backfill(
    pair: ClusterPair, mm2_properties: Callable[..., Path], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs the pair's backfill DAG; the flow begins at the end of its topics."""

    def run(conf: dict[str, Any], retries: int = 0, **properties: str) -> Any:
        own = {f"source->target.mirror.{name.replace('_', '.')}": value for name, value in properties.items()}
        extra = {"source->target.mirror.start": "latest", "source->target.mirror.lanes": "4", **own}
        monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties(extra=extra)))
        return run_dag(f"{pair.source}-to-{pair.target}.backfill", conf, retries)

    return run


def produce(oracle: Oracle, pair: ClusterPair, topic: str, days: int) -> None:
    rows = [Record(b"%d" % n, b"%d" % n, timestamp=FIRST + n * DAY // 20, partition=n % 2) for n in range(20 * days)]
    for first in range(0, len(rows), _BATCH):
        oracle.produce_records(pair.source_bootstrap, topic, rows[first : first + _BATCH])


@pytest.fixture
def topic(oracle: Oracle, pair: ClusterPair) -> str:
    """A topic with three days of 20 records."""
    name = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, name, partitions=2)
    produce(oracle, pair, name, 3)
    return name


def test_a_run_by_hand_fills_and_audits_what_is_below_the_start_and_the_next_one_starts_no_spark(
    pair: ClusterPair, topic: str, backfill: Callable[..., Any], oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = backfill({**TWO_DAYS, **HISTORY, "dry_run": True})
    assert said.state == "success"
    assert said.xcom["summary"].endswith("0 live offsets and 40 offsets of history would be copied.")
    assert oracle.topic_id(pair.target_bootstrap, f"history.{pair.remote(topic)}") is None

    unasked = backfill(TWO_DAYS)
    assert (unasked.state, unasked.tasks) == ("success", {**GREEN, "history": "skipped"})
    assert unasked.xcom["audit"]["total_source_records"] == 0
    assert oracle.topic_id(pair.target_bootstrap, f"history.{pair.remote(topic)}") is None

    first = backfill({**TWO_DAYS, **HISTORY})

    assert (first.state, first.tasks) == ("success", GREEN)
    assert [first.xcom["resolve"]["intervals"][name] for name in ("partition", "start", "end")] == [[0, 1], [0, 0], [20, 20]]
    history = first.xcom["history"]
    assert (history["offsets"], history["records"], history["owed"]) == (40, 40, 0)
    assert history["into"] == {topic: f"history.{pair.remote(topic)}"}
    assert (first.xcom["audit"]["total_state"], first.xcom["audit"]["total_source_records"]) == ("equal", 40)
    source = Side(pair.source_bootstrap, topic, end={0: 20, 1: 20})
    assert oracle.assert_mirrored(source, Side(pair.target_bootstrap, f"history.{pair.remote(topic)}")).records == 40

    monkeypatch.setattr("kafka_mirror.airflow.spark_hook.JobHook.submit", lambda *_, **__: pytest.fail("Spark was started"))
    second = backfill({**TWO_DAYS, "order": "time"})  # who says in which order wants it as well
    assert (second.state, second.tasks) == ("success", GREEN)
    assert (second.xcom["live"]["records"], second.xcom["history"]["records"]) == (0, 0)
    assert "done: the copy brought 0 records on its way past these times, and 0 came as history" in second.xcom["summary"]


@pytest.fixture
def slices(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Which part each slice was of, and how many offsets it had; they run in this process, and the next one at once."""
    seen: list[tuple[str, int]] = []

    def in_this_process(operator: Any, flow: Any, plan: Any) -> Any:
        from kafka_mirror.copy.run import copy_in_process

        seen.append((operator.part, sum(each.offsets for each in plan.ranges)))
        return copy_in_process(flow, plan)

    monkeypatch.setattr("kafka_mirror.airflow.work.backfill.copy_by_job", in_this_process)
    monkeypatch.setattr("kafka_mirror.airflow.work.backfill.PAUSE", timedelta(0))
    return seen


def test_slices_of_a_small_budget_give_the_slot_back_and_add_up(
    pair: ClusterPair, topic: str, backfill: Callable[..., Any], oracle: Oracle, slices: list[tuple[str, int]]
) -> None:
    run = backfill({**TWO_DAYS, **HISTORY}, **SMALL)

    assert (run.state, run.tasks) == ("success", GREEN)
    assert [part for part, _ in slices].count("history") > 2, "one transaction in each slice"
    assert (run.xcom["history"]["records"], run.xcom["history"]["owed"]) == (40, 0)
    assert (
        oracle.account(
            Side(pair.source_bootstrap, topic, end={0: 20, 1: 20}), Side(pair.target_bootstrap, f"history.{pair.remote(topic)}")
        )[0].doubled
        == 0
    )


def test_what_fails_for_one_topic_makes_the_run_red_and_is_done_for_the_others_slice_after_slice(
    pair: ClusterPair, topic: str, backfill: Callable[..., Any], oracle: Oracle, slices: list[tuple[str, int]]
) -> None:
    compacted = pair.topic("compacted")
    oracle.create_topic(pair.source_bootstrap, compacted, partitions=2)
    produce(oracle, pair, compacted, 3)
    oracle.create_topic(pair.target_bootstrap, f"history.{pair.remote(compacted)}", 2, {"cleanup.policy": "compact"})

    run = backfill({**TWO_DAYS, **HISTORY}, **SMALL)

    assert [part for part, _ in slices].count("history") > 2
    assert (run.state, run.tasks) == ("failed", {**GREEN, "history": "failed", "summary": "failed"})
    [error] = run.xcom["history"]["errors"]
    assert (error["code"], error["topic"]) == ("HistoryIntoCompacted", compacted)
    assert run.xcom["history"]["records"] == 40
    half = backfill({"from": TWO_DAYS["from"]})
    assert (half.state, half.tasks["resolve"], half.tasks["summary"]) == ("failed", "failed", "failed")
