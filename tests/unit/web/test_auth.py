"""Who is answered: every route of the application, tried without a login, with roles, and from foreign pages."""

from typing import Any

import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from kafka_mirror.errors import ErrorReport
from kafka_mirror.web.app import HEADERS, create_app
from tests.unit.web.made_up import BUSY, made_up

DECISIONS = "/flows/east-to-west/decisions"
PAUSE = {"decision": "pause", "topic": "orders", "reason": "why not"}
VALUES = {"flow_id": "east-to-west", "name": "page.css", "rest:path": "anything/at/all", "dag_id": "etl", "run_id:path": "manual__1"}


def routes() -> list[tuple[str, str]]:
    """Each method and path of the application, with something in place of its parameters."""
    found = []
    for route in create_app(made_up(BUSY).site).routes:
        assert isinstance(route, APIRoute), f"{route} is guarded by nobody"
        path = route.path
        for name, value in VALUES.items():
            path = path.replace(f"{{{name}}}", value)
        assert "{" not in path
        found += [(method, path) for method in sorted(route.methods)]
    return found


@pytest.mark.parametrize("method, path", routes(), ids=lambda each: str(each))
def test_no_request_without_login_is_answered(method: str, path: str) -> None:
    site = made_up(BUSY)
    answer = site.client(role=None).request(method, path, json=PAUSE if method == "POST" else None)
    assert answer.status_code == 401
    assert "east" not in answer.text.replace("east-to-west", "")
    assert site.airflow.notes == []


@pytest.mark.parametrize("method, path", routes(), ids=lambda each: str(each))
def test_every_answer_lets_nothing_foreign_in_and_is_kept_nowhere(method: str, path: str) -> None:
    answer = made_up(BUSY).client("viewer").request(method, path, json=PAUSE if method == "POST" else None)
    assert answer.status_code in (200, 307, 403, 404)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert answer.headers["cache-control"] == "no-store"
    assert "unsafe" not in HEADERS["Content-Security-Policy"]


def test_unexpected_failure_has_the_same_headers_and_tells_nothing() -> None:
    site = made_up(BUSY)
    site.cache.get = lambda: 1 / 0  # type: ignore[assignment,method-assign]
    answer = site.client().get("/flows/east-to-west")
    assert answer.status_code == 500
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "division" not in answer.text


def test_page_without_login_leads_to_airflows_and_a_program_gets_json() -> None:
    site = made_up(BUSY)
    page = site.client(role=None).get("/flows/east-to-west?t.q=x")
    assert 'href="/auth/login?next=http://testserver/flows/east-to-west?t.q=x" target="_top"' in page.text
    program = TestClient(create_app(site.site)).get("/api/flows")
    assert (program.status_code, program.json()) == (401, {"message": "Not authenticated", "next": ""})


def test_nobody_sees_a_flow_whose_dags_they_may_not_read() -> None:
    site = made_up(BUSY)
    site.airflow.hidden = frozenset({"east->west"})
    client = site.client()
    assert "you may not see" in client.get("/").text
    assert client.get("/api/flows").json() == {"flows": []}
    for method, path in (("GET", "/flows/east-to-west"), ("GET", "/api/flows/east-to-west"), ("POST", DECISIONS)):
        answer = client.request(method, path, json=PAUSE if method == "POST" else None)
        assert answer.status_code == 403
        assert "orders" not in answer.text


def test_a_file_that_cannot_be_read_is_told_to_those_alone_who_see_every_team() -> None:
    site = made_up(BUSY, errors=(ErrorReport("ConfigurationError", "/etc/mirror/tokyo.properties cannot be read"),))
    assert "tokyo.properties" in site.client(name="ada").get("/").text
    site.airflow.of_one_team = {"ann"}
    answer = site.client(name="ann").get("/")
    assert answer.status_code == 200
    assert "tokyo" not in answer.text


def test_unknown_flow_is_nothing() -> None:
    client = made_up(BUSY).client()
    assert client.get("/flows/north-to-south").status_code == 404
    assert client.get("/api/flows/north-to-south").status_code == 404
    assert client.get("/static/../app.py").status_code == 404
    assert client.get("/static/no.js").status_code == 404


FOREIGN: list[dict[str, str]] = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"},
    {"Origin": "http://evil.example"},
    {"Origin": "http://evil.example/testserver"},
    {"Origin": "http://testserver.evil.example"},
    {"Origin": "null"},
    {"Authorization": "Basic YTpi"},
    {},
]
OURS: list[dict[str, str]] = [
    {"Sec-Fetch-Site": "same-origin"},
    {"Origin": "http://testserver"},
    {"Authorization": "Bearer token"},
]


def posted(headers: dict[str, str]) -> tuple[Any, Any]:
    calls: list[Any] = []
    site = made_up(BUSY, take=lambda *given, **options: calls.append(given) or [])
    client = TestClient(create_app(site.site), headers={"X-Person": "ada:editor", **headers})
    return client.post(DECISIONS, json=PAUSE), calls


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_change_from_a_foreign_page_is_refused(headers: dict[str, str]) -> None:
    answer, calls = posted(headers)
    assert answer.status_code == 403
    assert calls == []


@pytest.mark.parametrize("headers", OURS, ids=str)
def test_change_that_shows_where_it_comes_from_is_not(headers: dict[str, str]) -> None:
    answer, _ = posted(headers)
    assert answer.status_code != 403


@pytest.mark.parametrize("role", ["viewer", "nobody"])
def test_who_may_not_edit_the_copy_dag_cannot_decide(role: str) -> None:
    calls: list[Any] = []
    site = made_up(BUSY, take=lambda *given, **options: calls.append(given) or [])
    for seen in (None, "0" * 64):
        answer = site.client(role).post(DECISIONS, json={**PAUSE, "seen": seen}, headers={"Accept": "application/json"})
        assert answer.status_code == 403
        assert "east-to-west.copy" in answer.json()["message"]
    assert (calls, site.airflow.notes) == ([], [])
