"""A real Airflow for all tests of this folder: scheduler, api-server, dag-processor and triggerer on PostgreSQL, with real brokers.

Each test has a flow and topics of its own, so none depends on what another one left.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_mirror.config import load
from services.airflow import AirflowServices
from services.flows import ClusterPair
from services.java import ROOT
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.sinks import HttpSink, MailSink
from services.waiting import eventually
from tests.airflow.scheduler.flows import FLOWS, IMPATIENT, METRICS_TOKEN, OWN_DAG
from tests.airflow.scheduler.hangs import Hangs
from tests.airflow.scheduler.in_airflow import InAirflow
from tests.session import airflows


@pytest.fixture(scope="package")
def make_airflow(services_directory: Path) -> Iterator[Callable[..., AirflowServices]]:
    """As elsewhere, but for all files of this folder."""
    with airflows(services_directory) as make:
        yield make


@pytest.fixture(scope="package")
def south(services_directory: Path) -> Iterator[KafkaCluster]:
    """A target for the flow whose broker goes away, and for heartbeats: other tests would mirror them from a cluster that they share."""
    cluster = KafkaCluster(services_directory / "south", "south")
    cluster.start()
    yield cluster
    cluster.discard()


@pytest.fixture(scope="package")
def pairs(east: KafkaCluster, west: KafkaCluster, south: KafkaCluster, services_directory: Path) -> dict[str, ClusterPair]:
    """Each flow's clusters under aliases of its own, with its configuration written."""
    made = {}
    for name, extra in FLOWS.items():
        target = south if name in ("outage", "beating") else west
        bootstrap = target.proxied_bootstrap if name == "logged" else target.bootstrap
        pair = ClusterPair(f"{name}-from", f"{name}-to", east.bootstrap, bootstrap, f"of-{name}", services_directory)
        pair.properties(extra=extra, file=f"{name}.properties")
        made[name] = pair
    return made


@pytest.fixture(scope="package")
def hook() -> Iterator[HttpSink]:
    """A web service that alerts are posted to."""
    with HttpSink() as running:
        yield running


@pytest.fixture(scope="package")
def mails() -> Iterator[MailSink]:
    """A mail server that alerts are mailed to."""
    with MailSink() as running:
        yield running


@pytest.fixture(scope="package")
def on_call(hook: HttpSink, mails: MailSink) -> dict[str, str]:
    """Connections in the environment: a mail server, and a web service."""
    people = {"to": "on-call@example.org", "from_email": "mirror@example.org", "disable_ssl": True, "disable_tls": True}
    mail = {"conn_type": "smtp", "host": "127.0.0.1", "port": mails.port, "extra": people}
    web = {"conn_type": "http", "host": hook.url, "password": "integration-key", "extra": {"path": "/in_environment"}}
    return {"AIRFLOW_CONN_ON_CALL_MAIL": json.dumps(mail), "AIRFLOW_CONN_ON_CALL_HOOK": json.dumps(web)}


@pytest.fixture(scope="package")
def hangs(services_directory: Path) -> Hangs:
    """Lets tasks of the flow `hanging` hang."""
    return Hangs(services_directory / "hanging")


@pytest.fixture(scope="package")
def airflow(
    pairs: dict[str, ClusterPair],
    make_airflow: Callable[..., AirflowServices],
    services_directory: Path,
    east: KafkaCluster,
    south: KafkaCluster,
    hook: HttpSink,
    on_call: dict[str, str],
    hangs: Hangs,
) -> AirflowServices:
    """All flows' copy DAGs, which are paused until a test needs them."""
    files = [services_directory / f"{name}.properties" for name in pairs]
    known = {"MIRROR_CONFIG": ",".join(map(str, files)), "MIRROR_METRICS_TOKEN": METRICS_TOKEN}
    modules = {"PYTHONPATH": f"{hangs.directory}:{ROOT / 'include'}"}
    dags = services_directory / "scheduler-dags"
    shutil.copytree(ROOT / "dags", dags)
    (dags / "own.py").write_text(OWN_DAG.format(flow=pairs["arriving"].flow))
    running = make_airflow("scheduler", dags=dags, environment={**known, **IMPATIENT, **on_call, **modules})
    api = running.api()
    api.add_connection("kafka_source", "kafka", extra=json.dumps({"bootstrap.servers": east.bootstrap}))
    api.add_connection("of_backfills", "http", host=hook.url, extra=json.dumps({"path": "/of_backfills"}))
    api.add_connection("in_database", "http", host=hook.url, extra=json.dumps({"path": "/in_database"}))
    api.add_connection("kafka_target", "kafka", extra=json.dumps({"bootstrap.servers": south.bootstrap}))
    copies = [flow.dag_id("copy") for flow in load(files).flows]
    api.wait_for_dags(copies)
    assert api.import_errors() == {}
    return running


@pytest.fixture
def flow(airflow: AirflowServices, pairs: dict[str, ClusterPair], oracle: Oracle) -> Iterator[Callable[[str], InAirflow]]:
    """A flow by its name in FLOWS that runs once a week: its DAG is unpaused, and the run of this week has ended, without work."""
    api = airflow.api()

    def ready(name: str) -> InAirflow:
        found = InAirflow(pairs[name], api, oracle)
        api.unpause(found.dag)
        [run] = eventually(lambda: api.runs(found.dag)[-1:], f"a run of {found.dag}")
        assert found.ended(run["dag_run_id"]) == "success"
        return found

    yield ready
    api.close()


@pytest.fixture
def scheduled(airflow: AirflowServices, pairs: dict[str, ClusterPair], oracle: Oracle) -> Iterator[InAirflow]:
    """The flow that runs every ten seconds; it is paused until the test unpauses it, and afterwards: it keeps half a processor busy."""
    yield from often("scheduled", airflow, pairs, oracle)


@pytest.fixture
def following(airflow: AirflowServices, pairs: dict[str, ClusterPair], oracle: Oracle) -> Iterator[InAirflow]:
    """The flow whose runs follow for a minute each. What still runs afterwards is ended."""
    for found in often("following", airflow, pairs, oracle):
        yield found
        found.api.pause(found.dag)
        for run in found.api.runs(found.dag):
            if run["state"] == "running":
                found.api.fail(found.dag, run["dag_run_id"])


@pytest.fixture
def gapped(airflow: AirflowServices, pairs: dict[str, ClusterPair], oracle: Oracle) -> Iterator[InAirflow]:
    """Another one, of which people are told."""
    yield from often("gapped", airflow, pairs, oracle)


def often(name: str, airflow: AirflowServices, pairs: dict[str, ClusterPair], oracle: Oracle) -> Iterator[InAirflow]:
    api = airflow.api()
    found = InAirflow(pairs[name], api, oracle)
    yield found
    api.pause(found.dag)
    api.close()
