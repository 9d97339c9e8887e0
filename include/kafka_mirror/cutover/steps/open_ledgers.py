"""What `open` writes into the ledgers of both directions: lane by lane, each after its fence, and only while the wave is its run's own.

In the flow's own ledger the marks say which partitions are moved. A lane reads them after its fence, so an old plan copies nothing. Each
lane is fenced before it is marked, and again before a mark is taken off: another run that is writing it cannot commit that any more.

In the opposite flow's ledger the way back begins (`opposite_record`). Then the control topic says that its topics returned to its source. A
topic that producers begin under its old name is first seen as of open, whatever the flow's `auto.offset.reset` says of topics that it sees
later.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from kafka_mirror.config.catalogue.values import EARLIEST, StartPosition
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy.lane_writer import Records, write_lanes
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.ranges import SourceOffsets, first_sight
from kafka_mirror.copy.plan.run import plan_without_work
from kafka_mirror.copy.plan.source_partitions import offsets_by_time
from kafka_mirror.copy.run import lane_task
from kafka_mirror.cutover.steps.opposite_flow import OppositeFlow
from kafka_mirror.cutover.steps.opposite_record import make_opposite_record
from kafka_mirror.cutover.wave.control_notes import write_next
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.step import OPEN, StepOptions
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.checks import check_handed_back
from kafka_mirror.ledger.clusters import control_of, read_decisions, read_state
from kafka_mirror.ledger.control_records import RETURNED, Decision
from kafka_mirror.ledger.decisions import Decisions, moment_after
from kafka_mirror.ledger.record import Decided, LedgerRecord, Writer
from kafka_mirror.topics.topics import refresh_topics

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


Change = Callable[[LedgerRecord | None, Writer], LedgerRecord | None]
"""From what the ledger says of a partition to what it is to say; None: nothing else."""
Changes = dict[TopicPartition, Change]
Epochs = Mapping[str, Mapping[str, int]]
"""Leader epochs by topic and partition, as notes have them."""


def set_marks(
    flow: "Flow", plan: Plan, notes: WaveNotes, looked_at: Records, partitions: Iterable[TopicPartition], decided: Decided
) -> tuple[Records, set[TopicPartition]]:
    """Marks partitions that were copied no further than when they were looked at. Gives their records, and those of which more was copied
    since, which are not marked. `plan`: one without work, for what a lane needs. Raises WaveRunElsewhere, and what a lane says."""
    copied: set[TopicPartition] = set()

    def mark(tp: TopicPartition, record: LedgerRecord | None, writer: Writer) -> LedgerRecord | None:
        before = looked_at[tp]
        if record is None or (record.watermark, record.target_next) != (before.watermark, before.target_next):
            copied.add(tp)
            return None
        copied.discard(tp)  # a broker that was asked before may have been cut off
        return replace(record, moved=record.moved or decided, writer=writer)

    return _write_partitions(flow, plan, notes, {tp: partial(mark, tp) for tp in partitions}), copied


def take_off_marks(flow: "Flow", plan: Plan, notes: WaveNotes, partitions: Iterable[TopicPartition]) -> int:
    """Takes the marks off these partitions, and fences their lanes, marked or not; gives how many had one. Raises WaveRunElsewhere, and
    what a lane says."""
    marked: set[TopicPartition] = set()

    def take_off(tp: TopicPartition, record: LedgerRecord | None, writer: Writer) -> LedgerRecord | None:
        if record is not None and record.moved is not None:
            marked.add(tp)
        return _take_mark_off(record, writer)

    _write_partitions(flow, plan, notes, {tp: partial(take_off, tp) for tp in partitions})
    return len(marked)


def _take_mark_off(record: LedgerRecord | None, writer: Writer) -> LedgerRecord | None:
    """The record without a mark. A record that has none is written as it is: the place of delivery shows whether the broker that
    answered is cut off."""
    return None if record is None else replace(record, moved=None, writer=writer)


def _write_partitions(flow: "Flow", plan: Plan, notes: WaveNotes, changes: Mapping[TopicPartition, Change]) -> Records:
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


@dataclass
class WayBack:
    """The opposite flow between the same clusters: what is its source here is the target of the wave, and its target the wave's source."""

    opposite: OppositeFlow
    source: Cluster
    target: Cluster
    options: StepOptions
    notes: WaveNotes

    def check(self) -> None:
        """Raises HandedBack if MirrorMaker 2 mirrors the opposite flow, and what keeps its control topic from being read."""
        check_handed_back(read_decisions(self.opposite.flow, control_of(self.opposite.flow, self.target), dry_run=True))

    def read_newest(self) -> tuple[Decisions, Iterable[LedgerRecord]]:
        """What was decided about the opposite flow, and what its ledger says: the wave is decided later than all of it."""
        state = read_state(self.opposite.flow, self.target)
        return state.decisions, state.view.records.values()

    def begin(self, closed: Records, ends: Mapping[TopicPartition, int], epochs: Epochs) -> None:
        """Begins it. Running it again does what is left.

        `closed`: the wave's own ledger records, marked as moved; `ends`: where the topics ended as of open on the opposite flow's source
        that producers begin there under their own names; `epochs`: in which leader epoch those of one name ended there.
        """
        state = read_state(self.opposite.flow, self.target, dry_run=False)
        waiting = [topic for topic in self.opposite.topics if topic not in state.decisions.returned_topics]
        if not waiting:
            return
        ids = self.source.cluster_id(), self.target.cluster_id()
        plan = plan_without_work(self.opposite.flow, *ids, state.ledger_id, state.decisions)
        changes = {**self._rebase(closed, waiting, epochs), **self._see_first(state.records, ends, waiting, plan)}
        _write_partitions(self.opposite.flow, plan, self.notes, changes)
        who, why, wave = self.options.who, self.options.reason, self.options.wave

        def list_returned() -> list[Decision]:
            """What was decided since, by this wave's notes among others, is no obstacle."""
            there = Decisions(state.control.read())
            self.notes.check()  # in this order: a run that takes the wave from now on has written after what was read, if anything
            when = moment_after(there, [*state.records.values(), *closed.values()], datetime.now(UTC))
            return [Decision(RETURNED, who, when, why, topic=topic, wave=wave) for topic in waiting]

        write_next(state.control, list_returned)

    # ------------------------------------------------------------ their records

    def _rebase(self, closed: Records, topics: Iterable[str], epochs: Epochs) -> Changes:
        """For topics of one name: the record after what was copied, unless it was written for this very move before."""
        of_one_name = {tp: record for tp, record in closed.items() if tp.topic in {*topics} & {*self.opposite.same}}
        return {
            tp: partial(self._go_on, record, tp.topic, epochs.get(tp.topic, {}).get(str(tp.partition)))
            for tp, record in of_one_name.items()
        }

    def _go_on(
        self, record: LedgerRecord, topic: str, leader_epoch: int | None, before: LedgerRecord | None, writer: Writer
    ) -> LedgerRecord | None:
        """The way back's record by the closed flow's `record`; None where the way back has a decision of its own since the move."""
        moved = record.moved
        assert moved is not None
        if before is not None and before.moved is None and before.decided is not None and before.decided.when >= moved.when:
            return None
        decided = replace(moved, decision=RETURNED)
        lanes = self.opposite.flow.value("mirror.lanes")
        return make_opposite_record(record, before, topic=topic, lanes=lanes, leader_epoch=leader_epoch, decided=decided, writer=writer)

    def _see_first(self, in_ledger: Records, ends: Mapping[TopicPartition, int], topics: Iterable[str], plan: Plan) -> Changes:
        """For topics that producers begin themselves: the first record of partitions that are there, and no mark on those that flowed
        before. Where the flow begins at the earliest record, or the topic is not there yet, its own first sight is right."""
        names = {*topics} & {*self.opposite.own}
        changes: Changes = {tp: _take_mark_off for tp, record in in_ledger.items() if tp.topic in names and record.moved is not None}
        starts: dict[TopicPartition, StartPosition] = {tp: self.opposite.flow.per_topic("mirror.start", tp.topic) for tp in ends}
        new = [tp for tp in ends if tp.topic in names and tp not in in_ledger and starts[tp] != EARLIEST]
        if not new:
            return changes
        remotes = self._find_remotes({tp.topic for tp in new})
        topics_there = self.source.topics({tp.topic for tp in new})
        logs = self.source.log_offsets(new)
        times = offsets_by_time(self.source, {tp: starts[tp] for tp in new}, {})
        remote_ends = self.target.offsets(
            [TopicPartition(remotes[tp.topic].name, tp.partition) for tp in new if tp.topic in remotes], "latest"
        )
        for tp in new:
            remote = remotes.get(tp.topic)
            target_end = remote_ends.get(TopicPartition(remote.name, tp.partition)) if remote is not None else None
            if remote is not None and target_end is not None and tp in logs:
                log = logs[tp]
                offsets = SourceOffsets(tp, topics_there[tp.topic].id, log.start, ends[tp], ends[tp], times.get(tp), log.leader_epoch)
                # Where the flow would begin with the partition, but no later than where it ended when the wave was opened.
                start = min(first_sight(offsets, starts[tp]).start, ends[tp])
                changes[tp] = partial(self._begin_if_unknown, offsets, start, remote, target_end, plan)
        return changes

    def _begin_if_unknown(
        self, source: SourceOffsets, start: int, remote: Topic, target_end: int, plan: Plan, before: LedgerRecord | None, writer: Writer
    ) -> LedgerRecord | None:
        if before is not None:
            return None
        return LedgerRecord(
            watermark=start,
            leader_epoch=source.leader_epoch,
            source_topic_id=source.topic_id,
            target_topic=remote.name,
            target_topic_id=remote.id,
            target_next=target_end,
            source_cluster_id=plan.source_cluster_id,
            target_cluster_id=plan.target_cluster_id,
            lanes=self.opposite.flow.value("mirror.lanes"),
            offset_map=OffsetMap(),
            writer=writer,
            start=start,
        )

    def _find_remotes(self, topics: Iterable[str]) -> dict[str, Topic]:
        """The remote topics, by source topic; the flow creates those that are missing, if it creates any."""
        flow, selection = self.opposite.flow, topic_selection(self.opposite.flow)
        names = {topic: selection.remote(topic) for topic in topics}
        there = self.target.topics(names.values())
        if len(there) < len(names) and flow.value("refresh.topics.enabled"):
            refresh_topics(flow, self.source, self.target)
            there = self.target.topics(names.values())
        return {topic: there[remote] for topic, remote in names.items() if remote in there}
