"""Two teams with a configuration each in one Airflow (`[core] multi_team`): each sees and touches its own flows alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirror.config import load
from mirror.config.pools import pools
from services.airflow import AirflowServices
from services.airflow_api import AirflowApiError
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, Record, Side
from tests.session import airflows
from tests.waiting import eventually

TEAMS = {"paris": "ann", "tokyo": "ben"}
"""Each team and its person."""
DAG_FILE = """\
import os

os.environ.pop("MIRROR_CONFIG", None)  # the api-server's: no task of a team has to know of it

from mirror.airflow.dags import mirror_dags

globals().update(mirror_dags(config={config!r}, kinds=("copy", "configuration")))
"""


@pytest.fixture(scope="module")
def pairs(east: KafkaCluster, west: KafkaCluster, services_directory: Path) -> dict[str, ClusterPair]:
    """A flow of each team, in a file of its own."""
    made = {}
    for team in TEAMS:
        made[team] = ClusterPair(f"{team}-from", f"{team}-to", east.bootstrap, west.bootstrap, f"of-{team}", services_directory)
        made[team].properties(extra={"mirror.copy.interval.seconds": str(7 * 24 * 3600)}, file=f"{team}.properties")
    return made


@pytest.fixture(scope="module")
def airflow(pairs: dict[str, ClusterPair], services_directory: Path) -> Iterator[AirflowServices]:
    """An Airflow of two teams, whose api-server alone knows both files."""
    files = {team: services_directory / f"{team}.properties" for team in TEAMS}
    no_dag = ClusterPair("no-dag-from", "no-dag-to", next(iter(pairs.values())).source_bootstrap, "127.0.0.1:1", "none", services_directory)
    shown = [*files.values(), no_dag.properties(file="no-dag.properties")]
    for team, file in files.items():
        (services_directory / team).mkdir()
        (services_directory / team / "mirror.py").write_text(DAG_FILE.format(config=str(file)))
    users = {"admin": "admin"} | {person: f"op:{team}" for team, person in TEAMS.items()}
    teams = {team: services_directory / team for team in TEAMS}
    with airflows(services_directory) as make:
        running = make("teams", environment={"MIRROR_CONFIG": ",".join(map(str, shown))}, users=users, teams=teams)
        api = running.api()
        for team, file in files.items():
            (services_directory / f"{team}.json").write_text(json.dumps(pools(load([file]).flows, team)))
            running.command("pools", "import", str(services_directory / f"{team}.json"))
        api.wait_for_dags([dag_of(pair) for pair in pairs.values()])
        api.close()
        yield running


def dag_of(pair: ClusterPair) -> str:
    """The copy DAG of a team's flow."""
    return f"{pair.source}-to-{pair.target}.copy"


def test_each_team_sees_and_runs_its_own_flow_by_its_own_file(
    airflow: AirflowServices, pairs: dict[str, ClusterPair], oracle: Oracle
) -> None:
    for team, person in TEAMS.items():
        pair, other = pairs[team], pairs[next(each for each in TEAMS if each != team)]
        oracle.create_topic(pair.source_bootstrap, pair.topic("orders"))
        oracle.produce_records(pair.source_bootstrap, pair.topic("orders"), [Record(value=team.encode())])
        api = airflow.api(person)
        assert set(api.dags()) == {dag_of(pair)}
        api.unpause(dag_of(pair))
        run = api.trigger(dag_of(pair))
        assert api.wait_for_run(dag_of(pair), run)["state"] == "success", api.errors(dag_of(pair), run, "verdict")
        topic = pair.topic("orders")
        oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic)))
        with pytest.raises(AirflowApiError, match="403"):
            api.trigger(dag_of(other))
        api.close()


def test_the_status_page_shows_a_team_its_own_flow_and_takes_its_decisions_alone(
    airflow: AirflowServices, pairs: dict[str, ClusterPair]
) -> None:
    for team, person in TEAMS.items():
        own, other = pairs[team], pairs[next(each for each in TEAMS if each != team)]
        api = airflow.api(person)
        assert [flow["flow"] for flow in api.call("GET", "/mirror/api/flows")["flows"]] == [f"{own.source}->{own.target}"]
        decision = {"decision": "pause", "topic": own.topic("orders"), "reason": "moving house"}
        page = f"/mirror/flows/{other.source}-to-{other.target}"
        for method, path, body in (("GET", page, None), ("POST", f"{page}/decisions", decision)):
            with pytest.raises(AirflowApiError, match="403"):
                api.call(method, path, json=body)
        api.close()
    api = airflow.api()
    assert len(api.call("GET", "/mirror/api/flows")["flows"]) == len(TEAMS) + 1, "one of them has no DAG, and is of no team"
    api.close()


def test_a_file_that_breaks_is_the_alarm_of_its_team_alone(airflow: AirflowServices, services_directory: Path) -> None:
    tokyo, dag_file = services_directory / "tokyo.properties", services_directory / "tokyo" / "mirror.py"
    tokyo.write_text(tokyo.read_text().replace("clusters", "clutsers"))
    alarm = "mirror.configuration." + str(tokyo).strip("/").replace("/", "_")
    dag_file.write_text(dag_file.read_text() + "\n")  # Airflow looks at a file that changed at once
    ann, ben, admin = airflow.api("ann"), airflow.api("ben"), airflow.api()
    eventually(lambda: alarm in ben.dags(), "the alarm")
    assert not [dag for dag in ann.dags() if dag.startswith("mirror.")]
    eventually(lambda: "tokyo.properties" in admin.text("/mirror/"), "the error on the page of somebody who sees all teams")
    assert "tokyo" not in ann.text("/mirror/")
    for api in (ann, ben, admin):
        api.close()
