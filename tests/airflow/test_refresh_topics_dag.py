"""The `refresh-topics` DAG with real brokers, in this process (`dag.test()`)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.flows import ClusterPair
from services.oracle import Oracle
from tests.airflow.task_log import TaskLog


@pytest.fixture
def refresh(
    pair: ClusterPair, mm2_properties: Callable[..., Path], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs the pair's DAG; `extra` are further lines of its configuration."""

    def run(conf: dict[str, Any] | None = None, **extra: str) -> Any:
        monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties(extra=extra)))
        return run_dag(f"{pair.source}-to-{pair.target}.refresh-topics", conf)

    return run


def test_remote_topics_are_created_and_grow(pair: ClusterPair, refresh: Callable[..., Any], oracle: Oracle) -> None:
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic, partitions=2)

    tried = refresh({"dry_run": True})
    assert tried.xcom["refresh_topics"]["created"] == {pair.remote(topic): 2}
    assert oracle.topic_id(pair.target_bootstrap, pair.remote(topic)) is None

    assert refresh().xcom["refresh_topics"]["created"] == {pair.remote(topic): 2}
    oracle.create_partitions(pair.source_bootstrap, topic, 3)
    grown = refresh()
    assert (grown.state, grown.xcom["refresh_topics"]["extended"]) == ("success", {pair.remote(topic): 3})
    assert len(oracle.count(pair.target_bootstrap, pair.remote(topic))) == 3


def test_a_topic_that_cannot_be_created_makes_it_red(
    pair: ClusterPair, refresh: Callable[..., Any], oracle: Oracle, task_log: TaskLog
) -> None:
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    run = refresh(**{"replication.factor": "3"})
    assert (run.state, run.xcom["refresh_topics"]["created"]) == ("failed", {})
    assert "refresh-topics failed in part: each error above has its next step." in (shown := task_log.take())
    assert f"RemoteTopicRefused: {topic}" in shown
    assert pair.remote(topic) in shown
