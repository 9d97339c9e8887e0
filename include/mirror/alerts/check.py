"""One check of a flow's freshness: look, judge, remember, tell. Done by the freshness DAG each minute, and by hand without memory."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from mirror.alerts.audits import MISMATCH, Audits
from mirror.alerts.lateness import Late, late_partitions, memory_after
from mirror.alerts.limits import Limits, limits_of
from mirror.alerts.model import Alert, iso
from mirror.alerts.notify import Channel, channel, connections_of
from mirror.alerts.outbox import deliver, with_more
from mirror.alerts.problems import Judgement, Problem
from mirror.alerts.rules import judge
from mirror.alerts.runs import MISSED
from mirror.alerts.seen import Seen
from mirror.alerts.state import State
from mirror.alerts.tracking import open_alerts, track
from mirror.alerts.waiting import Memory
from mirror.errors import MirrorError
from mirror.report.status import PAUSED, Status

if TYPE_CHECKING:
    from mirror.config import Flow

NO_AUDITS = Audits()

PAUSED_SHOWN = 50
"""How many paused partitions stand in XCom by name."""


@dataclass(frozen=True)
class Checked:
    """What a check came to. `problems` are all there are now, told or not."""

    seen: Seen
    late: tuple[Late, ...]
    problems: tuple[Problem, ...]
    state: State

    @property
    def alerts(self) -> list[Alert]:
        """The alerts that are open."""
        return open_alerts(self.state.tracking.values())

    def document(self) -> dict[str, Any]:
        """What stands in XCom: figures for a curve, and what is open. `lag_records` counts what may be read; `lag_seconds` is how long the
        oldest of it waits. `behind_offsets` and `oldest_seconds` are what the status page shows: all that is missing, of paused partitions
        too, and the age of the oldest. None where it is not known."""
        status, known = self.seen.status, self.seen.comparable
        paused = [str(each.topic_partition) for each in status.partitions if each.state == PAUSED]
        return {
            "time": iso(status.time),
            "lag_records": sum(each.records for each in self.late) if known else None,
            "lag_seconds": round(max((each.seconds for each in self.late), default=0.0), 1) if known else None,
            "lag_bytes": _bytes(self.late) if known else None,
            "behind_offsets": status.lag if known else None,
            "oldest_seconds": _rounded(status.oldest_seconds if status.lag else 0.0) if known and status.lag is not None else None,
            "watermark_records": _copied(status),
            "open": [each.as_document() for each in self.alerts],
            "paused": {"partitions": len(paused), "first": paused[:PAUSED_SHOWN]},
            "unsent": len(self.state.outbox),
        }


def check(flow: "Flow", seen: Seen, before: State, audits: Audits = NO_AUDITS, late_runs: Sequence[Problem] = ()) -> Checked:
    """What is new and what is over by what was seen; nothing is sent yet: it is in the state's outbox.

    `audits` are what audits found, `late_runs` the runs that have missed their deadline.
    """
    limits = limits_of(flow)
    late, judgement = judged(seen, before.memory, limits, (*audits.still_there(seen).problems(flow.name, limits.lasting), *late_runs))
    connections = connections_of(flow)
    tracking, telling = track(
        before.tracking,
        judgement,
        flow=flow.name,
        now=seen.status.time,
        lasting=limits.lasting,
        connections=connections,
        repeat=limits.repeat,
        growth=limits.growth,
    )
    state = State(memory_after(seen, before.memory), tracking, with_more(before.outbox, telling, connections), seen.status.time)
    return Checked(seen, tuple(late), judgement.problems, state)


def judged(seen: Seen, remembered: Memory | None, limits: Limits, others: Sequence[Problem] = ()) -> tuple[list[Late], Judgement]:
    """The partitions with work, and all problems: those that were seen, and the others, of audits and runs."""
    late = late_partitions(seen, memory_after(seen, remembered) or {}, is_new=remembered is None)
    found = judge(seen, late, limits)
    return late, Judgement((*found.problems, *others), lambda kind: kind in (MISMATCH, MISSED) or found.judged(kind), found.unseen)


def sent(checked: Checked, open_channel: Callable[[str], Channel] = channel) -> tuple[State, dict[str, MirrorError]]:
    """Sends what is in the outbox; gives the state after it, and why what could not be delivered was not, by connection."""
    channels: dict[str, Channel] = {}

    def by(connection: str) -> Channel:
        if connection not in channels:
            channels[connection] = open_channel(connection)
        return channels[connection]

    left, failed = deliver(checked.state.outbox, lambda each: by(each.connection).send(each.worded, each.cleared))
    failed |= _renewed(checked, by, failed)
    return replace(checked.state, outbox=left), failed


def _renewed(checked: Checked, by: Callable[[str], Channel], failed: Mapping[str, MirrorError]) -> dict[str, MirrorError]:
    told = {each for tracked in checked.state.tracking.values() if tracked.is_open for each in tracked.told} - failed.keys()
    refused: dict[str, MirrorError] = {}
    for connection in sorted(told):
        lasting = [each.alert for each in checked.state.tracking.values() if each.is_open and connection in each.told]
        try:
            by(connection).renew(lasting)
        except MirrorError as error:
            refused[connection] = error
    return refused


def test_alert(flow: str) -> Alert:
    """An alert that tries the way to people."""
    return Alert(
        key=f"{flow}/Test",
        kind="Test",
        summary="This is a test: nothing is wrong.",
        detail="Somebody asked for it by: python -m mirror freshness --test-alert",
        next="Nothing; its end is told at once.",
        since=datetime.now(UTC),
        flow=flow,
        severity="warning",
    )


def _bytes(late: Iterable[Late]) -> int | None:
    """An estimate, by the mean size of what was copied of each partition; None if nothing was copied of any of them."""
    found = [
        each.records * each.status.bytes / each.status.records for each in late if each.status.records and each.status.bytes is not None
    ]
    return round(sum(found)) if found or not list(late) else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


def _copied(status: Status) -> int | None:
    """How many records the ledger says were copied since its beginning; None if it cannot be read."""
    found = [each.records for each in status.partitions if each.records is not None]
    return sum(found) if found else None
