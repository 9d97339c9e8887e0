"""The one judgement of how a flow stands: what of all that was seen is a problem, and how bad. Nothing here asks a cluster or sends.

Page, metrics, alerts and the commands `status` and `freshness` ask `problems`; `level` says what they come to.

Each problem is one alert. What follows from another problem (nothing is copied: every partition stands still, and heartbeats stop) does
not become an alert beside it, and what has an alert of its own (a gap) does not count as being late as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.config.deadlines import LEAST_SECONDS, Limits
from kafka_mirror.errors import ClusterUnreachable, ErrorReport, NextStep
from kafka_mirror.errors.next_step import Command
from kafka_mirror.errors.words import count_text, duration
from kafka_mirror.status.observation import SERVED, CheckObservation, LatePartition
from kafka_mirror.status.problems import Alert, CheckResult, FlowProblem, Place, group_problems, shorten_lines
from kafka_mirror.status.status import NO_REMOTE

FINE, BEHIND, STUCK = "fine", "behind", "stuck"

LATE, STILL, NOT_COPYING, NOTHING_MIRRORED = "Behind", "NoProgress", "NotCopying", "NothingMirrored"
TOO_FEW_SLOTS = "TooFewSlots"


UNREACHABLE = ClusterUnreachable.__name__

_LOOK_AT_COPY = NextStep("Look whether the copy DAG is paused or waits for a free slot of its pool, and at the log of its newest run.")
_LOOK_AT_RUN = NextStep(
    "Look at the log of the newest copy run: what it says of these partitions, and whether its budget (mirror.run.max.*) is too small."
)
_CREATE = NextStep(
    "They wait for their remote partitions: look whether the DAG refresh-topics is paused, and at the log of its newest run. With "
    "refresh.topics.enabled=false create them by hand."
)

NO_BEATS, CHECK_FAILED = "HeartbeatsStopped", "CheckFailed"
_LOOK = NextStep("Look at the log of the newest run of the freshness DAG.")


def find_not_copying(observation: CheckObservation, late: Sequence[LatePartition], limits: Limits) -> list[FlowProblem]:
    """Returns the problem that nothing at all is copied though there is work."""
    if limits.copy is None or has_copied(observation, limits):
        return []
    waits = [waiting for waiting in late if waiting.status.state in SERVED and waiting.still_seconds >= limits.copy]
    if not waits:
        return []
    quiet = _quiet(observation)
    since = "Nothing was ever copied" if quiet is None else f"Nothing was copied for {duration(quiet)}"
    detail = [f"{len(waits):,} partitions with {sum(waiting.records for waiting in waits):,} records wait:", *map(_line, waits)]
    longest = max(waiting.still_seconds for waiting in waits)
    summary = f"{since}, and there is work for {duration(longest)}."
    size = _times(longest, limits.copy)
    return [FlowProblem(NOT_COPYING, summary, shorten_lines(detail), _LOOK_AT_COPY, limits.for_seconds, severity="critical", size=size)]


def nothing_mirrored(observation: CheckObservation, limits: Limits) -> list[FlowProblem]:
    """Returns the problem that the flow takes no topic though it names some. One of `.*` just waits for the first."""
    idle = observation.status.idle
    if limits.copy is None or idle is None or not idle.is_amiss:
        return []
    advice = NextStep.of(
        f"Compare {idle.list} with the names of the source's topics, letter by letter, and look whether topics.exclude leaves them out; if "
        "the topics are to come later, there is nothing to do."
    )
    return [FlowProblem(NOTHING_MIRRORED, str(idle), "", advice, max(limits.copy, limits.for_seconds), severity="error")]


def too_few_slots(pool: str, slots: int | None, needed: int) -> list[FlowProblem]:
    """Returns the problem that the pool of a flow's copies, which Airflow has with these slots, is too small for runs that follow."""
    if slots is None or slots < 0 or slots >= needed:
        return []
    advice = NextStep.of("Give it more: ", Command(f"airflow pools set {pool} {needed} 'Copies'"))
    summary = (
        f"The pool {pool} of its copies has {count_text(slots, 'slot')}, and they need {needed}: a run waits for the former one to end."
    )
    return [FlowProblem(TOO_FEW_SLOTS, summary, "", advice, for_seconds=0, severity="warning")]


def has_copied(observation: CheckObservation, limits: Limits) -> bool:
    """Whether something was copied within the time that is allowed."""
    quiet = _quiet(observation)
    return limits.copy is None or (quiet is not None and quiet < limits.copy)


