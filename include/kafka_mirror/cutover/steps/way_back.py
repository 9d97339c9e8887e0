"""Begins the way back of a wave: writes the opposite flow's ledger, and then that its topics returned to its source.

Topics that keep their name go on behind what was copied (`opposite_record`). Topics that producers begin under the old name are first seen
as of open, whatever the flow's `auto.offset.reset` says of topics that it sees later.
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kafka_mirror.config.catalogue.per_topic import EARLIEST, StartPosition
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy.lane_writer import Records, write_lane
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.ranges import SourceOffsets, first_sight
from kafka_mirror.copy.plan.run import plan_without_work
from kafka_mirror.copy.plan.source_partitions import offsets_by_time
from kafka_mirror.copy.run import LANES_AT_ONCE, lane_task
from kafka_mirror.cutover.steps.opposite_flow import OppositeFlow
from kafka_mirror.cutover.steps.opposite_record import opposite_record
from kafka_mirror.cutover.wave.control_notes import write_behind
from kafka_mirror.cutover.wave.step import StepOptions, WaveNotes
from kafka_mirror.errors import HandedBack
from kafka_mirror.formats.fields import moment_text
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import LogOffsets, Topic
from kafka_mirror.ledger.clusters import control_of
from kafka_mirror.ledger.control_records import RETURNED, Decision
from kafka_mirror.ledger.decisions import Decisions, moment_after
from kafka_mirror.ledger.internal_topics import read_decisions, read_ledger
from kafka_mirror.ledger.record import LedgerRecord, Writer
from kafka_mirror.topics.topics import refresh_topics


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
        handed_back = self._decisions(dry_run=True).handed_back
        if handed_back is not None:
            raise HandedBack(handed_back.who, moment_text(handed_back.when))

    def newest(self) -> tuple[Decisions, Iterable[LedgerRecord]]:
        """What was decided about the opposite flow, and what its ledger says: the wave is decided later than all of it."""
        decisions = self._decisions(dry_run=True)
        _, view = read_ledger(self.opposite.flow, self.target, control_of(self.opposite.flow, self.target), decisions, dry_run=True)
        return decisions, view.records.values()

    def begin(self, closed: Records, ends: Mapping[TopicPartition, int], epochs: "Epochs") -> int:
        """Begins it, and gives the number of partitions whose ledger record was written. Running it again does what is left.

        `closed`: the wave's own ledger records, marked as moved; `ends`: where the topics ended as of open on the opposite flow's source
        that producers begin there under their own names; `epochs`: in which leader epoch those of one name ended there.
        """
        decisions = self._decisions(dry_run=False)
        begun = decisions.returned_topics
        waiting = [topic for topic in self.opposite.topics if topic not in begun]
        if not waiting:
            return 0
        ledger_id, view = read_ledger(self.opposite.flow, self.target, self._control, decisions, dry_run=False)
        for unreadable in view.unreadable.values():
            raise unreadable
        ids = self.source.cluster_id(), self.target.cluster_id()
        plan = plan_without_work(self.opposite.flow, *ids, ledger_id, decisions)
        changes = {**self._rebased(closed, waiting, epochs), **self._first_seen(view.records, ends, waiting, plan)}
        written = self._write(plan, changes)
        who, why, wave = self.options.who, self.options.reason, self.options.wave

        def returned() -> list[Decision]:
            """The decisions; what was decided since, by this wave's notes among others, is no obstacle."""
            there = Decisions(self._control.read())
            self.notes.check()  # in this order: whoever takes the wave from now on has written behind what was read, if anything
            when = moment_after(there, [*view.records.values(), *closed.values()], datetime.now(UTC))
            return [Decision(RETURNED, who, when, why, topic=topic, wave=wave) for topic in waiting]

        write_behind(self._control, returned)
        return written

    # ------------------------------------------------------------ their records

    def _rebased(self, closed: Records, topics: Iterable[str], epochs: "Epochs") -> "Changes":
        """For topics of one name: the record behind what was copied, unless it was written for this very move before."""
        names = {*topics} & {*self.opposite.same}
        partitions = {tp: record for tp, record in closed.items() if tp.topic in names}

        def change_of(tp: TopicPartition, record: LedgerRecord) -> "Change":
            """What becomes of the way back's record of a partition, by the closed flow's record of it."""

            def change(before: LedgerRecord | None, writer: Writer) -> LedgerRecord | None:
                """The new record; None where the way back has a decision of its own since the move."""
                moved = record.moved
                assert moved is not None
                if before is not None and before.moved is None and before.decided is not None and before.decided.when >= moved.when:
                    return None
                return opposite_record(
                    record,
                    before,
                    topic=tp.topic,
                    lanes=self._lanes,
                    leader_epoch=epochs.get(tp.topic, {}).get(str(tp.partition)),
                    decided=replace(moved, decision=RETURNED),
                    writer=writer,
                )

            return change

        return {tp: change_of(tp, record) for tp, record in partitions.items()}

    def _first_seen(self, in_ledger: Records, ends: Mapping[TopicPartition, int], topics: Iterable[str], plan: Plan) -> "Changes":
        """For topics that producers begin themselves: the first record of partitions that are there, and no mark on those that flowed
        before. Where the flow begins at the earliest record, or the topic is not there yet, its own first sight is right."""
        names = {*topics} & {*self.opposite.own}
        changes: Changes = {tp: _unmarked for tp, record in in_ledger.items() if tp.topic in names and record.moved is not None}
        new = [tp for tp in ends if tp.topic in names and tp not in in_ledger and self._start(tp) != EARLIEST]
        if not new:
            return changes
        remotes = self._remotes({tp.topic for tp in new})
        topics_there = self.source.topics({tp.topic for tp in new})
        logs = self.source.log_offsets(new)
        times = offsets_by_time(self.source, {tp: self._start(tp) for tp in new}, {})
        remote_ends = self.target.offsets(
            [TopicPartition(remotes[tp.topic].name, tp.partition) for tp in new if tp.topic in remotes], "latest"
        )
        for tp in new:
            remote = remotes.get(tp.topic)
            target_end = remote_ends.get(TopicPartition(remote.name, tp.partition)) if remote is not None else None
            if remote is not None and target_end is not None and tp in logs:
                start = self._position(tp, topics_there[tp.topic].id, logs[tp], times.get(tp), ends[tp])
                first = self._first(topics_there[tp.topic].id, start, remote, target_end, logs[tp].leader_epoch, plan)
                changes[tp] = _if_unknown(first)
        return changes

    def _position(self, tp: TopicPartition, topic_id: str, log: LogOffsets, by_time: int | None, end: int) -> int:
        """Where the flow would begin with the partition, but no later than where it ended when the wave was opened."""
        offsets = SourceOffsets(tp, topic_id, log.start, end, end, by_time)
        return min(first_sight(offsets, self._start(tp)).start, end)

    def _first(
        self, topic_id: str, start: int, remote: Topic, target_end: int, leader_epoch: int | None, plan: Plan
    ) -> Callable[[Writer], LedgerRecord]:
        return lambda writer: LedgerRecord(
            watermark=start,
            leader_epoch=leader_epoch,
            source_topic_id=topic_id,
            target_topic=remote.name,
            target_topic_id=remote.id,
            target_next=target_end,
            source_cluster_id=plan.source_cluster_id,
            target_cluster_id=plan.target_cluster_id,
            lanes=self._lanes,
            offset_map=OffsetMap(),
            writer=writer,
            start=start,
        )

    def _remotes(self, topics: Iterable[str]) -> dict[str, Topic]:
        """The remote topics, by source topic; the flow creates those that are missing, if it creates any."""
        flow, selection = self.opposite.flow, topic_selection(self.opposite.flow)
        names = {topic: selection.remote(topic) for topic in topics}
        there = self.target.topics(names.values())
        if len(there) < len(names) and flow.value("refresh.topics.enabled"):
            refresh_topics(flow, self.source, self.target)
            there = self.target.topics(names.values())
        return {topic: there[remote] for topic, remote in names.items() if remote in there}

    # ------------------------------------------------------------ their parts

    def _write(self, plan: Plan, changes: "Changes") -> int:
        by_lane: dict[int, Changes] = {}
        for tp, change in changes.items():
            by_lane.setdefault(lane_of(*tp, self._lanes), {})[tp] = change

        def one(lane: int) -> int:
            """How many records of a lane were written."""

            def change(before: Records, writer: Writer) -> Records:
                self.notes.check()
                changed = {tp: of_partition(before.get(tp), writer) for tp, of_partition in by_lane[lane].items()}
                return {tp: record for tp, record in changed.items() if record is not None}

            return len(write_lane(lane_task(self.opposite.flow, plan, lane, "open"), change))

        with ThreadPoolExecutor(LANES_AT_ONCE) as threads:
            return sum(threads.map(one, sorted(by_lane)))

    def _decisions(self, dry_run: bool) -> Decisions:
        self._control = control_of(self.opposite.flow, self.target)
        return read_decisions(self.opposite.flow, self._control, dry_run)

    @property
    def _lanes(self) -> int:
        lanes: int = self.opposite.flow.value("mirror.lanes")
        return lanes

    def _start(self, tp: TopicPartition) -> StartPosition:
        start: StartPosition = self.opposite.flow.per_topic("mirror.start", tp.topic)
        return start


Change = Callable[[LedgerRecord | None, Writer], LedgerRecord | None]
"""From what the ledger says of a partition to what it shall say; None: nothing else."""
Changes = dict[TopicPartition, Change]


Epochs = Mapping[str, Mapping[str, int]]
"""Leader epochs by topic and partition, as notes have them."""


def _unmarked(before: LedgerRecord | None, writer: Writer) -> LedgerRecord | None:
    return None if before is None or before.moved is None else replace(before, moved=None, writer=writer)


def _if_unknown(first: Callable[[Writer], LedgerRecord]) -> Change:
    return lambda before, writer: first(writer) if before is None else None
