"""The `freshness` DAG with real brokers, in this process (`dag.test()`): what is told to a web service of this machine, and when."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.airflow.page import AirflowAccess
from kafka_mirror.audit.model import CHANGED_VALUE, DIFFERENT, EQUAL, AuditResult, Difference, PartitionAudit
from kafka_mirror.config import Flow, load
from kafka_mirror.config.flow import FlowName
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.status.lag_history import read_history
from kafka_mirror.status.snapshot_cache import SnapshotCache
from services.flows import ClusterPair
from services.oracle import Oracle, Record
from services.sinks import HttpSink
from services.waiting import eventually
from tests.airflow.task_log import TaskLog

pytestmark = pytest.mark.usefixtures("heartbeats_removed")


@pytest.fixture
def sink() -> Iterator[HttpSink]:
    with HttpSink() as running:
        yield running


class Freshness:
    """A flow, its freshness DAG run after run, and what was told."""

    def __init__(self, pair: ClusterPair, run_dag: Callable[..., Any], properties: Path, sink: HttpSink) -> None:
        self.pair, self.sink, self._run_dag, self._properties = pair, sink, run_dag, properties

    @property
    def flow(self) -> Flow:
        return load([self._properties]).flow(self.pair.flow)

    def run(self, state: str = "success") -> dict[str, Any]:
        """What the run left in XCom."""
        run = self._run_dag(f"{self.pair.source}-to-{self.pair.target}.freshness")
        assert run.state == state
        found: dict[str, Any] = run.xcom["freshness"]
        assert {"time", "lag_records", "lag_seconds", "lag_bytes", "watermark_records", "open"} <= set(found)
        return found

    def told(self) -> list[tuple[str, str]]:
        """(event, kind) of everything that arrived since it was asked last."""
        found = [(each.body["event"], each.body["alert"]["kind"]) for each in self.sink.posted]
        self.sink.posted.clear()
        return found

    def copy(self) -> None:
        copy_in_process(self.flow, plan(self.flow))

    def fall_behind(self, oracle: Oracle) -> str:
        """A topic of which 50 records are copied, and 60 are not."""
        topic = self.pair.topic("orders")
        oracle.create_topic(self.pair.source_bootstrap, topic, partitions=2)
        oracle.produce(self.pair.source_bootstrap, topic, 50, seed=1)
        self.copy()
        oracle.produce(self.pair.source_bootstrap, topic, 60, seed=2)
        return topic


@pytest.fixture
def make_freshness(
    pair: ClusterPair, run_dag: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, sink: HttpSink
) -> Callable[..., Freshness]:
    """The pair's DAG with these properties more: no time must pass before something is told, unless they say so."""

    def make(**extra: str) -> Freshness:
        hook = {"conn_type": "http", "host": sink.url, "password": "verysecret", "extra": {"format": "json", "timeout": 3}}
        monkeypatch.setenv("AIRFLOW_CONN_HOOK", json.dumps(hook))
        at_once = {"mirror.alert.lasting.seconds": "0", "mirror.alert.connections": "hook", "admin.timeout.ms": "4000"}
        properties = pair.properties(extra={**at_once, **extra})
        monkeypatch.setenv("MIRROR_CONFIG", str(properties))
        return Freshness(pair, run_dag, properties, sink)

    return make


def test_lag_over_the_limit_is_told_once_over_several_runs_and_once_when_it_is_over(
    make_freshness: Callable[..., Freshness], oracle: Oracle, task_log: TaskLog
) -> None:
    freshness = make_freshness(**{"mirror.deadline.lag.records": "99"})
    pair, topic = freshness.pair, freshness.fall_behind(oracle)
    calm = freshness.run()
    assert (calm["open"], calm["lag_records"], calm["watermark_records"], freshness.told()) == ([], 60, 50, [])
    assert calm["lag_bytes"] > 0

    oracle.produce(pair.source_bootstrap, topic, 60, seed=3)
    seen = [freshness.run() for _ in range(3)]
    assert freshness.told() == [("opened", "Behind")]
    assert [[each["kind"] for each in run["open"]] for run in seen] == [["Behind"]] * 3
    assert len({each["since"] for run in seen for each in run["open"]}) == 1
    assert seen[-1]["lag_records"] == 120

    freshness.copy()
    after = [freshness.run() for _ in range(2)]
    assert freshness.told() == [("cleared", "Behind")]
    assert [(run["open"], run["lag_records"], run["lag_seconds"]) for run in after] == [([], 0, 0.0)] * 2
    history = read_history(after[-1]["history"])
    assert [point.records for point in history.points] == [50, 50, 50, 50, 170, 170], "one result has the points of all runs"
    assert list(history.topics) == [topic]
    assert "verysecret" not in task_log.take()


