"""Times for people, and from people: ISO 8601, UTC unless they say otherwise."""

import pendulum

from mirror.backfill.tiling import TimeInterval
from mirror.config.per_topic import milliseconds
from mirror.errors import UsageError


def time_interval(start: str, end: str) -> TimeInterval:
    """The times `[start, end)`. Raises UsageError for what is no time, or no interval."""
    try:
        times = TimeInterval(milliseconds(start), milliseconds(end))
    except ValueError as error:
        raise UsageError(
            f"The backfill's times cannot be used: {error}.", next="Times are ISO 8601, such as 2026-01-31 or …T12:00:00Z."
        ) from None
    if times.start >= times.end:
        raise UsageError(f"The backfill's times {text_of(times)} are no interval: it ends before it begins.", next="Times are [from, to).")
    return times


def text_of(times: TimeInterval) -> str:
    """A time interval, such as [2026-11-20T00:00:00Z, 2026-11-21T00:00:00Z)."""
    return f"[{moment_of(times.start)}, {moment_of(times.end)})"


def moment_of(unix_milliseconds: int) -> str:
    """A time; beyond what a calendar takes, its number."""
    try:
        return pendulum.from_timestamp(unix_milliseconds / 1000).to_iso8601_string()
    except (ValueError, OverflowError):
        return f"{unix_milliseconds} ms"
