"""Charts as SVG that the server draws: a flow's lag and throughput, a topic's lag, and a strip of many partitions.

The boxes are stretched to the page's width, so nothing in them is text. Time goes from left to right; a time without a check is a gap.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, pairwise
from statistics import median

from kafka_mirror.status.lag_history import TOPIC_STEP_SECONDS, LagHistory, LagPoint, thin
from kafka_mirror.status.snapshot import FlowSnapshot
from kafka_mirror.web.formatting import seconds as seconds_text
from kafka_mirror.web.formatting import short_number
from kafka_mirror.web.tables import level

WIDTH, HEIGHT = 600, 100
SPANS: Mapping[str, int] = {"1h": 3600, "6h": 6 * 3600, "24h": 24 * 3600}
"""How much time a chart shows, by the words in the address; the first unless it says otherwise."""

_COLUMNS = 120
"""How many points a chart has at most."""
_GAP_POINTS, _GAP_SECONDS = 3.0, 180.0
"""Time without a point is a gap if it is this many times the usual distance of points, and at least this long."""
_TICKS = 4

MANY_PARTITIONS = 50
"""A flow with this many partitions has a strip of them."""
LEVELS = ("fine", "unknown", "behind", "stuck")
"""As `tables.level` says them; the last one is drawn above the others."""


@dataclass(frozen=True)
class Column:
    """The part of a chart that one point takes, and its figures in words."""

    x: float
    width: float
    words: str


@dataclass(frozen=True)
class Curve:
    """`line` and `area` are the `d` of two paths; `top` is the value of the box's upper edge."""

    line: str
    area: str
    top: float
    newest: float | None
    highest: float | None


@dataclass(frozen=True)
class LagChart:
    """Lag in seconds with its limit (the height of a line, None: no limit), and below it throughput in records a second. `gaps` are the
    left edges and the widths of the times without a check; `ticks` the times below."""

    span: str
    lag: Curve
    limit: float | None
    limit_line: float | None
    rate: Curve
    gaps: tuple[tuple[float, float], ...]
    columns: tuple[Column, ...]
    ticks: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        """Whether there is no point at all."""
        return not self.columns


def lag_chart(points: Sequence[LagPoint], span: str, limit: float | None, now: float) -> LagChart:
    """The chart of a flow up to now."""
    span = span if span in SPANS else next(iter(SPANS))
    seconds = SPANS[span]
    begin, step = now - seconds, seconds / _COLUMNS
    before = [point for point in points if point.time < begin][-1:]
    recent = thin([point for point in points if begin <= point.time <= now], step)
    usual = median(after.time - before.time for before, after in pairwise(recent)) if len(recent) > 1 else 0.0
    longest = max(_GAP_POINTS * usual, _GAP_SECONDS)
    rates = _rates([*before, *recent], longest)[-len(recent) :] if recent else []

    def place(time: float) -> float:
        return round((time - begin) / seconds * WIDTH, 1)

    times = [point.time for point in recent]
    first = max(begin, points[0].time) if points else begin  # before it the flow may not have existed
    edges = [first, *(point.time for point in recent if point.seconds is not None), now]
    unknown = [(start, end) for start, end in pairwise(edges) if end - start > longest]
    lags = [point.seconds for point in recent]
    highest = max((lag for lag in lags if lag is not None), default=0.0)
    top = 1.1 * max(highest, limit or 0.0) or 1.0
    return LagChart(
        span,
        _curve(list(zip(map(place, times), lags, strict=True)), [place(start) for start, _ in unknown], top),
        limit,
        None if limit is None else _height(limit, top),
        _curve(list(zip(map(place, times), rates, strict=True)), [place(start) for start, _ in unknown]),
        tuple((place(start), round((end - start) / seconds * WIDTH, 1)) for start, end in unknown),
        tuple(_columns(recent, rates, place)),
        tuple(f"{datetime.fromtimestamp(begin + seconds * tick / _TICKS, UTC):%H:%M}" for tick in range(_TICKS + 1)),
    )


def lag_curve(points: Sequence[LagPoint], now: float) -> Curve | None:
    """The small curve of a flow's last hour; None without two values."""
    chart = lag_chart(points, next(iter(SPANS)), None, now)
    return chart.lag if sum(point.seconds is not None for point in points) > 1 else None


