"""The copy through a real Airflow: scheduler, api-server, dag-processor and triggerer on PostgreSQL, with real brokers.

One Airflow serves all tests. Each test has a flow and topics of its own, so none depends on what another one left.
"""

import json
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from mirror.config import load
from mirror.formats.heartbeat import decode
from mirror.report.pools import pools
from services.airflow import COMPONENTS, AirflowServices
from services.airflow_api import AirflowApi, AirflowApiError
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, Record, Side
from services.sinks import HttpSink, MailSink, text

TASKS = ("plan", "copy", "publish", "verdict")
GREEN = dict.fromkeys(TASKS, "success")
RANGES = {"topic", "partition", "topic_id", "start", "end", "reason", "leader_epoch", "records", "bytes"}
WATERMARKS = {"topic", "partition", "source_offset", "target_offset", "records", "bytes"}

# A killed scheduler is known by its old heartbeat: here after seconds.
IMPATIENT = {
    "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "2",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "12",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "2",
}
WEEKLY = {"source->target.mirror.copy.interval.seconds": "604800", "admin.timeout.ms": "4000"}
FLOWS = {
    "scheduled": {"source->target.mirror.copy.interval.seconds": "10"},
    # A connection as Airflow's Kafka provider has it, which plan and publish ask for by themselves, and the Spark job cannot.
    "triggered": {**WEEKLY, "source.bootstrap.servers": "${conn:kafka_source:extra.bootstrap.servers}"},
    "tampered": WEEKLY,
    # Its people are told at once of what lasts, and of runs that take longer than seconds.
    "outage": {
        **WEEKLY,
        "source->target.mirror.alert.connections": "on_call_mail, on_call_hook, in_database",
        "source->target.mirror.alert.lasting.seconds": "0",
        "source->target.mirror.deadline.unreachable.seconds": "0",
        "source->target.mirror.deadline.run.seconds": "2",
        "source->target.mirror.run.max.seconds": "3",
    },
    # Not a flow: it only beats, and where it beats is known to the triggerer alone.
    "beating": {
        "source->target.enabled": "false",
        "source->target.mirror.heartbeats.trigger": "true",
        "target.bootstrap.servers": "${conn:kafka_target:extra.bootstrap.servers}",
    },
    # It begins at the end of its topics, so that what is there before is history.
    "filled": {**WEEKLY, "source->target.mirror.start": "latest", "source->target.mirror.alert.connections": "of_backfills"},
    # One lane with small transactions: a copy that takes long enough to be interrupted.
    "restarted": {**WEEKLY, "source->target.mirror.lanes": "1", "source->target.mirror.transaction.max.bytes": "50000"},
}

METRICS_TOKEN = "for-prometheus"


