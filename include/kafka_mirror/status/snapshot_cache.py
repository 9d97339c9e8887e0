"""The newest snapshot of every flow, taken in the background: the page gets what is there at once, and never waits for Kafka.

Without questions no thread looks at the clusters. Threads begin with the first question and are daemons: they end with the process, and a
process that was forked begins its own (Kafka's clients do not survive a fork, and none is kept from one snapshot to the next).
"""

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_mirror.config import Configuration, Flow, load
from kafka_mirror.errors import ConfigurationError, ErrorReport, MirrorError, report_unexpected
from kafka_mirror.status.observation import CheckObservation
from kafka_mirror.status.snapshot import FlowSnapshot, Snapshots

if TYPE_CHECKING:
    from kafka_mirror.status.snapshot_builder import FlowSnapshotBuilder

IDLE_SECONDS = 900.0
"""After so long a time without a question nothing is looked at any more. Of several workers of an api-server each is asked only now and
then by one Prometheus that scrapes once a minute, and none of them may have only old figures by then."""
RELOAD_SECONDS = 15.0
"""How soon a change of the configuration is noticed."""
CHECK_OLD_SECONDS = 900.0
"""`freshness` looks every ten minutes at least; what it saw longer ago says nothing about now."""
AT_ONCE = 4
"""How many flows are looked at at the same time; one whose cluster does not answer keeps only its own place busy."""
_FAILED_SECONDS = 15.0
_COMPUTING_SHARE = 10
"""No flow computes for more than this part of the time, however many partitions it has."""

log = logging.getLogger(__name__)


LastCheck = Callable[[str], CheckObservation | None]
"""What the task `freshness` saw last of a flow; None where there is no Airflow, or it is not known."""


def _make_taker(flow: Flow) -> "FlowSnapshotBuilder":
    from kafka_mirror.status.snapshot_builder import FlowSnapshotBuilder

    return FlowSnapshotBuilder(flow)


@dataclass
class _Watched:
    """A flow whose snapshot is taken again and again."""

    flow: Flow
    taker: "FlowSnapshotBuilder | None" = None
    due: float = 0.0
    busy: bool = False
    again: bool = False
    """Whether something was decided while it is looked at."""