def topic_curves(history: LagHistory, topics: Iterable[str], now: float) -> dict[str, Curve]:
    """The small curves of topics over the last day, of those that have one."""
    begin, times = now - SPANS["24h"], history.topic_times
    xs = [round(max(time + TOPIC_STEP_SECONDS / 2 - begin, 0.0) / SPANS["24h"] * WIDTH, 1) for time in times]
    breaks = [x for x, (time, following) in zip(xs, pairwise(times), strict=False) if following - time > TOPIC_STEP_SECONDS]
    return {topic: _curve(list(zip(xs, history.topics[topic], strict=True)), breaks) for topic in topics if topic in history.topics}


@dataclass(frozen=True)
class Strip:
    """All partitions of a flow side by side, in the order of their topics: a path for each level, in a box `partitions` wide and 1 high;
    `counts` says how many have which level."""

    partitions: int
    paths: Mapping[str, str]
    counts: Mapping[str, int]


def strip(snapshot: FlowSnapshot) -> Strip | None:
    """The strip of a flow; None if it has few partitions."""
    partitions = [partition for topic in snapshot.topics for partition in topic.partitions]
    if len(partitions) < MANY_PARTITIONS:
        return None
    levels = [level({partition.status.state: 1}, young=partition.status.is_younger_than(snapshot.rhythm)) for partition in partitions]
    paths: dict[str, str] = dict.fromkeys(LEVELS, "")
    place = 0
    for name, group in groupby(levels):
        width = len(list(group))
        paths[name] += f"M{place} 0h{width}v1h-{width}z"
        place += width
    return Strip(len(partitions), {name: path for name, path in paths.items() if path}, {name: levels.count(name) for name in LEVELS})


def _rates(points: Sequence[LagPoint], longest: float) -> list[float | None]:
    """Records a second up to each point since the one before; None for the first, where it is not known, and after a gap."""
    rates: list[float | None] = [None]
    for before, after in pairwise(points):
        is_known = before.records is not None and after.records is not None and 0 < after.time - before.time <= longest
        copied = (after.records or 0) - (before.records or 0)
        rates.append(copied / (after.time - before.time) if is_known and copied >= 0 else None)
    return rates


def _columns(points: Sequence[LagPoint], rates: Sequence[float | None], place: Callable[[float], float]) -> Iterable[Column]:
    """Each point's part: from halfway to the one before to halfway to the next."""
    xs = [place(point.time) for point in points]
    edges = [xs[0] - 2, *((before + after) / 2 for before, after in pairwise(xs)), xs[-1] + 2] if xs else []
    for point, rate, (start, end) in zip(points, rates, pairwise(edges), strict=True):
        time = f"{datetime.fromtimestamp(point.time, UTC):%H:%M:%S} UTC"
        yield Column(
            round(start, 1), round(end - start, 1), f"{time}: lag {seconds_text(point.seconds)}, {short_number(rate)} records/s copied"
        )


def _curve(points: Sequence[tuple[float, float | None]], breaks: Iterable[float] = (), top: float | None = None) -> Curve:
    """The curve through the points, from 0 to `top` (by default a little above the highest). It is interrupted where a value is not known,
    and after the places of `breaks`."""
    values = [value for _, value in points if value is not None]
    highest = max(values, default=None)
    top = top or 1.1 * (highest or 0.0) or 1.0
    ends, runs = set(breaks), [list[tuple[float, float]]()]
    for x, value in points:
        if value is not None:
            runs[-1].append((x, _height(value, top)))
        if value is None or x in ends:
            runs.append([])
    lines = [(run, _line(run)) for run in runs if run]
    return Curve(
        line=" ".join(line for _, line in lines),
        area=" ".join(f"{line} V{HEIGHT} H{run[0][0]:g} Z" for run, line in lines),
        top=top,
        newest=values[-1] if values else None,
        highest=highest,
    )


def _height(value: float, top: float) -> float:
    return round(HEIGHT - value / top * HEIGHT, 1)


def _line(run: Sequence[tuple[float, float]]) -> str:
    """A point that stands alone is a dash: a line without length is not seen."""
    (x, y), *rest = run if len(run) > 1 else [(run[0][0] - 1, run[0][1]), (run[0][0] + 1, run[0][1])]
    return f"M{x:g} {y:g} " + " ".join(f"L{right:g} {height:g}" for right, height in rest)
