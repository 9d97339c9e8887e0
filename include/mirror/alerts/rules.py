"""The rules: what of all that one check saw is a problem. Nothing here asks a cluster, and nothing here sends.

Each problem is told once. What follows from another problem (nothing is copied: every partition stands still, and heartbeats stop) does
not become an alert beside it, and what has an alert of its own (a gap) does not count as being late as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from mirror.alerts.limits import Limits
from mirror.alerts.problems import Judgement, Place, Problem, by_topic, listed
from mirror.alerts.waiting import Memory, Work, remembered
from mirror.errors import ErrorReport
from mirror.report.status import BEHIND, DECIDED, FIRST_SIGHT, GONE, OPEN_TRANSACTION, PAUSED, PartitionStatus, Status
from mirror.report.words import duration

UNREACHABLE, LATE, STILL, NOT_COPYING, NO_BEATS = "ClusterUnreachable", "Behind", "NoProgress", "NotCopying", "HeartbeatsStopped"
CHECK_FAILED = "CheckFailed"

_SERVED = frozenset({BEHIND, FIRST_SIGHT, DECIDED})
"""States of partitions that a copy, if there were one, would serve now."""

_LEFT_ALONE = frozenset({PAUSED, GONE, OPEN_TRANSACTION})
"""States in which nothing is late: it was decided, it is over, or there is nothing to read yet."""

_LOSS = frozenset(
    {"SourceGap", "SourceTruncated", "SourceRecreated", "TargetLostRecords", "TargetRecreated", "LedgerMissing", "LedgerDamaged"}
)
"""Errors after which records are, or may be, missing."""


@dataclass(frozen=True)
class Beats:
    """The newest heartbeat of one way to the target. `mirrored`: it came by this flow, and not from its own heartbeats DAG."""

    way: str
    time: datetime
    mirrored: bool


@dataclass(frozen=True)
class Seen:
    """What one check saw. `comparable`: both sides answered, so that the partitions can be judged. `beats` is None if the target's
    heartbeats could not be read. `silent` are the errors of clusters that did not answer, by alias."""

    status: Status
    comparable: bool
    silent: Mapping[str, ErrorReport] = field(default_factory=dict)
    beats: Sequence[Beats] | None = None
    failure: str = ""
    """Why it could not be looked at all."""

    @property
    def now(self) -> float:
        """When it was looked, in Unix seconds."""
        return self.status.time.timestamp()


def work_of(each: PartitionStatus) -> Work | None:
    """What the partition has to copy now, as far as it may be read; None if nothing, or it is not known."""
    if each.last_stable is None or each.lag is None or each.end is None or each.state in _LEFT_ALONE:
        return None
    position = each.watermark if each.watermark is not None else each.end - each.lag
    return Work(position, each.last_stable) if position < each.last_stable else None


def memory_after(seen: Seen, memory: Memory | None) -> Memory:
    """What is remembered of partitions with work until the next check."""
    partitions = {each.topic_partition: each for each in seen.status.partitions}
    work = {tp: found for tp, each in partitions.items() if (found := work_of(each)) is not None}
    if not seen.comparable:
        return memory or {}
    return remembered(memory, work, [tp for tp, each in partitions.items() if each.lag is None], seen.now)


@dataclass(frozen=True)
class Late:
    """A partition with work. `seconds`: how long its oldest record waits; `still`: for how long its watermark has not moved."""

    status: PartitionStatus
    records: int
    seconds: float
    still: float


def late_partitions(seen: Seen, memory: Memory, is_new: bool) -> list[Late]:
    """The partitions with work, those that wait longest first.

    A record waits no longer than it has been seen to be there, and no longer than its timestamp says. A memory that was lost (`is_new`)
    saw nothing: then the timestamp counts alone; but not of a flow that has just been set up, with a backlog of whatever age.
    """
    just_set_up = seen.status.written is None
    found = []
    for each in seen.status.partitions:
        work = work_of(each)
        if work is None:
            continue
        waiting, age = memory[each.topic_partition], each.oldest_seconds
        if is_new:
            seconds = still = 0.0 if just_set_up else age or 0.0
        else:
            seconds = waiting.seconds(seen.now) if age is None else min(waiting.seconds(seen.now), age)
            still = waiting.still(seen.now)
        found.append(Late(each, work.end - work.position, seconds, still))
    return sorted(found, key=lambda late: (-late.seconds, late.status.topic_partition))


def judge(seen: Seen, late: Sequence[Late], limits: Limits) -> Judgement:
    """All problems there are by the limits, but for those that others have to tell: of audits, and of runs."""
    if seen.failure:
        failed = Problem(CHECK_FAILED, "It cannot be seen how the flow stands.", seen.failure, _LOOK, limits.lasting, severity="critical")
        return Judgement((failed,), lambda kind: kind == CHECK_FAILED)
    stopped = _not_copying(seen, late, limits) if seen.comparable else []
    problems = [*_unreachable(seen, limits), *_errors(seen, limits), *stopped]
    if seen.comparable:
        problems += [*_no_progress(late, limits, opens=not stopped), *_behind(late, limits, opens=not stopped)]
    problems += _heartbeats(seen, limits, stopped=bool(stopped or seen.silent))
    return Judgement(tuple(problems), lambda kind: _judged(seen, kind))


def _judged(seen: Seen, kind: str) -> bool:
    if kind in (UNREACHABLE, CHECK_FAILED):
        return True
    return seen.beats is not None if kind == NO_BEATS else seen.comparable


_LOOK = "Look at the log of the newest run of the freshness DAG."
_COPY_LOOK = (
    "Look whether the copy DAG is paused, waits for its pool (python -m mirror pools) or for a free slot, and at the log of its newest run."
)


def _unreachable(seen: Seen, limits: Limits) -> list[Problem]:
    if limits.unreachable is None:
        return []
    return [
        Problem(
            UNREACHABLE,
            f"Cluster {alias} {'does not answer' if error.retriable else 'refuses the connection'}.",
            error.message,
            error.next,
            limits.unreachable if error.retriable else limits.lasting,
            what=alias,
            severity="critical",
        )
        for alias, error in seen.silent.items()
    ]


def _errors(seen: Seen, limits: Limits) -> list[Problem]:
    """Errors that do not end by themselves, by topic; those that usually do, all of a kind together, and after a while."""
    by_code: dict[str, list[ErrorReport]] = {}
    silent = {error.message for error in seen.silent.values()}
    for error in seen.status.errors:
        if error.message not in silent:
            by_code.setdefault(error.code, []).append(error)
    problems: list[Problem] = []
    for code, errors in by_code.items():
        severity = "critical" if code in _LOSS else "error"
        lines = [error.message for error in errors]
        if errors[0].retriable:
            if limits.unreachable is not None:
                problems.append(Problem(code, _first(lines), listed(lines), errors[0].next, limits.unreachable, severity=severity))
            continue
        whole = [error for error in errors if error.topic is None]
        if whole:
            lines = [error.message for error in whole]
            problems.append(Problem(code, _first(lines), listed(lines), whole[0].next, limits.lasting, severity=severity))
        places = [Place(error.topic, error.partition, error.message) for error in errors if error.topic is not None]
        advice = {error.topic: error.next for error in reversed(errors) if error.topic is not None}
        found = by_topic(code, places, said=f"{_words(code)}: {{}}", next=advice, patience=limits.lasting, severity=severity)
        problems += [each for each in found if not (whole and each.what is None)]
    return problems


def _not_copying(seen: Seen, late: Sequence[Late], limits: Limits) -> list[Problem]:
    if limits.copy is None:
        return []
    waits = [each for each in late if each.status.state in _SERVED and each.still >= limits.copy]
    written = seen.status.written
    quiet = None if written is None else seen.now - written.time.timestamp()
    if not waits or (quiet is not None and quiet < limits.copy):
        return []
    since = "Nothing was ever copied" if quiet is None else f"Nothing was copied for {duration(quiet)}"
    detail = [f"{len(waits):,} partitions with {sum(each.records for each in waits):,} records wait:", *map(_line, waits)]
    summary = f"{since}, and there is work for {duration(max(each.still for each in waits))}."
    return [Problem(NOT_COPYING, summary, listed(detail), _COPY_LOOK, limits.lasting, severity="critical")]


def _no_progress(late: Sequence[Late], limits: Limits, *, opens: bool) -> list[Problem]:
    if limits.progress is None:
        return []
    places = [
        Place(each.status.topic, each.status.partition, f"{_line(each)}, unchanged for {duration(each.still)}")
        for each in late
        if each.status.state in _SERVED and each.still >= limits.progress
    ]
    advice = (
        "Look at the log of the newest copy run: what it says of these partitions, and whether its budget (mirror.run.max.*) is too small."
    )
    said = "{} made no progress though the source has records to copy."
    return by_topic(STILL, places, said=said, next=advice, patience=limits.lasting, opens=opens, severity="error")


def _behind(late: Sequence[Late], limits: Limits, *, opens: bool) -> list[Problem]:
    """Partitions that have an alert of their own count only for an alert that is there already: it is not over while they are behind."""
    if not _over(late, limits):
        return []
    told = limits.progress
    alone = [each for each in late if each.status.state in _SERVED and (told is None or each.still < told)]
    counted = alone if opens and _over(alone, limits) else late
    records, seconds = sum(each.records for each in counted), max(each.seconds for each in counted)
    allowed = [f"{duration(limits.lag)}"] if limits.lag is not None else []
    allowed += [f"{limits.lag_records:,} records"] if limits.lag_records is not None else []
    return [
        Problem(
            LATE,
            f"The mirror is {duration(seconds)} and {records:,} records behind; allowed: {', '.join(allowed)}.",
            listed([_line(each) for each in counted]),
            "Look at the newest copy runs: whether they come, how long they take, and whether they end at their budget "
            "(mirror.run.max.seconds, mirror.run.max.bytes) or at the throttle.",
            limits.lasting,
            opens=opens and bool(_over(alone, limits)),
            severity="warning",
        )
    ]


def _over(late: Sequence[Late], limits: Limits) -> bool:
    if limits.lag is not None and any(each.seconds > limits.lag for each in late):
        return True
    return limits.lag_records is not None and sum(each.records for each in late) > limits.lag_records


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


def _line(each: Late) -> str:
    return f"{each.status.topic_partition}: {each.records:,} records behind, {duration(each.seconds)}"


def _first(lines: Sequence[str]) -> str:
    """One sentence for all of them."""
    first = lines[0].split("\n")[0]
    return first if len(lines) == 1 else f"{first} (and {len(lines) - 1:,} more)"


def _words(code: str) -> str:
    """`SourceGap` -> 'Source gap'."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in code).strip()
    return spaced[0].upper() + spaced[1:]
