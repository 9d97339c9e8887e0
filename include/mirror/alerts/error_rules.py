"""Errors that the check met: clusters that are silent, and what a person has to mend, by topic."""

from collections.abc import Sequence
from dataclasses import replace

from mirror.alerts.limits import Limits
from mirror.alerts.problems import Place, Problem, by_topic, listed
from mirror.alerts.seen import Seen
from mirror.errors import ErrorReport
from mirror.report.status import NO_LEADER

UNREACHABLE, LEADERLESS = "ClusterUnreachable", "NoLeader"

_BROKERS = (
    "Bring the source's brokers back that hold these partitions (kafka-topics.sh --describe --unavailable-partitions names them); "
    "the next run of the copy goes on by itself."
)

LOSS = frozenset(
    {"SourceGap", "SourceTruncated", "SourceRecreated", "TargetLostRecords", "TargetRecreated", "LedgerMissing", "LedgerDamaged"}
)
"""Errors after which records are, or may be, missing."""


def unreachable(seen: Seen, limits: Limits) -> list[Problem]:
    """Clusters that did not answer, one by one."""
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


def leaderless(seen: Seen, limits: Limits) -> list[Problem]:
    """Partitions that cannot be read because no broker of the source leads them, by topic; a broker that restarts has its time."""
    if limits.unreachable is None:
        return []
    found = [each for each in seen.status.partitions if each.state == NO_LEADER]
    places = [Place(each.topic, each.partition, f"{each.topic_partition}: nothing of it can be read.") for each in found]
    said = "No leader on the source: {}"
    return by_topic(LEADERLESS, places, said=said, next=_BROKERS, patience=limits.unreachable, severity="error")


def standing_errors(seen: Seen, limits: Limits) -> list[Problem]:
    """Errors that do not end by themselves, by topic; those that usually do, all of a kind together, and after a while."""
    by_code: dict[str, list[ErrorReport]] = {}
    silent = {error.message for error in seen.silent.values()}
    for error in seen.status.errors:
        if error.message not in silent:
            by_code.setdefault(error.code, []).append(error)
    problems: list[Problem] = []
    for code, errors in by_code.items():
        severity = "critical" if code in LOSS else "error"
        lines = [error.message for error in errors]
        if errors[0].retriable:
            if limits.unreachable is not None:
                mends = Problem(code, _first(lines), listed(lines), errors[0].next, limits.unreachable, severity=severity)
                where = frozenset((error.topic, error.partition) for error in errors if error.topic is not None)
                problems.append(replace(mends, size=len(errors), places=where))
            continue
        whole = [error for error in errors if error.topic is None]
        if whole:
            lines = [error.message for error in whole]
            problems.append(Problem(code, _first(lines), listed(lines), whole[0].next, limits.lasting, severity=severity))
        places = [Place(error.topic, error.partition, error.message) for error in errors if error.topic is not None]
        advice = {error.topic: error.next for error in reversed(errors) if error.topic is not None}
        found = by_topic(code, places, said=f"{_words(code)}: {{}}", next=advice, patience=limits.lasting, severity=severity)
        problems += [replace(each, shared=False) for each in found if each.what is not None] if whole else found
    return problems


def _first(lines: Sequence[str]) -> str:
    """One sentence for all of them."""
    first = lines[0].split("\n")[0]
    return first if len(lines) == 1 else f"{first} (and {len(lines) - 1:,} more)"


def _words(code: str) -> str:
    """`SourceGap` -> 'Source gap'."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in code).strip()
    return spaced[0].upper() + spaced[1:]
