"""What the ledger says during and after a copy, and the offset syncs that follow from it.

The ledger is the truth; what the job reported is only compared with it. It is read no older than what the copy itself has seen.
"""

import logging
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from kafka_mirror.config import Flow
from kafka_mirror.copy.model import CopiedElsewhere, LaneResult, Watermark, is_hand_over
from kafka_mirror.copy.plan.model import Plan, Range
from kafka_mirror.errors import DeadlineExceeded, MirrorError, StaleAnswer
from kafka_mirror.formats.offsets.intervals import cut_within
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.offset_syncs import NO_SYNCS, OffsetSyncsResult, emit
from kafka_mirror.kafka.broker_pool import begin_at_server, connect_anew
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.polling import repeat_meanwhile
from kafka_mirror.ledger.apply_decisions import is_applied
from kafka_mirror.ledger.clusters import clusters, ledger_of
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import Ledger, LedgerView

log = logging.getLogger(__name__)

_SYNC_SECONDS = 60.0
"""How often offset syncs are written while lanes follow."""
_KILLED_WITHIN = timedelta(minutes=30)
"""How long before the plan of the next run a run that was killed may have copied. Airflow takes minutes to see that a task is dead, and a
copy that hangs is ended after its time limit."""
_LOOKS = 5
"""So often the ledger is read, each time by another bootstrap server, until it is as far as the lanes have seen it."""


@dataclass(frozen=True)
class Published:
    """The watermarks of the planned partitions as the ledger has them, with what this run copied since they were planned, and where the
    job said otherwise.

    A partition that was planned with a decision has a watermark here once the decision is in the ledger. Before, it is the one that the
    decision ends: of another log, or past the planned end.
    """

    watermarks: tuple[Watermark, ...] = ()
    disagreements: tuple[str, ...] = ()
    syncs: OffsetSyncsResult = NO_SYNCS
    copied_elsewhere: tuple[CopiedElsewhere, ...] = ()
    """What other runs copied of these partitions since they were planned, but for those that this one hands over to, or had them from."""


def publish(flow: Flow, plan: Plan, results: Sequence[LaneResult] = (), run: str | None = None) -> Published:
    """Compares the ledger with what the job reported, and writes the offset syncs of what was copied, by whichever run: of a run before
    this one that was killed, too. An error of the offset syncs is in the answer. Raises StaleAnswer as `read_reached` does."""
    with clusters(flow) as (source, target):
        records = ledger_after(flow, target, results, plan.ledger_id).records
        due = _find_copied_before(plan, records) | _find_copied(plan, records)
        return replace(compare_results(plan, results, records, run), syncs=emit(flow, source, target, records, due))


def read_reached(flow: Flow, plan: Plan, results: Sequence[LaneResult] = (), run: str | None = None) -> Published:
    """Reads the ledger and compares it with what the job reported. Works as well when the job ended without a result.

    `run` is the run's name in the ledger, by which its own figures differ from others'; None: a run that has none.
    Raises StaleAnswer if no broker can be found that has as much of the ledger as the lanes have seen.
    """
    with clusters(flow) as (_, target):
        return compare_results(plan, results, ledger_after(flow, target, results, plan.ledger_id).records, run)


