"""A web service that takes alerts as JSON: where it is, and the call itself. Nothing of its secrets stands in a message."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx

from kafka_mirror.errors import NotificationFailed
from kafka_mirror.formats.documents import to_document
from kafka_mirror.status.problems import Alert

SECONDS = 10.0
"""How long a service may take to answer."""

_ANSWER_CHARACTERS = 200

_FAILURES = (httpx.HTTPError, httpx.InvalidURL, ValueError)
"""A ValueError is what cannot be encoded, such as a password that no HTTP header can hold."""

_REFUSED = {HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNPROCESSABLE_ENTITY}
"""Answers that concern what was sent, and not who sent it."""

# httpx logs every address it calls, and that of a webhook may be a secret.
logging.getLogger("httpx").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Webhook:
    """One service."""

    connection: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    login: tuple[str, str] | None = field(default=None, repr=False)
    seconds: float = SECONDS

    def send(self, alert: Alert, cleared: bool) -> None:
        """Says that an alert begins, or that it is over. Raises NotificationFailed."""
        with httpx.Client(timeout=self.seconds) as client:
            try:
                answer = client.post(**self._request(alert, cleared))
            except _FAILURES as error:
                raise self._as_failure(error) from None
            self._check(answer)

    async def async_send(self, alert: Alert, cleared: bool) -> None:
        """Says in an event loop that an alert begins, or that it is over. Raises NotificationFailed."""
        async with httpx.AsyncClient(timeout=self.seconds) as client:
            try:
                answer = await client.post(**self._request(alert, cleared))
            except _FAILURES as error:
                raise self._as_failure(error) from None
            self._check(answer)

    # ------------------------------------------------------------ inside

    def _request(self, alert: Alert, cleared: bool) -> dict[str, Any]:
        event = "cleared" if cleared else "opened"
        body = {"version": 1, "event": event, "title": alert.write_title(cleared), "alert": to_document(alert)}
        auth = httpx.BasicAuth(*self.login) if self.login else None
        return {"url": self.url, "json": body, "headers": dict(self.headers), "auth": auth}

    def _check(self, answer: httpx.Response) -> None:
        if not answer.is_success:
            said = f"HTTP {answer.status_code} {self._hide(answer.text)}".strip()
            raise NotificationFailed(self.connection, self._name_host(), said, this_alone=answer.status_code in _REFUSED)

    def _as_failure(self, error: Exception) -> NotificationFailed:
        if isinstance(error, httpx.TimeoutException):
            return NotificationFailed(self.connection, self._name_host(), f"no answer within {self.seconds:g} s")
        return NotificationFailed(self.connection, self._name_host(), f"{type(error).__name__}: {self._hide(str(error))}")

    def _name_host(self) -> str:
        """The host: the rest of the address may be a secret."""
        try:
            return httpx.URL(self.url).netloc.decode("ascii") or "the address"
        except httpx.InvalidURL:
            return "the address"

    def _hide(self, text: str) -> str:
        path = self.url.partition("://")[2].partition("/")[2]
        parts = [part for header in (path, *self.headers.values()) for part in (header, *header.split())]
        secrets = [self.url, *parts, *(self.login or ())]
        for secret in sorted((secret_text for secret_text in secrets if len(secret_text) > 3), key=len, reverse=True):
            text = text.replace(secret, "***")
        return " ".join(text.split())[:_ANSWER_CHARACTERS]
