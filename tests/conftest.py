"""Real services for the tests that ask for them: started once, when first needed; their logs stay when a test failed."""

import gc
import os
import shutil
import signal
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from cryptography.fernet import Fernet
from hypothesis import HealthCheck, settings

from services.airflow import AirflowServices
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.waiting import PATIENCE
from tests.frozen_process import pytest_configure as keep_standard_error
from tests.frozen_process import pytest_runtest_protocol  # noqa: F401 — a hook
from tests.session import STARTED, airflows, running

pytest_plugins = ["tests.left_out"]

# No test judges a time: a busy machine is no failure.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

ROOT = Path(__file__).resolve().parents[1]
GUARDED_USERS = ("mirror", "reader", "writer", "owner", "stranger")
"""Who may log in to the guarded clusters; each has its name as its password."""
NEVER_DEAD = {"broker.session.timeout.ms": "60000"}
"""Nobody kills the brokers that all tests share: a machine that stands still for seconds must not make them dead for their controller."""

SLOWEST_FILES = 15
"""How many files are shown after all tests with the time that they took."""

CLEANS_SELDOM = {"log.cleaner.backoff.ms": "15000", "log.retention.check.interval.ms": "300000"}
"""Of targets, as Kafka has it by default. All tests' ledgers stand there, and to look at each of them every second costs a broker
more than the tests do. Topics that are to be compacted, or lose records to retention, are on sources."""


def pytest_configure(config: pytest.Config) -> None:
    """Gives the process the home of an Airflow of the tests' own. Airflow reads its settings when it is first imported: by whichever test
    that is, or while tests are collected."""
    assert "airflow" not in sys.modules, "Airflow was imported before its home was set"
    keep_standard_error(config)
    # A shell without job control lets what it starts in the background ignore Ctrl-C. A test that sends it would wait for its end instead.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.set_threshold(50_000, 20, 20)  # Python's own numbers are for small programs: by them, a third of the unit tests' time is the search
    home = tempfile.mkdtemp(prefix="mirror-airflow-")
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    os.environ |= {
        "AIRFLOW_HOME": home,
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__FERNET_KEY": Fernet.generate_key().decode(),  # without one it keeps the passwords of connections as they are
    }


def pytest_collection_finish() -> None:
    """Python need not search again and again for garbage in what was imported and collected."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def services_directory(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Where the session's services live; removed at the end, but for the logs if a test failed."""
    directory = Path(tempfile.mkdtemp(prefix="mirror-tests-"))
    directory.chmod(0o711)  # a root user's PostgreSQL runs as nobody
    yield directory
    if not request.session.testsfailed:
        shutil.rmtree(directory, ignore_errors=True)
        return
    for data in directory.glob("*/data-*"):
        shutil.rmtree(data, ignore_errors=True)
    print(f"\nThe services' logs are in {directory}")


@pytest.fixture(scope="session")
def _clusters(services_directory: Path) -> Iterator[dict[str, KafkaCluster]]:
    """East and west."""
    settings = {"east": NEVER_DEAD, "west": NEVER_DEAD | CLEANS_SELDOM}
    clusters = {alias: KafkaCluster(services_directory / alias, alias, properties=settings[alias], proxied=True) for alias in settings}
    with running(*clusters.values()):
        yield clusters


@pytest.fixture(scope="session")
def guarded(services_directory: Path) -> Iterator[tuple[KafkaCluster, KafkaCluster]]:
    """Two clusters with an authorizer, shared by all tests: GUARDED_USERS may do what ACLs allow, the plain listener everything."""
    users = {name: name for name in GUARDED_USERS}
    source, target = (
        KafkaCluster(services_directory / alias, alias, properties=NEVER_DEAD | CLEANS_SELDOM, users=users)
        for alias in ("guarded-east", "guarded-west")
    )
    with running(source, target):
        yield source, target


@pytest.fixture(scope="session")
def east(_clusters: dict[str, KafkaCluster]) -> KafkaCluster:
    """A cluster of one broker that all tests share; a test that hurts brokers makes its own with `make_cluster`."""
    return _clusters["east"]


