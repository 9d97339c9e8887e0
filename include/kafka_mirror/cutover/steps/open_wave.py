"""`open`: from now on the wave's topics are written on the target. The flow copies no more of them, and the way back begins.

In this order, so that another run after a kill anywhere goes on with what is left:

    1. look          both sides must end where the ledger says; nothing is changed until they do
    2. note          the ends as of open: producers may write as soon as the step is done, so later ones are not looked at
    3. ledger        every lane is fenced and its partitions are marked as moved: a copy under way ends, an old plan copies nothing
    4. control       the topics are moved, if the wave is still this run's: plans leave them out, and nothing is rolled back any more
    5. way back      the opposite flow's ledger goes on after what was copied; then its topics have returned
    6. ACLs          the fence lets the way back write to names that are kept, and one of an earlier wave lets producers write on the target

A roll back of an `open` that was killed in front of 4 takes the marks of 3 off again.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from kafka_mirror.copy.plan.left_on_source import find_written_since_move
from kafka_mirror.copy.plan.run import plan_without_work
from kafka_mirror.copy.plan.target_checks import RemotePartition, window
from kafka_mirror.cutover.steps.fence import lift_for_way_back
from kafka_mirror.cutover.steps.open_ledgers import WayBack, set_marks, take_off_marks
from kafka_mirror.cutover.steps.opposite_flow import (
    check_age,
    check_merging,
    find_opposite_flow,
    survey_opposite_fence,
    take_back_opposite_fence,
)
from kafka_mirror.cutover.steps.wave_ends import (
    Records,
    check_source_ends,
    check_target_ends,
    find_other_logs,
    look_at,
    look_at_source,
    read_offsets,
    report_pending,
    select_unopened,
    write_ends,
    write_offsets,
)
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.selection import match_names
from kafka_mirror.cutover.wave.step import OPEN, WARNING, Finding, StepOptions, StepOutcome, has_stop, make_outcome, stop, warning
from kafka_mirror.errors import AuthorizationRefused, CopiedMeanwhile, MirrorError, NothingToOpen, TargetWritten
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_move import note_by_topic
from kafka_mirror.kafka.model import PartitionLog
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.clusters import read_state
from kafka_mirror.ledger.control_records import MOVED, Decision
from kafka_mirror.ledger.decisions import Decisions, Present, moment_after
from kafka_mirror.ledger.record import Decided


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Opens the wave. Raises what concerns a cluster as a whole; run again, it does what is left."""
    return _Opening(move, notes, options).run()


