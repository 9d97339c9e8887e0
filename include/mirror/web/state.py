"""How a flow stands, in one sentence for somebody who was woken up: fine, behind and catching up, or stuck, why, and what to do."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from mirror.errors import ErrorReport
from mirror.report.snapshot import FlowSnapshot
from mirror.report.status import GONE, NO_LEADER, NO_REMOTE, OPEN_TRANSACTION, PAUSED, PROGRESSING, PartitionStatus, Status
from mirror.report.throughput import CatchUp
from mirror.web.access import AirflowView
from mirror.web.causes import Cause, alerts_of, causes
from mirror.web.words import NOT_KNOWN, clock, number, plural, seconds, size

TOO_OLD_SECONDS = 300.0
"""Figures of an older snapshot are not shown as those of now."""

FINE, BEHIND, STUCK, UNKNOWN = "fine", "behind", "stuck", "unknown"
_WORST = {FINE: 0, UNKNOWN: 1, BEHIND: 2, STUCK: 3}


@dataclass(frozen=True)
class State:
    """`verdict` is the word or two that count, `because` the rest of the sentence, `next` what to do (empty: nothing), and `cause` what in
    Airflow it comes from, if it does."""

    level: str
    verdict: str
    because: str
    next: str = ""
    cause: Cause | None = None

    @property
    def rank(self) -> int:
        """The higher, the sooner somebody has to look."""
        return _WORST[self.level]


def state_of(snapshot: FlowSnapshot, view: AirflowView, now: datetime) -> State:
    """The one sentence. Of several things that are wrong it tells the one that has to be mended first."""
    stopped = next((cause for cause in causes(snapshot.flow, view, now) if cause.stops), None)
    if is_old(snapshot, now):
        age = seconds(snapshot.age_seconds(now))
        because = f"what was seen last is {age} old; both clusters are asked anew, which takes some seconds."
        return State(UNKNOWN, "Being looked at again", because)
    if snapshot.error is not None:
        return State(STUCK, "Stuck", snapshot.error.message, snapshot.error.next)
    if not snapshot.is_taken:
        return State(UNKNOWN, "Being looked at", "both clusters are asked for the first time; that takes some seconds.")
    if (whole := _of_the_flow(snapshot)) is not None:
        return whole
    if stopped is not None:
        behind = _distance(snapshot)
        return State(STUCK, "Not running", f"{stopped.what} {behind[0].upper()}{behind[1:]}.", stopped.next, stopped)
    return _of_partitions(snapshot) or _moving(snapshot, view, now)


def is_old(snapshot: FlowSnapshot, now: datetime) -> bool:
    """Whether it was taken so long ago that it does not say how things stand now: nobody had asked for some time, or a look hangs."""
    age = snapshot.age_seconds(now)
    return age is not None and age > TOO_OLD_SECONDS


def _of_the_flow(snapshot: FlowSnapshot) -> State | None:
    """What keeps the whole flow from being copied: an error of no topic, or any one for which no run could plan."""
    found = snapshot.status.errors if snapshot.status else ()
    error = next((each for each in found if each.topic is None), found[0] if found and not snapshot.comparable else None)
    if error is None:
        return None
    again = " Every run tries again by itself." if error.retriable else ""
    return State(STUCK, "Stuck", f"{error.message}{again}", error.next)


def _of_partitions(snapshot: FlowSnapshot) -> State | None:
    """What keeps some partitions from being copied, while the others are."""
    status = snapshot.status
    if status is None or not status.errors:
        return None
    first = next((each for each in status.errors if not each.retriable), status.errors[0])
    stuck = sum(each.error is not None for each in status.partitions)
    of = f"{number(stuck)} of {plural(len(status.partitions), 'partition')}" if stuck else "partly"
    more = len(status.errors) - 1
    others = f" {plural(more, 'other error')} below." if more else ""
    return State(STUCK, "Stuck in part", f"{of}: {first.message}{others} The rest is {_rest(snapshot)}.", first.next)


def _moving(snapshot: FlowSnapshot, view: AirflowView, now: datetime) -> State:
    """Nothing is wrong with it."""
    alerts = alerts_of(view, now)
    behind = _distance(snapshot)
    if not snapshot.status or not snapshot.status.partitions:
        return State(FINE, "Nothing to mirror", "no topic of the source matches the flow's filters yet.")
    if snapshot.status.lag is None:
        return State(UNKNOWN, "Not known", "how far it is behind could not be seen.")
    if alerts:
        return State(BEHIND, "Needs a look", f"{alerts[0].summary} Since {clock(alerts[0].since, now)}.", alerts[0].next)
    if beside := (*snapshot.partial, *snapshot.groups.errors):
        return _seen_in_part(beside[0], behind)
    if (apart := _apart(snapshot.status)) is not None:
        return apart
    if not snapshot.status.lag:
        return _copied(snapshot.status)
    if snapshot.catch_up.seconds == 0:
        return State(FINE, "Fine", f"keeps up with the source; {behind}, which the next run copies.")
    return _catching_up(snapshot.catch_up, behind, now)


def _copied(status: Status) -> State:
    """Nothing is behind, as far as it could be seen."""
    count = plural(len(status.partitions), "partition")
    if status.unknown:
        return State(UNKNOWN, "Not known", f"how far it is behind could not be seen in {number(len(status.unknown))} of {count}.")
    return State(FINE, "Fine", f"everything is copied, in all {count}.")


def _seen_in_part(error: ErrorReport, behind: str) -> State:
    """Records are copied, but something beside them could not be looked at: groups, heartbeats, schema ids."""
    return State(BEHIND, "Needs a look", f"{error.message} Records are copied: {behind}.", error.next)


def _catching_up(catch_up: CatchUp, behind: str, now: datetime) -> State:
    """Behind: until when."""
    if catch_up.seconds is None:
        return State(BEHIND, "Behind", f"{behind}; when it will have caught up is {catch_up.reason}.")
    if math.isinf(catch_up.seconds):
        return State(BEHIND, "Behind, and not catching up", f"{behind}: {catch_up.reason}.", _FASTER)
    return State(
        BEHIND,
        "Behind, and catching up",
        f"{behind}; done in about {seconds(catch_up.seconds)}, at {clock(now + timedelta(seconds=catch_up.seconds), now)}.",
    )


def _apart(status: Status) -> State | None:
    """Partitions that no run copies just now though nothing is wrong with them, if all the others are up to date: paused ones, gone ones,
    and those that wait for a producer, a broker or `refresh-topics`."""
    apart = {state: count for state, count in status.states.items() if state not in PROGRESSING}
    if not apart or any(each.lag != 0 for each in status.partitions if each.state in PROGRESSING):
        return None
    counted = sorted(apart.items(), key=lambda pair: -pair[1])
    words = ", ".join(f"{number(count)} {state}" for state, count in counted) if len(counted) > 1 else counted[0][0]
    missing = f"; {number(status.lag)} records are behind there" if status.lag else ""
    others = len(status.partitions) - sum(apart.values())
    return State(
        FINE if set(apart) <= _MEANT else BEHIND,
        f"Fine, but for {plural(sum(apart.values()), 'partition')}",
        f"{words}{missing}. Everything is copied in the other {number(others)}." if others else f"{words}{missing}.",
        " ".join(_IF_IT_STAYS[state] for state, _ in counted if state in _IF_IT_STAYS),
    )


_MEANT = {PAUSED, GONE}
_IF_IT_STAYS = {
    NO_REMOTE: "The next run of refresh-topics creates the remote partition; if it does not, its log says why.",
    NO_LEADER: "A broker of the source is down, or the partition has no leader there: look at the cluster.",
    OPEN_TRANSACTION: "A producer has a transaction open; if that lasts, it is an error here that names it.",
}
_FASTER = (
    "Look at the last runs of the copy. If they are green and full: more lanes at once (Spark cores), a larger mirror.run.max.seconds, "
    "or a higher mirror.max.bytes.per.second if that limits it."
)


def _distance(snapshot: FlowSnapshot) -> str:
    """How far it is behind, in records, bytes and time."""
    status = snapshot.status
    if status is None or status.lag is None:
        return "how far it is behind is not known"
    if not status.lag:
        return "nothing is known to be behind" if _is_unknown_of_any(status.partitions) else "nothing is behind"
    size_of = f" ({size(snapshot.bytes_behind)})" if snapshot.bytes_behind else ""
    oldest = f", the oldest {seconds(status.oldest_seconds)} old" if status.oldest_seconds is not None else ""
    noun = "record is" if status.lag == 1 else "records are"
    return f"at most {number(status.lag)} {noun} behind{size_of}{oldest}"


def _rest(snapshot: FlowSnapshot) -> str:
    """How the partitions stand that are not stuck."""
    status = snapshot.status
    moving = [each for each in status.partitions if each.error is None] if status else []
    lag = sum(each.lag or 0 for each in moving)
    if not moving:
        return NOT_KNOWN
    if lag:
        return f"behind by at most {number(lag)} records"
    return "not known to be behind" if _is_unknown_of_any(moving) else "up to date"


def _is_unknown_of_any(partitions: Iterable[PartitionStatus]) -> bool:
    """Whether any of them may be behind without anybody having seen it."""
    return any(each.lag is None and each.state not in _MEANT for each in partitions)