def test_what_a_sink_that_is_down_did_not_take_is_sent_by_a_later_run(
    make_freshness: Callable[..., Freshness], oracle: Oracle, task_log: TaskLog
) -> None:
    freshness = make_freshness(**{"mirror.deadline.lag.records": "9"})
    topic = freshness.pair.topic("orders")
    oracle.create_topic(freshness.pair.source_bootstrap, topic)
    oracle.produce(freshness.pair.source_bootstrap, topic, 50, seed=1)
    freshness.sink.status, freshness.sink.answer = 503, "no, verysecret"

    failed = [freshness.run(state="failed") for _ in range(2)]

    assert [(run["unsent"], len(run["open"])) for run in failed] == [(1, 1)] * 2
    said = task_log.take()
    assert "HTTP 503" in said
    assert "verysecret" not in said
    freshness.sink.status = 200
    assert freshness.run()["unsent"] == 0
    freshness.run()
    assert freshness.told() == [("opened", "Behind")]


def test_errors_are_told_by_topic_and_paused_topics_are_only_listed(
    make_freshness: Callable[..., Freshness], oracle: Oracle, capsys: pytest.CaptureFixture[str]
) -> None:
    from kafka_mirror.__main__ import main

    freshness = make_freshness(**{"mirror.deadline.lag.records": "9"})
    pair = freshness.pair
    gap, paused = pair.topic("gap"), pair.topic("paused")
    for topic in (gap, paused):
        oracle.create_topic(pair.source_bootstrap, topic)
        oracle.produce(pair.source_bootstrap, topic, 5, seed=1)
    freshness.copy()
    for topic in (gap, paused):
        oracle.produce(pair.source_bootstrap, topic, 50, seed=2)
    oracle.delete_records(pair.source_bootstrap, gap, {0: 20})
    assert main(["decide", "pause", "--flow", pair.flow, "--topic", paused, "--reason", "test"]) == 0

    assert main(["freshness", "--flow", pair.flow]) == 1
    assert "SourceGap" in capsys.readouterr().out
    run = freshness.run()

    assert freshness.told() == [("opened", "SourceGap")]
    [alert] = run["open"]
    assert (alert["topic"], alert["partition"], alert["severity"]) == (gap, 0, "critical")
    assert "decide accept-gap" in alert["next"]
    assert run["paused"] == {"partitions": 1, "first": [f"{paused}-0"]}
    assert main(["decide", "accept-gap", "--flow", pair.flow, "--topic", gap, "--reason", "test"]) == 0
    freshness.copy()
    assert freshness.run()["open"] == []
    assert freshness.told() == [("cleared", "SourceGap")]
    capsys.readouterr()
    assert main(["freshness", "--flow", pair.flow]) == 0
    assert "Nothing is over its limit." in capsys.readouterr().out


def test_a_copy_that_does_not_run_is_one_alert_by_the_ledger_alone(make_freshness: Callable[..., Freshness], oracle: Oracle) -> None:
    freshness = make_freshness(
        **{"mirror.deadline.copy.seconds": "0", "mirror.deadline.progress.seconds": "0", "mirror.deadline.lag.seconds": "0"}
    )
    topic = freshness.pair.topic("orders")
    oracle.create_topic(freshness.pair.source_bootstrap, topic, partitions=3)
    oracle.produce(freshness.pair.source_bootstrap, topic, 60, seed=1)
    assert [[each["kind"] for each in freshness.run()["open"]] for _ in range(2)] == [["NotCopying"]] * 2
    freshness.copy()
    freshness.run()
    assert freshness.told() == [("opened", "NotCopying"), ("cleared", "NotCopying")]


