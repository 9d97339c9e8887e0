"""`take-over`: the mirror goes on where MirrorMaker 2 stopped. What was read of a lane's partitions must still be so once it is fenced."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from kafka_mirror.config import Flow
from kafka_mirror.config.validate import check_readable
from kafka_mirror.copy.lane_writer import Records, write_lane
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import plan_without_work
from kafka_mirror.copy.run import LANES_AT_ONCE, lane_task
from kafka_mirror.errors import ErrorReport, MirrorError, NothingSelected, TailInDoubt, TakeOverRefused, name_flow_in_errors
from kafka_mirror.formats.documents import columns
from kafka_mirror.formats.offsets.intervals import merge_intervals
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.groups.offset_sync_store import SyncPair
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.apply_decisions import caught_up
from kafka_mirror.ledger.checks import check_clusters
from kafka_mirror.ledger.clusters import control_of, read_decisions, read_ledger, two_clusters
from kafka_mirror.ledger.control_records import TAKEN_OVER, Decision
from kafka_mirror.ledger.decisions import moment_after
from kafka_mirror.ledger.record import Decided, LedgerRecord, Writer
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.migration.connect import MirrorMaker, fence_tasks, read_stored_offsets, require_offsets, require_stopped
from kafka_mirror.migration.evidence import locate
from kafka_mirror.migration.hand_back import list_waiting_restarts
from kafka_mirror.migration.mm2_state import TakeOverSurvey, survey_partitions
from kafka_mirror.migration.tail_match import Mm2Partition, Position, make_taken_map


@dataclass
class TakenLane:
    """What the ledger is to say of a lane's partitions; `errors` are those that were written to since they were looked at."""

    target: Cluster
    plan: Plan
    lanes: int
    survey: TakeOverSurvey
    partitions: Mapping[TopicPartition, Mm2Partition]
    positions: Mapping[TopicPartition, Position]
    decided: Decided
    errors: list[ErrorReport] = field(default_factory=list)

    def change(self, records: Records, writer: Writer) -> Records:
        """The records to write; what has changed meanwhile is an error. Of several looks the last one counts."""
        self.errors.clear()
        remotes = [partition.remote for partition in self.partitions.values()]
        ends = self.target.offsets(remotes, "latest")
        ids = {name: topic.id for name, topic in self.target.topics({remote.topic for remote in remotes}).items()}
        changed: dict[TopicPartition, LedgerRecord] = {}
        for tp, partition in self.partitions.items():
            before, end, why = records.get(tp), ends.get(partition.remote), ""
            if before is not None and not before.is_handed_back:
                why = "another run took it over meanwhile."
            elif end != partition.target_end or ids.get(partition.remote.topic) != self.survey.remotes[tp.topic].id:
                why = f"somebody wrote to {partition.remote} meanwhile: it ended at {partition.target_end}, and ends at {end}."
            if why:
                self.errors.append(TakeOverRefused(*tp, why, "Find out who writes, and stop it; then run take-over again.").report())
            else:
                changed[tp] = self._build_record(partition, before, writer)
        return changed

    def _build_record(self, partition: Mm2Partition, before: LedgerRecord | None, writer: Writer) -> LedgerRecord:
        source, remote = self.survey.sources[partition.tp], self.survey.remotes[partition.tp.topic]
        position = self.positions[partition.tp]
        ours = before if before is not None and partition.copied is not None else None
        syncs = [sync for sync in partition.syncs if sync.upstream < position.watermark and sync.downstream < partition.target_end]
        record = LedgerRecord(
            watermark=position.watermark,
            leader_epoch=source.leader_epoch,
            source_topic_id=source.topic_id,
            target_topic=partition.remote.topic,
            target_topic_id=remote.id,
            target_next=partition.target_end,
            source_cluster_id=self.plan.source_cluster_id,
            target_cluster_id=self.plan.target_cluster_id,
            lanes=self.lanes,
            offset_map=make_taken_map(
                ours.offset_map if ours else OffsetMap(), syncs, position.pairs, SyncPair(position.watermark, partition.target_end)
            ),
            older=ours.older if ours else None,
            earlier=before.totals if before else (0, 0),
            writer=writer,
            decided=self.decided,
            # What MirrorMaker 2 copied below is no history that a backfill could fill.
            start=0,
        )
        if ours is None:
            return record
        covered = merge_intervals((*ours.covered, (ours.watermark, position.watermark)))
        with_history = replace(record, start=ours.live_start, history=ours.history, history_topics=ours.history_topics)
        return caught_up(replace(with_history, covered=covered, skipped=ours.skipped))


