"""What the ledger says after a copy, and the offset syncs that follow from it.

The ledger is the truth; what the job reported is only compared with it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from mirror.config import Flow
from mirror.copy.model import LaneResult, Watermark
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.connect import clusters
from mirror.offsets.partition import TopicPartition
from mirror.plan.acting import is_noted
from mirror.plan.model import Plan
from mirror.report.ledger_after import ledger_after
from mirror.sync.offset_syncs import NO_SYNCS, Emitted, emit


@dataclass(frozen=True)
class Published:
    """The watermarks of the planned partitions as the ledger has them, with what was copied since they were planned, and where the job said
    otherwise.

    A partition that was planned with a decision has a watermark here once the decision is in the ledger. Before, it is the one that the
    decision leaves behind: of another log, or past the planned end.
    """

    watermarks: tuple[Watermark, ...] = ()
    disagreements: tuple[str, ...] = ()
    syncs: Emitted = NO_SYNCS

    def watermark(self, tp: TopicPartition) -> int | None:
        """The next source offset of a partition; None if the ledger does not know it."""
        return next((mark.source_offset for mark in self.watermarks if (mark.topic, mark.partition) == tp), None)


def publish(flow: Flow, plan: Plan, results: Sequence[LaneResult] = (), *, whole: bool = False) -> Published:
    """As `reached`; and writes the offset syncs of what was copied, an error of which is in the answer.

    With `whole` those of every partition that has some due: for a run whose plan was not kept.
    """
    with clusters(flow) as (source, target):
        records = ledger_after(flow, target, results, plan.ledger_id).records
        published = compared(plan, results, records)
        copied = _mapped(records) if whole else _copied(plan, published)
        return replace(published, syncs=emit(flow, source, target, records, copied))


def reached(flow: Flow, plan: Plan, results: Sequence[LaneResult] = ()) -> Published:
    """Reads the ledger and compares it with what the job reported. Works as well when the job ended without a result.

    Raises StaleAnswer if no broker can be found that has as much of the ledger as the lanes have seen.
    """
    with clusters(flow) as (_, target):
        return compared(plan, results, ledger_after(flow, target, results, plan.ledger_id).records)


def compared(plan: Plan, results: Iterable[LaneResult], records: Mapping[TopicPartition, LedgerRecord]) -> Published:
    """The ledger's watermarks of the planned partitions beside the reported ones. Where the ledger is ahead, another attempt went on;
    where it is behind, the report was wrong: both are said.

    What was copied is what the ledger's totals grew by since the plan, by whichever attempt: a lane does not know what it committed when
    the answer to its commit was lost, and with a Spark executor its report is lost too.
    """
    reported = {TopicPartition(mark.topic, mark.partition): mark for result in results for mark in result.watermarks}
    marks: list[Watermark] = []
    disagreements: list[str] = []
    for planned in plan.ranges:
        tp = planned.topic_partition
        record, said = records.get(tp), reported.get(tp)
        if record is not None and all(is_noted(record, decision) for decision in planned.decisions):
            copied, size = max(0, record.records - planned.records), max(0, record.bytes - planned.bytes)
            marks.append(Watermark(tp.topic, tp.partition, record.watermark, record.target_next, copied, size))
        ledger_says = record.watermark if record is not None else None
        if said is not None and said.source_offset != ledger_says:
            disagreements.append(f"{tp}: the job reported {said.source_offset}, the ledger says {ledger_says}; the ledger counts.")
    return Published(tuple(marks), tuple(disagreements))


def _copied(plan: Plan, published: Published) -> dict[TopicPartition, int]:
    """The partitions of which records were copied since the plan, with the source offset that their copy began at."""
    moved = {TopicPartition(mark.topic, mark.partition) for mark in published.watermarks if mark.records}
    return {planned.topic_partition: planned.start for planned in plan.ranges if planned.topic_partition in moved}


def _mapped(records: Mapping[TopicPartition, LedgerRecord]) -> dict[TopicPartition, int]:
    return {tp: record.watermark for tp, record in records.items() if record.offset_map.runs}
