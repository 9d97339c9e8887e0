"""A source that came back after a failover: what it holds beside what was copied of it, and an export of what only it has.

It goes by watermarks, log ends and leader epochs, and writes nothing to either cluster.

copied   ──────────── watermark            copied   ──────── D ── watermark
source   ──────────── watermark ───── end  source   ──────── D ═══════════ end
                      only the source has                    D: its leader epoch departs here, or the log ends:
                      these                                  copied records after D are not its own any more
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_mirror.audit.model import AuditResult
from kafka_mirror.audit.run import audit
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.config.validate import check_readable
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.copy.plan.source_partitions import confirm_partitions, source_partitions, with_epoch_ends
from kafka_mirror.cutover.failover.export import TIMESTAMP_TYPES, ExportedRecord, ExportFiles
from kafka_mirror.cutover.wave.selection import Wave, select_topics
from kafka_mirror.cutover.wave.step import Finding, information, report_wave_topics, sort_findings, stop, warning, with_flow
from kafka_mirror.errors import (
    AuditDifferent,
    ExportFailed,
    MirrorError,
    OnlyOnSource,
    SourceLostRecords,
    SourcePartitionGone,
    SourceTopicRecreated,
    TransactionOpen,
    name_flow_in_errors,
)
from kafka_mirror.errors.next_step import Part
from kafka_mirror.errors.source import TRANSACTION_ENDS_LATE
from kafka_mirror.errors.wave_fence import transaction_commands
from kafka_mirror.formats.batches.batch_records import ReadRecord
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.producers import active_producers
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.checks import check_clusters
from kafka_mirror.ledger.clusters import clusters, read_state
from kafka_mirror.ledger.record import LedgerRecord

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

SAME, MORE, LESS, OTHER, NEW, GONE = "same", "more", "less", "other", "new", "gone"
"""What a returned partition is beside its copy: it ends where the copy does; it has records that were never copied; it lost copied ones
(and may have others in their place); its topic was created again; it was never copied at all; it is not there any more."""


@dataclass(frozen=True)
class PartitionComparison:
    """One partition of the returned source. Offsets are the source's.

    `[only_start, only_end)` is what only the source has, as far as it can be read, `[lost_start, lost_end)` what was copied and is gone.
    `open_until`: from `only_end` up to here a transaction is open.
    """

    source: TopicPartition
    state: str
    watermark: int | None
    only_start: int
    only_end: int
    lost_start: int = 0
    lost_end: int = 0
    open_until: int | None = None
    topic_id: str = ""

    @property
    def only(self) -> int:
        """How many offsets only the source has: an upper bound of the records, for markers and aborted records have offsets too."""
        return self.only_end - self.only_start

    @property
    def lost(self) -> int:
        """How many copied offsets the source has no more, or holds other records at."""
        return self.lost_end - self.lost_start

    def __str__(self) -> str:
        parts = []
        if self.only:
            parts.append(f"only the source has {show_span(self.only_start, self.only_end)}")
        if self.lost:
            parts.append(f"the source has {show_span(self.lost_start, self.lost_end)} no more, which were copied")
        if self.open_until is not None:
            parts.append(f"a transaction is open from offset {self.only_end:,} on")
        return f"{self.source}: {'; '.join(parts) or 'the same'}"

    def as_document(self) -> dict[str, object]:
        """As JSON takes it."""
        return {
            "topic": self.source.topic,
            "partition": self.source.partition,
            "state": self.state,
            "watermark": self.watermark,
            "only_on_source": [self.only_start, self.only_end] if self.only else None,
            "not_on_source": [self.lost_start, self.lost_end] if self.lost else None,
            "open_until": self.open_until,
        }


def show_span(start: int, end: int) -> str:
    """Offsets for people: the first and the last one."""
    return f"offset {start:,}" if end - start == 1 else f"offsets {start:,}..{end - 1:,}"


def compare_partitions(
    records: Mapping[TopicPartition, LedgerRecord], source: Mapping[TopicPartition, SourceOffsets]
) -> tuple[PartitionComparison, ...]:
    """Every partition that the ledger or the source has, in order."""
    return tuple(_compare(tp, records.get(tp), source.get(tp)) for tp in sorted({*records, *source}))


def _compare(tp: TopicPartition, record: LedgerRecord | None, log: SourceOffsets | None) -> PartitionComparison:
    watermark, copied_from = (None, 0) if record is None else (record.watermark, record.live_start)
    if log is None:
        return PartitionComparison(tp, GONE, watermark, 0, 0, copied_from, watermark or 0)
    lost = (0, 0)
    departs = log.end if log.epoch_end is None or record is None or record.leader_epoch is None else min(log.end, log.epoch_end)
    if record is None:
        state, start = NEW, log.log_start
    elif not record.is_of(log.topic_id):
        state, start, lost = OTHER, log.log_start, (copied_from, record.watermark) if record.watermark else lost
    elif departs < record.watermark:
        state, start, lost = LESS, max(departs, log.log_start), (departs, record.watermark)
    else:
        start = max(record.watermark, log.log_start)
        state = MORE if max(log.readable_end, start) > start or log.end > log.readable_end else SAME
    open_until = log.end if log.end > log.readable_end else None
    return PartitionComparison(tp, state, watermark, start, max(start, log.readable_end), *lost, open_until, log.topic_id)


def report_comparison(comparisons: Iterable[PartitionComparison], undescribed: Container[TopicPartition] = ()) -> Iterator[Finding]:
    """A sentence for each partition that is not the same, and one for all that are. `undescribed`: those whose leaders are too old to
    tell who writes."""
    same = 0
    for compared in comparisons:
        tp = compared.source
        same += compared.state == SAME
        if compared.state == GONE:
            yield warning(SourcePartitionGone(tp.topic, str(tp), _say_copied(compared)))
            continue
        if compared.state == OTHER:
            yield warning(SourceTopicRecreated(*tp, _say_copied(compared)))
        elif compared.lost:
            yield warning(SourceLostRecords(*tp, _say_copied(compared)))
        if compared.only:
            was = "it was never copied, so " if compared.state == NEW else ""
            yield warning(OnlyOnSource(*tp, f"{was}only the source has {show_span(compared.only_start, compared.only_end)}"))
        if compared.open_until is not None:
            error = TransactionOpen(*tp, compared.only_end, f", to {compared.open_until:,} at least")
            yield stop(error.report().with_next(*_advise_end(compared, tp not in undescribed)))
    if same:
        yield information("Same", f"{same} partitions end on the source where they were copied to.")


def _advise_end(compared: PartitionComparison, is_known: bool) -> tuple[Part, ...]:
    """How the open transaction of a partition ends.

    Brokers that were killed have been seen to end a transaction for the coordinator before they knew the partition's leader: then its
    marker is never written, not even that of a commit which the producer has an answer for.
    """
    export = "its marker was lost, and it may have been committed: export it first (--export DIR writes it to *.open.jsonl)."
    if not is_known:
        return (f"Wait: {TRANSACTION_ENDS_LATE} Of one that hangs {export} Then compare once more.",)
    wait = f"Wait until its coordinator has ended it (transaction.timeout.ms of its producer). If it stays open after that, {export} Then "
    return wait, *transaction_commands(*compared.source, compared.only_end), ". Then compare once more."


def _say_copied(compared: PartitionComparison) -> str:
    return (
        f"{show_span(compared.lost_start, compared.lost_end)} were copied and are not there"
        if compared.lost
        else "nothing of it was copied"
    )


# ------------------------------------------------------------ asking it


EVERYTHING = ".*"
"""The pattern that takes every topic that the flow replicates."""


@dataclass(frozen=True)
class SourceComparison:
    """What the returned source is beside its copy. `exported`: how many records each partition's file has, `exported_open` that of what
    follows the begin of an open transaction; `audit`: None if none was asked for, or nothing is left to compare."""

    time: datetime
    partitions: tuple[PartitionComparison, ...]
    findings: tuple[Finding, ...]
    exported: Mapping[TopicPartition, int] = field(default_factory=dict)
    exported_open: Mapping[TopicPartition, int] = field(default_factory=dict)
    audit: AuditResult | None = None


def compare_source(flow: "Flow", topics: tuple[str, ...] = (), export: Path | None = None, with_audit: bool = True) -> SourceComparison:
    """Compares watermarks, log ends and leader epochs, then by an audit all records that both sides should have. `topics` are patterns;
    without any, all topics that the flow replicates, and all in its ledger.

    With `export` the records that only the source has are written there. Raises OtherCluster, ExportDiffers, ExportFailed, and what
    concerns a cluster as a whole.
    """
    check_readable(flow)
    with name_flow_in_errors(flow.name), clusters(flow) as (source, target):
        comparisons, findings = _look(flow, source, target, topics)
        refused = dict[str, MirrorError]()
        opened = {compared.source for compared in comparisons if compared.open_until is not None}
        described = active_producers(source, opened, refused)
        findings += report_comparison(comparisons, {tp for tp in opened if tp not in described and tp.topic not in refused})
        exported, exported_open = (_export(flow, source, comparisons, export, is_open) if export else {} for is_open in (False, True))
    # The source offsets that both sides should have: those that were copied and that the source still has.
    both = {of.source: of.lost_start if of.lost else of.watermark or 0 for of in comparisons if of.state not in (GONE, NEW, OTHER)}
    shared = {tp: (0, end) for tp, end in both.items() if end > 0}
    result = audit(flow, source_offsets=shared) if with_audit and shared else None
    if result is not None:
        for difference in result.differences:
            error = AuditDifferent(str(difference), difference.topic, difference.partition, difference.source_offset).report()
            findings.append(stop(error.with_next("Find out which side is right before anything moves back.")))
        findings += map(stop, result.errors)
    return SourceComparison(datetime.now(UTC), comparisons, with_flow(sort_findings(findings), flow.name), exported, exported_open, result)


def _look(
    flow: "Flow", source: Cluster, target: Cluster, patterns: tuple[str, ...]
) -> tuple[tuple[PartitionComparison, ...], list[Finding]]:
    """The partitions of the topics, compared; and what is wrong with the topics."""
    refused, state = dict[str, MirrorError](), read_state(flow, target)
    check_clusters(state.records.values(), flow.source, source.cluster_id(), flow.target, target.cluster_id(), state.decisions)
    in_ledger = {tp.topic for tp in state.records}
    wave = Wave(patterns or (EVERYTHING,))
    chosen = select_topics(wave, {*source.names(), *in_ledger}, topic_selection(flow))
    wanted = {*chosen.names, *(in_ledger if not patterns else ())}
    records = {tp: record for tp, record in state.records.items() if tp.topic in wanted}
    topics = source.topics(wanted, refused)
    partitions = [TopicPartition(name, partition.number) for name, topic in topics.items() for partition in topic.partitions]
    logs = source_partitions(source, topics, partitions, flow.reads_committed, refused)
    readable = {tp: record for tp, record in records.items() if tp.topic not in refused}
    returned = confirm_partitions(with_epoch_ends(source, logs, records, flow.request_seconds), records)
    findings = [*(report_wave_topics(wave, chosen) if patterns else ()), *map(stop, refused.values())]
    return compare_partitions(readable, returned), findings


def _export(
    flow: "Flow", source: Cluster, comparisons: Iterable[PartitionComparison], directory: Path, is_open: bool
) -> Mapping[TopicPartition, int]:
    """Writes what only the source has, after what stands in the directory already; gives how many records each file has.

    `is_open`: what follows the begin of an open transaction instead, committed or not. If one whose marker was lost with its broker
    is aborted, its producer may have an answer that it was committed: then this is all that is left of it.
    """
    if is_open:
        ranges = {of: (of.only_end, of.open_until) for of in comparisons if of.open_until is not None}
        if not ranges:
            return {}
    else:
        ranges = {of: (of.only_start, of.only_end) for of in comparisons if of.only}
    files = ExportFiles(directory, flow.name, source.cluster_id(), is_open)
    files.begin({of.source: {"topic_id": of.topic_id, **({} if is_open else {"start": start})} for of, (start, _) in ranges.items()})
    starts = {of.source: files.find_next_offset(of.source, start) for of, (start, _) in ranges.items()}
    missing = {of.source: (starts[of.source], end) for of, (_, end) in ranges.items() if starts[of.source] < end}
    reader = BoundedReader(flow.source, flow.client("source", "consumer"), committed=flow.reads_committed and not is_open)
    for tp, records in groupby(map(_read_record, reader.read(missing, flow.request_seconds)), key=lambda record: record.source):
        files.append(tp, records)
    return files.finish({of.source: end for of, (_, end) in ranges.items()})


def _read_record(message: ReadRecord) -> ExportedRecord:
    tp, offset = message.partition, message.offset
    try:
        headers = tuple((name.encode(), value) for name, value in message.headers or ())
    except ValueError as failure:
        detail = "a header key is not UTF-8, which this client cannot read"
        raise ExportFailed(f"{tp}@{offset}", detail, topic=tp.topic, partition=tp.partition, offset=offset) from failure
    kind, timestamp = message.timestamp
    return ExportedRecord(tp, offset, timestamp, TIMESTAMP_TYPES[kind], message.leader_epoch, message.key, message.value, headers)