@dataclass(frozen=True)
class TakeOverRequest:
    """What is asked for, by whom. `topics`: only these, by their names on the source. `at_stored`: where the tail leaves a doubt, go on
    after the offset that Connect kept."""

    who: str
    why: str = "taken over from MirrorMaker 2"
    maker: MirrorMaker | None = None
    topics: tuple[str, ...] = ()
    at_stored: bool = False


def take_over(flow: Flow, request: TakeOverRequest, dry_run: bool = False) -> StepResult:
    """Writes ledger records for every partition that MirrorMaker 2 mirrored. With `dry_run` nothing is written or fenced.

    What concerns one partition is in the errors, and the others are taken over. Raises what concerns the whole flow: MirrorMakerRunning,
    ConnectOffsetsMissing, LedgerMissing …
    """
    check_readable(flow)
    with name_flow_in_errors(flow.name), two_clusters(flow) as (source, target):
        return _TakeOver(flow, source, target, request, dry_run).run()


@dataclass
class _TakeOver:
    flow: Flow
    source: Cluster
    target: Cluster
    request: TakeOverRequest
    dry_run: bool
    errors: list[ErrorReport] = field(default_factory=list)

    def run(self) -> StepResult:
        """Looks, matches, and writes."""
        flow, source_id, target_id = self.flow, self.source.cluster_id(), self.target.cluster_id()
        maker, control = self.request.maker or MirrorMaker.of(flow), control_of(flow, self.target)
        require_stopped(self.target, maker)
        fenced = [] if self.dry_run else fence_tasks(flow, self.target, maker)
        stored = read_stored_offsets(flow, self.target, maker)
        require_offsets(flow, maker, stored)
        decisions = read_decisions(flow, control, self.dry_run)
        ledger_id, view = read_ledger(flow, self.target, control, decisions, self.dry_run)
        check_clusters(view.records.values(), flow.source, source_id, flow.target, target_id, decisions)
        survey = survey_partitions(flow, self.source, self.target, stored.offsets, view, self.request.topics)
        survey.notices += [f"An offset that MirrorMaker 2 cannot find either is left out: {unread_tp}." for unread_tp in stored.unread]
        self.errors += survey.errors
        self.errors += self._find_unknown(survey)
        positions = self._find_positions(survey)
        waiting = list_waiting_restarts({tp: view.records[tp] for tp in positions if tp in view.records}, decisions)
        survey.notices += [
            f"{tp}: not done, and used up by the take-over: {said}. Decide again if it is still wanted." for tp, said in waiting
        ]
        if not self.dry_run:
            plan = plan_without_work(flow, source_id, target_id, ledger_id, decisions)
            marked = {lane for lane, note in view.notes.items() if note.is_handed_back}
            when = moment_after(decisions, view.records.values(), datetime.now(UTC))
            decision = Decision(TAKEN_OVER, self.request.who, when, self.request.why)
            require_stopped(self.target, maker)  # reading may have taken its time
            taken = self._write(plan, survey, positions, Decided.of(decision), marked)
            positions = {tp: position for tp, position in positions.items() if tp in taken}
            if decisions.handed_back:
                control.write(decision)
        return self._report_done(survey, positions, fenced)

    def _find_unknown(self, survey: TakeOverSurvey) -> list[ErrorReport]:
        """The error of topics that were asked for by name, and of which MirrorMaker 2 left nothing."""
        present = {
            *(partition.tp.topic for partition in survey.partitions),
            *(tp.topic for tp in survey.ours),
            *(error.topic for error in survey.errors),
        }
        missing = [topic for topic in self.request.topics if topic not in present]
        return [NothingSelected("take-over", missing).report()] if missing else []

    def _find_positions(self, survey: TakeOverSurvey) -> dict[TopicPartition, Position]:
        by_partition = {partition.tp: partition for partition in survey.partitions}
        positions: dict[TopicPartition, Position] = {}
        for tp, where in locate(self.flow, survey.partitions).items():
            partition = by_partition[tp]
            if isinstance(where, Position):
                # Of one that Connect knows nothing of, and whose remote holds nothing that can be read, nothing was mirrored.
                if partition.stored is not None or where.pairs or partition.copied:
                    positions[tp] = where
            elif self.request.at_stored and partition.stored is not None:
                # Where hand-back ended half-way, Connect's offset is of before our own copy.
                positions[tp] = Position(max(partition.stored + 1, partition.copied.upstream if partition.copied else 0))
            else:
                first = partition.source_start if partition.stored is None else partition.stored + 1
                source, target = (first, partition.source_end), (where.target, partition.target_end)
                doubt = TailInDoubt(*tp, partition.remote.topic, source, target, partition.stored, where.why)
                self.errors.append(doubt.report())
        return positions

    # ------------------------------------------------------------ writing

    def _write(
        self, plan: Plan, survey: TakeOverSurvey, positions: Mapping[TopicPartition, Position], decided: Decided, marked: set[int]
    ) -> Records:
        """What was written. `marked`: lanes of whose every partition the ledger says that it was handed back."""
        lanes = self.flow.value("mirror.lanes")
        by_lane: dict[int, dict[TopicPartition, Mm2Partition]] = {}
        for partition in survey.partitions:
            if partition.tp in positions:
                by_lane.setdefault(lane_of(*partition.tp, lanes), {})[partition.tp] = partition

        def write_one(lane: int) -> Records:
            """An error of the lane leaves the others going."""
            task = lane_task(self.flow, plan, lane, "take-over")
            lane_change = TakenLane(self.target, plan, lanes, survey, by_lane.get(lane, {}), positions, decided)
            try:
                return write_lane(task, lane_change.change, decided if lane in marked else None)
            except MirrorError as error:
                self.errors.append(error.report())
                return {}
            finally:
                self.errors += lane_change.errors

        with ThreadPoolExecutor(LANES_AT_ONCE) as threads:
            return {tp: record for records in threads.map(write_one, by_lane.keys() | marked) for tp, record in records.items()}

    # ------------------------------------------------------------ the answer

    def _report_done(self, survey: TakeOverSurvey, taken: Mapping[TopicPartition, Position], fenced: Iterable[str]) -> StepResult:
        by_partition = {partition.tp: partition for partition in survey.partitions}
        rows = sorted(taken)
        names = ("topic", "partition", "stored", "watermark", "target_offset")
        result = columns(names, ((*tp, (of := by_partition[tp]).stored, taken[tp].watermark, of.target_end) for tp in rows))
        verb = "would be" if self.dry_run else "were"
        lines = []
        for partition in map(by_partition.__getitem__, rows):
            of_connect = "Connect kept no offset" if partition.stored is None else f"Connect kept {partition.stored}"
            place = f"goes on at source offset {taken[partition.tp].watermark} ({of_connect})"
            lines.append(f"{partition.tp}: {place}, after {partition.remote}@{partition.target_end}.")
        lines.append(f"{len(rows)} partitions {verb} taken over, {len(survey.ours)} are the mirror's already.")
        lines += [f"Fenced: {transactional_id}." for transactional_id in fenced]
        errors = tuple(error.with_flow(self.flow.name) for error in self.errors)
        totals = {"taken": len(rows), "ours": len(survey.ours)}
        return StepResult({**result, "ours": len(survey.ours)}, totals, (*lines, *survey.notices), errors)
