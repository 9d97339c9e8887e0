"""A channel for alerts over any of Airflow's notifiers, by its class (`mirror.alert.notifiers`)."""

import importlib
import logging
from dataclasses import dataclass
from typing import Any

from airflow.sdk import BaseNotifier

from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.config import Flow
from kafka_mirror.config.catalogue.alerts import NotifierCall, parse_notifiers
from kafka_mirror.errors import AlertNotifierUnusable, NotificationFailed
from kafka_mirror.formats.documents import to_document
from kafka_mirror.status.problems import Alert

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class NotifierChannel:
    """The notifier of this name, as the flow of each alert has it."""

    name: str

    def send(self, alert: Alert, cleared: bool) -> None:
        """Calls the notifier. Its templates find the alert as `alert`. Raises AlertNotifierUnusable or NotificationFailed."""
        call = notifier_of(configured_flow(alert.flow), self.name)
        notifier = _notifier(call, self.name)
        words = {"title": alert.write_title(cleared), "text": alert.write_text(cleared), "cleared": cleared}
        try:
            notifier({"alert": {**to_document(alert), **words}})
        except Exception as error:
            # Whatever somebody's class raises. Its words may hold a secret: Airflow masks them in the log, and not in XCom.
            log.exception("%s did not take the alert %s", self.name, alert.key)
            raise NotificationFailed(self.name, call.path, f"{type(error).__name__}; the log has its words") from None


def notifier_of(flow: Flow, name: str) -> NotifierCall:
    """The flow's notifier of this name. Raises AlertNotifierUnusable."""
    calls = {call.name: call for call in parse_notifiers(flow.value("mirror.alert.notifiers"))}
    if name not in calls:
        raise AlertNotifierUnusable(name, "the flow's mirror.alert.notifiers does not name it any more")
    return calls[name]


def _notifier(call: NotifierCall, name: str) -> Any:
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
