"""What people ask an audit for, as they write it."""

from datetime import UTC, datetime

from mirror.config.per_topic import milliseconds
from mirror.errors import UsageError


def names(text: str | None) -> tuple[str, ...]:
    """Topics that are separated by commas."""
    return tuple(filter(None, (each.strip() for each in (text or "").split(","))))


def times(start: str | None, end: str | None) -> tuple[datetime, datetime] | None:
    """The times `[start, end)`; None without them. Raises UsageError."""
    if not start and not end:
        return None
    if not start or not end:
        raise UsageError(
            "The audit's times cannot be used: --from needs --to, and --to needs --from (in Airflow, the parameters from and to).",
            next="Times are [from, to).",
        )
    try:
        first, last = (datetime.fromtimestamp(milliseconds(text) / 1000, UTC) for text in (start, end))
    except ValueError as error:
        raise UsageError(
            f"The audit's times cannot be used: {error}.", next="Times are ISO 8601, such as 2026-01-31 or 2026-01-31T12:00:00Z."
        ) from None
    if first >= last:
        raise UsageError(f"The audit's times cannot be used: {start} is not earlier than {end}.", next="Times are [from, to).")
    return first, last
