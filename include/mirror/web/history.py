"""How far a flow was behind over the last hours: what its freshness runs left in Airflow's database, and what this process saw since."""

from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple

from mirror.report.snapshot import FlowSnapshot

_KEPT = 240


class Seen(NamedTuple):
    """How far a flow was behind at one moment (Unix seconds); None for what was not known."""

    time: float
    records: float | None
    seconds: float | None
    bytes: float | None


class History:
    """What this process saw of each flow, the newest snapshots of some hours."""

    def __init__(self) -> None:
        self._seen: dict[str, deque[Seen]] = {}
        self._lock = Lock()

    def saw(self, snapshot: FlowSnapshot) -> None:
        """Keeps the figures of a snapshot, once."""
        if snapshot.taken is None:
            return
        status, time = snapshot.status, snapshot.taken.timestamp()
        with self._lock:
            seen = self._seen.setdefault(snapshot.flow, deque(maxlen=_KEPT))
            if seen and seen[-1].time >= time:
                return
            lag = status.lag if status else None
            oldest = None if status is None or lag is None else (status.oldest_seconds if lag else 0.0)
            seen.append(Seen(time, lag, oldest, snapshot.bytes_behind))

    def of(self, flow: str, freshness: Iterable[Mapping[str, Any]]) -> list[Seen]:
        """The flow's figures, oldest first. `freshness` are the documents of its freshness runs; this process adds what it saw since."""
        told = [seen for document in freshness if (seen := _told(document)) is not None]
        with self._lock:
            own = list(self._seen.get(flow, ()))
        last = max((seen.time for seen in told), default=0.0)
        return sorted(told) + [seen for seen in own if seen.time > last]


def _told(document: Mapping[str, Any]) -> Seen | None:
    try:
        time = datetime.fromisoformat(document["time"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return None
    # Versions before had only what alerts go by: less, for what is paused is not late.
    records = document.get("behind_offsets", document.get("lag_records"))
    seconds = document.get("oldest_seconds", document.get("lag_seconds"))
    return Seen(time, _figure(records), _figure(seconds), _figure(document.get("lag_bytes")))


def _figure(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
