"""Sending an alert to people, by whatever connections the flow names.

This package knows no Airflow: `provide` tells it how to make a channel of one of Airflow's connections.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from kafka_mirror.config.catalogue.alerts import parse_notifiers
from kafka_mirror.errors import AlertConnectionUnusable, MirrorError
from kafka_mirror.status.problems import Alert

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


class Channel(Protocol):
    """One way to people."""

    def send(self, alert: Alert, cleared: bool) -> None:
        """Says that an alert begins, or that it is over. Raises AlertConnectionUnusable, AlertNotifierUnusable or NotificationFailed."""


Opener = Callable[[str], Channel]
"""A channel by the id of an Airflow connection, or by the name of a notifier. Raises AlertConnectionUnusable."""

_opener: list[Opener] = []


def provide(opener: Opener) -> None:
    """Makes this the way to open channels."""
    _opener[:] = [opener]


def channel(connection: str) -> Channel:
    """The channel of a connection. Raises AlertConnectionUnusable."""
    if not _opener:
        raise AlertConnectionUnusable(connection, "Airflow's connections are not known here")
    return _opener[0](connection)


def connections_of(flow: "Flow") -> tuple[str, ...]:
    """The connections by which alerts of the flow are sent, and the names of notifiers."""
    notifiers = parse_notifiers(flow.value("mirror.alert.notifiers"))
    return (*flow.value("mirror.alert.connections"), *(notifier.name for notifier in notifiers))


def send(flow: "Flow", alert: Alert, cleared: bool = False) -> None:
    """Sends an alert now, by every connection of the flow. Raises the first error, when all were tried."""
    failed = send_by(connections_of(flow), alert, cleared)
    for error in failed.values():
        raise error


def send_by(connections: Sequence[str], alert: Alert, cleared: bool = False) -> dict[str, MirrorError]:
    """Sends an alert now, by these connections; gives the errors of those that did not take it."""
    failed: dict[str, MirrorError] = {}
    for connection in connections:
        try:
            channel(connection).send(alert, cleared)
        except MirrorError as error:
            failed[connection] = error
    return failed
