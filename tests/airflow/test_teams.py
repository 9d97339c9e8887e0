"""Two teams with a configuration each in one Airflow (`[core] multi_team`): each sees and touches its own flows alone.

A third team's configuration cannot be used at first: that is red by itself, in an Airflow whose DAGs come up paused, as they do by default.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from services.airflow import AirflowServices
from services.airflow_api import AirflowApi, AirflowApiError
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, Record, Side
from services.waiting import eventually
from tests.session import airflows

pytestmark = pytest.mark.release  # an Airflow of its own; who may see what is in tests/unit/airflow/test_teams.py, alarms in test_dags.py

TEAMS = {"paris": "ann", "tokyo": "ben"}
"""Each team and its person."""
NEW_TEAM = "oslo"
NEW_COPY = "east-to-west.copy"
GOOD = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
"""
"""What the new team's file says in the end."""
# How soon Airflow notices that a DAG is gone: by default after minutes.
IMPATIENT = {"AIRFLOW__DAG_PROCESSOR__STALE_DAG_THRESHOLD": "5", "AIRFLOW__SCHEDULER__PARSING_CLEANUP_INTERVAL": "5"}
DAG_FILE = """\
import os

os.environ.pop("MIRROR_CONFIG", None)  # the api-server's: no task of a team has to know of it

from kafka_mirror.airflow.dags import mirror_dags

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
    for team in (*TEAMS, NEW_TEAM):
        (services_directory / team).mkdir()
        (services_directory / team / "mirror.py").write_text(DAG_FILE.format(config=str(services_directory / f"{team}.properties")))
    users = {"admin": "admin"} | {person: f"op:{team}" for team, person in TEAMS.items()}
    teams = {team: services_directory / team for team in (*TEAMS, NEW_TEAM)}
    environment = {"MIRROR_CONFIG": ",".join(map(str, shown)), **IMPATIENT}
    with airflows(services_directory) as make:
        running = make("teams", environment=environment, users=users, teams=teams)
        api = running.api()
        api.wait_for_dags([dag_of(pair) for pair in pairs.values()])
        api.close()
        yield running


def dag_of(pair: ClusterPair) -> str:
    """The copy DAG of a team's flow."""
    return f"{pair.source}-to-{pair.target}.copy"


def alarm_of(file: Path) -> str:
    """The DAG that is red while a file cannot be used."""
    return "mirror.configuration." + str(file).strip("/").replace("/", "_")


def let_airflow_look_again(dag_file: Path) -> None:
    """Airflow looks at a file that changed at once."""
    dag_file.write_text(dag_file.read_text() + "\n")


def wait_until_red(api: AirflowApi, alarm: str, *words: str) -> None:
    """Returns when a run that nobody triggered or unpaused has failed, and its task's log says why.

    Not every red run says it: Airflow fails a task that it could not begin, as on a machine where the api-server does not answer in time,
    and one whose DAG was mended meanwhile.
    """

    def says_why(run: Mapping[str, Any]) -> bool:
        errors = api.errors(alarm, run["dag_run_id"], "configuration")
        return all(word in errors for word in words)

    def found() -> bool:
        runs = api.runs(alarm) if alarm in api.dags() else []
        return any(says_why(run) for run in runs if run["state"] == "failed" and run["run_type"] == "scheduled")

    eventually(found, f"a red run of {alarm} that says {words}", 240, longest=2)


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
        assert api.wait_for_run(dag_of(pair), run)["state"] == "success", api.errors(dag_of(pair), run, "copy")
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
    alarm, of_oslo = alarm_of(tokyo), alarm_of(services_directory / f"{NEW_TEAM}.properties")
    let_airflow_look_again(dag_file)
    ann, ben, admin = airflow.api("ann"), airflow.api("ben"), airflow.api()
    eventually(lambda: alarm in ben.dags(), "the alarm")
    assert not [dag for dag in ann.dags() if dag.startswith("mirror.")]
    assert of_oslo not in ben.dags()
    eventually(lambda: "tokyo.properties" in admin.text("/mirror/"), "the error on the page of somebody who sees all teams")
    assert "tokyo" not in ann.text("/mirror/")
    for api in (ann, ben, admin):
        api.close()


def test_a_file_that_cannot_be_read_and_a_flow_that_is_wrong_are_red_by_themselves_and_again_when_they_come_back(
    airflow: AirflowServices, services_directory: Path
) -> None:
    api, file = airflow.api(), services_directory / f"{NEW_TEAM}.properties"
    alarm, dag_file = alarm_of(file), services_directory / NEW_TEAM / "mirror.py"
    wait_until_red(api, alarm, str(file), "cannot be read")
    details = api.call("GET", f"dags/{alarm}/details")
    assert str(file) in details["doc_md"]
    assert not details["is_paused"]

    file.write_text(GOOD)
    let_airflow_look_again(dag_file)
    eventually(lambda: alarm not in api.dags(), "the end of the alarm", longest=2)
    api.wait_for_dags([NEW_COPY])
    assert api.dags()[NEW_COPY]["is_paused"], "nothing begins to copy by itself"

    file.write_text(GOOD + "east->west.mirror.lanes = banana\n")
    let_airflow_look_again(dag_file)
    wait_until_red(api, alarm, str(file), "east->west", "mirror.lanes")
    assert api.dags()[NEW_COPY]["is_paused"], "its own DAGs come up as Airflow says: mended, they would begin to copy by themselves"
    api.close()
