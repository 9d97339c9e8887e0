"""When the copy is too slow or stands still: as a whole, in some partitions, or behind what is allowed."""

from collections.abc import Sequence

from mirror.alerts.lateness import SERVED, Late
from mirror.alerts.limits import LEAST_SECONDS, Limits
from mirror.alerts.problems import Place, Problem, by_topic, listed
from mirror.alerts.seen import Seen
from mirror.report.words import duration

LATE, STILL, NOT_COPYING = "Behind", "NoProgress", "NotCopying"

_COPY_LOOK = (
    "Look whether the copy DAG is paused, waits for its pool (python -m mirror pools) or for a free slot, and at the log of its newest run."
)


def not_copying(seen: Seen, late: Sequence[Late], limits: Limits) -> list[Problem]:
    """That nothing at all is copied though there is work."""
    if limits.copy is None or has_copied(seen, limits):
        return []
    waits = [each for each in late if each.status.state in SERVED and each.still >= limits.copy]
    if not waits:
        return []
    quiet = _quiet(seen)
    since = "Nothing was ever copied" if quiet is None else f"Nothing was copied for {duration(quiet)}"
    detail = [f"{len(waits):,} partitions with {sum(each.records for each in waits):,} records wait:", *map(_line, waits)]
    longest = max(each.still for each in waits)
    summary = f"{since}, and there is work for {duration(longest)}."
    size = _times(longest, limits.copy)
    return [Problem(NOT_COPYING, summary, listed(detail), _COPY_LOOK, limits.lasting, severity="critical", size=size)]


def has_copied(seen: Seen, limits: Limits) -> bool:
    """Whether something was copied within the time that is allowed."""
    quiet = _quiet(seen)
    return limits.copy is None or (quiet is not None and quiet < limits.copy)


def _quiet(seen: Seen) -> float | None:
    """For how many seconds nothing was copied, as far as the clocks of those who wrote are right: what one wrote that is a day ahead is as
    little of now as what one wrote a day ago. None if nothing ever was."""
    written = [each.written.time.timestamp() for each in seen.status.partitions if each.written is not None]
    return min((abs(seen.now - time) for time in written), default=None)


def no_progress(late: Sequence[Late], limits: Limits, *, opens: bool) -> list[Problem]:
    """Partitions whose watermark stands still though there is work, by topic."""
    if limits.progress is None:
        return []
    places = [
        Place(each.status.topic, each.status.partition, f"{_line(each)}, unchanged for {duration(each.still)}")
        for each in late
        if each.status.state in SERVED and each.still >= limits.progress
    ]
    advice = (
        "Look at the log of the newest copy run: what it says of these partitions, and whether its budget (mirror.run.max.*) is too small."
    )
    said = "{} made no progress though the source has records to copy."
    return by_topic(STILL, places, said=said, next=advice, patience=limits.lasting, opens=opens, severity="error")


def behind(late: Sequence[Late], limits: Limits, *, opens: bool) -> list[Problem]:
    """That records wait for too long, or are too many. Partitions that have an alert of their own count only for an alert that is there
    already: it is not over while they are behind."""
    if not _over(late, limits):
        return []
    told = limits.progress
    alone = [each for each in late if each.status.state in SERVED and (told is None or each.still < told)]
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
            size=max(_times(seconds, limits.lag), 1.0 if limits.lag_records is None else records / max(limits.lag_records, 1)),
            places=frozenset(each.status.topic_partition for each in late),
        )
    ]


def _over(late: Sequence[Late], limits: Limits) -> bool:
    if limits.lag is not None and any(each.seconds > limits.lag for each in late):
        return True
    return limits.lag_records is not None and sum(each.records for each in late) > limits.lag_records


def _times(seconds: float, allowed: float | None) -> float:
    """How many times what is allowed; of less than a quarter of an hour nobody has to hear again within minutes."""
    return 1.0 if allowed is None else max(seconds / max(allowed, LEAST_SECONDS), 1.0)


def _line(each: Late) -> str:
    return f"{each.status.topic_partition}: {each.records:,} records behind, {duration(each.seconds)}"
