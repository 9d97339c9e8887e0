"""The state of a flow in one sentence, for a person on call: fine, lagging and catching up, or stuck, why, and what to do."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kafka_mirror.errors import NextStep
from kafka_mirror.errors.base import CLASSES
from kafka_mirror.errors.next_step import NOTHING
from kafka_mirror.errors.words import count_text
from kafka_mirror.status.airflow_view import AirflowView
from kafka_mirror.status.judge import BEHIND, FINE, NOTHING_MIRRORED, STUCK, level, too_few_slots
from kafka_mirror.status.problems import Alert
from kafka_mirror.status.snapshot import FlowSnapshot
from kafka_mirror.status.snapshot_cache import CHECK_OLD_SECONDS
from kafka_mirror.status.status import GONE, INTENDED, LEFT_ALONE, NO_REMOTE, OPEN_TRANSACTION, PROGRESSING, PartitionStatus
from kafka_mirror.status.throughput import CatchUp
from kafka_mirror.web.airflow_health import AirflowIssue, airflow_issues, alerts_of
from kafka_mirror.web.formatting import NOT_KNOWN, clock, number, seconds, size

TOO_OLD_SECONDS = 300.0
"""The page does not show the figures of an older snapshot as those of now."""

UNKNOWN = "unknown"
_RANKS = {FINE: 0, UNKNOWN: 1, BEHIND: 2, STUCK: 3}


@dataclass(frozen=True)
class FlowState:
    """The sentence: `verdict` is its first words, `because` the rest, `next` what to do (empty: nothing), and `cause` the issue in Airflow
    that it comes from, if any."""

    level: str
    verdict: str
    because: str
    next: NextStep = NOTHING
    cause: AirflowIssue | None = None

    @property
    def rank(self) -> int:
        """The higher, the more urgent."""
        return _RANKS[self.level]


def state_of(snapshot: FlowSnapshot, view: AirflowView, now: datetime) -> FlowState:
    """The state of a flow. Of several things that are wrong it names the one to mend first."""
    issue = next((issue for issue in airflow_issues(snapshot, view, now) if issue.stops), None)
    if is_old(snapshot, now):
        age = seconds(snapshot.measure_age(now))
        because = f"what was seen last is {age} old; both clusters are asked again, which takes some seconds."
        return FlowState(UNKNOWN, "Being looked at again", because)
    if snapshot.error is not None:
        return FlowState(STUCK, "Stuck", snapshot.error.message, snapshot.error.step)
    if not snapshot.is_taken:
        return FlowState(UNKNOWN, "Being looked at", "both clusters are asked for the first time; that takes some seconds.")
    if (flow_state := _whole_flow(snapshot)) is not None:
        return flow_state
    if issue is not None:
        distance = _distance(snapshot)
        return FlowState(STUCK, "Not running", f"{issue.what} {distance[0].upper()}{distance[1:]}.", issue.next, issue)
    return _describe_stuck_partitions(snapshot) or _describe_copied_flow(snapshot, view, now)


def is_old(snapshot: FlowSnapshot, now: datetime) -> bool:
    """Whether a snapshot is too old to describe the flow: the page was not open for some time, or the look at a cluster hangs."""
    age = snapshot.measure_age(now)
    return age is not None and age > (CHECK_OLD_SECONDS if snapshot.not_reached else TOO_OLD_SECONDS)


def _whole_flow(snapshot: FlowSnapshot) -> FlowState | None:
    """What keeps the whole flow from being copied: an error without a topic, or any error that keeps every run from planning."""
    errors = snapshot.status.errors if snapshot.status else ()
    error = next((candidate for candidate in errors if candidate.topic is None), errors[0] if errors and not snapshot.comparable else None)
    if error is None:
        return None
    again = " Every run tries again by itself." if error.retriable else ""
    return FlowState(STUCK, "Stuck", f"{error.message}{again}", error.step)


def _describe_stuck_partitions(snapshot: FlowSnapshot) -> FlowState | None:
    """What keeps some partitions from being copied, while the others are copied."""
    status = snapshot.status
    if status is None or not status.errors:
        return None
    first = next((candidate for candidate in status.errors if not candidate.retriable), status.errors[0])
    stuck = sum(partition.error is not None for partition in status.partitions)
    share = f"{number(stuck)} of {count_text(len(status.partitions), 'partition')}" if stuck else "partly"
    more = len(status.errors) - 1
    other_errors = f" {count_text(more, 'other error')} below." if more else ""
    return FlowState(STUCK, "Stuck in part", f"{share}: {first.message}{other_errors} The rest is {_rest(snapshot)}.", first.step)


def _describe_copied_flow(snapshot: FlowSnapshot, view: AirflowView, now: datetime) -> FlowState:
    """The state of a flow of which no partition is stuck."""
    distance = _distance(snapshot)
    worst = _worst(snapshot, view, now)
    if not snapshot.status or not snapshot.status.partitions or (worst and worst.kind == NOTHING_MIRRORED):
        return _describe_empty_flow(snapshot, worst)
    if snapshot.status.lag is None:
        return FlowState(UNKNOWN, "Not known", "how far it is behind could not be seen.")
    if worst is not None:
        return FlowState(level([worst]), "Needs a look", f"{worst.summary} Since {clock(worst.since, now)}.", worst.step)
    if errors := (*snapshot.partial, *snapshot.groups.errors):
        return FlowState(BEHIND, "Needs a look", f"{errors[0].message} Records are copied: {distance}.", errors[0].step)
    if (idle := _idle_partitions(snapshot)) is not None:
        return idle
    if not snapshot.status.lag:
        count, unknown = count_text(len(snapshot.status.partitions), "partition"), len(snapshot.status.unknown)
        not_known = FlowState(UNKNOWN, "Not known", f"how far it is behind could not be seen in {number(unknown)} of {count}.")
        return not_known if unknown else FlowState(FINE, "Fine", f"everything is copied, in all {count}.")
    if snapshot.catch_up.keeps_up:
        return FlowState(FINE, "Fine", f"keeps up with the source; {distance}.")
    return _describe_catch_up(snapshot.catch_up, distance, now)


def _worst(snapshot: FlowSnapshot, view: AirflowView, now: datetime) -> Alert | None:
    """The problem to mend first that is no error of the snapshot: of its own, and of those that only alerts know."""
    problems = (*snapshot.problems, *too_few_slots(snapshot.pool, view.pools.get(snapshot.pool), snapshot.slots))
    alerts = {problem.key(snapshot.flow): problem.alert(snapshot.flow, snapshot.taken or now) for problem in problems}
    alerts = {key: alert for key, alert in alerts.items() if alert.kind not in CLASSES}
    alerts |= {alert.key: alert for alert in alerts_of(view, now)}
    amiss = [alert for alert in alerts.values() if level([alert]) != FINE]
    return min(amiss, key=lambda alert: (-_RANKS[level([alert])], alert.since), default=None)


def _describe_empty_flow(snapshot: FlowSnapshot, amiss: Alert | None) -> FlowState:
    """The state of a flow that takes no topic: `.*` waits for the first one, and a list of names is looked at."""
    idle = snapshot.status.idle if snapshot.status else None
    if idle is None:
        return FlowState(FINE, "Nothing to mirror", "no topic of the source matches the flow's filters yet.")
    return FlowState(level([amiss] if amiss else []), "Nothing to mirror", str(idle), amiss.step if amiss else NOTHING)


def _describe_catch_up(catch_up: CatchUp, distance: str, now: datetime) -> FlowState:
    """The state of a flow that is behind, and when it will have caught up."""
    if catch_up.seconds is None:
        return FlowState(BEHIND, "Behind", f"{distance}; when it will have caught up is {catch_up.reason}.")
    if math.isinf(catch_up.seconds):
        return FlowState(BEHIND, "Behind, and not catching up", f"{distance}: {catch_up.reason}.", NextStep(_FASTER))
    return FlowState(
        BEHIND,
        "Behind, and catching up",
        f"{distance}; done in about {seconds(catch_up.seconds)}, at {clock(now + timedelta(seconds=catch_up.seconds), now)}.",
    )


def _idle_partitions(snapshot: FlowSnapshot) -> FlowState | None:
    """The state of a flow of which only idle partitions lag without an error: paused, gone, or waiting for a producer, a broker or
    `refresh-topics`. None if others are behind too, or if what waits for a producer or `refresh-topics` is young."""
    status = snapshot.status
    assert status is not None

    def is_young(partition: PartitionStatus) -> bool:
        """Whether it waits for what usually comes by itself, and not for longer than the flow's own rhythm allows."""
        return partition.state in (OPEN_TRANSACTION, NO_REMOTE) and partition.is_younger_than(snapshot.rhythm)

    idle = [partition for partition in status.partitions if partition.state not in PROGRESSING and not is_young(partition)]
    others_lag = sum(partition.lag or 0 for partition in status.partitions if partition.state in PROGRESSING)
    if not idle or status.unknown or (others_lag and not snapshot.catch_up.keeps_up):
        return None
    counts = Counter(partition.state for partition in idle)
    idle_lag = sum(partition.lag or 0 for partition in idle)
    by_count = sorted(counts.items(), key=lambda pair: -pair[1])
    words = ", ".join(f"{number(count)} {state}" for state, count in by_count) if len(by_count) > 1 else by_count[0][0]
    lag = f"; {number(idle_lag)} records are behind there" if idle_lag else ""
    rest = len(status.partitions) - len(idle)
    how = f"The other {number(rest)} keep up with the source." if others_lag else f"Everything is copied in the other {number(rest)}."
    return FlowState(
        FINE if set(counts) <= LEFT_ALONE else BEHIND,
        f"Fine, but for {count_text(len(idle), 'partition')}",
        f"{words}{lag}. {how}" if rest else f"{words}{lag}.",
        NextStep(" ".join(_NEXT_STEPS[state] for state, _ in by_count if state in _NEXT_STEPS)),
    )


