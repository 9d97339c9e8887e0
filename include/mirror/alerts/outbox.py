"""What is to be sent and has not arrived yet. It is kept before it is sent, so that nothing is lost: at worst it arrives twice."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mirror.alerts.model import Alert
from mirror.alerts.tracking import Telling
from mirror.errors import MirrorError, NotificationFailed

SECONDS = 120.0
"""For how long one check sends; what is left is the next one's."""

Outbox = tuple[Telling, ...]
"""In the order in which each connection gets them."""


def with_more(outbox: Outbox, telling: Iterable[Telling], connections: Sequence[str]) -> Outbox:
    """The outbox with these behind. What is for connections that are no longer configured goes; and of a problem that came and went
    several times while a connection did not take anything, the newest time alone is kept."""
    kept = [each for each in outbox if each.connection in connections]
    for each in telling:
        former = [] if each.cleared else _former(kept, each)
        kept = [old for old in kept if not any(old is one for one in former)]
        kept.append(replace(each, again=former[0].again) if former else each)
    return tuple(kept)


def _former(outbox: list[Telling], new: Telling) -> list[Telling]:
    """The beginning of the same problem that did not arrive, and its end."""
    same = [each for each in outbox if (each.connection, each.alert.key) == (new.connection, new.alert.key)]
    began = next((place for place, each in enumerate(same) if not each.cleared), len(same))
    return same[began:]


def deliver(
    outbox: Outbox, send: Callable[[Telling], None], seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
) -> tuple[Outbox, dict[str, MirrorError]]:
    """Sends each in its turn; gives what is left and why, by connection. A connection that fails is not asked again this time, unless it
    refused that one alert alone: then others follow. Nothing more is begun after so many seconds: a run that was ended in the middle would
    send the same once more. The connections for which the least waits come first: those that work.
    """
    until, waiting = clock() + seconds, Counter(each.connection for each in outbox)
    failed: dict[str, MirrorError] = {}
    silent: set[str] = set()
    refused: set[tuple[str, str]] = set()
    left: list[Telling] = []
    for each in sorted(outbox, key=lambda each: waiting[each.connection]):
        place = (each.connection, each.alert.key)
        if each.connection in silent or place in refused or clock() > until:
            left.append(each)
            continue
        try:
            send(each)
        except MirrorError as error:
            failed.setdefault(each.connection, error)
            left.append(each)
            if isinstance(error, NotificationFailed) and error.this_alone:
                refused.add(place)
            else:
                silent.add(each.connection)
    return tuple(left), failed


def as_documents(outbox: Outbox) -> list[dict[str, Any]]:
    """Plain JSON."""
    return [
        {"connection": each.connection, "alert": each.alert.as_document(), "cleared": each.cleared, "again": each.again} for each in outbox
    ]


def from_documents(documents: Iterable[Mapping[str, Any]]) -> Outbox:
    """What `as_documents` gave. Raises KeyError, TypeError or ValueError for others."""
    return tuple(
        Telling(each["connection"], Alert.from_document(each["alert"]), bool(each["cleared"]), str(each.get("again", "")))
        for each in documents
    )