class SnapshotCache:
    """The snapshots of one process."""

    def __init__(
        self,
        configuration: Callable[[], Configuration] = load,
        taking: Callable[[Flow], "FlowSnapshotBuilder"] = _make_taker,
        idle_seconds: float = IDLE_SECONDS,
        refresh_seconds: float | None = None,
        reload_seconds: float = RELOAD_SECONDS,
        last_check: LastCheck = lambda _flow: None,
    ) -> None:
        """`refresh_seconds`: instead of what the flows' `mirror.status.refresh.seconds` say. `last_check`: what is shown where this process
        cannot reach a cluster."""
        self._last_check = last_check
        self._configuration = configuration
        self._make_taking = taking
        self._idle_seconds = idle_seconds
        self._refresh_seconds = refresh_seconds
        self._reload_seconds = reload_seconds
        self._thread: threading.Thread | None = None
        self._begin()

    def get(self) -> Snapshots:
        """The newest snapshots; those of flows that were not looked at yet are empty. Asks for new ones, and does not wait for them."""
        if self._pid != os.getpid():
            self._begin()
        with self._changed:
            self._asked_at = time.monotonic()
            if self._names is None:
                self._configure()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="mirror-snapshots", daemon=True)
                self._thread.start()
            names = self._names or ()
            busy = any(watched.busy or not watched.due for watched in self._watched.values())
            return Snapshots(tuple(self._snapshots[name] for name in names), self._errors, busy)

    def flows(self, seconds: float = math.inf) -> tuple[Flow, ...]:
        """The valid flows of the configuration as it was read at most this many seconds ago. No cluster is asked for this."""
        if self._pid != os.getpid():
            self._begin()
        with self._changed:
            if self._names is None or time.monotonic() - self._loaded > seconds:
                self._configure()
            return tuple(watched.flow for watched in self._watched.values())

    def refresh(self, flow: str) -> None:
        """Lets the next snapshot of a flow be taken as soon as possible: somebody has just decided something about it."""
        with self._changed:
            if flow in self._watched:
                self._watched[flow].due, self._watched[flow].again = 0.0, True
                self._changed.notify_all()

    def stop(self, seconds: float = 60.0) -> None:
        """Ends its threads, and waits `seconds` at most for those that look at clusters just now. The next question starts others."""
        with self._changed:
            thread, self._asked_at = self._thread, -math.inf
            self._changed.notify_all()
            self._changed.wait_for(lambda: not any(watched.busy for watched in self._watched.values()), seconds)
        if thread is not None:
            thread.join(seconds)

    # ------------------------------------------------------------ inside

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._thread = None
        self._asked_at = self._loaded = 0.0
        self._names: tuple[str, ...] | None = None
        self._errors: tuple[ErrorReport, ...] = ()
        self._snapshots: dict[str, FlowSnapshot] = {}
        self._watched: dict[str, _Watched] = {}

    def _run(self) -> None:
        """Starts what is due, until no question has come for long enough."""
        while True:
            with self._changed:
                now = time.monotonic()
                if now - self._asked_at > self._idle_seconds:
                    self._thread = None
                    return
                if now - self._loaded >= self._reload_seconds:
                    self._configure()
                free = AT_ONCE - sum(watched.busy for watched in self._watched.values())
                due = sorted((watched.due, name) for name, watched in self._watched.items() if not watched.busy and watched.due <= now)
                for _, name in due[: max(free, 0)]:
                    watched = self._watched[name]
                    watched.busy, watched.again = True, False
                    thread = threading.Thread(target=self._take_snapshot, args=(name, watched), name=f"mirror-snapshot {name}", daemon=True)
                    thread.start()
                self._changed.wait(self._pause(now))

    def _pause(self, now: float) -> float:
        waiting = [watched.due - now for watched in self._watched.values() if not watched.busy]
        return min(max(min(waiting, default=1.0), 0.05), 1.0, max(self._reload_seconds, 0.05))

    def _take_snapshot(self, name: str, watched: _Watched) -> None:
        computed, pause = time.thread_time(), 0.0
        try:
            if watched.taker is None:
                watched.taker = self._make_taking(watched.flow)
            seconds = self._refresh_seconds
            pause = watched.flow.value("mirror.status.refresh.seconds") if seconds is None else seconds
            taken = self._prefer_check(watched.taker, watched.taker.take())
            self._publish(name, watched, taken)
            self._publish(name, watched, watched.taker.with_groups(taken))
        except MirrorError as error:
            self._publish(name, watched, FlowSnapshot(name, error=error.report()))
        except Exception as failure:  # noqa: BLE001 — a mistake of ours must not stop the other flows, and must be seen
            report = report_unexpected(f"The snapshot of {name}", failure, "Report it with this message.")
            self._publish(name, watched, FlowSnapshot(name, error=report))
        finally:
            pause = max(pause or _FAILED_SECONDS, _COMPUTING_SHARE * (time.thread_time() - computed))
            with self._changed:
                watched.due, watched.busy = 0.0 if watched.again else time.monotonic() + pause, False
                self._changed.notify_all()

    def _prefer_check(self, taker: "FlowSnapshotBuilder", taken: FlowSnapshot) -> FlowSnapshot:
        """A look that failed gives way to what `freshness` saw since this process could look itself, if that is not old."""
        check = None if taken.is_good else self._last_check(taken.flow)
        if check is None or not check.comparable or time.time() - check.now > CHECK_OLD_SECONDS:
            return taken
        good = self._snapshots[taken.flow].with_figures
        is_older = good.is_good and good.taken is not None and not good.not_reached and good.taken.timestamp() >= check.now
        return taken if is_older else taker.from_check(check, taken)

    def _publish(self, name: str, watched: _Watched, taken: FlowSnapshot) -> None:
        with self._changed:
            if self._watched.get(name) is not watched:
                return  # another configuration since
            before = self._snapshots[name]
            if not taken.is_good:
                good = before if before.is_good else before.last_good
                taken = replace(taken, last_good=good and replace(good, last_good=None))
            self._snapshots[name] = taken

    def _configure(self) -> None:
        """Reads the configuration, which may have changed. One that cannot be read at all leaves the flows as they are, and says so."""
        self._loaded = time.monotonic()
        try:
            configuration = self._configuration()
        except ConfigurationError as error:
            self._errors = (error.report(),)
            self._names = self._names or ()
            return
        invalid = {named_flow.name: named_flow.error.report() for named_flow in configuration.invalid}
        flows = {named_flow.name: named_flow for named_flow in configuration.flows}
        self._errors = tuple(named_flow.report() for named_flow in configuration.unreadable)
        self._names = tuple(sorted({*flows, *invalid}))
        self._watched = {name: self._watch(name, flow) for name, flow in flows.items()}
        self._snapshots = {name: self._carry_over(name, invalid) for name in self._names}

    def _watch(self, name: str, flow: Flow) -> _Watched:
        watched = self._watched.get(name)
        return watched if watched is not None and watched.flow.config_hash == flow.config_hash else _Watched(flow)

    def _carry_over(self, name: str, invalid: Mapping[str, ErrorReport]) -> FlowSnapshot:
        before = self._snapshots.get(name, FlowSnapshot(name))
        if name not in invalid:
            return before if before.error is None or before.is_taken else FlowSnapshot(name)
        good = before if before.is_good else before.last_good
        return FlowSnapshot(name, error=invalid[name], last_good=good)


_shared: list[SnapshotCache] = []


def shared_cache(last_check: LastCheck = lambda _flow: None) -> SnapshotCache:
    """Returns the one cache of this process, which page and metrics share. Who asks first says what `freshness` saw last."""
    if not _shared:
        _shared.append(SnapshotCache(last_check=last_check))
    return _shared[0]
