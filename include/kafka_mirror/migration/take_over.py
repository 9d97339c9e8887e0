"""`take-over`: the mirror goes on where MirrorMaker 2 stopped.

The ledger records of a lane that is taken over, once it is fenced: what was read before must still be so.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kafka_mirror.config import Flow
from kafka_mirror.config.validate import check_readable
from kafka_mirror.copy.lane_writer import Records, write_lane
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import plan_without_work
from kafka_mirror.copy.run import LANES_AT_ONCE, lane_task
from kafka_mirror.errors import ErrorReport, MirrorError, NothingSelected, TailInDoubt, TakeOverRefused, name_flow_in_errors
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
from kafka_mirror.migration.hand_back import used_up
from kafka_mirror.migration.mm2_state import TakeOverSurvey, survey_partitions
from kafka_mirror.migration.tail_match import Ambiguous, Mm2Partition, Position, taken_map


class TakenLane:
    """What the ledger is to say of a lane's partitions; `errors` are those that were written to since they were looked at."""

    def __init__(
        self,
        target: Cluster,
        plan: Plan,
        lanes: int,
        survey: TakeOverSurvey,
        partitions: Mapping[TopicPartition, Mm2Partition],
        positions: Mapping[TopicPartition, Position],
        decided: Decided,
    ) -> None:
        self._target = target
        self._plan = plan
        self._lanes = lanes
        self._survey = survey
        self._partitions = partitions
        self._positions = positions
        self._decided = decided
        self.errors: list[ErrorReport] = []

    def change(self, records: Records, writer: Writer) -> Records:
        """The records to write; what has changed meanwhile is an error. Of several looks the last one counts."""
        self.errors.clear()
        remotes = [partition.remote for partition in self._partitions.values()]
        ends = self._target.offsets(remotes, "latest")
        ids = {name: topic.id for name, topic in self._target.topics({remote.topic for remote in remotes}).items()}
        changed: dict[TopicPartition, LedgerRecord] = {}
        for tp, partition in self._partitions.items():
            before = records.get(tp)
            if before is not None and not before.is_handed_back:
                self._find_moved(tp, "another run took it over meanwhile.")
            elif ends.get(partition.remote) != partition.target_end or ids.get(partition.remote.topic) != self._survey.remotes[tp.topic].id:
                self._find_moved(
                    tp,
                    f"somebody wrote to {partition.remote} meanwhile: it ended at {partition.target_end}, and ends at "
                    f"{ends.get(partition.remote)}.",
                )
            else:
                changed[tp] = self._build_record(partition, before, writer)
        return changed

    def _find_moved(self, tp: TopicPartition, detail: str) -> None:
        error = TakeOverRefused(*tp, detail, "Find out who writes, and stop it; then run take-over again.")
        self.errors.append(error.report())

    def _build_record(self, partition: Mm2Partition, before: LedgerRecord | None, writer: Writer) -> LedgerRecord:
        source, remote = self._survey.sources[partition.tp], self._survey.remotes[partition.tp.topic]
        position = self._positions[partition.tp]
        ours = before if before is not None and partition.copied is not None else None
        syncs = [sync for sync in partition.syncs if sync.upstream < position.watermark and sync.downstream < partition.target_end]
        record = LedgerRecord(
            watermark=position.watermark,
            leader_epoch=source.leader_epoch,
            source_topic_id=source.topic_id,
            target_topic=partition.remote.topic,
            target_topic_id=remote.id,
            target_next=partition.target_end,
            source_cluster_id=self._plan.source_cluster_id,
            target_cluster_id=self._plan.target_cluster_id,
            lanes=self._lanes,
            offset_map=taken_map(
                ours.offset_map if ours else OffsetMap(), syncs, position.pairs, SyncPair(position.watermark, partition.target_end)
            ),
            older=ours.older if ours else None,
            earlier=before.totals if before else (0, 0),
            writer=writer,
            decided=self._decided,
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


class _TakeOver:
    def __init__(self, flow: Flow, source: Cluster, target: Cluster, request: TakeOverRequest, dry_run: bool) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._request = request
        self._dry_run = dry_run
        self._maker = request.maker or MirrorMaker.of(flow)
        self._control = control_of(flow, target)
        self._errors: list[ErrorReport] = []
        self._marked: set[int] = set()
        """Lanes of whose every partition the ledger says that it was handed back."""

    def run(self) -> StepResult:
        """Looks, matches, and writes."""
        flow, source_id, target_id = self._flow, self._source.cluster_id(), self._target.cluster_id()
        require_stopped(self._target, self._maker)
        fenced = [] if self._dry_run else fence_tasks(flow, self._target, self._maker)
        stored = read_stored_offsets(flow, self._target, self._maker)
        require_offsets(flow, self._maker, stored)
        decisions = read_decisions(flow, self._control, self._dry_run)
        ledger_id, view = read_ledger(flow, self._target, self._control, decisions, self._dry_run)
        check_clusters(view.records.values(), flow.source, source_id, flow.target, target_id, decisions)
        survey = survey_partitions(flow, self._source, self._target, stored.offsets, view, self._request.topics)
        survey.notices += [f"An offset that MirrorMaker 2 cannot find either is left out: {unread_tp}." for unread_tp in stored.unread]
        self._errors += survey.errors
        self._errors += self._find_unknown(survey)
        positions = self._positions(survey)
        survey.notices += used_up({tp: view.records[tp] for tp in positions if tp in view.records}, decisions)
        plan = plan_without_work(flow, source_id, target_id, ledger_id, decisions)
        self._marked = {lane for lane, note in view.notes.items() if note.is_handed_back}
        when = moment_after(decisions, view.records.values(), datetime.now(UTC))
        decision = Decision(TAKEN_OVER, self._request.who, when, self._request.why)
        taken = self._find_written(plan, survey, positions, Decided.of(decision)) if not self._dry_run else dict.fromkeys(positions)
        if decisions.handed_back and not self._dry_run:
            self._control.write(decision)
        return self._report_done(survey, {tp: position for tp, position in positions.items() if tp in taken}, fenced)

    def _find_unknown(self, survey: TakeOverSurvey) -> list[ErrorReport]:
        """The error of topics that were asked for by name, and of which MirrorMaker 2 left nothing."""
        present = {
            *(partition.tp.topic for partition in survey.partitions),
            *(tp.topic for tp in survey.ours),
            *(error.topic for error in survey.errors),
        }
        missing = [topic for topic in self._request.topics if topic not in present]
        return [NothingSelected("take-over", missing).report()] if missing else []

    def _positions(self, survey: TakeOverSurvey) -> dict[TopicPartition, Position]:
        by_partition = {partition.tp: partition for partition in survey.partitions}
        positions: dict[TopicPartition, Position] = {}
        for tp, where in locate(self._flow, survey.partitions).items():
            partition = by_partition[tp]
            if isinstance(where, Position):
                # Of one that Connect knows nothing of, and whose remote holds nothing that can be read, nothing was mirrored.
                if partition.stored is not None or where.pairs or partition.copied:
                    positions[tp] = where
            elif self._request.at_stored and partition.stored is not None:
                # Where hand-back ended half-way, Connect's offset is of before our own copy.
                positions[tp] = Position(max(partition.stored + 1, partition.copied.upstream if partition.copied else 0))
            else:
                self._errors.append(_report_doubt(partition, where).report())
        return positions

    # ------------------------------------------------------------ writing

    def _find_written(self, plan: Plan, survey: TakeOverSurvey, positions: Mapping[TopicPartition, Position], decided: Decided) -> Records:
        lanes = self._flow.value("mirror.lanes")
        by_lane: dict[int, dict[TopicPartition, Mm2Partition]] = {}
        for partition in survey.partitions:
            if partition.tp in positions:
                by_lane.setdefault(lane_of(*partition.tp, lanes), {})[partition.tp] = partition
        require_stopped(self._target, self._maker)  # reading may have taken its time

        def read_one(lane: int) -> Records:
            """What was written of a lane; an error of the lane leaves the others going."""
            task = lane_task(self._flow, plan, lane, "take-over")
            lane_change = TakenLane(self._target, plan, lanes, survey, by_lane.get(lane, {}), positions, decided)
            try:
                return write_lane(task, lane_change.change, decided if lane in self._marked else None)
            except MirrorError as error:
                self._errors.append(error.report())
                return {}
            finally:
                self._errors += lane_change.errors

        with ThreadPoolExecutor(LANES_AT_ONCE) as threads:
            return {tp: record for records in threads.map(read_one, by_lane.keys() | self._marked) for tp, record in records.items()}

    # ------------------------------------------------------------ the answer

    def _report_done(self, survey: TakeOverSurvey, taken: Mapping[TopicPartition, Position], fenced: Iterable[str]) -> StepResult:
        by_partition = {partition.tp: partition for partition in survey.partitions}
        rows = sorted(taken)
        result = {
            "topic": [tp.topic for tp in rows],
            "partition": [tp.partition for tp in rows],
            "stored": [by_partition[tp].stored for tp in rows],
            "watermark": [taken[tp].watermark for tp in rows],
            "target_offset": [by_partition[tp].target_end for tp in rows],
        }
        verb = "would be" if self._dry_run else "were"
        lines = [_write_line(by_partition[tp], taken[tp]) for tp in rows]
        lines.append(f"{len(rows)} partitions {verb} taken over, {len(survey.ours)} are the mirror's already.")
        lines += [f"Fenced: {transactional_id}." for transactional_id in fenced]
        errors = tuple(error.of_flow(self._flow.name) for error in self._errors)
        totals = {"taken": len(rows), "ours": len(survey.ours)}
        return StepResult({**result, "ours": len(survey.ours)}, totals, (*lines, *survey.notices), errors)


def _report_doubt(partition: Mm2Partition, doubt: Ambiguous) -> TailInDoubt:
    first = partition.source_start if partition.stored is None else partition.stored + 1
    source, target = (first, partition.source_end), (doubt.target, partition.target_end)
    return TailInDoubt(*partition.tp, partition.remote.topic, source, target, partition.stored, doubt.why)


def _write_line(partition: Mm2Partition, position: Position) -> str:
    stored_text = "Connect kept no offset" if partition.stored is None else f"Connect kept {partition.stored}"
    return (
        f"{partition.tp}: goes on at source offset {position.watermark} ({stored_text}), after {partition.remote}@{partition.target_end}."
    )
