"""Begins the way back of a wave: writes the opposite flow's ledger, and then that its topics returned to its source.

                      copied from here │ a cutover moved the producers      copied from here on
    source (east)     ─────────────────┤ watermark           ▲ target_next  ◄── appended by the way back
    target (west)     ─────────────────┤ target_next         ▼ watermark    ◄── written by producers

A topic that keeps its name goes on after the copied records, which end at the same record on both sides. So the way back never copies what
came from the source, and the first direction, when the topic moves back, never what came from the way back. A topic that producers begin
under its old name is first seen as of open, whatever the flow's `auto.offset.reset` says of topics that it sees later.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from kafka_mirror.config.catalogue.per_topic import EARLIEST, StartPosition
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy.lane_writer import Records
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.ranges import SourceOffsets, first_sight
from kafka_mirror.copy.plan.run import plan_without_work
from kafka_mirror.copy.plan.source_partitions import offsets_by_time
from kafka_mirror.cutover.steps.ledger_marks import Change, take_mark_off, write_partitions
from kafka_mirror.cutover.steps.opposite_flow import OppositeFlow
from kafka_mirror.cutover.wave.control_notes import write_next
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.step import StepOptions
from kafka_mirror.formats.offsets.intervals import merged
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.opposite_map import find_history_end, opposite_map
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.apply_decisions import caught_up
from kafka_mirror.ledger.checks import check_handed_back
from kafka_mirror.ledger.clusters import control_of, read_decisions, read_state
from kafka_mirror.ledger.control_records import RETURNED, Decision
from kafka_mirror.ledger.decisions import Decisions, moment_after
from kafka_mirror.ledger.record import Decided, LedgerRecord, Writer
from kafka_mirror.topics.topics import refresh_topics


def make_opposite_record(
    record: LedgerRecord,
    before: LedgerRecord | None,
    *,
    topic: str,
    lanes: int,
    leader_epoch: int | None,
    decided: Decided,
    writer: Writer,
) -> LedgerRecord:
    """What the ledger of the opposite flow says of a partition once this `record` of its own is closed.

    `before`: what that ledger said of it until now; `topic`: the topic's name on the source, `leader_epoch` that of the partition on the
    target, which is the opposite flow's source. `lanes` are that flow's.
    """
    ours = before if before is not None and _is_same(before, record) else None
    joined = ours is not None and _is_untouched(record, ours)
    opposite = LedgerRecord(
        watermark=record.target_next,
        leader_epoch=leader_epoch,
        source_topic_id=record.target_topic_id,
        target_topic=topic,
        target_topic_id=record.source_topic_id,
        target_next=_end_of_copied(record),
        source_cluster_id=record.target_cluster_id,
        target_cluster_id=record.source_cluster_id,
        lanes=lanes,
        offset_map=opposite_map(record),
        writer=writer,
        decided=decided,
        # What lies below came from the other side, and is no history that a backfill could fill.
        start=0,
        earlier=before.totals if before is not None else (0, 0),
    )
    if ours is None:
        return opposite
    opposite = replace(
        opposite,
        start=ours.live_start,
        history=ours.history,
        history_topics=ours.history_topics,
        skipped=ours.skipped,
        covered=ours.covered,
    )
    if not joined:
        return opposite
    flowed_back = (ours.watermark, opposite.watermark)
    covered = merged((*ours.covered, flowed_back)) if ours.covered and not _skips(record, ours.offset_map.target_end) else ours.covered
    return caught_up(replace(opposite, offset_map=_join(ours.offset_map, record), covered=covered, older=ours.older))


def _is_same(before: LedgerRecord, record: LedgerRecord) -> bool:
    """Whether both records are of the same two topics."""
    return (before.source_topic_id, before.target_topic_id) == (record.target_topic_id, record.source_topic_id)


def _is_untouched(record: LedgerRecord, before: LedgerRecord) -> bool:
    """Whether all that happened since the direction last changed is that records were copied: no person decided anything, and no backfill
    wrote history into the remote topic. Then the map from before that still holds."""
    is_decided = record.decided is None or record.decided.decision != RETURNED
    return not is_decided and record.older is None and find_history_end(record) <= before.watermark


def _join(former: OffsetMap, record: LedgerRecord) -> OffsetMap:
    """The map from before the direction changed, and what flowed back since."""
    back = opposite_map(record, since=former.source_end)
    return former.extended(back.runs).with_mark(back.thinned_behind or (not back.runs and former.thinned_behind))


def _skips(record: LedgerRecord, since: int) -> bool:
    return any(skip.end > since for skip in record.skipped)


def _end_of_copied(record: LedgerRecord) -> int:
    """The source offset directly after the last record that was copied, where nothing but markers stands between it and the watermark. So a
    reader that has read all gets its very place."""
    offset_map = record.offset_map
    is_known = record.older is None and not opposite_map(record).thinned_behind and offset_map.runs
    return offset_map.source_end if is_known else record.watermark


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

    def newest(self) -> tuple[Decisions, Iterable[LedgerRecord]]:
        """What was decided about the opposite flow, and what its ledger says: the wave is decided later than all of it."""
        state = read_state(self.opposite.flow, self.target)
        return state.decisions, state.view.records.values()

    def begin(self, closed: Records, ends: Mapping[TopicPartition, int], epochs: "Epochs") -> int:
        """Begins it, and gives the number of partitions whose ledger record was written. Running it again does what is left.

        `closed`: the wave's own ledger records, marked as moved; `ends`: where the topics ended as of open on the opposite flow's source
        that producers begin there under their own names; `epochs`: in which leader epoch those of one name ended there.
        """
        state = read_state(self.opposite.flow, self.target, dry_run=False)
        waiting = [topic for topic in self.opposite.topics if topic not in state.decisions.returned_topics]
        if not waiting:
            return 0
        ids = self.source.cluster_id(), self.target.cluster_id()
        plan = plan_without_work(self.opposite.flow, *ids, state.ledger_id, state.decisions)
        changes = {**self._rebase(closed, waiting, epochs), **self._first_seen(state.records, ends, waiting, plan)}
        written = write_partitions(self.opposite.flow, plan, self.notes, changes)
        who, why, wave = self.options.who, self.options.reason, self.options.wave

        def returned() -> list[Decision]:
            """The decisions; what was decided since, by this wave's notes among others, is no obstacle."""
            there = Decisions(state.control.read())
            self.notes.check()  # in this order: a run that takes the wave from now on has written after what was read, if anything
            when = moment_after(there, [*state.records.values(), *closed.values()], datetime.now(UTC))
            return [Decision(RETURNED, who, when, why, topic=topic, wave=wave) for topic in waiting]

        write_next(state.control, returned)
        return len(written)

    # ------------------------------------------------------------ their records

    def _rebase(self, closed: Records, topics: Iterable[str], epochs: "Epochs") -> "Changes":
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
        return make_opposite_record(
            record, before, topic=topic, lanes=self._lanes, leader_epoch=leader_epoch, decided=decided, writer=writer
        )

    def _first_seen(self, in_ledger: Records, ends: Mapping[TopicPartition, int], topics: Iterable[str], plan: Plan) -> "Changes":
        """For topics that producers begin themselves: the first record of partitions that are there, and no mark on those that flowed
        before. Where the flow begins at the earliest record, or the topic is not there yet, its own first sight is right."""
        names = {*topics} & {*self.opposite.own}
        changes: Changes = {tp: take_mark_off for tp, record in in_ledger.items() if tp.topic in names and record.moved is not None}
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
                log = logs[tp]
                offsets = SourceOffsets(tp, topics_there[tp.topic].id, log.start, ends[tp], ends[tp], times.get(tp), log.leader_epoch)
                # Where the flow would begin with the partition, but no later than where it ended when the wave was opened.
                start = min(first_sight(offsets, self._start(tp)).start, ends[tp])
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

    @property
    def _lanes(self) -> int:
        lanes: int = self.opposite.flow.value("mirror.lanes")
        return lanes

    def _start(self, tp: TopicPartition) -> StartPosition:
        start: StartPosition = self.opposite.flow.per_topic("mirror.start", tp.topic)
        return start


Changes = dict[TopicPartition, Change]


Epochs = Mapping[str, Mapping[str, int]]
"""Leader epochs by topic and partition, as notes have them."""
