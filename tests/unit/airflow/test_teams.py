"""Who may see a flow whose DAG Airflow does not have: of what team that is, nobody knows."""

from types import SimpleNamespace

import pytest

from kafka_mirror.airflow import api_server

DAGS = {"paris.copy": "paris", "shared.copy": None}
"""The DAGs that Airflow has, and their teams."""
ANN, BOTH, NOBODY = frozenset({"paris"}), frozenset({"paris", "tokyo"}), frozenset()
"""People, as the teams whose DAGs they may read."""


@pytest.fixture(autouse=True)
def airflow(monkeypatch):
    """An Airflow with two teams, and an auth manager that lets everybody read what is of no team, as Airflow's own do."""
    from airflow.models.dag import DagModel
    from airflow.models.team import Team

    def is_authorized_dag(*, method, details, user, access_entity=None):
        return details.team_name is None or details.team_name in user

    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    monkeypatch.setattr(api_server, "get_auth_manager", lambda: SimpleNamespace(is_authorized_dag=is_authorized_dag))
    monkeypatch.setattr(DagModel, "get_team_name", lambda dag: DAGS.get(dag))
    monkeypatch.setattr(DagModel, "get_dagmodel", lambda dag: object() if dag in DAGS else None)
    monkeypatch.setattr(Team, "get_all_team_names", lambda: {"paris", "tokyo"})


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize(("person", "may"), [(ANN, False), (NOBODY, False), (BOTH, True)])
def test_a_flow_without_a_dag_is_for_those_alone_who_see_every_team(method, person, may):
    assert api_server.is_authorized(person, method, "not-parsed-yet.copy") is may


@pytest.mark.parametrize(
    ("dag", "person", "may"), [("paris.copy", ANN, True), ("paris.copy", NOBODY, False), ("shared.copy", NOBODY, True)]
)
def test_a_dag_that_is_there_is_for_its_team_or_for_all(dag, person, may):
    assert api_server.is_authorized(person, "GET", dag) is may


def test_without_teams_everybody_who_may_read_dags_sees_it(monkeypatch):
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "False")
    assert api_server.is_authorized(NOBODY, "GET", "not-parsed-yet.copy")