def _quiet(observation: CheckObservation) -> float | None:
    """For how many seconds nothing was copied, as far as the clocks of those who wrote are right: what one wrote that is a day ahead is as
    little of now as what one wrote a day ago. None if nothing ever was."""
    written = [partition.written.time.timestamp() for partition in observation.status.partitions if partition.written is not None]
    return min((abs(observation.now - time) for time in written), default=None)


def no_progress(late: Sequence[LatePartition], limits: Limits, *, opens: bool) -> list[FlowProblem]:
    """Partitions whose watermark stands still though there is work, by topic."""
    if limits.progress is None:
        return []
    places = [
        Place(partition.status.topic, partition.status.partition, f"{_line(partition)}, unchanged for {duration(partition.still_seconds)}")
        for partition in late
        if not partition.explained and partition.still_seconds >= limits.progress
    ]
    waiting = {partition.status.topic for partition in late if partition.status.state == NO_REMOTE}
    advice = {place.topic: _CREATE if place.topic in waiting else _LOOK_AT_RUN for place in places}
    said = "{} made no progress though the source has records to copy."
    return group_problems(STILL, places, said=said, next=advice, patience=limits.for_seconds, opens=opens, severity="error")


def lag_problem(late: Sequence[LatePartition], limits: Limits, *, opens: bool) -> list[FlowProblem]:
    """Returns the problem of records that wait for too long or are too many.

    Partitions that have an alert of their own count only for an alert that is there already: it is not over while they are behind.
    """
    if not _exceeds(late, limits):
        return []
    progress = limits.progress
    alone = [partition for partition in late if not partition.explained and (progress is None or partition.still_seconds < progress)]
    counted = alone if opens and _exceeds(alone, limits) else late
    records, seconds = sum(partition.records for partition in counted), max(partition.seconds for partition in counted)
    allowed = [f"{duration(limits.lag)}"] if limits.lag is not None else []
    allowed += [f"{limits.lag_records:,} records"] if limits.lag_records is not None else []
    return [
        FlowProblem(
            LATE,
            f"The mirror is {duration(seconds)} and {records:,} records behind; allowed: {', '.join(allowed)}.",
            shorten_lines([_line(partition) for partition in counted]),
            NextStep(
                "Look at the newest copy runs: whether they come, how long they take, and whether they end at their budget "
                "(mirror.run.max.seconds, mirror.run.max.bytes) or at the throttle."
            ),
            limits.for_seconds,
            opens=opens and bool(_exceeds(alone, limits)),
            severity="warning",
            size=max(_times(seconds, limits.lag), 1.0 if limits.lag_records is None else records / max(limits.lag_records, 1)),
            places=frozenset(partition.status.topic_partition for partition in late),
        )
    ]


def _exceeds(late: Sequence[LatePartition], limits: Limits) -> bool:
    if limits.lag is not None and any(partition.seconds > limits.lag for partition in late):
        return True
    return limits.lag_records is not None and sum(partition.records for partition in late) > limits.lag_records


def _times(seconds: float, allowed: float | None) -> float:
    """How many times what is allowed; less than a quarter of an hour counts as that: it is no reason for another message within minutes."""
    return 1.0 if allowed is None else max(seconds / max(allowed, LEAST_SECONDS), 1.0)


def _line(partition: LatePartition) -> str:
    return f"{partition.status.topic_partition}: {partition.records:,} records behind, {duration(partition.seconds)}"


def unreachable(observation: CheckObservation, limits: Limits) -> list[FlowProblem]:
    """Clusters that did not answer, one by one."""
    if limits.unreachable is None:
        return []
    return [
        FlowProblem(
            UNREACHABLE,
            f"Cluster {alias} {'does not answer' if error.retriable else 'refuses the connection'}.",
            error.message,
            error.step,
            limits.unreachable if error.retriable else limits.for_seconds,
            what=alias,
            severity="critical",
        )
        for alias, error in observation.silent.items()
    ]