@pytest.fixture(scope="session")
def west(_clusters: dict[str, KafkaCluster]) -> KafkaCluster:
    """The other cluster that all tests share."""
    return _clusters["west"]


@pytest.fixture(scope="module")
def heartbeats_removed(east: KafkaCluster, west: KafkaCluster) -> Iterator[None]:
    """For a module that lets hearts beat on the shared clusters: flows of all other tests would mirror the topics."""
    yield
    for cluster in (east, west):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        topics = [name for name in admin.list_topics(timeout=PATIENCE).topics if name.endswith("heartbeats")]
        for deleted in admin.delete_topics(topics).values() if topics else ():
            deleted.result(PATIENCE)


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[Callable[..., KafkaCluster]]:
    """Starts a cluster of the test's own: `make_cluster("east", brokers=3, properties={...}, users={...})`; stopped at its end."""
    made: list[KafkaCluster] = []

    def make(alias: str, brokers: int = 1, *, start: bool = True, **options: Any) -> KafkaCluster:
        cluster = KafkaCluster(tmp_path / f"kafka-{alias}", alias, brokers, **options)
        made.append(cluster)
        STARTED[f"{alias} (of this test)"] = cluster
        if start:
            cluster.start()
        return cluster

    yield make
    for cluster in made:
        cluster.discard()
        STARTED.pop(f"{cluster.alias} (of this test)", None)
        shutil.rmtree(tmp_path / f"kafka-{cluster.alias}", ignore_errors=True)


@pytest.fixture(scope="session")
def oracle(services_directory: Path) -> Iterator[Oracle]:
    """The independent witness: one Java process for all tests."""
    with Oracle(services_directory / "oracle.log") as running:
        yield running


@pytest.fixture(scope="module")
def make_airflow(services_directory: Path) -> Iterator[Callable[..., AirflowServices]]:
    """Starts an Airflow with a PostgreSQL of its own: `make_airflow("scheduled", environment={"MIRROR_CONFIG": ...})`; takes 13 s."""
    with airflows(services_directory) as make:
        yield make


@pytest.fixture
def make_pair(tmp_path: Path) -> Callable[[KafkaCluster, KafkaCluster], ClusterPair]:
    """A pair of given clusters under aliases of its own: `make_pair(source, target)`."""

    def make(source: KafkaCluster, target: KafkaCluster) -> ClusterPair:
        mark = uuid.uuid4().hex[:6]
        return ClusterPair(f"{source.alias}{mark}", f"{target.alias}{mark}", source.bootstrap, target.bootstrap, mark, tmp_path)

    return make


@pytest.fixture
def pair(east: KafkaCluster, west: KafkaCluster, make_pair: Callable[..., ClusterPair]) -> ClusterPair:
    """East and west under aliases that are this test's alone: `pair.topic("orders")`, `pair.remote(topic)`, `pair.flow`."""
    return make_pair(east, west)


@pytest.fixture
def mm2_properties(pair: ClusterPair) -> Callable[..., Path]:
    """Writes the pair's mm2.properties: `mm2_properties(topics=..., extra={"source->target.mirror.lanes": "4"})` gives its path."""
    return pair.properties


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows the end of the services' logs with a failed test that had any."""
    report = yield
    if report.failed:
        report.sections += [(f"log of {name}", service.log_tail(12)) for name, service in STARTED.items()]
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says with `--durations` where the time goes: the files that took longest, their fixtures included."""
    slowest, seconds = terminalreporter.config.getoption("durations"), Counter[str]()
    for report in (each for reports in terminalreporter.stats.values() for each in reports if isinstance(each, pytest.TestReport)):
        seconds[report.nodeid.partition("::")[0]] += report.duration
    if slowest and seconds:
        terminalreporter.section(f"slowest files of {len(seconds)}, which took {seconds.total():.0f} s one after the other")
        for file, took in seconds.most_common(SLOWEST_FILES):
            terminalreporter.line(f"{took:.0f}s {file}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`, as `make test` has it."""
    from tests.distribution import Distribution

    return Distribution(config, log) if config.getvalue("dist") == "loadfile" else None