def rollback(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Takes the marks off the ledger, and fences its lanes, so that an `open` that stands still marks none any more. Raises
    WaveRunElsewhere, and what a lane or a cluster says."""
    flow, target = move.flow, move.sides.target
    state = read_state(flow, target)
    topics, _ = match_names(move.wave.topics, {tp.topic for tp in state.records})
    partitions = [tp for tp in state.records if tp.topic in topics and state.decisions.find_moved(tp.topic) is None]
    if options.dry_run:
        marked = sum(state.records[tp].moved is not None for tp in partitions)
        return make_outcome(OPEN, (), (f"{marked} partitions would be copied again.",))
    plan = plan_without_work(flow, move.sides.source.cluster_id(), target.cluster_id(), state.ledger_id, state.decisions)
    marked = take_off_marks(flow, plan, notes, partitions)
    return make_outcome(OPEN, (), (f"{marked} partitions are copied again.",))


@dataclass
class _Opening:
    move: Move
    notes: WaveNotes
    options: StepOptions
    findings: list[Finding] = field(default_factory=list)

    def run(self) -> StepOutcome:
        """All of it."""
        flow = self.move.flow
        state = read_state(flow, self.move.sides.target)
        records, self.decisions, self.ledger_id = state.records, state.decisions, state.ledger_id
        self.opposite = find_opposite_flow(flow, self.move.topics.names)
        self.way_back, why_not = self._find_way_back()
        partitions = self.move.list_partitions()
        if not partitions:
            self.findings.append(stop(NothingToOpen(flow.name)))
        remaining = select_unopened(records, partitions)
        unmoved = [tp for tp in partitions if self.decisions.find_moved(tp.topic) is None]
        self._look(records, unmoved)
        self.findings += report_pending(self.decisions, Present(records, self.ledger_id, {}), unmoved)
        earlier, held_off = survey_opposite_fence(self.opposite, self.move.topics.names, self.move.sides.source, self.move.sides.target)
        self.findings += held_off
        if has_stop(self.findings):
            return make_outcome(OPEN, self.findings)
        facts = self._make_facts(records, partitions, remaining)
        if self.options.dry_run:
            acls = tuple(f"{acl.topic}: {acl} of an earlier wave would be removed from {flow.target}" for acl in earlier)
            return make_outcome(OPEN, self.findings, (*self._write_lines(partitions, why_not, would=True), *acls), facts)
        self.notes.keep(OPEN, facts)
        closed = {**{tp: records[tp] for tp in partitions}, **self._close(records, remaining)}
        if not has_stop(self.findings):
            self._move(records)
        if has_stop(self.findings):
            take_off_marks(flow, self.plan, self.notes, unmoved)
            return make_outcome(OPEN, self.findings, facts=facts)
        if self.way_back is not None:
            self.options.progress(f"The way back {self.way_back.opposite.flow.name} begins.")
            self.way_back.begin(closed, read_offsets(facts["way_back_ends"]), facts["way_back_epochs"])
        sides = self.move.sides
        taken_back = take_back_opposite_fence(self.opposite, self.notes, sides.source, sides.target, earlier)
        acl_lines = (*self._lift(), *taken_back)
        self._look_again(closed)
        done = {
            **facts,
            "opened_ms": int(datetime.now(UTC).timestamp() * 1000),
            "way_back": self.way_back.opposite.flow.name if self.way_back is not None else why_not,
        }
        return make_outcome(OPEN, self.findings, (*self._write_lines(partitions, why_not, would=False), *acl_lines), done)

    # ------------------------------------------------------------ looking

    def _find_way_back(self) -> tuple[WayBack | None, str]:
        """The way back, or why there is none."""
        flow, sides, opposite = self.move.flow, self.move.sides, self.opposite
        if opposite is None:
            return None, f"no flow {flow.target}->{flow.source} is enabled"
        if not opposite.topics:
            return None, f"{opposite.flow.name} replicates none of the wave's topics"
        self.findings += [*check_merging(opposite, flow), *check_age(opposite, flow, sides.source)]
        way_back = WayBack(opposite, sides.target, sides.source, self.options, self.notes)
        way_back.check()
        return way_back, ""

    def _look(self, records: Records, remaining: Collection[TopicPartition]) -> None:
        """Whether both sides of the partitions end where the ledger says."""
        look = look_at_source(self.move)
        logs = {tp: look.logs.get(tp, PartitionLog("", None)) for tp in {*remaining, *select_unopened(records, look.logs)}}
        copied_before = find_other_logs(self.move, logs, records)
        self.findings += (*look.stops, *look.warnings, *copied_before, *check_source_ends(records, logs))
        in_ledger = [tp for tp in remaining if tp in records]
        remotes = self._remotes(in_ledger)
        self.findings += (*self.target_look.stops, *self.target_look.warnings)
        self.findings += check_target_ends(remotes, records)
        if not has_stop(self.findings):
            self._find_strangers(remotes, records)

    def _remotes(self, partitions: Collection[TopicPartition]) -> list[RemotePartition]:
        """How the remote partitions of these stand, as the newest leaders have them. The servers are asked for the topics as well that the
        way back begins under their own names."""
        flow, target = self.move.flow, self.move.sides.target
        places = {tp: TopicPartition(self.move.context.selection.remote(tp.topic), tp.partition) for tp in partitions}
        names = {place.topic for place in places.values()}
        topics = target.topics(names)
        self.target_look = look_at(flow.target, target, sorted(names | self._list_begun()))
        logs = {tp: state.log for tp, state in self.target_look.logs.items() if state.log is not None}
        return [
            RemotePartition(tp, place.topic, topics.get(place.topic), 1, *(logs[place][:3] if place in logs else (-1, -1, -1)))
            for tp, place in places.items()
        ]

    def _find_strangers(self, remotes: Collection[RemotePartition], records: Records) -> None:
        """Whether visible records follow ours; topics that are merged with others' records may have some."""
        flow, context = self.move.flow, self.move.context
        windows = {
            TopicPartition(remote.remote, remote.source.partition): place
            for remote in remotes
            if (place := window(remote, records[remote.source])) is not None
            and flow.per_topic("mirror.on.unexplained.target", remote.source.topic) != "append"
        }
        if not windows:
            return
        refused: dict[str, MirrorError] = {}
        first = BoundedReader(flow.target, context.clients.target_consumer).first_visible(windows, context.request_seconds, refused)
        for error in refused.values():
            raise error
        if places := [f"{tp}@{message.offset}" for tp, message in sorted(first.items(), key=lambda pair: pair[0])]:
            self.findings.append(stop(TargetWritten(f"Records of somebody else follow what was copied: {first_few(places)}")))

    def _make_facts(
        self, records: Records, partitions: Collection[TopicPartition], remaining: Collection[TopicPartition]
    ) -> dict[str, Any]:
        """What is noted before anything is written. Once a partition is marked, what was noted before counts: the ends may move since, and
        another leader may have other records in front of them."""
        noted = self.notes.read_step(OPEN)
        if len(remaining) < len(partitions) and "way_back_ends" in noted:
            back = {name: noted[name] for name in ("way_back_ends", "way_back_epochs")}
        else:
            begun, same = self._list_begun(), self.way_back.opposite.same if self.way_back is not None else ()
            ends = write_offsets({tp: end for tp, end in self.target_look.ends.items() if tp.topic in begun})
            epochs = {tp: log.leader_epoch for tp, log in self.target_look.offsets.items() if tp.topic in same}
            noted_epochs = note_by_topic({tp: epoch for tp, epoch in epochs.items() if epoch is not None})
            back = {"way_back_ends": ends, "way_back_epochs": noted_epochs}
        return {"ends": write_ends(records, partitions), **back}

    def _list_begun(self) -> frozenset[str]:
        """The topics that the way back first sees as of open: producers begin them under their own names on the target."""
        return frozenset(self.way_back.opposite.own if self.way_back is not None else ())

    # ------------------------------------------------------------ writing

    def _close(self, looked_at: Records, remaining: Collection[TopicPartition]) -> Records:
        """Marks the partitions in the ledger, after a fence; gives their records. One that was copied since it was looked at is a
        finding, and is not marked."""
        flow, sides = self.move.flow, self.move.sides
        self.plan = plan_without_work(flow, sides.source.cluster_id(), sides.target.cluster_id(), self.ledger_id, self.decisions)
        decided = Decided.of(self._make_decision(looked_at))
        closed, copied = set_marks(flow, self.plan, self.notes, looked_at, remaining, decided)
        if copied:
            self.findings.append(stop(CopiedMeanwhile(first_few(sorted(copied)))))
        return closed

    def _move(self, records: Records) -> None:
        """The topics are moved, as the control topic says to every plan from now on; not if somebody decided about them since the look."""

        def list_missing(decisions: Decisions) -> list[Decision]:
            self.decisions = decisions
            topics = [topic for topic in self.move.topics.names if decisions.find_moved(topic) is None]
            pending = report_pending(decisions, Present(records, self.ledger_id, {}), [tp for tp in records if tp.topic in topics])
            self.findings += pending
            return [] if pending else [replace(self._make_decision({}), topic=topic) for topic in topics]

        self.notes.decide(list_missing)

    def _lift(self) -> tuple[str, ...]:
        """Lets the way back write to the source's topics. The wave is open by now, so what cannot be lifted is a warning."""
        if self.way_back is None or not self.way_back.opposite.same:
            return ()
        try:
            outcome = lift_for_way_back(self.move, self.notes, self.options, self.way_back.opposite.flow)
        except AuthorizationRefused as error:
            self.findings.append(warning(error))
            return ()
        self.findings += [replace(finding, kind=WARNING) for finding in outcome.findings]
        return outcome.lines

    def _look_again(self, closed: Records) -> None:
        """Names what came between the look and the marks: the source took it, and no flow copies it. The wave is open by now, and
        the flow's status shows it from now on."""
        written = find_written_since_move(self.move.flow, self.move.sides.source, closed, self.move.topics.names)
        self.findings += map(warning, written)

    def _make_decision(self, records: Records) -> Decision:
        """That topics are moved, later than all that was decided in either direction."""
        options, now = self.options, datetime.now(UTC)
        when = moment_after(self.decisions, records.values(), now)
        if self.way_back is not None:
            when = max(when, moment_after(*self.way_back.read_newest(), now))
        return Decision(MOVED, options.who, when, options.reason, wave=options.wave)

    # ------------------------------------------------------------ the answer

    def _write_lines(self, partitions: Collection[TopicPartition], why_not: str, would: bool) -> tuple[str, ...]:
        verb, topics = ("would be" if would else "are"), len(self.move.topics.names)
        flow = self.move.flow
        lines = [f"{topics} topics with {len(partitions)} partitions {verb} moved to {flow.target}; {flow.name} copies no more of them."]
        if self.way_back is None:
            return (*lines, f"Nothing flows back: {why_not}.")
        opposite = self.way_back.opposite
        lines.append(f"What is produced on {flow.target} from now on flows back by {opposite.flow.name}.")
        if opposite.not_replicated:
            lines.append(f"Of {first_few(opposite.not_replicated)} nothing flows back: {opposite.flow.name} does not replicate them.")
        return tuple(lines)
