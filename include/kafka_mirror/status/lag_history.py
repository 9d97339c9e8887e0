"""How late a flow was over the last day, for the charts of the status page.

`freshness` adds a point at each run, remembers them itself, and leaves all of them with its newest result: so they outlive the results
of single runs, which Airflow may delete, and a page reads one of these for a whole day. The last hour has every point, the time before it
the worst of each five minutes, and a topic the worst of each quarter of an hour.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from threading import Lock
from typing import Any, NamedTuple

from kafka_mirror.formats.documents import pack, unpack
from kafka_mirror.status.observation import CheckObservation
from kafka_mirror.status.snapshot import FlowSnapshot

KEPT_SECONDS = 24 * 3600
_EXACT_SECONDS = 3600
_STEP_SECONDS = 300
TOPIC_STEP_SECONDS = 900
_OWN_POINTS = 240
MAX_TOPICS = 50
"""How many topics have points of their own: those that were late, then those that come first by name."""


class LagPoint(NamedTuple):
    """At a time (Unix seconds): for how many seconds the oldest record waited that could be copied, and how many records were copied since
    the flow began. None: not known."""

    time: float
    seconds: float | None
    records: int | None


@dataclass(frozen=True)
class LagHistory:
    """The points of a flow, oldest first; and of its topics, by the beginnings of the steps in `topic_times`, the longest wait in each."""

    points: tuple[LagPoint, ...] = ()
    topic_times: tuple[int, ...] = ()
    topics: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)

    def add(self, check: CheckObservation) -> "LagHistory":
        """The history with one more check. Of one before the newest point (a clock that was set back) only the later points go."""
        now = check.now
        recent = [point for point in self.points if now - KEPT_SECONDS <= point.time < now]
        wait = max((late.seconds for late in check.late), default=0.0) if check.comparable else None
        old = [point for point in recent if now - point.time > _EXACT_SECONDS]
        points = (
            *thin(old, _STEP_SECONDS),
            *recent[len(old) :],
            LagPoint(round(now, 1), None if wait is None else round(wait, 1), check.status.records),
        )
        return LagHistory(points, *self._add_topics(check))

    def _add_topics(self, check: CheckObservation) -> tuple[tuple[int, ...], dict[str, tuple[float | None, ...]]]:
        step = int(check.now // TOPIC_STEP_SECONDS) * TOPIC_STEP_SECONDS
        times = [time for time in self.topic_times if step - KEPT_SECONDS < time < step]
        before = {topic: dict(zip(self.topic_times, values, strict=True)) for topic, values in self.topics.items()}
        waits: dict[str, float | None] = {partition.topic: 0.0 if check.comparable else None for partition in check.status.partitions}
        for late in check.late:
            waits[late.status.topic] = max(waits[late.status.topic] or 0.0, round(late.seconds))
        history = dict[str, tuple[float | None, ...]]()
        for topic, wait in waits.items():
            earlier = before.get(topic, {})
            history[topic] = (*(earlier.get(time) for time in times), _worst(wait, earlier.get(step)))
        most_late = sorted(history, key=lambda topic: (-(_worst(*history[topic]) or 0.0), topic))[:MAX_TOPICS]
        return (*times, step), {topic: history[topic] for topic in most_late}

    def pack(self) -> str:
        """The history as text."""
        return pack(self)


def read_history(text: Any) -> LagHistory:
    """The history of such a text; an empty one if there is none, or it cannot be read."""
    try:
        return unpack(LagHistory, text)
    except ValueError:
        return LagHistory()


def thin(points: Iterable[LagPoint], seconds: float) -> list[LagPoint]:
    """One point for each step of this length: the longest wait in it, at its newest time."""
    steps = (list(group) for _, group in groupby(points, key=lambda point: point.time // seconds))
    return [LagPoint(group[-1].time, _worst(*(point.seconds for point in group)), group[-1].records) for group in steps]


def _worst(*waits: float | None) -> float | None:
    return max((wait for wait in waits if wait is not None), default=None)


class OwnPoints:
    """What this process saw of the lags since the newest run of `freshness`: points of its snapshots, of each flow the newest ones."""

    def __init__(self) -> None:
        self._points: dict[str, deque[LagPoint]] = {}
        self._lock = Lock()

    def add(self, snapshot: FlowSnapshot) -> None:
        """Adds the point of a snapshot; of the same or an older one, and of one that shows what `freshness` saw, it adds nothing."""
        if snapshot.taken is None or snapshot.not_reached:
            return
        time = snapshot.taken.timestamp()
        with self._lock:
            points = self._points.setdefault(snapshot.flow, deque(maxlen=_OWN_POINTS))
            if not points or points[-1].time < time:
                status = snapshot.status if snapshot.comparable else None
                wait = max((late.seconds for late in snapshot.late), default=0.0) if status else None
                points.append(LagPoint(time, wait, status.records if status else None))

    def continue_history(self, flow: str, history: LagHistory) -> list[LagPoint]:
        """The kept points of a flow, and after them those of this process, oldest first."""
        with self._lock:
            own = list(self._points.get(flow, ()))
        last = history.points[-1].time if history.points else 0.0
        return [*history.points, *(point for point in own if point.time > last)]
