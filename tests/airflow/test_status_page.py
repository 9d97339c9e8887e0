"""The status page inside Airflow's own api-server application: its logins, its roles, its audit log, its plugin manager."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

USERS = {"ada": "admin", "eve": "viewer", "uma": "user"}
SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
PAGE, DECISIONS = "/mirror/flows/east-to-west", "/mirror/flows/east-to-west/decisions"
PAUSE = {"decision": "pause", "topic": "orders", "reason": "moving house"}
NOWHERE = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:1
west.bootstrap.servers = 127.0.0.1:1
east->west.enabled = true
admin.timeout.ms = 1000
"""


@pytest.fixture(scope="module")
def api(airflow_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Airflow's api-server in this process, with a flow whose clusters are nowhere."""
    home = tmp_path_factory.mktemp("api-server")
    (home / "mm2.properties").write_text(NOWHERE)
    (home / "passwords.json").write_text(json.dumps({name: name for name in USERS}))
    settings = {
        "MIRROR_CONFIG": str(home / "mm2.properties"),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{name}:{role}" for name, role in USERS.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(home / "passwords.json"),
        "MIRROR_METRICS_TOKEN": "for-prometheus",
        "AIRFLOW__API_AUTH__JWT_SECRET": "0123456789abcdef" * 8,
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        from airflow.api_fastapi.app import create_app

        from kafka_mirror.status.snapshot_cache import shared_cache

        with TestClient(create_app(apps="core"), base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
            yield client
        shared_cache().stop()  # it would go on to read the configuration of whatever test runs next in this process


@pytest.fixture
def headers(api: TestClient) -> Callable[[str], dict[str, str]]:
    """What a program sends that logged in as one of the users."""

    def logged_in(name: str) -> dict[str, str]:
        token = api.post("/auth/token", json={"username": name, "password": name}).json()["access_token"]
        return {"Authorization": f"Bearer {token}"}

    return logged_in


@pytest.fixture
def cookie(headers: Callable[[str], dict[str, str]]) -> Callable[[str], dict[str, str]]:
    """What a browser sends from a page of this Airflow in which one of the users is logged in."""

    def logged_in(name: str) -> dict[str, str]:
        return {"Cookie": f"_token={headers(name)['Authorization'].removeprefix('Bearer ')}", "Accept": "text/html", **SAME_SITE}

    return logged_in


def audit_log() -> list[tuple[str, str | None, str | None, dict[str, Any]]]:
    """The mirror's entries in Airflow's audit log: event, DAG, who, and the rest."""
    from airflow.models.log import Log
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        entries = session.scalars(select(Log).where(Log.event.startswith("mirror_", autoescape=True)).order_by(Log.id))
        return [(each.event, each.dag_id, each.owner, json.loads(each.extra)) for each in entries]


def test_airflow_knows_the_plugin_and_has_it_in_its_navigation(api: TestClient, headers: Callable[[str], dict[str, str]]) -> None:
    [plugin] = [each for each in api.get("/api/v2/plugins", headers=headers("ada")).json()["plugins"] if each["name"] == "mirror"]
    assert [app["url_prefix"] for app in plugin["fastapi_apps"]] == ["/mirror"]
    view, tab = plugin["external_views"]
    assert (view["href"], view["destination"], view["nav_top_level"], view["url_route"]) == ("/mirror/", "nav", True, "mirror")
    assert (tab["href"], tab["destination"], tab["url_route"]) == ("/mirror/runs/{DAG_ID}/{RUN_ID}", "dag_run", "mirror-run")
    assert api.get("/api/v2/plugins/importErrors", headers=headers("ada")).json()["import_errors"] == []


def test_no_route_is_answered_without_airflows_login(api: TestClient) -> None:
    for path in ("/mirror/", PAGE, "/mirror/api/flows", "/mirror/static/page.js", "/mirror/docs", "/mirror/openapi.json", "/mirror/x"):
        assert api.get(path).status_code == 401, path
        assert api.get(path, headers={"Authorization": "Bearer nonsense"}).status_code == 403, path
    assert api.post(DECISIONS, json=PAUSE, headers=SAME_SITE).status_code == 401


def test_metrics_want_their_own_token_and_no_login(api: TestClient, headers: Callable[[str], dict[str, str]]) -> None:
    assert api.get("/mirror/metrics").status_code == 401
    assert api.get("/mirror/metrics", headers=headers("ada")).status_code == 401
    answer = api.get("/mirror/metrics", headers={"Authorization": "Bearer for-prometheus"})
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (200, "text/plain")
    assert 'flow="east->west"' in answer.text or 'source="east"' in answer.text
    assert api.get(PAGE, headers={"Authorization": "Bearer for-prometheus"}).status_code == 403, "it opens nothing else"


@pytest.mark.parametrize("name", USERS)
def test_everybody_who_may_read_the_dags_sees_the_flow_with_cookie_and_token(
    api: TestClient, name: str, headers: Callable[[str], dict[str, str]], cookie: Callable[[str], dict[str, str]]
) -> None:
    page = api.get(PAGE, headers=cookie(name))
    assert page.status_code == 200
    assert "east-&gt;west" in page.text
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert ("<dialog" in page.text) == (name != "eve"), "a viewer sees no button"
    assert api.get("/mirror/api/flows", headers=headers(name)).json()["flows"][0]["flow"] == "east->west"


def test_viewer_cannot_decide_and_a_foreign_page_cannot_either(
    api: TestClient, headers: Callable[[str], dict[str, str]], cookie: Callable[[str], dict[str, str]]
) -> None:
    before = audit_log()
    assert api.post(DECISIONS, json={**PAUSE, "seen": "0"}, headers=headers("eve")).status_code == 403
    assert api.post(DECISIONS, json={**PAUSE, "seen": "0"}, headers=cookie("eve")).status_code == 403
    for origin in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"}):
        assert api.post(DECISIONS, json={**PAUSE, "seen": "0"}, headers={**cookie("ada"), **origin}).status_code == 403
    assert audit_log() == before


def test_decision_stands_in_airflows_audit_log_before_a_cluster_is_asked(api: TestClient, headers: Callable[[str], dict[str, str]]) -> None:
    before = len(audit_log())
    answer = api.post(DECISIONS, json=PAUSE, headers=headers("uma"))
    assert (answer.status_code, answer.json()["code"]) == (502, "ClusterUnreachable")
    assert "127.0.0.1:1" in answer.json()["message"]
    assert len(audit_log()) == before, "looking is no decision"

    assert api.post(DECISIONS, json={**PAUSE, "seen": "0"}, headers=headers("uma")).status_code == 502
    first, second = audit_log()[before:]
    facts = {"flow": "east->west", "decision": "pause", "topic": "orders", "why": "moving house"}
    assert first == ("mirror_decide", "east-to-west.copy", "uma", facts)
    assert second[:3] == ("mirror_decide_failed", "east-to-west.copy", "uma")


def admin() -> Any:
    """Somebody who may read everything."""
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    from kafka_mirror.status.airflow_view import Person

    return Person("ada", SimpleAuthManagerUser(username="ada", role="admin"))


def test_the_newest_verdict_of_a_copy_is_told(api: TestClient, run_dag: Callable[..., Any]) -> None:
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session

    from kafka_mirror.airflow.page import AirflowAccess
    from kafka_mirror.airflow.work.copy import verdict_to_xcom
    from kafka_mirror.config.flow import FlowName
    from kafka_mirror.copy.run_result import Verdict

    judged, run = Verdict("done", records=5, bytes=12), run_dag("east-to-west.copy").run_id
    with create_session() as session:
        XComModel.set("return_value", verdict_to_xcom(judged), dag_id="east-to-west.copy", task_id="copy", run_id=run, session=session)
    view = AirflowAccess().read_view(admin(), FlowName("east", "west"))
    assert (view.copied, view.copied_by) == ("done: 5 records, 12 bytes copied", run)


def test_airflows_database_tells_paused_dags_pools_and_runs(
    api: TestClient, run_dag: Callable[..., Any], headers: Callable[[str], dict[str, str]]
) -> None:
    assert run_dag("east-to-west.copy", with_others=True).state == "failed"
    from kafka_mirror.airflow.page import AirflowAccess
    from kafka_mirror.config.flow import FlowName

    view = AirflowAccess().read_view(admin(), FlowName("east", "west"))
    copy = view.find_dag("copy")
    assert copy is not None
    assert copy.newest is not None
    assert (copy.newest.state, copy.last_good) == ("failed", None)
    assert {"refresh-topics", "heartbeats"} <= {dag.what for dag in view.dags}
    assert view.pools == {"default_pool": 128}
    assert "scheduler" in view.silent
    assert view.freshness is None
    assert (view.copied, view.copied_by) == ("", ""), "a copy that failed has no verdict to show"
    run_dag("east-to-west.freshness", with_others=True)
    document = AirflowAccess().read_view(admin(), FlowName("east", "west")).freshness
    assert {"time", "open", "lag_records", "lag_seconds", "lag_bytes"} <= set(document)
    assert AirflowAccess().read_view(admin(), FlowName("east", "we")).dags == (), "another flow's DAGs are not ours"

    api.post(DECISIONS, json={**PAUSE, "seen": "0"}, headers=headers("uma"))
    listed = api.get("/api/v2/eventLogs", params={"event": "mirror_decide"}, headers=headers("ada")).json()["event_logs"]
    assert {(each["owner"], each["dag_id"]) for each in listed} == {("uma", "east-to-west.copy")}, "Airflow's own page shows it"
