"""Numbers, sizes and times as a person reads them at a glance."""

from datetime import datetime

from kafka_mirror.errors.words import duration

NOT_KNOWN = "–"
_SIZES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"))


def number(value: float | None) -> str:
    """`1,234`, whole."""
    return NOT_KNOWN if value is None else f"{value:,.0f}"


def short_number(value: float | None) -> str:
    """`1,234`, and from ten million on `12.3 M`, so that it fits into a column."""
    if value is None or abs(value) < 1e7:
        return number(value)
    return _scale(value, _COUNTS)


def size(value: float | None) -> str:
    """Bytes: `12 B`, `1.2 MB`; decimal."""
    if value is None:
        return NOT_KNOWN
    return f"{value:.0f} B" if abs(value) < 1e3 else _scale(value, _SIZES)


def seconds(value: float | None) -> str:
    """`42 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`."""
    return NOT_KNOWN if value is None else duration(max(value, 0.0))


def clock(time: datetime | None, now: datetime) -> str:
    """`10:31:05 UTC`, and the date in front of it if it is not today's."""
    if time is None:
        return NOT_KNOWN
    return f"{time:%H:%M:%S} UTC" if time.date() == now.date() else f"{time:%Y-%m-%d %H:%M} UTC"


def ago(time: datetime | None, now: datetime) -> str:
    """`3 min 20 s ago`."""
    return NOT_KNOWN if time is None else f"{seconds((now - time).total_seconds())} ago"


def _scale(value: float, scales: tuple[tuple[float, str], ...]) -> str:
    for scale, unit in scales:
        if abs(value) >= scale:
            scaled = value / scale
            return f"{scaled:.0f} {unit}" if abs(scaled) >= 100 else f"{scaled:.1f} {unit}"
    return f"{value:.0f}"