def standing_errors(observation: CheckObservation, limits: Limits) -> list[FlowProblem]:
    """Errors that do not end by themselves, by topic; those that usually do, all of a kind together, and after a while."""
    by_code: dict[str, list[ErrorReport]] = {}
    silent = {error.message for error in observation.silent.values()}
    for error in observation.status.errors:
        if error.message not in silent:
            by_code.setdefault(error.code, []).append(error)
    flow_problems: list[FlowProblem] = []
    for code, errors in by_code.items():
        severity = "critical" if errors[0].kind.means_loss else "error"
        lines = [error.message for error in errors]
        if errors[0].retriable:
            if limits.unreachable is not None:
                mends = FlowProblem(code, _first(lines), shorten_lines(lines), errors[0].step, limits.unreachable, severity=severity)
                where = frozenset((error.topic, error.partition) for error in errors if error.topic is not None)
                flow_problems.append(replace(mends, size=len(errors), places=where))
            continue
        whole = [error for error in errors if error.topic is None]
        if whole:
            lines = [error.message for error in whole]
            flow_problems.append(
                FlowProblem(code, _first(lines), shorten_lines(lines), whole[0].step, limits.for_seconds, severity=severity)
            )
        places = [Place(error.topic, error.partition, error.message) for error in errors if error.topic is not None]
        advice = {error.topic: error.step for error in reversed(errors) if error.topic is not None}
        of_code = group_problems(code, places, said=f"{_title(code)}: {{}}", next=advice, patience=limits.for_seconds, severity=severity)
        flow_problems += [replace(problem, shared=False) for problem in of_code if problem.what is not None] if whole else of_code
    return flow_problems


def _first(lines: Sequence[str]) -> str:
    """One sentence for all of them."""
    first = lines[0].split("\n")[0]
    return first if len(lines) == 1 else f"{first} (and {len(lines) - 1:,} more)"


def _title(code: str) -> str:
    """`SourceGap` -> 'Source gap'."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in code).strip()
    return spaced[0].upper() + spaced[1:]


def problems(observation: CheckObservation, limits: Limits) -> CheckResult:
    """Every problem by the limits, except those of audits and runs, which have rules of their own."""
    if observation.failure:
        failed = FlowProblem(
            CHECK_FAILED, "It cannot be seen how the flow stands.", observation.failure, _LOOK, limits.for_seconds, severity="critical"
        )
        return CheckResult((failed,), lambda kind: kind == CHECK_FAILED)
    late = observation.late
    stopped = find_not_copying(observation, late, limits) if observation.comparable else []
    flow_problems = [*unreachable(observation, limits), *standing_errors(observation, limits), *stopped]
    if observation.comparable:
        flow_problems += nothing_mirrored(observation, limits)
        flow_problems += [*no_progress(late, limits, opens=not stopped), *lag_problem(late, limits, opens=not stopped)]
    flow_problems += _heartbeats(observation, limits, stopped=bool(stopped or observation.silent))
    unseen = observation.unseen
    return CheckResult(tuple(flow_problems), lambda kind: _is_judged(observation, kind, limits, bool(unseen)), unseen)


def level(problems: Iterable[FlowProblem | Alert]) -> str:
    """How a flow with these problems stands: the worst of them says it, and FINE if there is none worse than `info`."""
    severities = {problem.severity for problem in problems}
    return STUCK if severities & {"critical", "error"} else BEHIND if "warning" in severities else FINE


def _is_judged(observation: CheckObservation, kind: str, limits: Limits, is_blind: bool) -> bool:
    """`is_blind`: whether there are partitions that could not be looked at; what waits may be there."""
    if kind in (UNREACHABLE, CHECK_FAILED):
        return True
    if kind == NOT_COPYING and is_blind:
        return observation.comparable and has_copied(observation, limits)
    return observation.beats is not None if kind == NO_BEATS else observation.comparable


def _heartbeats(observation: CheckObservation, limits: Limits, *, stopped: bool) -> list[FlowProblem]:
    if limits.heartbeats is None or observation.beats is None:
        return []
    flow_problems = []
    for beat in observation.beats:
        age = observation.now - beat.time.timestamp()
        if age <= limits.heartbeats:
            continue
        own = "Look at the log of the newest run of the flow's heartbeats DAG."
        others = "Look whether the pair that beats there still does, and whether the flows on that way work."
        flow_problems.append(
            FlowProblem(
                NO_BEATS,
                f"No heartbeat by {beat.way} for {duration(age)}.",
                f"The newest one is of {datetime.fromtimestamp(beat.time.timestamp(), UTC):%Y-%m-%d %H:%M:%S} UTC.",
                NextStep(others if beat.mirrored else own),
                limits.for_seconds,
                what=beat.way,
                opens=not (stopped and beat.mirrored),
                severity="warning",
            )
        )
    return flow_problems
