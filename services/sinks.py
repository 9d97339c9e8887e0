"""Where alerts arrive in tests and demo: a web service and a mail server on this machine that keep what they get."""

import html
import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from aiosmtpd.controller import Controller

from services.ports import LOOPBACK, free_ports

Thing = TypeVar("Thing")

logging.getLogger("mail.log").setLevel(logging.WARNING)  # aiosmtpd logs every step of every mail


@dataclass(frozen=True)
class Posted:
    """A request that arrived: its path, its headers with names in lower case, and the JSON that it held."""

    path: str
    headers: dict[str, str]
    body: Any


class HttpSink:
    """A web service that takes every POST of JSON, while `status` is 200."""

    def __init__(self, port: int | None = None) -> None:
        self.status = 200
        self.answer = "ok"
        self.posted: list[Posted] = []
        self._server = ThreadingHTTPServer((LOOPBACK, port or free_ports(1)[0]), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://{LOOPBACK}:{self.port}"

    def wait(self, wanted: Callable[[list[Posted]], bool], seconds: float) -> list[Posted]:
        """Waits until what arrived is as wanted, and gives it; raises TimeoutError with what did arrive."""
        return _wait(lambda: self.posted, wanted, seconds)

    def __enter__(self) -> "HttpSink":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Refuses every call from now on."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if sink.status < 400:
                    sink.posted.append(Posted(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                answer = sink.answer.encode()
                self.send_response(sink.status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        return Handler


class MailSink:
    """A mail server that takes every mail."""

    def __init__(self, port: int | None = None) -> None:
        self.mails: list[EmailMessage] = []
        self._controller = Controller(self, hostname=LOOPBACK, port=port or free_ports(1)[0])
        self._controller.start()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._controller.port)

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 — the name that aiosmtpd calls
        """What aiosmtpd calls with each mail."""
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self.mails.append(mail)
        return "250 taken"

    def wait(self, wanted: Callable[[list[EmailMessage]], bool], seconds: float) -> list[EmailMessage]:
        """Waits until what arrived is as wanted, and gives it; raises TimeoutError with what did arrive."""
        return _wait(lambda: self.mails, wanted, seconds)

    def __enter__(self) -> "MailSink":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Refuses every call from now on."""
        self._controller.stop()


def text(mail: EmailMessage) -> str:
    """The text of a mail; its HTML as text."""
    body = mail.get_body()
    return html.unescape(str(body.get_content())) if body is not None else ""


def _wait(read: Callable[[], list[Thing]], wanted: Callable[[list[Thing]], bool], seconds: float) -> list[Thing]:
    deadline = time.monotonic() + seconds
    while not wanted(read()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"After {seconds:g} s this had arrived: {[str(thing) for thing in read()]}")
        time.sleep(0.05)
    return read()
