"""Channels for alerts, made of Airflow's connections: mail by Airflow's SmtpNotifier, and web services; and those over notifiers."""

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mirror.airflow.connections import connection_of
from mirror.alerts.channels import Channel
from mirror.alerts.model import Alert
from mirror.alerts.payloads import FORMATS, text_of, title_of
from mirror.alerts.webhook import SECONDS, Webhook
from mirror.config.notifiers import is_notifier
from mirror.errors import AlertConnectionUnusable, NotificationFailed

FORMAT_OF_TYPE = {"slackwebhook": "slack", "pagerduty": "pagerduty", "pagerduty_events": "pagerduty"}
"""The format that a service of this connection type takes. For any other type, `format` in the extra names it."""

_HOSTS = {"slack": "https://hooks.slack.com", "pagerduty": "https://events.pagerduty.com"}
_PATHS = {"slack": "/services/", "pagerduty": "/v2/enqueue", "alertmanager": "/api/v2/alerts", "json": ""}
_SMTP = "smtp"


def channel(connection: str) -> Channel:
    """The channel of an Airflow connection, or of a notifier by its name. Raises AlertConnectionUnusable with the reason."""
    if is_notifier(connection):
        from mirror.airflow.notifier_channel import NotifierChannel

        return NotifierChannel(connection)
    airflow_connection, extra = _read(connection)
    return _mail(connection, extra) if airflow_connection.conn_type == _SMTP else _webhook(connection, airflow_connection, extra)


def webhook_of(connection: str) -> Webhook:
    """The web service of an Airflow connection. Raises AlertConnectionUnusable with the reason."""
    return _webhook(connection, *_read(connection))


@dataclass(frozen=True)
class Mail:
    """A mail server."""

    connection: str
    to: tuple[str, ...]
    sender: str
    auth: str = "basic"

    def send(self, alert: Alert, cleared: bool) -> None:
        """Mails that an alert has begun, or that it is over. Raises NotificationFailed."""
        from airflow.providers.smtp.notifications.smtp import SmtpNotifier
        from airflow.sdk.exceptions import AirflowException

        notifier = SmtpNotifier(
            to=list(self.to),
            from_email=self.sender,
            subject=f"[mirror] {title_of(alert, cleared)}",
            html_content=f"<pre>{html.escape(text_of(alert, cleared))}</pre>",
            smtp_conn_id=self.connection,
            auth_type=self.auth,
        )
        try:
            # Calling the notifier itself would render our text as a template.
            notifier.notify({})
        except (OSError, AirflowException, RuntimeError, ValueError) as error:
            # The mail library's errors hold what the server answered, and never what was sent to log in.
            raise NotificationFailed(self.connection, "the mail server", f"{type(error).__name__}: {error}") from None

    def renew(self, alerts: Sequence[Alert]) -> None:
        """Does nothing: a mail needs no renewal."""


def _read(connection: str) -> tuple[Any, dict[str, Any]]:
    try:
        airflow_connection = connection_of(connection)
        extra = json.loads(airflow_connection.extra or "{}")
    except ValueError as error:
        # A parser's complaint may quote a secret.
        reason = "its extra is no JSON" if isinstance(error, json.JSONDecodeError) else str(error)
        raise AlertConnectionUnusable(connection, reason) from None
    if not isinstance(extra, dict):
        raise AlertConnectionUnusable(connection, "its extra is no JSON object")
    return airflow_connection, extra


def _mail(connection: str, extra: dict[str, Any]) -> Mail:
    to, sender = extra.get("to"), extra.get("from_email")
    recipients = [part.strip() for part in to.split(",")] if isinstance(to, str) else to
    if not recipients or not all(isinstance(address, str) and address for address in recipients):
        raise AlertConnectionUnusable(connection, 'its extra does not say to whom mails go: "to": "on-call@example.org"')
    if not sender:
        raise AlertConnectionUnusable(connection, 'its extra does not say from whom mails are: "from_email": "mirror@example.org"')
    return Mail(connection, tuple(recipients), str(sender), str(extra.get("auth_type") or "basic"))


def _webhook(connection: str, airflow_connection: Any, extra: dict[str, Any]) -> Webhook:
    format = extra.get("format") or FORMAT_OF_TYPE.get(airflow_connection.conn_type)
    if format not in FORMATS:
        supported = f'smtp, {", ".join(FORMAT_OF_TYPE)}, or any with "format" in the extra: {", ".join(FORMATS)}'
        raise AlertConnectionUnusable(
            connection, f"nobody knows what to send to a connection of type '{airflow_connection.conn_type}'; possible: {supported}"
        )
    password = _secret(airflow_connection.password)
    login = None
    headers: dict[str, str] = {}
    url = _address(connection, airflow_connection, extra, format)
    if format == "slack":
        if not password:
            raise AlertConnectionUnusable(connection, "its password has to be the webhook's address, or the part behind /services/")
        url = password if "://" in password else url + password.removeprefix("/services/").lstrip("/")
    elif format == "pagerduty":
        if not password:
            raise AlertConnectionUnusable(connection, "its password has to be the integration key (routing key)")
    elif airflow_connection.login:
        login = (airflow_connection.login, password)
    elif password:
        headers["Authorization"] = f"Bearer {password}"
    routing_key = password if format == "pagerduty" else ""
    return Webhook(connection, format, url, headers, login, routing_key, _seconds(connection, extra))


def _seconds(connection: str, extra: dict[str, Any]) -> float:
    try:
        seconds = float(extra.get("timeout", SECONDS))
    except (TypeError, ValueError):
        seconds = 0.0
    if seconds <= 0:
        raise AlertConnectionUnusable(connection, "the timeout in its extra is no number of seconds")
    return seconds


def _address(connection: str, airflow_connection: Any, extra: dict[str, Any], format: str) -> str:
    host = airflow_connection.host or _HOSTS.get(format, "")
    if not host:
        raise AlertConnectionUnusable(connection, "it has no host")
    base = host if "://" in host else f"{airflow_connection.schema or 'https'}://{host}"
    if airflow_connection.port:
        base = f"{base}:{airflow_connection.port}"
    return base.rstrip("/") + str(extra.get("path", _PATHS[format]))


def _secret(value: str | None) -> str:
    """A secret, masked in Airflow's logs from now on."""
    if value:
        from airflow.sdk.log import mask_secret

        mask_secret(value)
    return value or ""
