"""`airflow dags test <DAG>`: the command's own function runs each kind of DAG to its end, with alerts configured."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config.flow import FlowName
from services.flows import ClusterPair
from services.oracle import Oracle, Record, Side
from services.sinks import HttpSink

DAYS = {"from": "2001-01-01", "to": "2001-01-02"}


def conf(what: str, pair: ClusterPair) -> dict[str, str]:
    """What a run by hand has to say, where it has to. The wave has the pair's own topics: the clusters hold those of other tests too."""
    return {"cutover": {"topics": f".*-{pair.mark}"}, "backfill": DAYS, "audit": DAYS}.get(what, {})


@pytest.fixture
def dags_test(pair: ClusterPair, airflow_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Runs `airflow dags test` on a DAG of the pair, in this process. Raises SystemExit where the command fails."""

    def run(what: str) -> None:
        from airflow.cli import cli_parser

        dag_id = FlowName(pair.source, pair.target).dag_id(what)
        arguments = ["dags", "test", dag_id, "--conf", json.dumps(conf(what, pair))]
        monkeypatch.setattr(sys, "argv", ["airflow", *arguments])
        parsed = cli_parser.get_parser().parse_args(arguments)
        parsed.func(parsed)

    before = dict(os.environ)
    yield run
    # The command is meant for a process of its own, and leaves there which DAG is parsed.
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A connection for alerts, to a web service that takes them."""
    with HttpSink() as web:
        monkeypatch.setenv("AIRFLOW_CONN_ON_CALL", json.dumps({"conn_type": "http", "host": web.url, "extra": {"format": "json"}}))
        yield "on_call"


def kinds(pair: ClusterPair, dags: Callable[[], dict[str, Any]]) -> list[str]:
    """What DAGs the pair has, the copy first: some go by what it wrote."""
    prefix = FlowName(pair.source, pair.target).dag_id("")
    found = sorted(dag.removeprefix(prefix) for dag in dags() if dag.startswith(prefix))
    return sorted(found, key=lambda what: what != "copy")


@pytest.mark.release  # test_lineage.py gives the command a copy and an audit
@pytest.mark.usefixtures("heartbeats_removed")
def test_every_dag_is_run_by_airflow_dags_test(
    pair: ClusterPair,
    oracle: Oracle,
    mm2_properties: Callable[..., Path],
    dags: Callable[[], dict[str, Any]],
    dags_test: Callable[[str], None],
    connection: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    extra = {
        "mirror.alert.connections": connection,
        "groups": f".*-{pair.mark}",
        "source->target.sync.group.offsets.enabled": "true",
        "source->target.sync.topic.acls.enabled": "false",
    }
    monkeypatch.setenv("MIRROR_CONFIG", str(mm2_properties(extra=extra)))
    topic = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=b"one")])
    assert any(dag.deadline for dag in dags().values()), "runs have a deadline, but by this command"

    tried = kinds(pair, dags)
    for what in tried:
        dags_test(what)

    assert {"copy", "audit", "backfill", "checkpoints", "cutover", "freshness", "group-offsets", "heartbeats"} <= set(tried)
    oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic)))