@dataclass(frozen=True)
class InAirflow:
    """One flow of the running Airflow, and the witness."""

    pair: ClusterPair
    api: AirflowApi
    oracle: Oracle

    @property
    def dag(self) -> str:
        return f"{self.pair.source}-to-{self.pair.target}.copy"

    def create_topic(self, name: str) -> str:
        topic = self.pair.topic(name)
        self.oracle.create_topic(self.pair.source_bootstrap, topic, partitions=3)
        return topic

    def produce(self, topic: str, records: int, **options: Any) -> None:
        self.oracle.produce(self.pair.source_bootstrap, topic, records, **options)

    def mirrored(self, topic: str) -> int:
        """How many records the remote topic shows now."""
        remote = self.pair.remote(topic)
        if self.oracle.topic_id(self.pair.target_bootstrap, remote) is None:
            return 0
        return sum(count.records for count in self.oracle.count(self.pair.target_bootstrap, remote))

    def assert_mirrored(self, topic: str) -> int:
        """The witness finds both sides equal; gives how many records there are."""
        target = Side(self.pair.target_bootstrap, self.pair.remote(topic))
        return self.oracle.assert_mirrored(Side(self.pair.source_bootstrap, topic), target).records

    def ended_runs(self) -> dict[str, dict[str, Any]]:
        """The runs that have ended by their ids, the oldest first."""
        return {run["dag_run_id"]: run for run in reversed(self.api.runs(self.dag)) if run["state"] in ("success", "failed")}

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No run of the flow is there while the block prepares what the next one shall find."""
        eventually(self._paused_between_runs, 60)
        yield
        self.api.unpause(self.dag)

    def _paused_between_runs(self) -> bool:
        """A run that has begun does not go on while its DAG is paused, so the pause has to fall between two runs."""
        if not self._idle():
            return False
        self.api.pause(self.dag)
        if self._idle():
            return True
        self.api.unpause(self.dag)
        return False

    def _idle(self) -> bool:
        return len(self.ended_runs()) == len(self.api.runs(self.dag))

    def next_run(self, known: Collection[str], copy: str) -> dict[str, Any]:
        """The first run beside those known that ended with the copy task in this state."""
        return eventually(
            lambda: next((run for name, run in self.ended_runs().items() if name not in known and self.states(name)["copy"] == copy), None),
            60,
        )

    def states(self, run: str) -> dict[str, str | None]:
        return self.api.states(self.dag, run)

    def ended(self, run: str) -> str:
        """The state in which a run ends."""
        return str(self.api.wait_for_run(self.dag, run)["state"])

    def xcom(self, run: str, task: str) -> Any:
        return self.api.xcom(self.dag, run, task)


def eventually(found: Callable[[], Any], seconds: float) -> Any:
    """What `found` gives as soon as it is something."""
    deadline = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < deadline, f"It did not happen within {seconds:g} s."
        time.sleep(0.2)
    return answer


@pytest.fixture(scope="module")
def south(services_directory: Path) -> Iterator[KafkaCluster]:
    """A target for the flow whose broker goes away, and for heartbeats: other tests would mirror them from a cluster that they share."""
    cluster = KafkaCluster(services_directory / "south", "south")
    cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def pairs(east: KafkaCluster, west: KafkaCluster, south: KafkaCluster, services_directory: Path) -> dict[str, ClusterPair]:
    """Each flow's clusters under aliases of its own, with its configuration written."""
    made = {}
    for name, extra in FLOWS.items():
        target = south if name in ("outage", "beating") else west
        pair = ClusterPair(f"{name}-from", f"{name}-to", east.bootstrap, target.bootstrap, f"of-{name}", services_directory)
        pair.properties(extra=extra, file=f"{name}.properties")
        made[name] = pair
    return made


@pytest.fixture(scope="module")
def hook() -> Iterator[HttpSink]:
    """A web service that alerts are posted to."""
    with HttpSink() as running:
        yield running


@pytest.fixture(scope="module")
def mails() -> Iterator[MailSink]:
    """A mail server that alerts are mailed to."""
    with MailSink() as running:
        yield running


@pytest.fixture(scope="module")
def on_call(hook: HttpSink, mails: MailSink) -> dict[str, str]:
    """Connections in the environment: a mail server, and a service of incidents."""
    people = {"to": "on-call@example.org", "from_email": "mirror@example.org", "disable_ssl": True, "disable_tls": True}
    mail = {"conn_type": "smtp", "host": "127.0.0.1", "port": mails.port, "extra": people}
    incidents = {"conn_type": "http", "host": hook.url, "password": "integration-key", "extra": {"format": "pagerduty"}}
    return {"AIRFLOW_CONN_ON_CALL_MAIL": json.dumps(mail), "AIRFLOW_CONN_ON_CALL_HOOK": json.dumps(incidents)}


