"""Posting to a web service of this machine: what arrives, and what is said when it does not."""

import asyncio
import logging
from collections.abc import Iterator

import pytest

from kafka_mirror.errors import NotificationFailed
from kafka_mirror.formats.documents import from_document
from kafka_mirror.status.alerts.webhook import Webhook
from kafka_mirror.status.problems import Alert
from services.ports import free_ports
from services.sinks import HttpSink
from tests.unit.status.test_alert import ALERT

SECRET = "T000/B000/verysecret"


@pytest.fixture
def sink() -> Iterator[HttpSink]:
    with HttpSink() as running:
        yield running


def chat(sink: HttpSink) -> Webhook:
    return Webhook("chat", f"{sink.url}/services/{SECRET}")


def test_an_alert_and_its_end_arrive_as_they_are(sink: HttpSink) -> None:
    webhook = Webhook("x", f"{sink.url}/hook", {"X-Mark": "1"}, ("user", "password"))
    webhook.send(ALERT, cleared=False)
    asyncio.run(webhook.async_send(ALERT, cleared=True))
    begin, end = sink.posted
    assert begin.path == end.path == "/hook"
    assert begin.headers["x-mark"] == "1"
    assert begin.headers["authorization"].startswith("Basic ")
    assert (begin.body["event"], begin.body["title"]) == ("opened", "east->west: Source gap: orders-3")
    assert (end.body["event"], end.body["title"]) == ("cleared", "east->west: over: Source gap: orders-3")
    assert from_document(Alert, begin.body["alert"]) == from_document(Alert, end.body["alert"]) == ALERT


@pytest.mark.parametrize(("status", "answer"), [(403, f"no such hook: /services/{SECRET}"), (500, "x" * 5000), (302, "")])
def test_a_refusal_names_the_host_and_the_answer_and_no_secret(sink: HttpSink, status: int, answer: str) -> None:
    sink.status, sink.answer = status, answer
    for call in (lambda: chat(sink).send(ALERT, False), lambda: asyncio.run(chat(sink).async_send(ALERT, False))):
        with pytest.raises(NotificationFailed) as caught:
            call()
        assert f"127.0.0.1:{sink.port}" in str(caught.value)
        assert f"HTTP {status}" in str(caught.value)
        assert "verysecret" not in str(caught.value)
        assert len(str(caught.value)) < 700
        assert caught.value.retriable


def test_a_service_that_is_not_there_or_does_not_answer_is_said_in_time() -> None:
    nobody = Webhook("chat", f"http://127.0.0.1:{free_ports(1)[0]}/services/{SECRET}", seconds=2)
    for call in (lambda: nobody.send(ALERT, False), lambda: asyncio.run(nobody.async_send(ALERT, False))):
        with pytest.raises(NotificationFailed, match="ConnectError") as caught:
            call()
        assert "verysecret" not in str(caught.value)


@pytest.mark.parametrize("host", ["[nonsense", "host:port", "host:999999"])
def test_an_address_that_is_none_is_said_without_it(host: str) -> None:
    nowhere = Webhook("chat", f"http://{host}/{SECRET}")
    for call in (lambda: nowhere.send(ALERT, False), lambda: asyncio.run(nowhere.async_send(ALERT, False))):
        with pytest.raises(NotificationFailed) as caught:
            call()
        assert "verysecret" not in str(caught.value)


@pytest.mark.parametrize("end", ["ä", "\n"])
def test_a_password_that_no_header_can_hold_is_said_without_it(sink: HttpSink, end: str) -> None:
    unusable = Webhook("x", sink.url, {"Authorization": f"Bearer {SECRET}{end}"})
    for call in (lambda: unusable.send(ALERT, False), lambda: asyncio.run(unusable.async_send(ALERT, False))):
        with pytest.raises(NotificationFailed) as caught:
            call()
        assert "verysecret" not in str(caught.value)


def test_whether_a_service_refuses_one_alert_or_all_is_told_apart(sink: HttpSink) -> None:
    found = {}
    for status in (400, 413, 422, 401, 404, 429, 503):
        sink.status = status
        with pytest.raises(NotificationFailed) as caught:
            chat(sink).send(ALERT, False)
        found[status] = caught.value.this_alone
    assert [status for status, this_alone in found.items() if this_alone] == [400, 413, 422]


def test_neither_logs_nor_its_own_text_show_where_it_posts(sink: HttpSink, caplog: pytest.LogCaptureFixture) -> None:
    webhook = Webhook("x", f"{sink.url}/{SECRET}", {"Authorization": SECRET}, ("user", SECRET))
    with caplog.at_level(logging.INFO):
        webhook.send(ALERT, cleared=False)
    assert "verysecret" not in caplog.text
    assert "verysecret" not in repr(webhook)