def test_a_cluster_that_does_not_answer_is_told_and_what_was_open_stays_so_meanwhile(
    make_freshness: Callable[..., Freshness], oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness = make_freshness(**{"mirror.deadline.lag.records": "9", "mirror.deadline.unreachable.seconds": "0"})
    pair, topic = freshness.pair, freshness.pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce(pair.source_bootstrap, topic, 50, seed=1)
    freshness.run()
    assert freshness.told() == [("opened", "Behind")]
    good = freshness._properties.read_text()
    for alias, bootstrap in ((pair.source, pair.source_bootstrap), (pair.target, pair.target_bootstrap)):
        freshness._properties.write_text(
            good.replace(f"{alias}.bootstrap.servers = {bootstrap}", f"{alias}.bootstrap.servers = 127.0.0.1:1")
        )
        down = freshness.run()
        assert freshness.told() == [("opened", "ClusterUnreachable")]
        assert sorted(each["kind"] for each in down["open"]) == ["Behind", "ClusterUnreachable"]
        assert alias in str(down["open"])
        assert (down["lag_records"], down["lag_seconds"]) == (None, None)
        freshness._properties.write_text(good)
        assert [each["kind"] for each in freshness.run()["open"]] == ["Behind"]
        assert freshness.told() == [("cleared", "ClusterUnreachable")]


def test_heartbeats_that_stopped_are_told_by_their_way(make_freshness: Callable[..., Freshness], oracle: Oracle) -> None:
    from kafka_mirror.formats.mm2 import Heartbeat

    freshness = make_freshness()
    pair = freshness.pair
    way = f"{pair.source}.heartbeats"

    def beat(ago: float) -> None:
        found = Heartbeat(pair.target, pair.source, int((datetime.now(UTC) - timedelta(seconds=ago)).timestamp() * 1000))
        oracle.produce_records(pair.target_bootstrap, way, [Record(key=found.key, value=found.value, partition=0)])

    oracle.create_topic(pair.target_bootstrap, way)
    beat(ago=2000)
    [alert] = freshness.run()["open"]
    assert (alert["kind"], alert["key"]) == ("HeartbeatsStopped", f"{pair.flow}/HeartbeatsStopped/{way}")
    beat(ago=0)
    assert freshness.run()["open"] == []
    assert freshness.told() == [("opened", "HeartbeatsStopped"), ("cleared", "HeartbeatsStopped")]


def test_a_mismatch_that_an_audit_found_is_told_until_an_audit_finds_it_equal(
    make_freshness: Callable[..., Freshness], run_dag: Callable[..., Any], oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    freshness = make_freshness()
    topic = freshness.pair.topic("orders")
    oracle.create_topic(freshness.pair.source_bootstrap, topic)
    oracle.produce_records(freshness.pair.source_bootstrap, topic, [Record(value=b"x")] * 9)
    audit = f"{freshness.pair.source}-to-{freshness.pair.target}.audit"

    def audited(state: str) -> None:
        difference = Difference(CHANGED_VALUE, topic, 0, "r.orders", 4, 4) if state == DIFFERENT else None
        row = PartitionAudit(topic, 0, "r.orders", state, (0, 9), difference=difference)
        found = AuditResult(freshness.pair.flow, datetime.now(UTC), (row,))
        monkeypatch.setattr("kafka_mirror.airflow.work.audit.audit", lambda _flow, **_asked: found)
        assert run_dag(audit).state == ("failed" if difference else "success")

    assert freshness.run()["open"] == []
    audited(DIFFERENT)
    assert [[each["kind"] for each in freshness.run()["open"]] for _ in range(2)] == [["AuditMismatch"]] * 2
    audited(EQUAL)
    assert freshness.run()["open"] == []
    assert freshness.told() == [("opened", "AuditMismatch"), ("cleared", "AuditMismatch")]

    audited(DIFFERENT)
    assert [each["kind"] for each in freshness.run()["open"]] == ["AuditMismatch"]
    oracle.delete_topic(freshness.pair.source_bootstrap, topic)
    oracle.create_topic(freshness.pair.source_bootstrap, topic)
    oracle.produce_records(freshness.pair.source_bootstrap, topic, [Record(value=b"new")])
    assert freshness.run()["open"] == [], "the new log does not reach so far, and no audit can look there"


def test_what_only_a_step_can_see_is_told_for_as_long_as_it_stands(
    make_freshness: Callable[..., Freshness], run_dag: Callable[..., Any], oracle: Oracle, capsys: pytest.CaptureFixture[str]
) -> None:
    from kafka_mirror.__main__ import main

    freshness = make_freshness(**{"config.properties.exclude": "leader\\..*"})
    pair, topic = freshness.pair, freshness.pair.topic("orders")
    step = f"{pair.source}-to-{pair.target}.topic-configs"
    oracle.create_topic(pair.source_bootstrap, topic)
    freshness.copy()
    assert run_dag(step).state == "success"
    assert freshness.run()["open"] == []

    oracle.alter_configs(pair.source_bootstrap, topic, {"min.insync.replicas": "2"})
    assert run_dag(step, {"dry_run": True}).state == "failed"
    assert freshness.run()["open"] == [], "a dry run is a question"
    for _ in range(2):
        assert run_dag(step).state == "failed"
        document = freshness.run()
        assert [(each["kind"], each["topic"]) for each in document["open"]] == [("RemoteConfigRefused", topic)]
        assert document["of_steps"] == ["RemoteConfigRefused"], "the page shows it, which sees no errors of steps itself"
    assert main(["freshness", "--flow", pair.flow]) == 1
    assert "RemoteConfigRefused: Remote config refused" in capsys.readouterr().out

    oracle.alter_configs(pair.source_bootstrap, topic, {"min.insync.replicas": "1"})
    assert run_dag(step).state == "success"
    assert freshness.run()["open"] == []
    assert freshness.told() == [("opened", "RemoteConfigRefused"), ("cleared", "RemoteConfigRefused")]
    assert main(["freshness", "--flow", pair.flow]) == 0


def test_of_audits_that_end_at_the_same_moment_none_is_lost(airflow_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_mirror.airflow.work import state_stores

    class Slow:
        """A store whose readers and writers overlap."""

        document: Any = None

        def get(self, _key: str, default: Any) -> Any:
            time.sleep(0.02)
            return self.document or default

        def set(self, _key: str, document: Any) -> None:
            time.sleep(0.02)
            self.document = document

    store = Slow()
    monkeypatch.setattr(state_stores, "asset_store", lambda _flow: store)
    flow = FlowName("east", "west")
    found = {
        f"run {number}": AuditResult(flow.name, datetime.now(UTC), (PartitionAudit("orders", number, "r", DIFFERENT, (0, 9)),))
        for number in range(4)
    }
    with ThreadPoolExecutor(len(found)) as audits:
        for run, result in found.items():
            audits.submit(state_stores.remember_audit, flow, run, result.as_document())
    assert set(state_stores.audits_of(flow).counted) == set(found)
    assert {each.partition for each in state_stores.audits_of(flow).mismatches} == {0, 1, 2, 3}


def test_a_check_that_fails_unexpectedly_is_red_and_told(make_freshness: Callable[..., Freshness], monkeypatch: pytest.MonkeyPatch) -> None:
    freshness = make_freshness()

    def broken(_flow: Flow) -> None:
        raise KeyError("nobody foresaw this")

    with monkeypatch.context() as patch:
        patch.setattr("kafka_mirror.status.alerts.check.observe", broken)
        for _ in range(2):
            assert "nobody foresaw this" in freshness.run(state="failed")["open"][0]["detail"]
    assert freshness.run()["open"] == []
    assert freshness.told() == [("opened", "CheckFailed"), ("cleared", "CheckFailed")]


def test_a_page_whose_api_server_reaches_no_broker_shows_what_the_last_run_saw(
    make_freshness: Callable[..., Freshness], oracle: Oracle
) -> None:
    freshness = make_freshness()
    pair, topic = freshness.pair, freshness.fall_behind(oracle)
    found = freshness.run()
    nowhere = {f"{side}.bootstrap.servers": "127.0.0.1:1" for side in ("source", "target")}
    file = pair.properties(extra={**nowhere, "admin.timeout.ms": "1000"}, file="api-server.properties")
    cache = SnapshotCache(lambda: load([file]), last_check=AirflowAccess().read_last_check)
    shown = eventually(lambda: (snapshot := cache.get().by_name[pair.flow]).is_good and snapshot, "what freshness saw")
    cache.stop()
    assert shown.not_reached.code == "ClusterUnreachable"
    assert (shown.taken, shown.status.lag) == (datetime.fromisoformat(found["time"]), 60)
    assert [(each.topic, each.remote, each.lag) for each in shown.topics] == [(topic, pair.remote(topic), 60)]
