"""A notifier that posts JSON to a web service, for the callbacks and deadlines of anybody's DAGs."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from airflow.sdk import BaseNotifier

from kafka_mirror.airflow.alert_channels import webhook_of
from kafka_mirror.status.problems import Alert


class WebhookNotifier(BaseNotifier):
    """Sends one message by an Airflow connection: `on_failure_callback=WebhookNotifier("on_call", summary="…")`.

    docs/guides/alerts-to-pagerduty-or-slack.md has the connections.
    `summary`, `detail` and `key` are templates. The `key` is the alert's: the end of a message has the key of its beginning.
    """

    template_fields: Sequence[str] = ("summary", "detail", "key")

    def __init__(self, connection: str, *, summary: str, detail: str = "", key: str = "", cleared: bool = False) -> None:
        super().__init__()
        self.connection = connection
        self.summary = summary
        self.detail = detail
        self.key = key
        self.cleared = cleared

    def notify(self, context: Any) -> None:  # noqa: ARG002 — the base class's
        """Sends it. Raises AlertConnectionUnusable or NotificationFailed."""
        webhook_of(self.connection).send(self._alert(), self.cleared)

    async def async_notify(self, context: Any) -> None:  # noqa: ARG002 — the base class's
        """Sends it from the triggerer. Raises AlertConnectionUnusable or NotificationFailed."""
        webhook = await asyncio.to_thread(webhook_of, self.connection)
        await webhook.async_send(self._alert(), self.cleared)

    def _alert(self) -> Alert:
        return Alert(
            key=self.key or f"airflow/{self.summary}",
            kind="Airflow",
            summary=self.summary,
            detail=self.detail,
            next="",
            since=datetime.now(UTC),
            flow="airflow",
        )
