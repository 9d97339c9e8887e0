"""What the ledger says after a copy, and the offset syncs that follow from it.

The ledger is the truth; what the job reported is only compared with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mirror.config import Flow
from mirror.copy.model import CopiedElsewhere, LaneResult, Watermark
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.connect import clusters
from mirror.offsets.partition import TopicPartition
from mirror.plan.acting import is_noted
from mirror.plan.model import Plan, Range
from mirror.report.ledger_after import ledger_after
from mirror.sync.offset_syncs import NO_SYNCS, Emitted, emit


@dataclass(frozen=True)
class Published:
    """The watermarks of the planned partitions as the ledger has them, with what this run copied since they were planned, and where the
    job said otherwise.

    A partition that was planned with a decision has a watermark here once the decision is in the ledger. Before, it is the one that the
    decision leaves behind: of another log, or past the planned end.
    """

    watermarks: tuple[Watermark, ...] = ()
    disagreements: tuple[str, ...] = ()
    syncs: Emitted = NO_SYNCS
    copied_elsewhere: tuple[CopiedElsewhere, ...] = ()
    """What other runs copied of these partitions since they were planned."""

    def watermark(self, tp: TopicPartition) -> int | None:
        """The next source offset of a partition; None if the ledger does not know it."""
        return next((mark.source_offset for mark in self.watermarks if (mark.topic, mark.partition) == tp), None)


def publish(flow: Flow, plan: Plan, results: Sequence[LaneResult] = (), *, whole: bool = False, run: str | None = None) -> Published:
    """As `reached`; and writes the offset syncs of what was copied, by whichever run, an error of which is in the answer.

    With `whole` those of every partition that has some due: for a run whose plan was not kept.
    """
    with clusters(flow) as (source, target):
        records = ledger_after(flow, target, results, plan.ledger_id).records
        published = compared(plan, results, records, run)
        copied = _mapped(records) if whole else _copied(plan, records)
        return replace(published, syncs=emit(flow, source, target, records, copied))


def reached(flow: Flow, plan: Plan, results: Sequence[LaneResult] = (), run: str | None = None) -> Published:
    """Reads the ledger and compares it with what the job reported. Works as well when the job ended without a result.

    `run` is the run's name in the ledger, by which its own figures are told from others'; None: a run that has none.
    Raises StaleAnswer if no broker can be found that has as much of the ledger as the lanes have seen.
    """
    with clusters(flow) as (_, target):
        return compared(plan, results, ledger_after(flow, target, results, plan.ledger_id).records, run)


def compared(
    plan: Plan, results: Sequence[LaneResult], records: Mapping[TopicPartition, LedgerRecord], run: str | None = None
) -> Published:
    """The ledger's watermarks of the planned partitions beside the reported ones. Where the ledger is ahead, another attempt went on;
    where it is behind, the report was wrong: both are said.

    What was copied is what the ledger's totals grew by since the plan, by whichever attempt of this run: a lane does not know what it
    committed when the answer to its commit was lost, and with a Spark executor its report is lost too. Another run's is what a lane found
    in its ledger when it began, and what is not the lanes' where another run wrote last.
    """
    reported = {TopicPartition(mark.topic, mark.partition): mark for result in results for mark in result.watermarks}
    found = {TopicPartition(each.topic, each.partition): each for result in results for each in result.copied_elsewhere}
    marks: list[Watermark] = []
    elsewhere: list[CopiedElsewhere] = []
    disagreements: list[str] = []
    for planned in plan.ranges:
        tp = planned.topic_partition
        record, said = records.get(tp), reported.get(tp)
        if record is not None and _has_decisions(record, planned):
            others = _copied_elsewhere(planned, record, said, found.get(tp), run)
            copied, size = _growth(planned, record)
            own = (max(0, copied - others.records), max(0, size - others.bytes)) if others else (copied, size)
            marks.append(Watermark(tp.topic, tp.partition, record.watermark, record.target_next, *own))
            elsewhere += [others] if others else []
        ledger_says = record.watermark if record is not None else None
        if said is not None and said.source_offset != ledger_says:
            disagreements.append(f"{tp}: the job reported {said.source_offset}, the ledger says {ledger_says}; the ledger counts.")
    return Published(tuple(marks), tuple(disagreements), copied_elsewhere=tuple(elsewhere))


def _copied_elsewhere(
    planned: Range, record: LedgerRecord, said: Watermark | None, found: CopiedElsewhere | None, run: str | None
) -> CopiedElsewhere | None:
    """What of a partition's growth is not this run's."""
    if run is None or record.writer.run == run:
        return found
    records, size = _growth(planned, record)
    records, size = (records - said.records, size - said.bytes) if said is not None else (records, size)
    if records <= 0:
        return found
    return CopiedElsewhere(planned.topic, planned.partition, records, max(0, size), record.writer.run)


def _growth(planned: Range, record: LedgerRecord) -> tuple[int, int]:
    """By how many records and bytes the ledger's totals grew since the plan."""
    return max(0, record.records - planned.records), max(0, record.bytes - planned.bytes)


def _has_decisions(record: LedgerRecord, planned: Range) -> bool:
    return all(is_noted(record, decision) for decision in planned.decisions)


def _copied(plan: Plan, records: Mapping[TopicPartition, LedgerRecord]) -> dict[TopicPartition, int]:
    """The partitions of which records were copied since the plan, by whichever run, with the source offset that their copy began at."""
    known = {planned.topic_partition: (planned, records.get(planned.topic_partition)) for planned in plan.ranges}
    return {
        tp: planned.start
        for tp, (planned, record) in known.items()
        if record is not None and _has_decisions(record, planned) and _growth(planned, record)[0]
    }


def _mapped(records: Mapping[TopicPartition, LedgerRecord]) -> dict[TopicPartition, int]:
    return {tp: record.watermark for tp, record in records.items() if record.offset_map.last}
