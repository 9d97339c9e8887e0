"""From the problems of each check to alerts: told once when one begins, once when it is over, whatever runs, retries and restarts happen.

check        1        2        3        4        5        6
problem      x        x        x        -        x        -  -
alert     (waits)   begins     .     (waits)     .     (waits) over
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from mirror.alerts.model import Alert, iso
from mirror.alerts.problems import Judgement, Problem


@dataclass(frozen=True)
class Tracked:
    """A problem that was seen. `absent`: since when it is not seen any more. `told`: to which connections its beginning was given, and
    when that was last."""

    alert: Alert
    is_open: bool = False
    absent: datetime | None = None
    told: tuple[str, ...] = ()
    told_at: datetime | None = None

    def as_document(self) -> dict[str, Any]:
        """Plain JSON."""
        times = {"absent": self.absent, "told_at": self.told_at}
        return {
            "alert": self.alert.as_document(),
            "is_open": self.is_open,
            "told": list(self.told),
            **{name: iso(time) if time else None for name, time in times.items()},
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Tracked":
        """What `as_document` gave. Raises KeyError, TypeError or ValueError for another document."""
        absent, told_at = (datetime.fromisoformat(time) if (time := document[name]) else None for name in ("absent", "told_at"))
        return cls(Alert.from_document(document["alert"]), bool(document["is_open"]), absent, tuple(document["told"]), told_at)


@dataclass(frozen=True)
class Telling:
    """That a connection is to be told of an alert: that it begins (or still lasts), or that it is over."""

    connection: str
    alert: Alert
    cleared: bool


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
) -> tuple[dict[str, Tracked], list[Telling]]:
    """What is known after a check, and whom to tell what.

    A problem is an alert when it has lasted for its patience, and over when it is gone for `lasting` seconds. What could not be judged
    stays as it was. A connection that came later is told of what is open. With `repeat`, what is open is told again after so many seconds.
    """
    seen = {problem.key(flow): problem for problem in judgement.problems}
    after: dict[str, Tracked] = {}
    telling: list[Telling] = []
    for key, problem in seen.items():
        tracked = _seen(before.get(key), problem, flow, now, connections)
        if tracked is not None:
            after[key] = tracked
    for key, known in before.items():
        if key in seen:
            continue
        if not judgement.judged(known.alert.kind):
            after[key] = replace(known, absent=None)
        elif known.is_open:
            gone = known.absent or now
            if now - gone >= timedelta(seconds=lasting):
                telling += [Telling(each, known.alert, True) for each in known.told if each in connections]
            else:
                after[key] = replace(known, absent=gone)
    for key, known in after.items():
        after[key], told = _told(known, connections, now, repeat)
        telling += told
    return after, telling


def open_alerts(tracking: Iterable[Tracked]) -> list[Alert]:
    """The alerts that are open, the oldest first."""
    return sorted((each.alert for each in tracking if each.is_open), key=lambda alert: (alert.since, alert.key))


def _seen(known: Tracked | None, problem: Problem, flow: str, now: datetime, connections: Sequence[str]) -> Tracked | None:
    """A problem that is there now; None if it is no matter of its own."""
    if known is not None and known.is_open:
        return replace(known, alert=problem.alert(flow, known.alert.since), absent=None)
    if not problem.opens:
        return None
    since = known.alert.since if known is not None else now
    is_open = now - since >= timedelta(seconds=problem.patience)
    return Tracked(problem.alert(flow, since), is_open, told=tuple(connections) if is_open and problem.told_elsewhere else ())


def _told(known: Tracked, connections: Sequence[str], now: datetime, repeat: float | None) -> tuple[Tracked, list[Telling]]:
    if not known.is_open or known.absent is not None:
        return known, []
    again = repeat is not None and known.told_at is not None and now - known.told_at >= timedelta(seconds=repeat)
    due = [each for each in connections if again or each not in known.told]
    if not due:
        return known, []
    told = tuple(dict.fromkeys((*(each for each in known.told if each in connections), *due)))
    return replace(known, told=told, told_at=now), [Telling(each, known.alert, False) for each in due]
