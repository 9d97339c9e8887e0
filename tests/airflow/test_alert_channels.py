"""From Airflow's connections to mail servers and web services: sinks on this machine, and connections that cannot be used."""

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_mirror.errors import AlertConnectionUnusable, NotificationFailed
from kafka_mirror.formats.documents import from_document
from kafka_mirror.status.problems import Alert
from services.ports import free_ports
from services.sinks import HttpSink, MailSink

ALERT = Alert(
    key="east->west/SourceGap/orders",
    kind="SourceGap",
    summary="Source gap: orders-3",
    detail="{{ 7 * 6 }} <is no> template",
    next="decide",
    since=datetime(2026, 11, 21, tzinfo=UTC),
    flow="east->west",
    topic="orders",
    partition=3,
)
SECRET = "T000/B000/verysecret"


@pytest.fixture(scope="module")
def web() -> Iterator[HttpSink]:
    with HttpSink() as running:
        yield running


@pytest.fixture(scope="module")
def mail() -> Iterator[MailSink]:
    with MailSink() as running:
        yield running


@pytest.fixture
def connect(airflow_home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A connection in the environment: `connect("http", password=..., extra={...})` gives its id."""

    def make(kind: str, name: str = "on_call", **fields: Any) -> str:
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps({"conn_type": kind, **fields}))
        return name

    return make


def mail_fields(mail: MailSink, **extra: Any) -> dict[str, Any]:
    both = {"to": "a@example.org, b@example.org", "from_email": "mirror@example.org", "disable_ssl": True, "disable_tls": True}
    return {"host": "127.0.0.1", "port": mail.port, "extra": {**both, "timeout": 5, "retry_limit": 1, **extra}}


def channel(connection: str) -> Any:
    import kafka_mirror.airflow  # noqa: F401 — tells the alerts how to open channels
    from kafka_mirror.status.alerts.channels import channel as opened

    return opened(connection)


def test_a_mail_says_that_an_alert_begins_and_that_it_is_over(connect: Callable[..., str], mail: MailSink) -> None:
    sender = channel(connect("smtp", **mail_fields(mail)))
    sender.send(ALERT, cleared=False)
    sender.send(ALERT, cleared=True)
    begin, end = mail.wait(lambda mails: len(mails) == 2, 120)
    assert (begin["To"], begin["From"]) == ("a@example.org, b@example.org", "mirror@example.org")
    assert begin["Subject"] == "[mirror] east->west: Source gap: orders-3"
    assert end["Subject"] == "[mirror] east->west: over: Source gap: orders-3"
    assert "{{ 7 * 6 }} &lt;is no&gt; template" in begin.get_body().get_content(), "neither a template nor HTML of whoever named a topic"


def test_a_mail_server_that_is_not_there_is_said(connect: Callable[..., str], mail: MailSink) -> None:
    fields = {**mail_fields(mail), "port": free_ports(1)[0], "login": "u", "password": SECRET}
    with pytest.raises(NotificationFailed, match="refused") as caught:
        channel(connect("smtp", **fields)).send(ALERT, cleared=False)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("kind", ["http", "generic"])
def test_a_connection_to_a_web_service_posts_the_alert(connect: Callable[..., str], web: HttpSink, kind: str) -> None:
    web.posted.clear()
    channel(connect(kind, host=web.url, extra={"path": "/hook?x=1"})).send(ALERT, cleared=False)
    [posted] = web.posted
    assert (posted.path, posted.body["event"], from_document(Alert, posted.body["alert"])) == ("/hook?x=1", "opened", ALERT)


def test_a_login_is_sent_and_a_password_alone_is_a_bearer_token(connect: Callable[..., str], web: HttpSink) -> None:
    web.posted.clear()
    channel(connect("http", host="127.0.0.1", schema="http", port=web.port, login="u", password="p")).send(ALERT, False)
    channel(connect("http", host=web.url, password="token")).send(ALERT, False)
    assert [each.headers["authorization"] for each in web.posted] == ["Basic dTpw", "Bearer token"]


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("smtp", {"extra": {"from_email": "a@b"}}, "to whom"),
        ("smtp", {"extra": {"to": "a@b"}}, "from whom"),
        ("smtp", {"extra": {"to": [1], "from_email": "a@b"}}, "to whom"),
        ("http", {"host": "h", "password": SECRET, "extra": {"format": "slack"}}, "asks for the format 'slack'.*mirror.alert.notifiers"),
        ("slackwebhook", {"host": "h", "password": SECRET}, "type is 'slackwebhook'.*mirror.alert.notifiers"),
        ("http", {}, "no host"),
        ("http", {"host": "h", "extra": {"timeout": "soon"}}, "timeout"),
    ],
)
def test_a_connection_that_cannot_be_used_says_why_and_what_to_do(
    connect: Callable[..., str], kind: str, fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(AlertConnectionUnusable, match=reason) as caught:
        channel(connect(kind, **fields)).send(ALERT, cleared=False)
    assert "AIRFLOW_CONN_ON_CALL" in caught.value.next
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("extra", ["[1]", f"{{{SECRET}"])
def test_an_extra_that_is_no_json_object_is_said_without_its_text(airflow_home: Path, monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    monkeypatch.setattr("kafka_mirror.airflow.alert_channels.connection_of", lambda _name: SimpleNamespace(conn_type="http", extra=extra))
    with pytest.raises(AlertConnectionUnusable, match="its extra is no JSON") as caught:
        channel("on_call")
    assert SECRET not in str(caught.value)


def test_a_connection_that_is_not_there_is_said(airflow_home: Path) -> None:
    with pytest.raises(AlertConnectionUnusable, match="there is none of this name"):
        channel("nobody_knows_it")


def test_the_notifier_serves_callbacks_of_other_dags_with_templates(connect: Callable[..., str], web: HttpSink) -> None:
    from kafka_mirror.airflow.webhook_notifier import WebhookNotifier

    web.posted.clear()
    name = connect("http", host=web.url)
    WebhookNotifier(name, summary="{{ dag_id }} failed", key="{{ dag_id }}")({"dag_id": "other"})
    waiting = WebhookNotifier(name, summary="{{ dag_id }} works again", key="{{ dag_id }}", cleared=True)
    waiting.context = {"dag_id": "other"}

    async def wait() -> None:
        await waiting

    asyncio.run(wait())
    begin, end = (each.body for each in web.posted)
    assert (begin["event"], begin["title"], begin["alert"]["key"]) == ("opened", "airflow: other failed", "other")
    assert (end["event"], end["alert"]["key"]) == ("cleared", "other")


CONTEXT = {
    "dag_run": {"dag_id": "east-to-west.freshness", "dag_run_id": "scheduled__1", "state": "running", "queued_at": "2026-11-21T10:00:00Z"},
    "deadline": {"id": "x", "deadline_time": "2026-11-21T10:15:00Z"},
}


def test_a_missed_run_is_told_by_every_connection_also_when_one_does_not_work(
    connect: Callable[..., str], web: HttpSink, mail: MailSink
) -> None:
    from kafka_mirror.airflow.deadlines import tell_missed_run

    web.posted.clear()
    mails = len(mail.mails)
    names = ["missing", connect("http", host=web.url), connect("smtp", "mails", **mail_fields(mail))]
    with pytest.raises(AlertConnectionUnusable, match="missing"):
        tell_missed_run("east->west", names, 900, CONTEXT)
    [event] = web.posted
    told = event.body["alert"]
    assert (event.body["event"], told["key"]) == ("opened", "east->west/DeadlineMissed/east-to-west.freshness")
    assert event.body["title"] == "east->west: A run of east-to-west.freshness did not end within 15 min."
    assert told["since"] == "2026-11-21T10:15:00.000Z"
    assert "scheduled__1" in told["detail"]
    assert len(mail.wait(lambda found: len(found) > mails, 5)) == mails + 1


def test_a_test_alert_reaches_everybody_and_says_who_was_not_reached(
    connect: Callable[..., str], web: HttpSink, configured: Callable[..., None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from kafka_mirror.__main__ import main

    web.posted.clear()
    connect("http", host=web.url)
    head = (
        "clusters = east, west",
        "east.bootstrap.servers = 127.0.0.1:1",
        "west.bootstrap.servers = 127.0.0.1:1",
        "east->west.enabled = true",
    )
    configured(*head, "mirror.alert.connections = on_call, nobody")
    assert main(["freshness", "--test-alert"]) == 1
    said = capsys.readouterr()
    assert "on_call took the test and its end" in said.out
    assert "AlertConnectionUnusable" in said.err
    assert [each.body["event"] for each in web.posted] == ["opened", "cleared"]
    configured(*head)
    assert main(["freshness", "--test-alert"]) == 2


# ---------------------------------------------------------------- notifiers by their class

NOTIFIER = """
from airflow.sdk import BaseNotifier

class Pager(BaseNotifier):
    template_fields = ("text",)
    sent = []

    def __init__(self, text="{{ alert.text }}", level=1):
        super().__init__()
        self.text, self.level = text, level

    def notify(self, context):
        if self.level > 5:
            raise RuntimeError("the token is verysecret")
        self.sent.append((self.text, self.level, context["alert"]["cleared"]))

class NoNotifier:
    pass
"""


@pytest.fixture
def pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, airflow_home: Path) -> Iterator[Callable[[str], list[Any]]]:
    """Configures notifiers for the flow, and gives what the class of the tests was asked to send."""
    (tmp_path / "pagers_of_the_test.py").write_text(NOTIFIER)
    monkeypatch.syspath_prepend(str(tmp_path))

    def configure(notifiers: str) -> list[Any]:
        file = tmp_path / "mm2.properties"
        clusters = "clusters = east, west\neast.bootstrap.servers = 127.0.0.1:1\nwest.bootstrap.servers = 127.0.0.1:1\n"
        file.write_text(f"{clusters}east->west.enabled = true\nmirror.alert.notifiers = {notifiers}\n")
        monkeypatch.setenv("MIRROR_CONFIG", str(file))
        import pagers_of_the_test

        pagers_of_the_test.Pager.sent.clear()
        sent: list[Any] = pagers_of_the_test.Pager.sent
        return sent

    yield configure
    import sys

    sys.modules.pop("pagers_of_the_test", None)


def send_all(alert: Alert, cleared: bool = False) -> dict[str, Any]:
    import kafka_mirror.airflow  # noqa: F401 — tells the alerts how to open channels
    from kafka_mirror.config import load
    from kafka_mirror.status.alerts.channels import connections_of, send_by

    return send_by(connections_of(load().flow(alert.flow)), alert, cleared)


def test_a_notifier_renders_its_templates_with_the_alert_and_its_text_is_no_template(pager: Any) -> None:
    sent = pager('pagers_of_the_test.Pager(level=2), pagers_of_the_test.Pager(text="{{ alert.kind }} of {{ alert.topic }}")')
    assert send_all(ALERT) == {}
    assert send_all(ALERT, cleared=True) == {}
    assert sent[1] == ("SourceGap of orders", 1, False)
    assert [cleared for _, _, cleared in sent] == [False, False, True, True]
    assert "{{ 7 * 6 }}" in sent[0][0]
    assert "Source gap: orders-3" in sent[0][0]


@pytest.mark.parametrize(
    ("notifiers", "code", "said"),
    [
        ("pagers_of_the_test.Missing", "AlertNotifierUnusable", "cannot be imported"),
        ("no_such_package.Pager", "AlertNotifierUnusable", "cannot be imported"),
        ("pagers_of_the_test.NoNotifier", "AlertNotifierUnusable", "BaseNotifier"),
        ('pagers_of_the_test.Pager(colour="red")', "AlertNotifierUnusable", "colour"),
        ("pagers_of_the_test.Pager(level=9)", "NotificationFailed", "RuntimeError"),
    ],
)
def test_a_notifier_that_cannot_be_used_is_named_without_its_secrets(pager: Any, notifiers: str, code: str, said: str) -> None:
    pager(notifiers)
    [error] = send_all(ALERT).values()
    assert error.report().code == code
    assert said in str(error)
    assert "verysecret" not in str(error)
