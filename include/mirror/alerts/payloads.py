"""An alert in the form that each service takes."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from mirror.alerts.model import Alert, iso
from mirror.errors.runbook import link

FORMATS = ("slack", "pagerduty", "alertmanager", "json")
INFO = "info"

ALERTMANAGER_LASTS = timedelta(hours=24)
"""Alertmanager holds an alert to be over when it has not heard of it until then. The freshness DAG says with each run what lasts; a day
without any run must not look as if everything were well."""

_KEY_CHARACTERS = 255
_SUMMARY_CHARACTERS = 1024
_SLACK_CHARACTERS = 2900


def slack(alert: Alert, cleared: bool) -> dict[str, Any]:
    """For a Slack incoming webhook, or what takes the same (Mattermost, Rocket.Chat): a text, and the details in a block."""
    mark = ":information_source:" if alert.severity == INFO else ":white_check_mark:" if cleared else ":rotating_light:"
    title = f"{mark} *{_escaped(title_of(alert, cleared))}*"
    since = "" if alert.severity == INFO else f"{alert.kind}, {'was so ' if cleared else ''}since {alert.since:%Y-%m-%d %H:%M:%S} UTC"
    step = f"*Next:* {_escaped(alert.next)}" if alert.next and not cleared else ""
    ending = "\n".join(line for line in (step, "" if cleared else _runbook(alert), since) if line)
    # What to do and since when is never what is cut off.
    room = _SLACK_CHARACTERS - len(title) - len(ending)
    detail = "" if cleared else _cut(_escaped(alert.detail), room)
    return {"text": "\n".join(part for part in (title, detail, ending) if part)[:_SLACK_CHARACTERS]}


def pagerduty(alert: Alert, cleared: bool, routing_key: str) -> dict[str, Any]:
    """For PagerDuty's Events API v2: one incident per key, which is resolved when the alert is over."""
    event = {"routing_key": routing_key, "event_action": "resolve" if cleared else "trigger", "dedup_key": dedup_key(alert.key)}
    if cleared:
        return event
    payload = {
        "summary": title_of(alert, cleared)[:_SUMMARY_CHARACTERS],
        "source": alert.flow,
        "severity": alert.severity,
        "timestamp": iso(alert.since),
        "component": alert.topic or alert.flow,
        "group": alert.flow,
        "class": alert.kind,
        "custom_details": {"detail": alert.detail, "next": alert.next, "partition": alert.partition, "runbook": link(alert.kind)},
    }
    return {**event, "payload": payload, "client": "mirror"}


def alertmanager(alerts: Sequence[Alert], cleared: bool, now: datetime) -> list[dict[str, Any]]:
    """For Prometheus' Alertmanager, POST /api/v2/alerts: what the labels are the same of is the same alert."""
    return [
        {
            "labels": _labels(alert),
            "annotations": {"summary": alert.summary, "description": alert.detail, "next": alert.next, "runbook": link(alert.kind)},
            "startsAt": iso(alert.since),
            "endsAt": iso(now if cleared else now + ALERTMANAGER_LASTS),
        }
        for alert in alerts
    ]


def as_json(alert: Alert, cleared: bool) -> dict[str, Any]:
    """For everything else: the alert as it is."""
    return {"version": 1, "event": "cleared" if cleared else "opened", "title": title_of(alert, cleared), "alert": alert.as_document()}


def title_of(alert: Alert, cleared: bool) -> str:
    """The alert in one line: the subject of a mail."""
    over = "over: " if cleared and alert.severity != INFO else ""
    return f"{alert.flow}: {over}{' '.join(alert.summary.split())}"


def text_of(alert: Alert, cleared: bool) -> str:
    """The alert in lines, for a mail."""
    lines = [title_of(alert, cleared), ""]
    # What was so when it began would be read as what is so now.
    lines += [alert.detail, ""] if alert.detail and not cleared else []
    lines += [f"Next: {alert.next}", ""] if alert.next and not cleared else []
    lines += [runbook, ""] if (runbook := _runbook(alert)) and not cleared else []
    return "\n".join([*lines, f"{alert.kind}, since {alert.since:%Y-%m-%d %H:%M:%S} UTC ({alert.key})"])


def dedup_key(key: str) -> str:
    """The alert's key within PagerDuty's limit: a topic's name may be 249 characters long by itself."""
    if len(key) <= _KEY_CHARACTERS:
        return key
    return f"{key[: _KEY_CHARACTERS - 17]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _runbook(alert: Alert) -> str:
    address = link(alert.kind)
    return f"Runbook: {address} in Airflow" if address else ""


def _labels(alert: Alert) -> dict[str, str]:
    """Only what stays the same while the alert lasts: another label would be another alert."""
    labels = {"alertname": f"Mirror{alert.kind}", "flow": alert.flow, "severity": alert.severity, "key": alert.key}
    return labels | ({"topic": alert.topic} if alert.topic else {})


def _cut(text: str, room: int) -> str:
    """The lines that there is room for; the first one in part if it is too long by itself."""
    if len(text) <= room:
        return text
    whole = text[: max(room - 2, 0)]
    return f"{whole.rpartition(chr(10))[0] or whole}\n…"


def _escaped(text: str) -> str:
    """Slack's three characters with a meaning of their own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
