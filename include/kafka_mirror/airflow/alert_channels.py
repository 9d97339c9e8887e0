"""Channels for alerts: a mail server or a web service by an Airflow connection, or one of Airflow's notifiers by its name."""

import html
import json
from dataclasses import dataclass
from typing import Any

from kafka_mirror.airflow.connections import connection_of
from kafka_mirror.config.catalogue.alerts import is_notifier
from kafka_mirror.errors import AlertConnectionUnusable, NotificationFailed
from kafka_mirror.status.alerts.channels import Channel
from kafka_mirror.status.alerts.webhook import SECONDS, Webhook
from kafka_mirror.status.problems import Alert

_SMTP = "smtp"
_WEB = ("http", "generic")
"""The types of connections that say where a web service is, and not which one it is."""


def channel(connection: str) -> Channel:
    """The channel of an Airflow connection, or of a notifier by its name. Raises AlertConnectionUnusable with the reason."""
    if is_notifier(connection):
        from kafka_mirror.airflow.notifier_channel import NotifierChannel

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
            subject=f"[mirror] {alert.write_title(cleared)}",
            html_content=f"<pre>{html.escape(alert.write_text(cleared))}</pre>",
            smtp_conn_id=self.connection,
            auth_type=self.auth,
        )
        try:
            # Calling the notifier itself would render our text as a template.
            notifier.notify({})
        except (OSError, AirflowException, RuntimeError, ValueError) as error:
            # The mail library's errors hold what the server answered, and never what was sent to log in.
            raise NotificationFailed(self.connection, "the mail server", f"{type(error).__name__}: {error}") from None


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
    kind, format = airflow_connection.conn_type, extra.get("format", "json")
    if kind not in _WEB or format != "json":
        reason = f"its type is '{kind}'" if kind not in _WEB else f"its extra asks for the format '{format}'"
        possible = f"{_SMTP} sends mails, {' and '.join(_WEB)} post JSON"
        raise AlertConnectionUnusable(
            connection, f"{reason}; {possible}. Slack, PagerDuty and others are reached by Airflow's own notifiers: mirror.alert.notifiers"
        )
    password = _secret(airflow_connection.password)
    login = (airflow_connection.login, password) if airflow_connection.login else None
    headers = {"Authorization": f"Bearer {password}"} if password and not login else {}
    return Webhook(connection, _address(connection, airflow_connection, extra), headers, login, _seconds(connection, extra))


def _seconds(connection: str, extra: dict[str, Any]) -> float:
    try:
        seconds = float(extra.get("timeout", SECONDS))
    except (TypeError, ValueError):
        seconds = 0.0
    if seconds <= 0:
        raise AlertConnectionUnusable(connection, "the timeout in its extra is no number of seconds")
    return seconds


def _address(connection: str, airflow_connection: Any, extra: dict[str, Any]) -> str:
    host = airflow_connection.host
    if not host:
        raise AlertConnectionUnusable(connection, "it has no host")
    base = host if "://" in host else f"{airflow_connection.schema or 'https'}://{host}"
    if airflow_connection.port:
        base = f"{base}:{airflow_connection.port}"
    return base.rstrip("/") + str(extra.get("path", ""))


def _secret(value: str | None) -> str:
    """A secret, masked in Airflow's logs from now on."""
    if value:
        from airflow.sdk.log import mask_secret

        mask_secret(value)
    return value or ""
