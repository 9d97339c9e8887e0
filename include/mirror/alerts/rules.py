"""The rules: what of all that one check saw is a problem. Nothing here asks a cluster, and nothing here sends.

Each problem is told once. What follows from another problem (nothing is copied: every partition stands still, and heartbeats stop) does
not become an alert beside it, and what has an alert of its own (a gap) does not count as being late as well.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from mirror.alerts.copy_rules import NOT_COPYING, behind, has_copied, no_progress, not_copying
from mirror.alerts.error_rules import UNREACHABLE, leaderless, standing_errors, unreachable
from mirror.alerts.lateness import Late
from mirror.alerts.limits import Limits
from mirror.alerts.problems import Judgement, Problem
from mirror.alerts.seen import Seen
from mirror.report.words import duration

NO_BEATS, CHECK_FAILED = "HeartbeatsStopped", "CheckFailed"
_LOOK = "Look at the log of the newest run of the freshness DAG."


def judge(seen: Seen, late: Sequence[Late], limits: Limits) -> Judgement:
    """All problems there are by the limits, but for those that others have to tell: of audits, and of runs."""
    if seen.failure:
        failed = Problem(CHECK_FAILED, "It cannot be seen how the flow stands.", seen.failure, _LOOK, limits.lasting, severity="critical")
        return Judgement((failed,), lambda kind: kind == CHECK_FAILED)
    stopped = not_copying(seen, late, limits) if seen.comparable else []
    problems = [*unreachable(seen, limits), *standing_errors(seen, limits), *leaderless(seen, limits), *stopped]
    if seen.comparable:
        problems += [*no_progress(late, limits, opens=not stopped), *behind(late, limits, opens=not stopped)]
    problems += _heartbeats(seen, limits, stopped=bool(stopped or seen.silent))
    unseen = seen.unseen
    return Judgement(tuple(problems), lambda kind: _judged(seen, kind, limits, bool(unseen)), unseen)


def _judged(seen: Seen, kind: str, limits: Limits, is_blind: bool) -> bool:
    """`is_blind`: whether there are partitions that could not be looked at; what waits may be there."""
    if kind in (UNREACHABLE, CHECK_FAILED):
        return True
    if kind == NOT_COPYING and is_blind:
        return seen.comparable and has_copied(seen, limits)
    return seen.beats is not None if kind == NO_BEATS else seen.comparable


def _heartbeats(seen: Seen, limits: Limits, *, stopped: bool) -> list[Problem]:
    if limits.heartbeats is None or seen.beats is None:
        return []
    problems = []
    for each in seen.beats:
        age = seen.now - each.time.timestamp()
        if age > limits.heartbeats:
            advice = (
                "Look whether the pair that beats there still does, and whether the flows on that way work."
                if each.mirrored
                else "Look at the log of the newest run of the flow's heartbeats DAG."
            )
            problems.append(
                Problem(
                    NO_BEATS,
                    f"No heartbeat by {each.way} for {duration(age)}.",
                    f"The newest one is of {datetime.fromtimestamp(each.time.timestamp(), UTC):%Y-%m-%d %H:%M:%S} UTC.",
                    advice,
                    limits.lasting,
                    what=each.way,
                    opens=not (stopped and each.mirrored),
                    severity="warning",
                )
            )
    return problems