@pytest.fixture(scope="module")
def airflow(
    pairs: dict[str, ClusterPair],
    make_airflow: Callable[..., AirflowServices],
    services_directory: Path,
    east: KafkaCluster,
    south: KafkaCluster,
    hook: HttpSink,
    on_call: dict[str, str],
) -> AirflowServices:
    """All flows' pools and copy DAGs; those that a test triggers have had their scheduled run of this week, without work."""
    files = [services_directory / f"{name}.properties" for name in pairs]
    known = {"MIRROR_CONFIG": ",".join(map(str, files)), "MIRROR_METRICS_TOKEN": METRICS_TOKEN}
    running = make_airflow("scheduler", environment={**known, **IMPATIENT, **on_call})
    api = running.api()
    api.import_pools(pools(load(files).flows))
    api.add_connection("kafka_source", "kafka", extra=json.dumps({"bootstrap.servers": east.bootstrap}))
    api.add_connection("of_backfills", "http", host=hook.url, extra=json.dumps({"format": "json", "path": "/of_backfills"}))
    api.add_connection("in_database", "http", host=hook.url, extra=json.dumps({"format": "json", "path": "/in_database"}))
    api.add_connection("kafka_target", "kafka", extra=json.dumps({"bootstrap.servers": south.bootstrap}))
    copies = [flow.dag_id("copy") for flow in load(files).flows]
    api.wait_for_dags(copies)
    assert api.import_errors() == {}
    for dag in copies:
        api.unpause(dag)
    for dag in copies:
        [run] = eventually(lambda dag=dag: api.runs(dag)[-1:], 30)
        assert api.wait_for_run(dag, run["dag_run_id"])["state"] == "success"
    return running


@pytest.fixture
def flow(airflow: AirflowServices, pairs: dict[str, ClusterPair], oracle: Oracle) -> Iterator[Callable[[str], InAirflow]]:
    """A flow by its name in FLOWS."""
    api = airflow.api()
    yield lambda name: InAirflow(pairs[name], api, oracle)
    api.close()


def test_scheduled_run_mirrors_and_its_xcom_holds_ranges_and_watermarks(flow: Callable[[str], InAirflow]) -> None:
    scheduled = flow("scheduled")
    with scheduled.paused():
        topic = scheduled.create_topic("orders")
        scheduled.produce(topic, 900, seed=1, transactions=50, abort_percent=20)
        earlier = scheduled.ended_runs()

    run = scheduled.next_run(earlier, copy="success")

    assert (run["run_type"], run["state"]) == ("scheduled", "success")
    assert scheduled.states(run["dag_run_id"]) == GREEN
    planned, copied, published = (scheduled.xcom(run["dag_run_id"], task) for task in TASKS[:3])
    assert (set(planned["ranges"]), set(copied["watermarks"]), set(published["watermarks"])) == (RANGES, WATERMARKS, WATERMARKS)
    ranges, reached = planned["ranges"], copied["watermarks"]
    assert ranges["topic"] == [topic] * 3
    assert ranges["topic_id"] == [scheduled.oracle.topic_id(scheduled.pair.source_bootstrap, topic)] * 3
    assert sorted(zip(ranges["partition"], ranges["end"], strict=True)) == [
        (count.partition, count.end) for count in scheduled.oracle.count(scheduled.pair.source_bootstrap, topic)
    ]
    assert ranges["start"] == [0, 0, 0]
    assert (reached["partition"], reached["source_offset"]) == (ranges["partition"], ranges["end"])
    assert published["watermarks"] == reached
    assert published["disagreements"] == []
    assert scheduled.assert_mirrored(topic) == sum(reached["records"])


def test_idle_run_is_green_and_starts_no_spark(flow: Callable[[str], InAirflow]) -> None:
    scheduled = flow("scheduled")

    run = scheduled.next_run(scheduled.ended_runs(), copy="skipped")

    assert (run["run_type"], run["state"]) == ("scheduled", "success")
    assert scheduled.states(run["dag_run_id"]) == {**GREEN, "copy": "skipped"}
    assert scheduled.xcom(run["dag_run_id"], "plan")["ranges"]["topic"] == []
    assert "spark-submit" not in scheduled.api.log(scheduled.dag, run["dag_run_id"], "copy").lower()
    assert run["duration"] < 20


def test_trigger_without_a_logical_date_copies_what_is_new_by_an_airflow_connection(flow: Callable[[str], InAirflow]) -> None:
    triggered = flow("triggered")
    topic = triggered.create_topic("orders")
    triggered.produce(topic, 300, seed=2)

    run = triggered.api.trigger(triggered.dag)

    assert triggered.ended(run) == "success"
    assert triggered.api.run(triggered.dag, run)["logical_date"] is None
    assert triggered.states(run) == GREEN
    assert triggered.assert_mirrored(topic) == 300
    assert triggered.xcom(run, "verdict").startswith("done: 300 records")


