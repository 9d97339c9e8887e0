"""Channels for alerts: a mail server or a web service by an Airflow connection, or one of Airflow's notifiers by its name."""

import html
import importlib
import json
import logging
from dataclasses import dataclass
from typing import Any

from airflow.sdk import BaseNotifier
from airflow.sdk.exceptions import AirflowException

from kafka_mirror.airflow.connections import connection_of, mask
from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.config.catalogue.alerts import NotifierCall, is_notifier, parse_notifiers
from kafka_mirror.errors import AlertConnectionUnusable, AlertNotifierUnusable, NotificationFailed
from kafka_mirror.formats.documents import to_document
from kafka_mirror.status.alerts.channels import Channel
from kafka_mirror.status.alerts.webhook import SECONDS, Webhook
from kafka_mirror.status.problems import Alert

log = logging.getLogger(__name__)

_SMTP = "smtp"
_WEB = ("http", "generic")
"""The types of connections that say where a web service is, and not which one it is."""


def channel(connection: str) -> Channel:
    """The channel of an Airflow connection, or of a notifier by its name. Raises AlertConnectionUnusable with the reason."""
    if is_notifier(connection):
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
    password = mask(airflow_connection.password) if airflow_connection.password else ""
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


@dataclass(frozen=True)
class NotifierChannel:
    """The notifier of this name, as the flow of each alert has it."""

    name: str

    def send(self, alert: Alert, cleared: bool) -> None:
        """Calls the notifier. Its templates find the alert as `alert`. Raises AlertNotifierUnusable or NotificationFailed."""
        calls = {call.name: call for call in parse_notifiers(configured_flow(alert.flow).value("mirror.alert.notifiers"))}
        if self.name not in calls:
            raise AlertNotifierUnusable(self.name, "the flow's mirror.alert.notifiers does not name it any more")
        call = calls[self.name]
        notifier = _make_notifier(call, self.name)
        words = {"title": alert.write_title(cleared), "text": alert.write_text(cleared), "cleared": cleared}
        try:
            notifier({"alert": {**to_document(alert), **words}})
        except Exception as error:
            # Whatever somebody's class raises. Its words may hold a secret: Airflow masks them in the log, and not in XCom.
            log.exception("%s did not take the alert %s", self.name, alert.key)
            raise NotificationFailed(self.name, call.path, f"{type(error).__name__}; the log has its words") from None


def _make_notifier(call: NotifierCall, name: str) -> Any:
    module_name, _, class_name = call.path.rpartition(".")
    try:
        kind = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise AlertNotifierUnusable(name, f"{call.path} cannot be imported: {error}") from None
    if not (isinstance(kind, type) and issubclass(kind, BaseNotifier)):
        raise AlertNotifierUnusable(name, f"{call.path} is no class that derives from airflow.sdk.BaseNotifier")
    try:
        return kind(**call.arguments)
    except TypeError as error:
        raise AlertNotifierUnusable(name, f"it does not take these arguments: {error}") from None
    except Exception as error:  # noqa: BLE001 — whatever somebody's class raises; its words may quote an argument
        raise AlertNotifierUnusable(name, f"it does not take these arguments ({type(error).__name__})") from None
