"""A small curve of one figure over time, as the path of an SVG."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Point = tuple[float, float | None]
"""A moment (Unix seconds) and the value then; None where it was not known, which interrupts the curve."""

WIDTH, HEIGHT = 160, 32
_MOST_POINTS = 240


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
    known = [value for _, value in ordered if value is not None]
    if len(known) < 2:
        return None
    ordered = _thinned(ordered)
    first, last = ordered[0][0], ordered[-1][0]
    highest = max(known)
    lines = [_placed(run, first, max(last - first, 1e-9), highest) for run in _runs(ordered)]
    return Sparkline(
        line=" ".join(_line(run) for run in lines),
        area=" ".join(f"{_line(run)} V{HEIGHT} H{run[0][0]:g} Z" for run in lines),
        highest=highest,
        newest=known[-1],
        seconds=last - first,
    )


def _thinned(points: Sequence[Point]) -> list[Point]:
    """At most so many points as can be seen; of neighbours the highest stays, for a peak must not get lost."""
    step = -(-len(points) // _MOST_POINTS)
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


def _placed(run: list[tuple[float, float]], first: float, span: float, highest: float) -> list[tuple[float, float]]:
    top = highest or 1.0
    return [(round((time - first) / span * WIDTH, 1), round(HEIGHT - 1.5 - value / top * (HEIGHT - 3), 1)) for time, value in run]


def _line(run: list[tuple[float, float]]) -> str:
    (x, y), *rest = run
    return f"M{x:g} {y:g} " + " ".join(f"L{right:g} {height:g}" for right, height in rest)
