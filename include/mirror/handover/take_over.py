"""`take-over`: the mirror goes on where MirrorMaker 2 stopped."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from mirror.config import Flow
from mirror.config.readable import check_readable
from mirror.copy.run import LANES_AT_ONCE, lane_task
from mirror.errors import ErrorReport, MirrorError, NothingSelected, TailInDoubt, named_with
from mirror.formats.control import TAKEN_OVER, Decision
from mirror.formats.ledger import Decided
from mirror.handover.evidence import Left, locate
from mirror.handover.going_on import used_up
from mirror.handover.lanes import Records, write_lane
from mirror.handover.left import Found, look
from mirror.handover.mirrormaker import MirrorMaker, fence_tasks, require_offsets, require_stopped, stored_offsets
from mirror.handover.model import Doubt, Position
from mirror.handover.taken_lane import TakenLane
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import clusters, control_of
from mirror.offsets.lanes import lane_of
from mirror.offsets.partition import TopicPartition
from mirror.plan.checks import check_clusters
from mirror.plan.decisions import moment_after
from mirror.plan.model import Plan
from mirror.plan.own_topics import read_decisions, read_ledger
from mirror.plan.run import plan_without_work
from mirror.sync.step import Done


@dataclass(frozen=True)
class Request:
    """What is asked for, by whom. `topics`: only these, by their names on the source. `at_stored`: where the tail leaves a doubt, go on
    behind the offset that Connect kept."""

    who: str
    why: str = "taken over from MirrorMaker 2"
    maker: MirrorMaker | None = None
    topics: tuple[str, ...] = ()
    at_stored: bool = False


def take_over(flow: Flow, request: Request, dry_run: bool = False) -> Done:
    """Writes ledger records for every partition that MirrorMaker 2 mirrored. With `dry_run` nothing is written or fenced.

    What concerns one partition is in the errors, and the others are taken over. Raises what concerns the whole flow: MirrorMakerRunning,
    ConnectOffsetsMissing, LedgerMissing …
    """
    check_readable(flow)
    with named_with(flow.name), clusters(flow) as (source, target):
        return _TakeOver(flow, source, target, request, dry_run).run()


class _TakeOver:
    def __init__(self, flow: Flow, source: Cluster, target: Cluster, request: Request, dry_run: bool) -> None:
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

    def run(self) -> Done:
        """Looks, matches, and writes."""
        flow, source_id, target_id = self._flow, self._source.cluster_id(), self._target.cluster_id()
        require_stopped(flow, self._maker)
        fenced = [] if self._dry_run else fence_tasks(flow, self._target, self._maker)
        stored = stored_offsets(flow, self._target, self._maker)
        require_offsets(flow, self._maker, stored)
        decisions = read_decisions(flow, self._control, self._dry_run)
        ledger_id, view = read_ledger(flow, self._target, self._control, decisions, self._dry_run)
        check_clusters(view.records.values(), flow.source, source_id, flow.target, target_id, decisions)
        found = look(flow, self._source, self._target, stored.offsets, view, self._request.topics)
        found.notices += [f"An offset that MirrorMaker 2 cannot find either is left out: {each}." for each in stored.unread]
        self._errors += found.errors
        self._errors += self._unknown(found)
        positions = self._positions(found)
        found.notices += used_up({tp: view.records[tp] for tp in positions if tp in view.records}, decisions)
        plan = plan_without_work(flow, source_id, target_id, ledger_id, decisions)
        self._marked = {lane for lane, note in view.notes.items() if note.is_handed_back}
        when = moment_after(decisions, view.records.values(), datetime.now(UTC))
        decision = Decision(TAKEN_OVER, self._request.who, when, self._request.why)
        taken = self._written(plan, found, positions, Decided.of(decision)) if not self._dry_run else dict.fromkeys(positions)
        if decisions.handed_back and not self._dry_run:
            self._control.write(decision)
        return self._done(found, {tp: position for tp, position in positions.items() if tp in taken}, fenced)

    def _unknown(self, found: Found) -> list[ErrorReport]:
        """The error of topics that were asked for by name, and of which MirrorMaker 2 left nothing."""
        seen = {*(left.tp.topic for left in found.left), *(tp.topic for tp in found.ours), *(error.topic for error in found.errors)}
        missing = [topic for topic in self._request.topics if topic not in seen]
        return [NothingSelected("take-over", missing).report()] if missing else []

    def _positions(self, found: Found) -> dict[TopicPartition, Position]:
        by_partition = {left.tp: left for left in found.left}
        positions: dict[TopicPartition, Position] = {}
        for tp, where in locate(self._flow, found.left).items():
            left = by_partition[tp]
            if isinstance(where, Position):
                # Of one that Connect knows nothing of, and whose remote holds nothing that can be read, nothing was mirrored.
                if left.stored is not None or where.pairs or left.known:
                    positions[tp] = where
            elif self._request.at_stored and left.stored is not None:
                # Where hand-back ended half-way, Connect's offset is of before our own copy.
                positions[tp] = Position(max(left.stored + 1, left.known.upstream if left.known else 0))
            else:
                self._errors.append(_in_doubt(left, where).report())
        return positions

    # ------------------------------------------------------------ writing

    def _written(self, plan: Plan, found: Found, positions: Mapping[TopicPartition, Position], decided: Decided) -> Records:
        lanes = self._flow.value("mirror.lanes")
        by_lane: dict[int, dict[TopicPartition, Left]] = {}
        for left in found.left:
            if left.tp in positions:
                by_lane.setdefault(lane_of(*left.tp, lanes), {})[left.tp] = left
        require_stopped(self._flow, self._maker)  # reading may have taken its time

        def one(lane: int) -> Records:
            """What was written of a lane; an error of the lane leaves the others going."""
            task = lane_task(self._flow, plan, lane, "take-over")
            made = TakenLane(self._target, plan, lanes, found, by_lane.get(lane, {}), positions, decided)
            try:
                return write_lane(task, made.change, decided if lane in self._marked else None)
            except MirrorError as error:
                self._errors.append(error.report())
                return {}
            finally:
                self._errors += made.errors

        with ThreadPoolExecutor(LANES_AT_ONCE) as threads:
            return {tp: record for records in threads.map(one, by_lane.keys() | self._marked) for tp, record in records.items()}

    # ------------------------------------------------------------ the answer

    def _done(self, found: Found, taken: Mapping[TopicPartition, Position], fenced: Iterable[str]) -> Done:
        left = {each.tp: each for each in found.left}
        rows = sorted(taken)
        result = {
            "topic": [tp.topic for tp in rows],
            "partition": [tp.partition for tp in rows],
            "stored": [left[tp].stored for tp in rows],
            "watermark": [taken[tp].watermark for tp in rows],
            "target_offset": [left[tp].target_end for tp in rows],
        }
        verb = "would be" if self._dry_run else "were"
        lines = [_line(left[tp], taken[tp]) for tp in rows]
        lines.append(f"{len(rows)} partitions {verb} taken over, {len(found.ours)} are the mirror's already.")
        lines += [f"Fenced: {transactional_id}." for transactional_id in fenced]
        errors = tuple(error.of_flow(self._flow.name) for error in self._errors)
        totals = {"taken": len(rows), "ours": len(found.ours)}
        return Done({**result, "ours": len(found.ours)}, totals, (*lines, *found.notices), errors)


def _in_doubt(left: Left, doubt: Doubt) -> TailInDoubt:
    first = left.source_start if left.stored is None else left.stored + 1
    source, target = (first, left.source_end), (doubt.target, left.target_end)
    return TailInDoubt(*left.tp, left.remote.topic, source, target, left.stored, doubt.why)


def _line(left: Left, position: Position) -> str:
    kept = "Connect kept no offset" if left.stored is None else f"Connect kept {left.stored}"
    return f"{left.tp}: goes on at source offset {position.watermark} ({kept}), behind {left.remote}@{left.target_end}."
