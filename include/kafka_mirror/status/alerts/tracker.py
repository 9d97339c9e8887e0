"""From the problems of each check to alerts: one message when it begins, one when it is over, whatever runs, retries and restarts happen;
and in between only if it has become much bigger, or where that is wanted after some time.

check        1        2        3        4        5        6
problem      x        x        x        -        x        -  -
alert     (waits)   begins     .     (waits)     .     (waits) over

What a connection must still get waits in the outbox. That is stored before anything is sent: at worst a message arrives twice.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from kafka_mirror.errors import MirrorError, NotificationFailed
from kafka_mirror.formats.documents import pack, unpack
from kafka_mirror.status.observation import Memory
from kafka_mirror.status.problems import Alert, CheckResult, FlowProblem, Where, key_of

STILL, WORSE = "still", "worse"


@dataclass(frozen=True)
class TrackedProblem:
    """A problem that was seen. `absent`: since when it is not seen any more. `notified`: to which connections its beginning was given, and
    when that was last; `size`: how big it is, and was in the last message. `places`: where it was seen, and no check has seen
    since that it is gone."""

    alert: Alert
    is_open: bool = False
    absent: datetime | None = None
    notified: tuple[str, ...] = ()
    notified_at: datetime | None = None
    size: float = 1.0
    notified_size: float = 1.0
    places: frozenset[Where] = frozenset()


@dataclass(frozen=True)
class Notification:
    """A message to a connection about an alert: that it begins (or still lasts), or that it is over."""

    connection: str
    alert: Alert
    cleared: bool
    again: str = ""
    """Why there is another message: STILL, WORSE; empty: it is the first one."""

    @property
    def as_sent(self) -> Alert:
        """Returns the alert as it is sent: a repeated one says so in front."""
        return replace(self.alert, summary=f"{self.again}: {self.alert.summary}") if self.again else self.alert


Tracking = Mapping[str, TrackedProblem]
"""What is known of problems, by the keys of their alerts."""


def track(
    before: Tracking,
    judgement: CheckResult,
    *,
    flow: str,
    now: datetime,
    quiet_seconds: float,
    connections: Sequence[str] = (),
    repeat: float | None = None,
    growth: float | None = None,
) -> tuple[dict[str, TrackedProblem], list[Notification]]:
    """What is known after a check, and whom to tell what.

    A problem is an alert when it has lasted for its `for_seconds`, and over when it is gone for `quiet_seconds`. What could not be judged
    stays as it was, and so does what was seen in a place that is not seen now. A connection that came later gets what is open. With
    `repeat`, what is open is sent again after that many seconds; with `growth`, when it is that many times as big as it was sent.
    """
    present = {problem.key(flow): problem for problem in judgement.problems}
    after: dict[str, TrackedProblem] = {}
    telling: list[Notification] = []
    for key, problem in present.items():
        whole = before.get(key_of(flow, problem.kind)) if problem.shared else None
        tracked = _track(before.get(key), problem, flow, now, opens=problem.opens and not (whole and whole.is_open))
        if tracked is not None:
            unseen_places = before[key].places & judgement.unseen if key in before else frozenset()
            after[key] = replace(tracked, places=problem.places | unseen_places)
    for key, problem_before in before.items():
        if key in present:
            continue
        if not judgement.judged(problem_before.alert.kind) or problem_before.places & judgement.unseen:
            after[key] = replace(problem_before, absent=None)
        elif problem_before.is_open:
            gone = problem_before.absent or now
            if now - gone >= timedelta(seconds=quiet_seconds):
                telling += [
                    Notification(connection, problem_before.alert, True)
                    for connection in problem_before.notified
                    if connection in connections
                ]
            else:
                after[key] = replace(problem_before, absent=gone)
    for key, tracked in after.items():
        after[key], more = _notify(tracked, connections, now, repeat, growth)
        telling += more
    return after, telling


def open_alerts(tracking: Iterable[TrackedProblem]) -> list[Alert]:
    """The alerts that are open, the oldest first."""
    return sorted((tracked.alert for tracked in tracking if tracked.is_open), key=lambda alert: (alert.since, alert.key))


def _track(before: TrackedProblem | None, problem: FlowProblem, flow: str, now: datetime, *, opens: bool) -> TrackedProblem | None:
    """A problem that is there now; None if it is no matter of its own."""
    if before is not None and before.is_open:
        return replace(before, alert=problem.alert(flow, before.alert.since), absent=None, size=problem.size)
    if not opens:
        return None
    since = before.alert.since if before is not None else now
    is_open = now - since >= timedelta(seconds=problem.for_seconds)
    return TrackedProblem(problem.alert(flow, since), is_open, size=problem.size)


def _notify(
    tracked: TrackedProblem, connections: Sequence[str], now: datetime, repeat: float | None, growth: float | None
) -> tuple[TrackedProblem, list[Notification]]:
    if not tracked.is_open or tracked.absent is not None:
        return tracked, []
    grown = growth is not None and tracked.size >= growth * tracked.notified_size
    is_due = repeat is not None and tracked.notified_at is not None and now - tracked.notified_at >= timedelta(seconds=repeat)
    again = WORSE if grown else STILL if is_due else ""
    due = [connection for connection in connections if again or connection not in tracked.notified]
    if not due:
        return tracked, []
    size = tracked.size if again or not tracked.notified else tracked.notified_size
    notified = tuple(dict.fromkeys((*(name for name in tracked.notified if name in connections), *due)))
    telling = [Notification(name, tracked.alert, False, again if name in tracked.notified else "") for name in due]
    return replace(tracked, notified=notified, notified_at=now, notified_size=size), telling


SECONDS = 120.0
"""For how long one check sends; what is left is the next one's."""

Outbox = tuple[Notification, ...]
"""In the order in which each connection gets them."""


def with_more(outbox: Outbox, telling: Iterable[Notification], connections: Sequence[str]) -> Outbox:
    """The outbox with these at its end. What is for connections that are no longer configured goes; and of a problem that came and went
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
    refused that one alert alone: then others follow. Nothing more is begun after `seconds`: a run that was ended in the middle would
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


@dataclass(frozen=True)
class AlertState:
    """`memory` is None if nothing is remembered: at the first check, or after the document was lost."""

    memory: Memory | None = None
    tracking: Tracking = field(default_factory=dict)
    outbox: Outbox = ()
    time: datetime | None = None
    """When the last check looked."""

    def as_document(self) -> dict[str, Any]:
        """Plain JSON, packed: there may be thousands of partitions."""
        return {"packed": pack(self)}


def state_of(document: Any) -> AlertState:
    """What `as_document` gave. Raises ValueError for anything else: the caller then begins with nothing, and what is open is sent again."""
    try:
        return unpack(AlertState, document["packed"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"it cannot be read ({type(error).__name__}: {error})") from None
