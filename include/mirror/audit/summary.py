"""From the outcomes of stretches to the audit of each partition."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from mirror.audit.model import DIFFERENT, EQUAL, UNPROVEN, Difference, LeftOut, PartitionAudit
from mirror.audit.prepare import Prepared
from mirror.audit.work import Outcome
from mirror.offsets.partition import TopicPartition


def partition_audits(prepared: Prepared, outcomes: Iterable[Outcome]) -> tuple[PartitionAudit, ...]:
    """One for each partition and each topic of the target that holds something of it, the remote topic first."""
    found: dict[tuple[TopicPartition, str], list[Outcome]] = {}
    for each in outcomes:
        found.setdefault((each.stretch.source, each.stretch.remote.topic), []).append(each)
    refused = {(error.topic, error.partition) for error in prepared.errors} | {(error.topic, None) for error in prepared.errors}
    audits = []
    for tp, record in sorted(prepared.records.items()):
        topics = dict.fromkeys([record.target_topic, *(topic for of, topic in found if of == tp)])
        for topic in topics:
            parts = sorted(found.get((tp, topic), []), key=lambda each: each.stretch.target_start)
            left_out = prepared.left_out.get(tp, ()) if topic == record.target_topic else ()
            if parts or left_out or topic == record.target_topic:
                nothing_asked = not left_out and tp not in refused and (tp.topic, None) not in refused
                audits.append(_of(tp, topic, parts, left_out, EQUAL if nothing_asked and not parts else UNPROVEN))
    return tuple(audits)


def _of(tp: TopicPartition, remote: str, parts: Sequence[Outcome], left_out: Sequence[LeftOut], state: str) -> PartitionAudit:
    compared = [each for each in parts if each.error is None]
    difference = _first(compared)
    something = any(each.stretch.offsets for each in compared)
    if compared and len(compared) == len(parts) and (something or not left_out):
        state = EQUAL
    if difference is not None:
        state = DIFFERENT
    return PartitionAudit(
        *tp,
        remote,
        state,
        _hull([(each.stretch.start, each.stretch.end) for each in compared]),
        _hull([(each.stretch.target_start, each.stretch.target_end) for each in compared]),
        sum(each.source_records for each in compared),
        sum(each.target_records for each in compared),
        _digest([each.source_digest for each in compared]),
        _digest([each.target_digest for each in compared]),
        sum(each.tolerated for each in compared),
        sum(each.unpaired for each in compared),
        difference,
        (*left_out, *(left for each in compared for left in each.left_out)),
        tuple(dict.fromkeys(note for each in compared for note in each.notes)),
    )


def _first(parts: Iterable[Outcome]) -> Difference | None:
    return next((each.difference for each in parts if each.difference is not None), None)


def _hull(intervals: Sequence[tuple[int, int]]) -> tuple[int, int]:
    return (min(start for start, _ in intervals), max(end for _, end in intervals)) if intervals else (0, 0)


def _digest(texts: Sequence[str]) -> str:
    """Of several stretches the digest of their digests; '' where one of them has none."""
    if len(texts) < 2 or not all(texts):
        return texts[0] if texts and all(texts) else ""
    return blake2b("".join(texts).encode(), digest_size=16).hexdigest()
