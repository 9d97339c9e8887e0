"""The `topic-configs` and `topic-acls` DAGs with real brokers, in this process (`dag.test()`)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.flows import ClusterPair
from services.oracle import Oracle
from services.waiting import eventually
from tests.airflow.task_log import TaskLog


@pytest.fixture
def run(
    pair: ClusterPair, mm2_properties: Callable[..., Path], run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs one of the pair's DAGs: `run("topic-configs", {"dry_run": True})`; `extra` are further lines of its configuration."""

    def call(what: str, conf: dict[str, Any] | None = None, **extra: str) -> Any:
        monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties(extra=extra)))
        return run_dag(f"{pair.source}-to-{pair.target}.{what}", conf)

    return call


@pytest.fixture
def topic(pair: ClusterPair, run: Callable[..., Any], oracle: Oracle) -> str:
    """A mirrored topic whose retention was changed on the source since."""
    name = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, name)
    assert run("refresh-topics").state == "success"
    oracle.alter_configs(pair.source_bootstrap, name, {"retention.ms": "3600000"})
    return name


def own(pair: ClusterPair, oracle: Oracle, topic: str) -> dict[str, str]:
    return dict(oracle.topics(pair.target_bootstrap, [pair.remote(topic)])[pair.remote(topic)].configs)


def wait_for(pair: ClusterPair, oracle: Oracle, topic: str, expected: dict[str, str]) -> None:
    """A broker shows what the controller answered for a moment later."""
    eventually(lambda: own(pair, oracle, topic) == expected, f"{expected} of {topic}")


def test_configs_arrive_and_xcom_says_which(pair: ClusterPair, run: Callable[..., Any], oracle: Oracle, topic: str) -> None:
    changed = {"topic": [pair.remote(topic)], "entry": ["retention.ms"], "old": ["-1"], "new": ["3600000"]}
    tried = run("topic-configs", {"dry_run": True})
    assert (tried.state, tried.xcom["topic_configs"]["changed"]) == ("success", changed)
    assert own(pair, oracle, topic) == {}
    done = run("topic-configs")
    assert (done.state, done.xcom["topic_configs"]["changed"]) == ("success", changed)
    wait_for(pair, oracle, topic, {"retention.ms": "3600000"})


def test_a_config_that_cannot_be_carried_makes_it_red_and_the_others_arrive(
    pair: ClusterPair, run: Callable[..., Any], oracle: Oracle, topic: str, task_log: TaskLog
) -> None:
    oracle.alter_configs(pair.source_bootstrap, topic, {"min.insync.replicas": "2"})
    done = run("topic-configs", **{"config.properties.exclude": "unclean.leader.election.enable"})
    assert (done.state, done.xcom["topic_configs"]["changed"]["entry"]) == ("failed", ["retention.ms"])
    assert "RemoteConfigRefused" in task_log.take()
    wait_for(pair, oracle, topic, {"retention.ms": "3600000"})


def test_acls_of_clusters_without_an_authorizer_are_skipped_in_green(pair: ClusterPair, run: Callable[..., Any]) -> None:
    done = run("topic-acls")
    assert done.state == "success"
    assert done.xcom["topic_acls"]["skipped"].startswith(f"the source '{pair.source}' has no authorizer")
