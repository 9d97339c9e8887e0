"""The `copy` DAG with real brokers and a real Spark job, in this process (`dag.test()`)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.flows import ClusterPair
from services.oracle import Oracle, Record, Side


@pytest.fixture
def copy(
    pair: ClusterPair, mm2_properties: Callable[..., Path], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs the pair's copy DAG; `extra` are further lines of its configuration."""

    def run(conf: dict[str, Any] | None = None, retries: int = 0, extra: dict[str, str] | None = None) -> Any:
        monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties(extra=extra)))
        return run_dag(f"{pair.source}-to-{pair.target}.copy", conf, retries)

    return run


def test_a_run_mirrors_a_topic_and_the_next_one_starts_no_spark(
    pair: ClusterPair, copy: Callable[..., Any], oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic, partitions=3)
    oracle.produce(pair.source_bootstrap, topic, 600, seed=1, transactions=50, abort_percent=20, headers=2)

    first = copy()

    assert first.state == "success"
    assert first.tasks == {"plan": "success", "copy": "success", "publish": "success", "verdict": "success"}
    oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic)))
    ranges, reached, published = first.xcom["plan"]["ranges"], first.xcom["copy"]["watermarks"], first.xcom["publish"]["watermarks"]
    assert set(ranges) == {"topic", "partition", "topic_id", "start", "end", "reason", "leader_epoch", "records", "bytes"}
    assert set(reached) == set(published) == {"topic", "partition", "source_offset", "target_offset", "records", "bytes"}
    assert sorted(ranges["partition"]) == sorted(reached["partition"]) == sorted(published["partition"]) == [0, 1, 2]
    ends = dict(zip(ranges["partition"], ranges["end"], strict=True))
    assert dict(zip(reached["partition"], reached["source_offset"], strict=True)) == ends
    assert sum(reached["records"]) == sum(count.records for count in oracle.count(pair.source_bootstrap, topic))

    monkeypatch.setattr("mirror.airflow.spark_hook.JobHook.submit", lambda *_, **__: pytest.fail("Spark was started"))
    second = copy()

    assert second.state == "success"
    assert second.tasks == {"plan": "success", "copy": "skipped", "publish": "success", "verdict": "success"}
    assert second.xcom["plan"]["ranges"]["topic"] == []


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
    assert run.tasks == {"plan": "success", "copy": "failed", "publish": "success", "verdict": "failed"}
    [error] = run.xcom["copy"]["errors"]
    assert (error["code"], error["topic"], error["partition"], error["offset"]) == ("UnexplainedTarget", tampered, 0, 2)
    oracle.assert_mirrored(Side(pair.source_bootstrap, sound), Side(pair.target_bootstrap, pair.remote(sound)))


def test_a_dry_run_writes_nothing_and_starts_no_spark(pair: ClusterPair, copy: Callable[..., Any], oracle: Oracle) -> None:
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one")])

    run = copy({"dry_run": True})

    assert run.tasks == {"plan": "success", "copy": "skipped", "publish": "skipped", "verdict": "success"}
    assert run.xcom["verdict"].endswith("1 partitions and 1 offsets would be copied (in batches: 1 partition).")
    assert oracle.topic_id(pair.target_bootstrap, pair.remote(topic)) is None
    assert oracle.topic_id(pair.target_bootstrap, f"mm2-ledger.{pair.source}.internal") is None
