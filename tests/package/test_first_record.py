"""From an empty Airflow to the first mirrored record with the wheel alone: two commands and one file; and the file in a Git DAG bundle.

Airflow, the newest and the oldest, runs from an environment that has nothing of this checkout, in a home of its own, with real brokers.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from services.airflow import AirflowServices
from services.airflow_api import AirflowApi
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.waiting import PATIENCE, eventually
from tests.airflow.scheduler.in_airflow import InAirflow
from tests.package.environment import ROOT, Environment, install, install_oldest

pytestmark = pytest.mark.release

INSTALL = "airflow-kafka-mirror[all]"
"""The first command is `pip install "airflow-kafka-mirror[all]"`; here the wheel, with the locked packages of what it asks for."""
UNPAUSE = r"airflow dags unpause --yes --treat-dag-id-as-regex '\.copy$'"
DAG_FILE = "from kafka_mirror.airflow.dags import mirror_dags\nglobals().update(mirror_dags(flows='{}'))\n"
USERS_OWN = ("psycopg2-binary", "asyncpg", "apache-airflow-providers-git")
"""What an Airflow on PostgreSQL with a Git bundle has before."""
SUBDIR = "airflow/dags"
RECORDS = 40


@pytest.fixture(scope="module", params=["newest", "oldest"])
def place(request: pytest.FixtureRequest, services_directory: Path) -> Path:
    """The folder of one Airflow, by whose name the test goes."""
    made = services_directory / f"{request.param}-airflow"
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, place: Path) -> Environment:
    """The first command."""
    if place.name == "oldest-airflow":
        return install_oldest(place / "environment", f"{wheel}[all]", *USERS_OWN)
    return install(wheel, place / "environment", INSTALL, *USERS_OWN)


@pytest.fixture(scope="module")
def pairs(east: KafkaCluster, west: KafkaCluster, place: Path) -> dict[str, ClusterPair]:
    """A flow for each bundle."""
    made = {}
    for name in ("folder", "git"):
        aliases = (f"{name}-of-{place.name}", f"{name}-to")
        made[name] = ClusterPair(*aliases, east.bootstrap, west.bootstrap, f"of-{name}-bundle-of-{place.name}", place)
        made[name].properties(file=f"{name}-bundle.properties")
    return made


@pytest.fixture(scope="module")
def repository(place: Path) -> Path:
    """A Git repository whose DAG files are in a folder of it."""
    directory = place / "repository"
    (directory / SUBDIR).mkdir(parents=True)
    (directory / "README.md").write_text("DAGs\n")
    commit(directory)
    return directory


def commit(directory: Path) -> None:
    named = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    for command in (["init", "--quiet", "-b", "main"], ["add", "--all"], [*named, "commit", "--quiet", "-m", "Change DAGs"]):
        subprocess.run(["git", "-C", str(directory), *command], check=True)


@pytest.fixture(scope="module")
def airflow(
    installed: Environment,
    pairs: dict[str, ClusterPair],
    repository: Path,
    make_airflow: Callable[..., AirflowServices],
    place: Path,
) -> Iterator[AirflowServices]:
    """An Airflow without a DAG, with two bundles."""
    home = place / "home"
    (home / "dags").mkdir(parents=True)
    # Left there from the time before the package: it must not bring the page a second time.
    shutil.copytree(ROOT / "plugins", home / "plugins")
    git = {"repo_url": str(repository), "tracking_ref": "main", "subdir": SUBDIR, "refresh_interval": 5}
    bundles = [
        {"name": "folder", "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle", "kwargs": {"refresh_interval": 5}},
        {"name": "git", "classpath": "airflow.providers.git.bundles.git.GitDagBundle", "kwargs": git},
    ]
    environment = {
        "MIRROR_CONFIG": ",".join(str(place / f"{name}-bundle.properties") for name in pairs),
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundles),
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_STORAGE_PATH": str(home / "bundles"),
        "PYTHONPATH": "",
    }
    made = make_airflow(place.name, dags=home / "dags", plugins=home / "plugins", environment=environment, bin=installed.bin)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def api(airflow: AirflowServices) -> Iterator[AirflowApi]:
    """Its REST API."""
    found = airflow.api()
    yield found
    found.close()


@pytest.fixture(scope="module")
def flows(
    airflow: AirflowServices,
    api: AirflowApi,
    pairs: dict[str, ClusterPair],
    oracle: Oracle,
    repository: Path,
    place: Path,
) -> dict[str, InAirflow]:
    """Topics with records, the file in each of the bundles, and then the other command."""
    flows = {name: InAirflow(pair, api, oracle) for name, pair in pairs.items()}
    for flow in flows.values():
        flow.produce(flow.create_topic("orders"), RECORDS)
    (place / "home" / "dags" / "mirror.py").write_text(DAG_FILE.format(pairs["folder"].flow))
    (repository / SUBDIR / "mirror.py").write_text(DAG_FILE.format(pairs["git"].flow))
    commit(repository)
    api.wait_for_dags([flow.dag for flow in flows.values()])
    shell(airflow, UNPAUSE)
    return flows


def shell(airflow: AirflowServices, command: str) -> None:
    """What a person types into the shell of the machine where Airflow is."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command], env=airflow.environment(), cwd="/", capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout + done.stderr


def first_run(flow: InAirflow) -> dict[str, Any]:
    """The run of the scheduler that mirrored, when it has."""
    topic = flow.pair.topic("orders")
    eventually(lambda: flow.mirrored(topic) == RECORDS, "the records on the target", seconds=2 * PATIENCE)
    assert flow.assert_mirrored(topic) == RECORDS
    [run] = eventually(lambda: [each for each in flow.ended_runs().values() if each["state"] == "success"][:1], "a green run")
    assert run["run_type"] == "scheduled"
    return dict(run)


def test_two_commands_and_one_file_lead_to_the_first_record(flows: dict[str, InAirflow], api: AirflowApi) -> None:
    first_run(flows["folder"])
    chosen = flows["folder"].dag.removesuffix(".copy")
    found = {dag["dag_id"].partition(".")[0] for dag in api.dags().values() if dag["bundle_name"] == "folder"}
    assert found == {chosen}, "the DAGs of the chosen flow alone"
    assert api.import_errors() == {}


def test_the_same_file_in_a_folder_of_a_git_repository(flows: dict[str, InAirflow], api: AirflowApi) -> None:
    run = first_run(flows["git"])
    assert api.dags()[flows["git"].dag]["bundle_name"] == "git"
    assert run["bundle_version"], "the commit whose file the tasks ran"


def test_airflow_has_the_page_and_the_provider_from_the_package(airflow: AirflowServices, api: AirflowApi) -> None:
    [plugin] = [each for each in api.call("GET", "plugins")["plugins"] if each["name"] == "mirror"]
    assert "airflow-kafka-mirror" in plugin["source"]
    assert api.call("GET", "plugins/importErrors")["import_errors"] == []
    assert "airflow-kafka-mirror" in {each["package_name"] for each in api.call("GET", "providers", params={"limit": 1000})["providers"]}
    with httpx.Client(base_url=airflow.url, timeout=120, trust_env=False) as client:
        login = client.post("/auth/token", json={"username": "admin", "password": airflow.password()}).raise_for_status().json()
        client.headers["Authorization"] = f"Bearer {login['access_token']}"
        assert "folder-of-" in client.get("/mirror/", follow_redirects=True).raise_for_status().text
        assert "main" in client.get("/mirror/static/page.css").raise_for_status().text
