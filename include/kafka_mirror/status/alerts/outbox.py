"""What is to be sent and has not arrived yet. It is kept before it is sent, so that nothing is lost: at worst it arrives twice."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from kafka_mirror.errors import MirrorError, NotificationFailed
from kafka_mirror.status.alerts.tracker import Notification

SECONDS = 120.0
"""For how long one check sends; what is left is the next one's."""

Outbox = tuple[Notification, ...]
"""In the order in which each connection gets them."""


def with_more(outbox: Outbox, telling: Iterable[Notification], connections: Sequence[str]) -> Outbox:
    """The outbox with these behind. What is for connections that are no longer configured goes; and of a problem that came and went
    several times while a connection did not take anything, the newest time alone is kept."""
    notifications = [notification for notification in outbox if notification.connection in connections]
    for notification in telling:
        former = [] if notification.cleared else _former(notifications, notification)
        notifications = [old for old in notifications if not any(old is one for one in former)]
        notifications.append(replace(notification, again=former[0].again) if former else notification)
    return tuple(notifications)


def _former(outbox: list[Notification], new: Notification) -> list[Notification]:
    """The beginning of the same problem that did not arrive, and its end."""
    same = [notification for notification in outbox if (notification.connection, notification.alert.key) == (new.connection, new.alert.key)]
    began = next((place for place, notification in enumerate(same) if not notification.cleared), len(same))
    return same[began:]


def deliver(
    outbox: Outbox, send: Callable[[Notification], None], seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
) -> tuple[Outbox, dict[str, MirrorError]]:
    """Sends each in its turn; gives what is left and why, by connection. A connection that fails is not asked again this time, unless it
    refused that one alert alone: then others follow. Nothing more is begun after so many seconds: a run that was ended in the middle would
    send the same once more. The connections for which the least waits come first: those that work.
    """
    until, waiting = clock() + seconds, Counter(notification.connection for notification in outbox)
    failed: dict[str, MirrorError] = {}
    silent: set[str] = set()
    refused: set[tuple[str, str]] = set()
    undelivered: list[Notification] = []
    for notification in sorted(outbox, key=lambda notification: waiting[notification.connection]):
        place = (notification.connection, notification.alert.key)
        if notification.connection in silent or place in refused or clock() > until:
            undelivered.append(notification)
            continue
        try:
            send(notification)
        except MirrorError as error:
            failed.setdefault(notification.connection, error)
            undelivered.append(notification)
            if isinstance(error, NotificationFailed) and error.this_alone:
                refused.add(place)
            else:
                silent.add(notification.connection)
    return tuple(undelivered), failed
