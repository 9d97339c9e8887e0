"""The `heartbeats` DAG: for which pairs it exists, how often it runs, and a run with a real broker (`dag.test()`)."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kafka_mirror.formats.mm2 import Heartbeat, decode_heartbeat
from services.kafka import KafkaCluster
from services.oracle import Oracle

TWO_CLUSTERS = ("clusters = east, west", "east.bootstrap.servers = 127.0.0.1:1", "west.bootstrap.servers = 127.0.0.1:1")
ONE_WAY = (*TWO_CLUSTERS, "east->west.enabled = true")
TWO_WAYS = (*ONE_WAY, "west->east.enabled = true")


@pytest.fixture
def beating(configured: Callable[..., None], dags: Callable[[], dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """`beating(lines)`: the heartbeat DAGs of a configuration, by flow."""

    def read(*lines: str) -> dict[str, Any]:
        configured(*lines)
        return {dag_id.partition(".")[0]: dag for dag_id, dag in dags().items() if dag_id.endswith(".heartbeats")}

    return read


def test_every_pair_beats_unless_it_is_told_not_to(beating: Callable[..., dict[str, Any]]) -> None:
    found = beating(*ONE_WAY)
    assert set(found) == {"east-to-west", "west-to-east"}
    assert found["west-to-east"].tags == {"mirror", "west->east"}
    assert set(beating(*ONE_WAY, "west->east.emit.heartbeats.enabled = false")) == {"east-to-west"}
    others_off = ("emit.heartbeats.enabled = false", "west->east.emit.heartbeats.enabled = true")
    assert set(beating(*ONE_WAY, *others_off)) == {"west-to-east"}


def test_a_pair_that_only_beats_is_judged_by_what_a_beat_needs(beating: Callable[..., dict[str, Any]]) -> None:
    flow_off = (*TWO_CLUSTERS, "west->east.topics = a(", "east.bootstrap.servers = 127.0.0.1", "west.consumer.fetch.min.bytes = x")
    found = beating(*flow_off)
    assert "east.bootstrap.servers" in found["west-to-east"].doc_md, "it beats on east"
    assert "cannot run" not in found["east-to-west"].doc_md
    assert "topics" not in found["west-to-east"].doc_md.partition("Writes a heartbeat")[0]


def test_beats_come_no_oftener_than_copies(beating: Callable[..., dict[str, Any]]) -> None:
    found = beating(*TWO_WAYS, "mirror.copy.interval.seconds = 77", "west->east.emit.heartbeats.interval.seconds = 90")
    assert {flow: dag.timetable.delta for flow, dag in found.items()} == {
        "east-to-west": timedelta(seconds=77),
        "west-to-east": timedelta(seconds=90),
    }
    asked = beating(*TWO_WAYS, "emit.heartbeats.interval.seconds = 2")["east-to-west"]
    assert "emit.heartbeats.interval.seconds is 2, and a heartbeat comes with each run of the DAG: every 300 s" in asked.doc_md


def test_by_the_trigger_a_run_goes_over_into_the_next(beating: Callable[..., dict[str, Any]]) -> None:
    dag = beating(*TWO_WAYS, "mirror.heartbeats.trigger = true", "emit.heartbeats.interval.seconds = 2")["east-to-west"]
    assert (dag.max_active_runs, dag.timetable.delta) == (2, timedelta(seconds=300))
    assert "**Notices**" not in dag.doc_md


def test_a_run_beats_on_the_target_alone(
    make_cluster: Callable[..., KafkaCluster], oracle: Oracle, configured: Callable[..., None], run_dag: Callable[..., Any]
) -> None:
    target = make_cluster("west")
    lines = ("heartbeats.topic.replication.factor = 1", f"west.bootstrap.servers = {target.bootstrap}")
    configured("clusters = east, west", "east.bootstrap.servers = 127.0.0.1:1", *lines)

    tried = run_dag("east-to-west.heartbeats", {"dry_run": True})
    assert tried.xcom["heartbeats"] == {"topic": "heartbeats", "created": True, "timestamp": None}
    assert oracle.topic_id(target.bootstrap, "heartbeats") is None

    first, second = run_dag("east-to-west.heartbeats"), run_dag("east-to-west.heartbeats")
    assert (first.state, second.state) == ("success", "success")
    assert (first.xcom["heartbeats"]["created"], second.xcom["heartbeats"]["created"]) == (True, False)
    records = oracle.dump(target.bootstrap, "heartbeats")
    assert [decode_heartbeat(each.key, each.value) for each in records] == [
        Heartbeat("east", "west", run.xcom["heartbeats"]["timestamp"]) for run in (first, second)
    ]
    assert [each.timestamp for each in records] == [run.xcom["heartbeats"]["timestamp"] for run in (first, second)]
