"""What an audit of a wave says against moving it. Pure."""

from collections.abc import Collection, Iterator

from kafka_mirror.audit.model import OPEN, UNREAD, AuditResult, Difference
from kafka_mirror.cutover.steps.audit_evidence import Ends
from kafka_mirror.cutover.wave.findings import Finding, stop, warning
from kafka_mirror.errors import AuditDifferent, AuditLeftOut, AuditOpen, AuditOutdated, AuditTolerated, LeaderMissing, NotCopiedToTheEnd
from kafka_mirror.errors.next_step import Command, of_the_flow
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition


def not_copied(ends: Ends, partitions: Collection[TopicPartition], source: str) -> Iterator[Finding]:
    """A stop for each topic that is not copied to its end: an audit behind the fence is of everything."""
    for topic in sorted({tp.topic for tp in partitions}):
        of_topic = [tp for tp in sorted(partitions) if tp.topic == topic]
        silent = [tp for tp in of_topic if tp not in ends]
        if silent:
            yield stop(LeaderMissing(first_few(silent), source, topic=topic))
        late = [tp for tp in of_topic if tp in ends and not ends[tp].is_empty and ends[tp].watermark != ends[tp].source_end]
        if late:
            places = first_few([f"{tp} ({ends[tp].watermark} of {ends[tp].source_end})" for tp in late])
            yield stop(NotCopiedToTheEnd(len(late), len(of_topic), places, topic=topic))


def outdated(before: Ends, now: Ends) -> Iterator[Finding]:
    """A stop for each topic of which the audit does not speak any more: an end moved, a decision or another topic changed how a partition
    is copied, or a partition is new."""
    moved = [tp for tp, end in before.items() if tp not in now or _ends(now, tp) != (end.source_end, end.target_end)]
    changed = [tp for tp, end in before.items() if tp not in moved and now[tp].generation != end.generation]
    new = [tp for tp, end in now.items() if tp not in before and not end.is_empty]
    yield from _outdated(moved, "something was written since the audit looked at {}, on the source or on the target")
    yield from _outdated(changed, "since the audit looked at {}, a decision was acted on there, or a topic was created anew")
    yield from _outdated(new, "the audit did not look at {}")


def not_whole(partitions: Collection[TopicPartition]) -> Iterator[Finding]:
    """A stop for each topic of which only what came last was audited, where the whole is asked for."""
    return _outdated(partitions, "of {} the audit compared only what came last, and --full-audit asks for all")


def _outdated(partitions: Collection[TopicPartition], why: str) -> Iterator[Finding]:
    for topic in sorted({tp.topic for tp in partitions}):
        places = first_few([str(tp) for tp in sorted(partitions) if tp.topic == topic])
        yield stop(AuditOutdated(topic, why.format(places)))


def audit_findings(result: AuditResult, topics: Collection[str], rollback: Command) -> Iterator[Finding]:
    """What a result says: a stop for each partition that differs, or of which something could not be read."""
    for difference in result.differences:
        yield _different(difference, rollback)
    for error in result.errors:
        if error.topic is None or error.topic in topics:
            yield stop(error)
    for audit in result.partitions:
        for note in audit.notes:
            if note in (OPEN, UNREAD):
                yield stop(AuditOpen(audit.topic, audit.partition, note))
        if audit.tolerated:
            yield warning(AuditTolerated(audit.topic, audit.partition, audit.remote, audit.tolerated))
    yield from _left_out(result)


def _different(difference: Difference, rollback: Command) -> Finding:
    error = AuditDifferent(str(difference), difference.topic, difference.partition, difference.source_offset).report()
    look = of_the_flow("audit", f"--topics {difference.topic} --show-payload")
    return stop(error.with_next("Keep the fence, and look at both records: ", look, ". To take the wave back: ", rollback, "."))


def _left_out(result: AuditResult) -> Iterator[Finding]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for audit in result.partitions:
        for interval in audit.left_out:
            place = f"{audit.partition} [{interval.start}, {interval.end})"
            reasons.setdefault((audit.topic, interval.reason), []).append(place)
    for (topic, reason), places in reasons.items():
        yield warning(AuditLeftOut(topic, first_few(places), reason))


def _ends(ends: Ends, tp: TopicPartition) -> tuple[int, int | None]:
    return ends[tp].source_end, ends[tp].target_end