def compare_results(
    plan: Plan, results: Sequence[LaneResult], records: Mapping[TopicPartition, LedgerRecord], run: str | None = None
) -> Published:
    """The ledger's watermarks of the planned partitions beside the reported ones. Where the ledger is ahead, another attempt went on;
    where it is behind, the report was wrong: both are said, but for what the run went on with that took the lanes over.

    What was copied is what the ledger's totals grew by since the plan, by whichever attempt of this run: a lane does not know what it
    committed when the answer to its commit was lost, and with a Spark executor its report is lost too. Another run's is what a lane found
    in its ledger when it began, and what is not the lanes' where another run wrote last.
    """
    reported = {TopicPartition(mark.topic, mark.partition): mark for result in results for mark in result.watermarks}
    by_lane = {TopicPartition(counted.topic, counted.partition): counted for result in results for counted in result.copied_elsewhere}
    marks: list[Watermark] = []
    elsewhere: list[CopiedElsewhere] = []
    disagreements: list[str] = []
    for planned in plan.ranges:
        tp = planned.topic_partition
        record, said = records.get(tp), reported.get(tp)
        if record is not None and _has_decisions(record, planned):
            others = _count_elsewhere(planned, record, said, by_lane.get(tp), run)
            copied, size = _growth(planned, record)
            counts = (max(0, copied - others.records), max(0, size - others.bytes)) if others else (copied, size)
            marks.append(Watermark(tp.topic, tp.partition, record.watermark, record.target_next, *counts))
            elsewhere += [others] if others and not is_hand_over(run or "", others.run) else []
        ledger_says = record.watermark if record is not None else None
        went_on = record is not None and record.writer.run != run and is_hand_over(run or "", record.writer.run)
        if said is not None and said.source_offset != ledger_says and not (went_on and (ledger_says or 0) > said.source_offset):
            disagreements.append(f"{tp}: the job reported {said.source_offset}, the ledger says {ledger_says}; the ledger counts.")
    return Published(tuple(marks), tuple(disagreements), copied_elsewhere=tuple(elsewhere))


def _count_elsewhere(
    planned: Range, record: LedgerRecord, said: Watermark | None, elsewhere: CopiedElsewhere | None, run: str | None
) -> CopiedElsewhere | None:
    """What of a partition's growth is not this run's."""
    if run is None or record.writer.run == run:
        return elsewhere
    records, size = _growth(planned, record)
    records, size = (records - said.records, size - said.bytes) if said is not None else (records, size)
    if records <= 0:
        return elsewhere
    return CopiedElsewhere(planned.topic, planned.partition, records, max(0, size), record.writer.run)


def _growth(planned: Range, record: LedgerRecord) -> tuple[int, int]:
    """By how many records and bytes the ledger's totals grew since the plan."""
    return max(0, record.records - planned.records), max(0, record.bytes - planned.bytes)


def _has_decisions(record: LedgerRecord, planned: Range) -> bool:
    return all(is_applied(record, decision) for decision in planned.decisions)


def _find_copied(plan: Plan, records: Mapping[TopicPartition, LedgerRecord]) -> dict[TopicPartition, int]:
    """The partitions of which records were copied since the plan, by whichever run, with the source offset that their copy began at; where
    lanes follow, that is how far they are, for pairs of what they copied may have been written meanwhile."""
    planned_records = {planned.topic_partition: (planned, records.get(planned.topic_partition)) for planned in plan.ranges}
    return {
        tp: record.watermark if plan.follow_for else planned.start
        for tp, (planned, record) in planned_records.items()
        if record is not None and _has_decisions(record, planned) and _growth(planned, record)[0]
    }


def sync_meanwhile(flow: Flow, plan: Plan, seconds: float = _SYNC_SECONDS) -> AbstractContextManager[None]:
    """Writes the offset syncs of what lanes copy while the block lasts, each minute in a thread of its own. What cannot be written then,
    the end of the run writes, and tells if it cannot either."""
    if not flow.value("emit.offset-syncs.enabled"):
        return nullcontext()
    otherwise = "Offset syncs cannot be written just now; the end of the run writes them"
    return repeat_meanwhile("offset syncs", seconds, SyncsOfPlan(flow, plan).write, otherwise, flow.request_seconds)


class SyncsOfPlan:
    """Writes the offset syncs of a plan's partitions, again and again while lanes follow."""

    def __init__(self, flow: Flow, plan: Plan) -> None:
        self._flow = flow
        self._plan = plan
        self._synced: dict[TopicPartition, int] = {}

    def write(self) -> bool:
        """Writes those of what was copied since the last time. Raises what the clusters answer. True: there may be more later."""
        with clusters(self._flow) as (source, target):
            records = ledger_of(self._flow, target).read().records
            copied = {tp: start for tp, start in _find_copied(self._plan, records).items() if records[tp].watermark != self._synced.get(tp)}
            done = emit(self._flow, source, target, records, copied)
        for error in done.errors:
            log.warning("%s", error)
        if not done.errors:
            self._synced.update((tp, records[tp].watermark) for tp in copied)
        return True