def test_the_triggerer_beats_every_second_from_one_run_into_the_next_until_it_is_stopped(
    airflow: AirflowServices, pairs: dict[str, ClusterPair], oracle: Oracle
) -> None:
    pair, api = pairs["beating"], airflow.api()
    dag = f"{pair.source}-to-{pair.target}.heartbeats"

    def beats() -> list[int]:
        if oracle.topic_id(pair.target_bootstrap, "heartbeats") is None:
            return []
        records = oracle.dump(pair.target_bootstrap, "heartbeats")
        found = [decode(record.key, record.value) for record in records]
        assert {(beat.source, beat.target) for beat in found} <= {(pair.source, pair.target)}
        assert [beat.timestamp for beat in found] == [record.timestamp for record in records]
        return [beat.timestamp for beat in found]

    api.wait_for_dags([dag])
    api.unpause(dag)
    eventually(lambda: len(beats()) > 3, 150)
    [first] = (run["dag_run_id"] for run in api.runs(dag))
    second = api.trigger(dag)
    assert api.wait_for_run(dag, first)["state"] == "success", "it ends when the next run beats"
    done = api.xcom(dag, first, "heartbeats")
    eventually(lambda: beats()[-1] > done["last"] + 3000, 30)

    found = beats()
    gaps = [later // 1000 - earlier // 1000 for earlier, later in pairwise(found)]
    assert min(gaps) == 1, "no second has two beats"
    assert gaps.count(1) > 0.7 * len(gaps), "a machine that stands still may miss one"
    assert found[done["beats"] - 1] == done["last"]
    assert gaps[done["beats"] - 1] < 5, "from one run into the next"
    api.pause(dag)
    api.call("PATCH", f"dags/{dag}/dagRuns/{second}", json={"state": "failed"})
    eventually(lambda: time.time() * 1000 > beats()[-1] + 3000, 30)
    api.close()


def test_run_goes_on_by_itself_after_a_broker_outage_of_which_people_are_told(
    flow: Callable[[str], InAirflow], south: KafkaCluster, hook: HttpSink, mails: MailSink, services_directory: Path
) -> None:
    outage = flow("outage")
    freshness = outage.dag.replace(".copy", ".freshness")
    outage.api.wait_for_dags([freshness])
    outage.api.unpause(freshness)
    topic = outage.create_topic("orders")
    outage.produce(topic, 300, seed=3)
    south.kill()

    run = outage.api.trigger(outage.dag, logical_date=datetime.now(UTC).isoformat())
    eventually(lambda: outage.states(run)["plan"] == "up_for_retry", 60)
    assert south.bootstrap in outage.api.log(outage.dag, run, "plan")
    # That the run is late is told while it goes on, by what stands in the environment; that a cluster is down, by all connections.
    mails.wait(lambda found: any(run in text(mail) for mail in found), 60)
    hook.wait(lambda found: any(run in str(each.body) for each in found), 60)
    both = ["ClusterUnreachable", "DeadlineMissed"]
    eventually(lambda: sorted(each["kind"] for each in checked(outage.api, freshness)["open"]) == both, 60)
    south.start()

    assert outage.ended(run) == "success"
    assert outage.states(run) == GREEN
    assert outage.assert_mirrored(topic) == 300
    assert {task["task_id"]: task["try_number"] for task in outage.api.tasks(outage.dag, run)}["plan"] > 1
    eventually(lambda: checked(outage.api, freshness)["open"] == [], 60)
    late, down = f"{outage.pair.flow}/DeadlineMissed/{outage.dag}", f"{outage.pair.flow}/ClusterUnreachable/{outage.pair.target}"
    for key, of_this in ((late, run), (down, "")):
        events = [each.body for each in hook.posted if each.body.get("dedup_key") == key]
        actions = [each["event_action"] for each in events if each["event_action"] == "resolve" or of_this in str(each)]
        assert actions == ["trigger", "resolve"], key
        told = [(text(mail), "over: " in str(mail["Subject"])) for mail in mails.mails if f"({key})" in text(mail)]
        assert [over for said, over in told if over or of_this in said] == [False, True], key
    in_database = sorted((each.body["alert"]["key"], each.body["event"]) for each in hook.posted if each.path == "/in_database")
    expected = [(down, "cleared"), (down, "opened"), (late, "cleared")]
    assert in_database == expected, "the callback of a deadline may not read the database"
    files = [path for path in (services_directory / "scheduler").rglob("*") if path.is_file()]
    assert any(b"tell_missed_run" in path.read_bytes() for path in files)
    assert [path for path in files if b"integration-key" in path.read_bytes()] == [], "no log has the secret"


def checked(api: AirflowApi, dag: str) -> dict[str, Any]:
    """What a run of the freshness DAG that ends green leaves in XCom."""
    run = api.trigger(dag)
    assert api.wait_for_run(dag, run)["state"] == "success"
    found: dict[str, Any] = api.xcom(dag, run, "freshness")
    return found


def test_run_that_was_killed_with_its_airflow_is_completed_after_the_restart(
    flow: Callable[[str], InAirflow], airflow: AirflowServices
) -> None:
    restarted = flow("restarted")
    topic = restarted.create_topic("orders")
    restarted.produce(topic, 60_000, seed=4, transactions=500, abort_percent=10)
    wanted = sum(count.records for count in restarted.oracle.count(restarted.pair.source_bootstrap, topic))

    run = restarted.api.trigger(restarted.dag)
    eventually(lambda: restarted.mirrored(topic) > 0, 60)
    for component in COMPONENTS:
        airflow.kill(component)
    assert 0 < restarted.mirrored(topic) < wanted
    airflow.start()

    assert restarted.ended(run) == "success"
    assert restarted.assert_mirrored(topic) == wanted
    assert restarted.states(run) == GREEN


def test_red_run_says_in_its_verdict_what_failed_where_and_what_to_do(flow: Callable[[str], InAirflow]) -> None:
    tampered = flow("tampered")
    topic = tampered.create_topic("orders")
    tampered.produce(topic, 100, seed=5, partition=1)
    assert tampered.ended(tampered.api.trigger(tampered.dag)) == "success"
    foreign = Record(value=b"not ours", partition=1)
    tampered.oracle.produce_records(tampered.pair.target_bootstrap, tampered.pair.remote(topic), [foreign])
    tampered.produce(topic, 100, seed=6, partition=1)

    run = tampered.api.trigger(tampered.dag)

    assert tampered.ended(run) == "failed"
    assert tampered.states(run) == {"plan": "success", "copy": "failed", "publish": "success", "verdict": "failed"}
    [error] = tampered.xcom(run, "copy")["errors"]
    assert error["code"] == "UnexplainedTarget"
    assert error["message"] in tampered.api.log(tampered.dag, run, "verdict")
    assert f"{topic}-1@" in error["message"]
    assert error["next"] in tampered.api.log(tampered.dag, run, "verdict")


@pytest.mark.timeout(900)  # two times five runs, and half a minute in which Airflow notices that the first ones have ended
def test_backfill_of_five_days_by_the_rest_api_copies_each_record_once_is_told_once_and_copies_nothing_again(
    flow: Callable[[str], InAirflow], hook: HttpSink
) -> None:
    filled, first = flow("filled"), datetime(2026, 11, 1, tzinfo=UTC)
    dag, topic = filled.dag.replace(".copy", ".backfill"), filled.create_topic("orders")
    begin = int(first.timestamp() * 1000)
    rows = [Record(b"%d" % n, b"%d" % n, timestamp=begin + n * 3_600_000 // 2, partition=n % 3) for n in range(240)]
    late = [Record(b"late", b"%d" % n, timestamp=begin + n * 3_600_000, partition=n % 3) for n in range(6)]
    filled.oracle.produce_records(filled.pair.source_bootstrap, topic, [*rows[:200], *late, *rows[200:]])
    into = f"history.{filled.pair.remote(topic)}"
    filled.api.wait_for_dags([dag])
    filled.api.unpause(dag)
    eventually(lambda: [run["state"] for run in filled.api.runs(dag)] == ["success"], 180)  # that of yesterday, by itself

    def backfill(reprocess: str) -> list[dict[str, Any]]:
        """Starts a backfill as soon as no other one is active, and gives its runs when all have ended, the oldest day first."""
        days = {"from_date": first.isoformat(), "to_date": (first + timedelta(days=4)).isoformat()}
        asked = {"dag_id": dag, **days, "reprocess_behavior": reprocess, "max_active_runs": 3, "run_backwards": True}
        begun = datetime.now(UTC).isoformat()

        def started() -> Any:
            try:
                return filled.api.call("POST", "backfills", json=asked)
            except AirflowApiError as error:
                assert "409" in str(error), error
                return None

        eventually(started, 120)

        def ended() -> list[dict[str, Any]]:
            runs = [run for run in filled.api.runs(dag) if run["run_type"] == "backfill" and (run["start_date"] or "") > begun]
            done = [run for run in runs if run["state"] in ("success", "failed")]
            return sorted(done, key=lambda run: run["logical_date"]) if len(done) == 5 else []

        runs: list[dict[str, Any]] = eventually(ended, 400)
        return runs

    def copied(runs: list[dict[str, Any]], part: str) -> int:
        return sum(filled.api.xcom(dag, run["dag_run_id"], part)["records"] for run in runs)

    runs = backfill("none")

    assert [run["state"] for run in runs] == ["success"] * 5
    assert (copied(runs, "live"), copied(runs, "history")) == (0, 246)
    source = Side(filled.pair.source_bootstrap, topic)
    assert filled.oracle.assert_mirrored(source, Side(filled.pair.target_bootstrap, into)).records == 246
    assert [filled.api.xcom(dag, run["dag_run_id"], "audit")["total_state"] for run in runs] == ["equal"] * 5
    hook.wait(lambda found: any(each.path == "/of_backfills" for each in found), 30)
    ends = filled.oracle.count(filled.pair.target_bootstrap, into)

    again = backfill("completed")

    assert [run["dag_run_id"] for run in again] == [run["dag_run_id"] for run in runs], "cleared in place"
    assert [run["state"] for run in again] == ["success"] * 5
    assert (copied(again, "live"), copied(again, "history")) == (0, 0)
    assert filled.oracle.count(filled.pair.target_bootstrap, into) == ends
    of_backfills = lambda: [each.body["alert"]["summary"] for each in hook.posted if each.path == "/of_backfills"]  # noqa: E731
    eventually(lambda: len(of_backfills()) > 1, 30)
    days = "[2026-11-01T00:00:00Z, 2026-11-06T00:00:00Z): 5 of 5 intervals done"
    assert of_backfills() == [f"Backfill of {filled.pair.flow} {days}, {records} records copied." for records in (246, 0)]


def test_prometheus_reads_the_metrics_of_a_flow_whose_cluster_an_airflow_connection_names(
    airflow: AirflowServices, flow: Callable[[str], InAirflow]
) -> None:
    """The api-server itself looks at the clusters: it is no task, and finds the connection in its database all the same."""
    triggered = flow("triggered")
    ours = {"source": triggered.pair.source, "target": triggered.pair.target}

    def scrape(token: str) -> httpx.Response:
        return httpx.get(f"{airflow.url}/mirror/metrics", headers={"Authorization": f"Bearer {token}"}, timeout=30)

    def seen() -> dict[str, float]:
        answer = scrape(METRICS_TOKEN)
        assert answer.status_code == 200
        families = text_string_to_metric_families(answer.text)
        found = [each for family in families for each in family.samples if each.labels == ours]
        return {each.name: each.value for each in found if ("mirror_up", 1.0) in [(one.name, one.value) for one in found]}

    assert scrape("nobody's").status_code == 401
    metrics = eventually(seen, 60)
    assert metrics["mirror_lag_records"] >= 0
    assert 0 <= metrics["mirror_snapshot_age_seconds"] < 300
