"""What this process saw of a flow's lag since the newest run of `freshness`, after what that has kept."""

from collections import deque
from threading import Lock

from kafka_mirror.status.lag_history import LagHistory, LagPoint
from kafka_mirror.status.snapshot import FlowSnapshot

_MAX_POINTS = 240


class OwnPoints:
    """The points of this process's snapshots, of each flow the newest ones."""

    def __init__(self) -> None:
        self._points: dict[str, deque[LagPoint]] = {}
        self._lock = Lock()

    def add(self, snapshot: FlowSnapshot) -> None:
        """Adds the point of a snapshot; of the same or an older one, and of one that shows what `freshness` saw, it adds nothing."""
        if snapshot.taken is None or snapshot.not_reached:
            return
        time = snapshot.taken.timestamp()
        with self._lock:
            points = self._points.setdefault(snapshot.flow, deque(maxlen=_MAX_POINTS))
            if not points or points[-1].time < time:
                points.append(_point_of(snapshot, time))

    def continue_history(self, flow: str, history: LagHistory) -> list[LagPoint]:
        """The kept points of a flow, and after them those of this process, oldest first."""
        with self._lock:
            own = list(self._points.get(flow, ()))
        last = history.points[-1].time if history.points else 0.0
        return [*history.points, *(point for point in own if point.time > last)]


def _point_of(snapshot: FlowSnapshot, time: float) -> LagPoint:
    status = snapshot.status
    if status is None or not snapshot.comparable:
        return LagPoint(time, None, None)
    counts = [partition.records for partition in status.partitions if partition.records is not None]
    return LagPoint(time, max((late.seconds for late in snapshot.late), default=0.0), sum(counts) if counts else None)