def _find_copied_before(plan: Plan, records: Mapping[TopicPartition, LedgerRecord]) -> dict[TopicPartition, int]:
    """The partitions that were copied shortly before the plan, with where they are: a run or a try that was killed left their pairs
    unwritten. Where one is stuck, only its tries were written, and its newest pair may stand deep in the topic."""
    since = (plan.time or datetime.now(UTC)) - _KILLED_WITHIN
    copied = {tp: record for tp, record in records.items() if record.offset_map.last and record.blocked is None}
    return {tp: record.watermark for tp, record in copied.items() if record.writer.time >= since}


def ledger_after(flow: Flow, target: Cluster, results: Iterable[LaneResult], ledger_id: str) -> LedgerView:
    """The ledger, at least as far as the lanes have seen it. Commits may show a moment later, which is waited for. A new question may
    come upon a broker that is cut off from its cluster and answers all the same: then the others are asked, one after the other. Raises
    StaleAnswer if none of them has as much, or DeadlineExceeded if the last one did not give all that was reported, or a commit
    does not show.

    `ledger_id` is the topic id that was planned with. One that was created again since ends where it does: the lanes name it.
    """
    ends = {result.lane: result.ledger_end for result in results}
    ledger = ledger_of(flow, target)
    view, doubt = _read(ledger, ends)
    if view is not None and ledger_id and doubt is not None and ledger.topic_id() != ledger_id:
        return view
    if isinstance(doubt, StaleAnswer) and ledger.await_ended(ends):
        view, doubt = _read(ledger, ends)
    for turn in range(1, _LOOKS):
        if doubt is None:
            break
        time.sleep(min(0.25 * 2**turn, 2.0))
        connect_anew()
        with Cluster(flow.target, begin_at_server(flow.client("target", "admin"), turn), target.timeout) as other:
            try:
                settings = begin_at_server(flow.client("target", "consumer"), turn)
                view, doubt = _read(Ledger(ledger.topic, ledger.lanes, other, settings), ends)
            except MirrorError as error:
                if not error.retriable:
                    raise
    if doubt is not None and (view is None or isinstance(doubt, StaleAnswer)):
        raise doubt
    return view or LedgerView()


def _read(ledger: Ledger, ends: Mapping[int, int]) -> tuple[LedgerView | None, MirrorError | None]:
    """The ledger, and why another broker is asked for it, if one is: also when one gave an end that another one, which was read, never
    reached, or does not give the end of a lane that was written."""
    try:
        view = ledger.read()
    except DeadlineExceeded as late:
        if not ends:
            raise
        return None, late
    for lane, end in ends.items():
        if lane in view.ends and view.ends[lane] < end:
            return view, StaleAnswer((ledger.topic, lane), view.ends[lane], end)
    # The broker that was asked may not reach the leader of a lane whose end is unknown, or be none.
    return view, next((view.unreadable[lane] for lane in ends if lane in view.unreadable and lane not in view.ends), None)


def positions(flow: Flow, plan: Plan, run: str) -> Generator[int, None, None]:
    """Gives, each time it is asked, how many of the plan's offsets the run of this name has committed, and what it followed beyond them.
    Raises what the target answers.

    What was read of the ledger once is not read again.
    """
    ranges = [replace(planned, end=sys.maxsize) for planned in plan.ranges] if plan.follow_for else plan.ranges
    records: dict[TopicPartition, LedgerRecord] = {}
    ends: dict[int, int] = {}
    with Cluster(flow.target, flow.client("target", "admin"), flow.request_seconds) as target:
        ledger = ledger_of(flow, target)
        while True:
            view = ledger.read(since=ends)
            records.update(view.records)
            ends.update(view.ends)
            yield sum(count_committed(planned, records.get(planned.topic_partition), run, plan.into) for planned in ranges)


def count_committed(planned: Range, record: LedgerRecord | None, run: str, into: Mapping[str, str]) -> int:
    """How many offsets of a range the run has committed: none while the ledger's record is another run's. `into` as in `Plan`."""
    if record is None or record.writer.run != run:
        return 0
    if planned.topic not in into:
        return max(0, min(record.watermark, planned.end) - planned.start)
    written = (topic for topic in record.history_topics if topic.topic == into[planned.topic])
    return sum(end - start for topic in written for start, end in cut_within(topic.intervals, planned.start, planned.end))
