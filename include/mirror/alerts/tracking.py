"""From the problems of each check to alerts: told once when one begins, once when it is over, whatever runs, retries and restarts happen;
and in between only if it has become much bigger, or where that is wanted after some time.

check        1        2        3        4        5        6
problem      x        x        x        -        x        -  -
alert     (waits)   begins     .     (waits)     .     (waits) over
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from mirror.alerts.model import Alert, iso, key_of
from mirror.alerts.problems import Judgement, Problem, Where

STILL, WORSE = "still", "worse"


@dataclass(frozen=True)
class Tracked:
    """A problem that was seen. `absent`: since when it is not seen any more. `told`: to which connections its beginning was given, and
    when that was last; `size`: how big it is, and was when it was told. `places`: where it was seen, and nobody has seen since that it is
    not there any more."""

    alert: Alert
    is_open: bool = False
    absent: datetime | None = None
    told: tuple[str, ...] = ()
    told_at: datetime | None = None
    size: float = 1.0
    told_size: float = 1.0
    places: frozenset[Where] = frozenset()

    def as_document(self) -> dict[str, Any]:
        """Plain JSON."""
        times = {"absent": self.absent, "told_at": self.told_at}
        return {
            "alert": self.alert.as_document(),
            "is_open": self.is_open,
            "told": list(self.told),
            "size": self.size,
            "told_size": self.told_size,
            "places": _by_topic(self.places),
            **{name: iso(time) if time else None for name, time in times.items()},
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Tracked":
        """What `as_document` gave. Raises KeyError, TypeError or ValueError for another document."""
        absent, told_at = (datetime.fromisoformat(time) if (time := document[name]) else None for name in ("absent", "told_at"))
        size, told_size = (float(document.get(name, 1.0)) for name in ("size", "told_size"))
        alert = Alert.from_document(document["alert"])
        places = frozenset((topic, number) for topic, numbers in document.get("places", {}).items() for number in numbers)
        return cls(alert, bool(document["is_open"]), absent, tuple(document["told"]), told_at, size, told_size, places)


@dataclass(frozen=True)
class Telling:
    """That a connection is to be told of an alert: that it begins (or still lasts), or that it is over."""

    connection: str
    alert: Alert
    cleared: bool
    again: str = ""
    """Why it is told though it was told before: STILL, WORSE; empty: it was not."""

    @property
    def worded(self) -> Alert:
        """The alert as it is sent: what is told again says so in front."""
        return replace(self.alert, summary=f"{self.again}: {self.alert.summary}") if self.again else self.alert


Tracking = Mapping[str, Tracked]
"""What is known of problems, by the keys of their alerts."""


def track(
    before: Tracking,
    judgement: Judgement,
    *,
    flow: str,
    now: datetime,
    lasting: float,
    connections: Sequence[str] = (),
    repeat: float | None = None,
    growth: float | None = None,
) -> tuple[dict[str, Tracked], list[Telling]]:
    """What is known after a check, and whom to tell what.

    A problem is an alert when it has lasted for its patience, and over when it is gone for `lasting` seconds. What could not be judged
    stays as it was, and so does what was seen in a place that is not seen now. A connection that came later is told of what is open. With
    `repeat`, what is open is told again after so many seconds; with `growth`, when it is so many times as big as it was told.
    """
    seen = {problem.key(flow): problem for problem in judgement.problems}
    after: dict[str, Tracked] = {}
    telling: list[Telling] = []
    for key, problem in seen.items():
        whole = before.get(key_of(flow, problem.kind)) if problem.shared else None
        tracked = _seen(before.get(key), problem, flow, now, connections, opens=problem.opens and not (whole and whole.is_open))
        if tracked is not None:
            left = before[key].places & judgement.unseen if key in before else frozenset()
            after[key] = replace(tracked, places=problem.places | left)
    for key, known in before.items():
        if key in seen:
            continue
        if not judgement.judged(known.alert.kind) or known.places & judgement.unseen:
            after[key] = replace(known, absent=None)
        elif known.is_open:
            gone = known.absent or now
            if now - gone >= timedelta(seconds=lasting):
                telling += [Telling(each, known.alert, True) for each in known.told if each in connections]
            else:
                after[key] = replace(known, absent=gone)
    for key, known in after.items():
        after[key], told = _told(known, connections, now, repeat, growth)
        telling += told
    return after, telling


def open_alerts(tracking: Iterable[Tracked]) -> list[Alert]:
    """The alerts that are open, the oldest first."""
    return sorted((each.alert for each in tracking if each.is_open), key=lambda alert: (alert.since, alert.key))


def _seen(known: Tracked | None, problem: Problem, flow: str, now: datetime, connections: Sequence[str], *, opens: bool) -> Tracked | None:
    """A problem that is there now; None if it is no matter of its own."""
    if known is not None and known.is_open:
        return replace(known, alert=problem.alert(flow, known.alert.since), absent=None, size=problem.size)
    if not opens:
        return None
    since = known.alert.since if known is not None else now
    is_open = now - since >= timedelta(seconds=problem.patience)
    told = tuple(connections) if is_open and problem.told_elsewhere else ()
    return Tracked(problem.alert(flow, since), is_open, told=told, size=problem.size)


def _told(
    known: Tracked, connections: Sequence[str], now: datetime, repeat: float | None, growth: float | None
) -> tuple[Tracked, list[Telling]]:
    if not known.is_open or known.absent is not None:
        return known, []
    grown = growth is not None and known.size >= growth * known.told_size
    again = WORSE if grown else STILL if repeat is not None and _is_past(known.told_at, repeat, now) else ""
    due = [each for each in connections if again or each not in known.told]
    if not due:
        return known, []
    size = known.size if again or not known.told else known.told_size
    told = tuple(dict.fromkeys((*(each for each in known.told if each in connections), *due)))
    telling = [Telling(each, known.alert, False, again if each in known.told else "") for each in due]
    return replace(known, told=told, told_at=now, told_size=size), telling


def _by_topic(places: Iterable[Where]) -> dict[str, list[int | None]]:
    """Plain JSON, as short as it gets: there may be thousands."""
    document: dict[str, list[int | None]] = {}
    for topic, number in places:
        document.setdefault(topic, []).append(number)
    return document


def _is_past(told_at: datetime | None, seconds: float, now: datetime) -> bool:
    return told_at is not None and now - told_at >= timedelta(seconds=seconds)