_INTENDED = INTENDED | {GONE}
_NEXT_STEPS = {
    NO_REMOTE: "The next run of refresh-topics creates the remote partition; if it does not, its log says why.",
    OPEN_TRANSACTION: "A producer has a transaction open; if that lasts, it is an error here that names it.",
}
_FASTER = (
    "Look at the last runs of the copy. If they are green and full: more lanes at once (Spark cores), a larger mirror.run.max.seconds, "
    "or a higher mirror.max.bytes.per.second if that limits it."
)


def _distance(snapshot: FlowSnapshot) -> str:
    """The lag in records, bytes and time."""
    status = snapshot.status
    if status is None or status.lag is None:
        return "how far it is behind is not known"
    if not status.lag:
        return "nothing is known to be behind" if _is_any_unknown(status.partitions) else "nothing is behind"
    size_of = f" ({size(snapshot.bytes_behind)})" if snapshot.bytes_behind else ""
    oldest = f", the oldest {seconds(status.oldest_seconds)} old" if status.oldest_seconds is not None else ""
    noun = "record is behind" if status.lag == 1 else "records are behind"
    return f"at most {number(status.lag)} {noun}{size_of}{oldest}"


def _rest(snapshot: FlowSnapshot) -> str:
    """The state of the partitions that are not stuck."""
    status = snapshot.status
    moving = [partition for partition in status.partitions if partition.error is None] if status else []
    lag = sum(partition.lag or 0 for partition in moving)
    if not moving:
        return NOT_KNOWN
    if lag:
        return f"behind by at most {number(lag)} records"
    return "not known to be behind" if _is_any_unknown(moving) else "up to date"


def _is_any_unknown(partitions: Iterable[PartitionStatus]) -> bool:
    """Whether the lag of any of them is unknown."""
    return any(partition.lag is None and partition.state not in _INTENDED for partition in partitions)
