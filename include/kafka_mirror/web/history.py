"""A flow's lag over the last hours, from its freshness runs and this process's snapshots, and the curve of it as the path of an SVG."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple

from kafka_mirror.status.snapshot import FlowSnapshot

_MAX_SAMPLES = 240

Point = tuple[float, float | None]
"""A time (Unix seconds) and the value then; None where it is not known, which interrupts the curve."""

WIDTH, HEIGHT = 160, 32
_MAX_POINTS = 240


class LagSample(NamedTuple):
    """A flow's lag at a time (Unix seconds); None for what was not known."""

    time: float
    records: float | None
    seconds: float | None
    bytes: float | None


class LagHistory:
    """The lags that this process observed, of each flow the newest ones."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[LagSample]] = {}
        self._lock = Lock()

    def add(self, snapshot: FlowSnapshot) -> None:
        """Adds the lag of a snapshot; of the same or an older snapshot it adds nothing."""
        if snapshot.taken is None:
            return
        status, time = snapshot.status, snapshot.taken.timestamp()
        with self._lock:
            samples = self._seen.setdefault(snapshot.flow, deque(maxlen=_MAX_SAMPLES))
            if samples and samples[-1].time >= time:
                return
            lag = status.lag if status else None
            oldest = None if status is None or lag is None else (status.oldest_seconds if lag else 0.0)
            samples.append(LagSample(time, lag, oldest, snapshot.bytes_behind))

    def samples(self, flow: str, freshness: Iterable[Mapping[str, Any]]) -> list[LagSample]:
        """The flow's lags, oldest first: of the documents that its freshness runs returned, then those that this process observed since."""
        from_freshness = [sample for document in freshness if (sample := _sample_of(document)) is not None]
        with self._lock:
            own = list(self._seen.get(flow, ()))
        last = max((sample.time for sample in from_freshness), default=0.0)
        return sorted(from_freshness) + [sample for sample in own if sample.time > last]


def _sample_of(document: Mapping[str, Any]) -> LagSample | None:
    try:
        time = datetime.fromisoformat(document["time"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return None
    return LagSample(time, *(_figure(document.get(name)) for name in ("behind_offsets", "oldest_seconds", "lag_bytes")))


def _figure(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class Sparkline:
    """`line` and `area` are the `d` of two paths in a box of WIDTH by HEIGHT; the figures are for the words beside it."""

    line: str
    area: str
    highest: float
    newest: float
    seconds: float
    """The time that it spans."""


def sparkline(points: Iterable[Point]) -> Sparkline | None:
    """The curve through the points, from 0 to the highest value; None if there are not two values."""
    ordered = sorted(points, key=lambda point: point[0])
    values = [value for _, value in ordered if value is not None]
    if len(values) < 2:
        return None
    ordered = _downsample(ordered)
    first, last = ordered[0][0], ordered[-1][0]
    highest = max(values)
    lines = [_scale(run, first, max(last - first, 1e-9), highest) for run in _runs(ordered)]
    return Sparkline(
        line=" ".join(_line(run) for run in lines),
        area=" ".join(f"{_line(run)} V{HEIGHT} H{run[0][0]:g} Z" for run in lines),
        highest=highest,
        newest=values[-1],
        seconds=last - first,
    )


def _downsample(points: Sequence[Point]) -> list[Point]:
    """At most _MAX_POINTS points. The highest of neighbouring points stays, so that no peak gets lost."""
    step = -(-len(points) // _MAX_POINTS)
    groups = (points[start : start + step] for start in range(0, len(points), step))
    return [max(group, key=lambda point: -1.0 if point[1] is None else point[1]) for group in groups]


def _runs(points: Iterable[Point]) -> list[list[tuple[float, float]]]:
    runs: list[list[tuple[float, float]]] = [[]]
    for time, value in points:
        if value is None:
            runs.append([])
        else:
            runs[-1].append((time, value))
    return [run for run in runs if run]


def _scale(run: list[tuple[float, float]], first: float, span: float, highest: float) -> list[tuple[float, float]]:
    top = highest or 1.0
    return [(round((time - first) / span * WIDTH, 1), round(HEIGHT - 1.5 - value / top * (HEIGHT - 3), 1)) for time, value in run]


def _line(run: list[tuple[float, float]]) -> str:
    (x, y), *rest = run
    return f"M{x:g} {y:g} " + " ".join(f"L{right:g} {height:g}" for right, height in rest)
