"""Writes ledger records for `open`: lane by lane, each after its fence, and only while the wave is its run's own.

The marks say which partitions are moved. A lane reads them after its fence, so an old plan copies nothing. Each lane is fenced before it is
marked, and again before a mark is taken off: another run that is writing it cannot commit that any more.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kafka_mirror.copy.lane_writer import Records, write_lanes
from kafka_mirror.copy.run import lane_task
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.step import OPEN
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.ledger.record import Decided, LedgerRecord, Writer

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.copy.plan.model import Plan


Change = Callable[[LedgerRecord | None, Writer], LedgerRecord | None]
"""From what the ledger says of a partition to what it is to say; None: nothing else."""


def set_marks(
    flow: "Flow", plan: "Plan", notes: WaveNotes, looked_at: Records, partitions: Iterable[TopicPartition], decided: Decided
) -> tuple[Records, set[TopicPartition]]:
    """Marks partitions that were copied no further than when they were looked at. Gives their records, and those of which more was copied
    since, which are not marked. `plan`: one without work, for what a lane needs. Raises WaveRunElsewhere, and what a lane says."""
    copied: set[TopicPartition] = set()

    def mark(tp: TopicPartition, record: LedgerRecord | None, writer: Writer) -> LedgerRecord | None:
        if record is None or _place(record) != _place(looked_at[tp]):
            copied.add(tp)
            return None
        return replace(record, moved=record.moved or decided, writer=writer)

    return write_partitions(flow, plan, notes, {tp: partial(mark, tp) for tp in partitions}), copied


def take_off_marks(flow: "Flow", plan: "Plan", notes: WaveNotes, partitions: Iterable[TopicPartition]) -> int:
    """Takes the marks off these partitions, and fences their lanes, marked or not; gives how many had one. Raises WaveRunElsewhere, and
    what a lane says."""
    return len(write_partitions(flow, plan, notes, dict.fromkeys(partitions, take_mark_off)))


def take_mark_off(record: LedgerRecord | None, writer: Writer) -> LedgerRecord | None:
    """The record without its mark; None if it has none."""
    return None if record is None or record.moved is None else replace(record, moved=None, writer=writer)


def write_partitions(flow: "Flow", plan: "Plan", notes: WaveNotes, changes: Mapping[TopicPartition, Change]) -> Records:
    """Fences the lanes of these partitions and writes their changed records, some lanes at once; gives the records that were written.
    Raises WaveRunElsewhere, and what a lane says."""
    lanes: int = flow.value("mirror.lanes")
    by_lane: dict[int, list[TopicPartition]] = {}
    for tp in changes:
        by_lane.setdefault(lane_of(*tp, lanes), []).append(tp)

    def change(lane: int, before: Records, writer: Writer) -> Records:
        notes.check()  # after the fence: a run that takes the wave from now on fences the lane, and nothing is committed
        records = {tp: changes[tp](before.get(tp), writer) for tp in by_lane[lane]}
        return {tp: record for tp, record in records.items() if record is not None}

    return write_lanes((lane_task(flow, plan, lane, OPEN) for lane in sorted(by_lane)), lambda lane: partial(change, lane))


def _place(record: LedgerRecord) -> tuple[int, int]:
    return record.watermark, record.target_next
