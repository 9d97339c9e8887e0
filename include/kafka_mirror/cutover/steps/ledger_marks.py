"""The marks of a wave in the flow's ledger: which partitions are moved. A lane reads them behind its fence, so an old plan copies nothing.

Each lane is fenced before it is marked, and again before a mark is taken off: another run that is writing it cannot commit that any more.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_mirror.copy.lane_writer import Records, write_lane
from kafka_mirror.copy.run import LANES_AT_ONCE, lane_task
from kafka_mirror.cutover.wave.step import OPEN, WaveNotes
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.ledger.record import Decided, LedgerRecord, Writer

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.copy.plan.model import Plan


@dataclass(frozen=True)
class LedgerMarks:
    """Sets and takes off the marks of one wave, while the wave is its run's own. `plan`: one without work, for what a lane needs."""

    flow: "Flow"
    plan: "Plan"
    notes: WaveNotes

    def set(
        self, looked_at: Records, partitions: Iterable[TopicPartition], decided: Decided
    ) -> tuple[dict[TopicPartition, LedgerRecord], set[TopicPartition]]:
        """Marks partitions that were copied no further than when they were looked at. Gives their records, and those of which more was
        copied since, which are not marked. Raises WaveRunElsewhere, and what a lane says."""
        copied: set[TopicPartition] = set()

        def marked(tp: TopicPartition, record: LedgerRecord | None) -> LedgerRecord | None:
            """The record with the mark; None if a copy went on."""
            if record is None or _place(record) != _place(looked_at[tp]):
                copied.add(tp)
                return None
            return replace(record, moved=record.moved or decided)

        return self._write(partitions, marked), copied

    def take_off(self, partitions: Iterable[TopicPartition]) -> int:
        """Takes the marks off these partitions, and fences their lanes, marked or not; gives how many had one. Raises as `set`."""

        def unmarked(_tp: TopicPartition, record: LedgerRecord | None) -> LedgerRecord | None:
            """The record without its mark; None if it has none."""
            return None if record is None or record.moved is None else replace(record, moved=None)

        return len(self._write(partitions, unmarked))

    def _write(
        self, partitions: Iterable[TopicPartition], changed: Callable[[TopicPartition, LedgerRecord | None], LedgerRecord | None]
    ) -> dict[TopicPartition, LedgerRecord]:
        lanes: int = self.flow.value("mirror.lanes")
        by_lane: dict[int, list[TopicPartition]] = {}
        for tp in partitions:
            by_lane.setdefault(lane_of(*tp, lanes), []).append(tp)

        def one(lane: int) -> Records:
            """The records of a lane that were written."""

            def change(before: Records, writer: Writer) -> Records:
                self.notes.check()  # behind the fence: a run that takes the wave from now on fences the lane, and nothing is committed
                records = {tp: changed(tp, before.get(tp)) for tp in by_lane[lane]}
                return {tp: replace(record, writer=writer) for tp, record in records.items() if record is not None}

            return write_lane(lane_task(self.flow, self.plan, lane, OPEN), change)

        with ThreadPoolExecutor(LANES_AT_ONCE) as threads:
            return {tp: record for records in threads.map(one, sorted(by_lane)) for tp, record in records.items()}


def _place(record: LedgerRecord) -> tuple[int, int]:
    return record.watermark, record.target_next
