"""Asks a source that came back after a failover what it holds, and exports what only it has. It writes nothing to either cluster."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_mirror.audit.model import AuditResult
from kafka_mirror.audit.run import audit
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.config.validate import check_readable
from kafka_mirror.copy.plan.source_partitions import confirmed, source_partitions, with_epoch_ends
from kafka_mirror.cutover.failover.export import TIMESTAMP_TYPES, ExportedRecord, ExportFiles
from kafka_mirror.cutover.failover.failback_compare import (
    GONE,
    NEW,
    OTHER,
    PartitionComparison,
    ReturnedLog,
    compare_partitions,
    report_comparison,
)
from kafka_mirror.cutover.wave.findings import Finding, in_order, stop, wave_findings
from kafka_mirror.cutover.wave.selection import Wave, select_topics
from kafka_mirror.errors import AuditDifferent, ExportFailed, MirrorError, named_with
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.producers import active_producers
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.checks import check_clusters
from kafka_mirror.ledger.clusters import clusters, read_state
from kafka_mirror.ledger.record import LedgerRecord

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

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
    with named_with(flow.name), clusters(flow) as (source, target):
        look = _SourceLook(flow, source, target)
        comparisons = look.run(topics)
        findings = [*look.findings, *report_comparison(comparisons, look.find_undescribed(comparisons))]
        exported = _export(flow, source, comparisons, export) if export is not None else {}
        exported_open = _export_open(flow, source, comparisons, export) if export is not None else {}
    result = audit(flow, source_offsets=shared) if with_audit and (shared := _find_shared(comparisons)) else None
    if result is not None:
        findings += _report_audit(result)
    return SourceComparison(datetime.now(UTC), comparisons, in_order(findings, flow.name), exported, exported_open, result)


class _SourceLook:
    def __init__(self, flow: "Flow", source: Cluster, target: Cluster) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self.findings: list[Finding] = []

    def run(self, patterns: tuple[str, ...]) -> tuple[PartitionComparison, ...]:
        """The partitions of the topics, compared."""
        flow, refused = self._flow, dict[str, MirrorError]()
        selection, in_ledger = topic_selection(flow), self._read_ledger()
        names = {*self._source.names(), *(tp.topic for tp in in_ledger)}
        chosen = select_topics(Wave(patterns or (EVERYTHING,)), names, selection)
        if patterns:
            self.findings += wave_findings(Wave(patterns), chosen)
        wanted = {*chosen.names, *({tp.topic for tp in in_ledger} if not patterns else ())}
        records = {tp: record for tp, record in in_ledger.items() if tp.topic in wanted}
        topics = self._source.topics(wanted, refused)
        partitions = [TopicPartition(name, partition.number) for name, topic in topics.items() for partition in topic.partitions]
        logs = source_partitions(self._source, topics, partitions, flow.reads_committed, refused)
        self.findings += map(stop, refused.values())
        hidden = {tp for tp in records if tp.topic in refused}
        with_epochs = confirmed(with_epoch_ends(self._source, logs, records, flow.request_seconds), records)
        returned = {
            tp: ReturnedLog(log.topic_id, log.log_start, log.readable_end, log.end, log.epoch_end) for tp, log in with_epochs.items()
        }
        return compare_partitions({tp: record for tp, record in records.items() if tp not in hidden}, returned)

    def find_undescribed(self, comparisons: Iterable[PartitionComparison]) -> set[TopicPartition]:
        """The partitions with an open transaction whose leaders are too old to tell who writes."""
        refused = dict[str, MirrorError]()
        wanted = {compared.source for compared in comparisons if compared.open_until is not None}
        producers = active_producers(self._source, wanted, refused)
        return {tp for tp in wanted if tp not in producers and tp.topic not in refused}

    def _read_ledger(self) -> Mapping[TopicPartition, LedgerRecord]:
        flow, state = self._flow, read_state(self._flow, self._target)
        source_id, target_id = self._source.cluster_id(), self._target.cluster_id()
        check_clusters(state.records.values(), flow.source, source_id, flow.target, target_id, state.decisions)
        return state.records


def _export(flow: "Flow", source: Cluster, comparisons: Iterable[PartitionComparison], directory: Path) -> Mapping[TopicPartition, int]:
    """Writes what only the source has, after what stands in the directory already; gives how many records each file has."""
    wanted = {compared.source: compared for compared in comparisons if compared.only}
    files = ExportFiles(directory, flow.name, source.cluster_id())
    files.begin({tp: {"topic_id": compared.topic_id, "start": compared.only_start} for tp, compared in wanted.items()})
    ranges = {tp: (compared.only_start, compared.only_end) for tp, compared in wanted.items()}
    return _write(files, BoundedReader(flow.source, flow.client("source", "consumer"), committed=flow.reads_committed), flow, ranges)


def _export_open(
    flow: "Flow", source: Cluster, comparisons: Iterable[PartitionComparison], directory: Path
) -> Mapping[TopicPartition, int]:
    """Writes what follows the begin of an open transaction, committed or not. If a transaction whose marker was lost with its broker is
    aborted, it may be one whose commit the producer has an answer for: then this is all that is left of it."""
    wanted = {compared.source: compared for compared in comparisons if compared.open_until is not None}
    if not wanted:
        return {}
    files = ExportFiles(directory, flow.name, source.cluster_id(), is_open=True)
    files.begin({tp: {"topic_id": compared.topic_id} for tp, compared in wanted.items()})
    ranges = {tp: (compared.only_end, compared.open_until or 0) for tp, compared in wanted.items()}
    return _write(files, BoundedReader(flow.source, flow.client("source", "consumer"), committed=False), flow, ranges)


def _write(
    files: ExportFiles, reader: BoundedReader, flow: "Flow", ranges: Mapping[TopicPartition, tuple[int, int]]
) -> Mapping[TopicPartition, int]:
    """Continues the files to the ends of these offsets; gives how many records each has then."""
    starts = {tp: files.next_offset(tp, start) for tp, (start, _) in ranges.items()}
    missing = {tp: (starts[tp], end) for tp, (_, end) in ranges.items() if starts[tp] < end}
    for tp, records in groupby(map(_read_record, reader.read(missing, flow.request_seconds)), key=lambda record: record.source):
        files.append(tp, records)
    return files.finish({tp: end for tp, (_, end) in ranges.items()})


def _read_record(message: Any) -> ExportedRecord:
    """A message of the client."""
    tp, offset = TopicPartition(message.topic(), message.partition()), message.offset()
    try:
        headers = tuple((name.encode(), value) for name, value in message.headers() or ())
    except ValueError as failure:
        detail = "a header key is not UTF-8, which this client cannot read"
        raise ExportFailed(f"{tp}@{offset}", detail, topic=tp.topic, partition=tp.partition, offset=offset) from failure
    kind, timestamp = message.timestamp()
    return ExportedRecord(tp, offset, timestamp, TIMESTAMP_TYPES[kind], message.leader_epoch(), message.key(), message.value(), headers)


def _find_shared(comparisons: Iterable[PartitionComparison]) -> dict[TopicPartition, tuple[int, int]]:
    """The source offsets that both sides should have: those that were copied and that the source still has."""
    shared = {}
    for compared in comparisons:
        if compared.state in (GONE, NEW, OTHER) or compared.watermark is None:
            continue
        end = compared.lost_start if compared.lost else compared.watermark
        if end > 0:
            shared[compared.source] = (0, end)
    return shared


def _report_audit(result: AuditResult) -> Iterator[Finding]:
    for difference in result.differences:
        error = AuditDifferent(str(difference), difference.topic, difference.partition, difference.source_offset).report()
        yield stop(error.with_next("Find out which side is right before anything moves back."))
    yield from map(stop, result.errors)
