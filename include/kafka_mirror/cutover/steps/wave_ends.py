"""What must hold before a wave is opened: it is copied to the source's very end, and nothing else stands on the target. Pure.

         source                                target
copied ──────┤ watermark = end      copied ──────┤ target_next ├─ our marker at most ─┤ end
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_mirror.copy.plan.target_checks import RemotePartition, hidden, unusable
from kafka_mirror.cutover.wave.findings import Finding, stop
from kafka_mirror.errors import DecisionPending, MirrorError, NotCopiedToTheEnd, NotCopiedYet, TargetWritten
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import LogOffsets
from kafka_mirror.ledger.decisions import Decisions, Present, in_force
from kafka_mirror.ledger.record import LedgerRecord

Records = Mapping[TopicPartition, LedgerRecord]


@dataclass(frozen=True)
class SourceLog:
    """A partition as it is now."""

    topic_id: str
    log: LogOffsets | None


def unopened(records: Records, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
    """The partitions that the ledger does not have as moved yet."""
    return [tp for tp in partitions if (record := records.get(tp)) is None or record.moved is None]


def source_findings(records: Records, ends: Mapping[TopicPartition, SourceLog]) -> Iterator[Finding]:
    """What is said against partitions whose copy does not end where the source does."""
    unknown = [tp for tp in ends if tp not in records]
    if unknown:
        yield stop(NotCopiedYet(first_few(unknown)))
    late = [(tp, why) for tp, end in sorted(ends.items()) if tp in records and (why := _why_late(records[tp], end))]
    if late:
        yield stop(NotCopiedToTheEnd(len(late), len(ends), first_few([f"{tp} {why}" for tp, why in late])))


def _why_late(record: LedgerRecord, end: SourceLog) -> str:
    """Why a partition is not copied to its end; empty if it is."""
    if record.handed_back is not None:
        return "(MirrorMaker 2 mirrors it)"
    if end.log is None or min(end.log.stable, end.log.end) < 0:
        return "(it has no leader)"
    if not record.is_of(end.topic_id, end.log.leader_epoch):
        return "(the topic was created again)"
    if end.log.stable < end.log.end:
        return f"(a transaction is open from {end.log.stable} on)"
    return "" if record.watermark == end.log.end else f"(copied up to {record.watermark}, and the source ends at {end.log.end})"


def target_findings(remotes: Iterable[RemotePartition], records: Records) -> Iterator[Finding]:
    """What is said against remote partitions that are not as the ledger left them, as far as it shows without reading them."""
    for remote in remotes:
        record = records[remote.source]
        error: MirrorError | None = unusable(remote, record) or hidden(remote, record)
        if error is not None:
            yield stop(error)
        elif remote.last_stable < remote.end:
            said = f"{remote.remote}-{remote.source.partition}: a transaction is open from {remote.last_stable} on"
            yield stop(TargetWritten(said, topic=remote.source.topic))


def stranger_findings(visible: Mapping[TopicPartition, int]) -> Iterator[Finding]:
    """What is said of records that follow ours. `visible`: the first one's offset, by remote partition."""
    if visible:
        places = first_few([f"{remote}@{offset}" for remote, offset in sorted(visible.items())])
        yield stop(TargetWritten(f"Records of somebody else follow what was copied: {places}"))


def pending_findings(decisions: Decisions, present: Present, partitions: Collection[TopicPartition]) -> list[Finding]:
    """A stop for each topic about whose partitions somebody decided what no copy has acted on: after `open` none ever would."""
    pending = [decision for tp in sorted(partitions) for decision in decisions.of(tp) if in_force(decision, decisions, present)]
    return [
        stop(DecisionPending(topic, first_few(about)))
        for topic in dict.fromkeys(decision.topic or "" for decision in pending)
        if (about := [f"the decision about partition {decision.partition} ({decision})" for decision in pending if decision.topic == topic])
    ]


def ends_document(records: Records, partitions: Collection[TopicPartition]) -> dict[str, Any]:
    """Where both sides ended when the wave was opened, as columns: after the last source offset, and after our last record."""
    rows = sorted(tp for tp in partitions if tp in records)
    return {
        "topic": [tp.topic for tp in rows],
        "partition": [tp.partition for tp in rows],
        "source_end": [records[tp].watermark for tp in rows],
        "target_end": [records[tp].target_next for tp in rows],
    }


def offsets_document(offsets: Mapping[TopicPartition, int]) -> dict[str, Any]:
    """Offsets by partition, as columns."""
    rows = sorted(offsets)
    return {"topic": [tp.topic for tp in rows], "partition": [tp.partition for tp in rows], "end": [offsets[tp] for tp in rows]}


def read_offsets(document: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """The opposite of `offsets_document`."""
    rows = zip(document.get("topic", ()), document.get("partition", ()), document.get("end", ()), strict=True)
    return {TopicPartition(topic, partition): end for topic, partition, end in rows}
