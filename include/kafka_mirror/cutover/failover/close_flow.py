"""Closes a flow against a source that comes back after a failover, and opens it again. Neither asks the source anything.

The decision stands in the control topic, where every plan reads it, and in the note of each lane, which a lane reads after its fence: no
lane copies a plan that was made before. The lanes are fenced on the way, so a copy that still runs ends here.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from kafka_mirror.config.validate import check_readable
from kafka_mirror.copy.lane_writer import Records, write_lanes
from kafka_mirror.copy.plan.run import plan_without_work
from kafka_mirror.copy.run import lane_task
from kafka_mirror.errors import NotClosed, name_flow_in_errors
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.checks import check_handed_back
from kafka_mirror.ledger.clusters import control_of, read_decisions, read_ledger
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import ADOPT_CLUSTER, CLOSED, REOPENED, Decision
from kafka_mirror.ledger.decisions import Decisions, moment_after
from kafka_mirror.ledger.record import Decided, LedgerRecord, Writer
from kafka_mirror.ledger.topic import LedgerView

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.cutover.wave.record import WaveNotes


@dataclass(frozen=True)
class ClosingResult:
    """The decision in force, whether it stood there before, and the lanes in which it was noted now."""

    decision: Decision
    was_there: bool
    lanes: tuple[int, ...]


def close_flow(flow: "Flow", who: str, why: str, dry_run: bool = False, notes: "WaveNotes | None" = None) -> ClosingResult:
    """Closes the flow: nothing is planned or copied until `reopen_flow`. Run again it continues where it ended. `notes`: of a wave that
    closes it, as long as the wave is its run's own.

    With `dry_run` nothing is written or fenced. Raises HandedBack, WaveRunElsewhere, and what the target says.
    """
    return _decide(flow, CLOSED, who, why, dry_run, notes)


def reopen_flow(flow: "Flow", who: str, why: str, dry_run: bool = False) -> ClosingResult:
    """Opens a closed flow again. Raises NotClosed of a flow that is not closed, and what the target says."""
    return _decide(flow, REOPENED, who, why, dry_run)


def _decide(flow: "Flow", word: str, who: str, why: str, dry_run: bool, notes: "WaveNotes | None" = None) -> ClosingResult:
    check_readable(flow)
    with name_flow_in_errors(flow.name), Cluster(flow.target, flow.client("target", "admin"), flow.request_seconds) as target:
        control = control_of(flow, target)
        decisions = read_decisions(flow, control, dry_run)
        check_handed_back(decisions)
        ledger_id, view = read_ledger(flow, target, control, decisions, dry_run=True)
        for unreadable in view.unreadable.values():
            raise unreadable
        there = decisions.closed if word == CLOSED else decisions.reopened
        if there is None and word == REOPENED and decisions.closed is None:
            raise NotClosed(flow.name)
        when = moment_after(decisions, view.records.values(), datetime.now(UTC))
        decision = there or Decision(word, who, when, why)
        decided = Decided.of(decision)
        lanes = tuple(lane for lane in range(flow.value("mirror.lanes")) if _is_due(view.notes.get(lane), decided)) if ledger_id else ()
        if not dry_run:
            if there is None:  # from now on nothing is planned, or everything is
                decision = _write_decision(control, decision, notes)
            plan = plan_without_work(flow, _source_id(flow, view, decisions), target.cluster_id(), ledger_id, decisions)
            # Another installation may have copied a moment ago: declaring its source lost puts an end to that.
            tasks = (replace(lane_task(flow, plan, lane, word), installation="") for lane in lanes)
            write_lanes(tasks, lambda _lane: partial(_keep_records, notes), Decided.of(decision))
    return ClosingResult(decision, there is not None, lanes)


def _is_due(note: LedgerRecord | None, decided: Decided) -> bool:
    """Whether a lane does not have the decision yet. A lane that was never closed needs no note that it is open."""
    noted = note.decided if note is not None else None
    if decided.decision == REOPENED:
        return noted is not None and noted.decision == CLOSED
    return noted is None or (noted.decision, noted.when) != (decided.decision, decided.when)


def _write_decision(control: Control, decision: Decision, notes: "WaveNotes | None") -> Decision:
    """Writes the decision, with notes only as long as the wave is theirs; gives it with its time."""
    if notes is None:
        control.write_next([decision])
        return decision
    written = [decision]

    def later(decisions: Decisions) -> list[Decision]:
        """Later than what was decided since it was read."""
        written[0] = replace(decision, when=moment_after(decisions, (), decision.when))
        return written

    notes.decide(later)
    return written[0]


def _keep_records(notes: "WaveNotes | None", _records: Records, _writer: Writer) -> Records:
    if notes is not None:
        notes.check()
    return {}


def _source_id(flow: "Flow", view: LedgerView, decisions: Decisions) -> str:
    """The source's cluster id as the ledger has it: the source itself may be gone."""
    for decision in decisions.all:
        if decision.decision == ADOPT_CLUSTER and decision.alias == flow.source:
            return decision.cluster_id or ""
    newest = max(view.records.values(), key=lambda record: record.writer.time, default=None)
    return newest.source_cluster_id if newest is not None else ""
