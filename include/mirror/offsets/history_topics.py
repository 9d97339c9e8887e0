"""Which topic of the target holds which history of a partition, in words for people."""

from mirror.formats.ledger import LedgerRecord
from mirror.offsets.intervals import Interval, within

_SHOWN = 3


def history_said(record: LedgerRecord, start: int = 0, end: int | None = None) -> str:
    """Where history of the source offsets `[start, end)` was written, such as `[0, 48) in history.east.orders-older, [48, 72) in
    history.east.orders`; empty if there is none. By default all that lies below the copy's start."""
    last = record.live_start if end is None else end
    found = [(within(each.intervals, start, last), each.topic) for each in record.history_topics]
    return ", ".join(f"{_listed(parts)} in {topic}" for parts, topic in sorted(found) if parts)


def _listed(parts: tuple[Interval, ...]) -> str:
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return " ".join(f"[{start}, {end})" for start, end in parts[:_SHOWN]) + more
