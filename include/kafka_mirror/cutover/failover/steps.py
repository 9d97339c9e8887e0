"""The steps of a wave whose source is lost: they ask the target alone.

- `run_preflight` says where groups would continue, what may be missing, and what stops the wave.
- `move_groups` commits the best position that the target knows of each group. Its notes have the form of a planned wave's notes, so the
  same roll back puts groups back to where they were.
- `close` closes the flow against a source that comes back. After that no copy that was under way can commit, so what is missing is noted
  once more, for good, in place of what the preflight knew.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kafka_mirror.cutover.failover.close_flow import close_flow
from kafka_mirror.cutover.failover.missing_records import MISSING, missing_document
from kafka_mirror.cutover.failover.positions import COMMITTED, FailoverPosition
from kafka_mirror.cutover.failover.survey import FailoverSurvey, survey_failover
from kafka_mirror.cutover.groups.placement import GROUPS, place_groups
from kafka_mirror.cutover.wave.findings import INFORMATION, STOP, Finding, in_order, stop
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.notebook import WaveNotes
from kafka_mirror.cutover.wave.step import KNOWN_MS, MOVE_GROUPS, OPEN, PREFLIGHT, REREAD, StepOptions, StepOutcome, ended
from kafka_mirror.errors import GroupNotMoved
from kafka_mirror.errors.display import show
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_move import AFTER, GroupMove, Positions, facts_of_move, move_from_facts, plan_move
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups, read_positions
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.control_records import CLOSED

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


def run_preflight(move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Reads only. What may be missing is among the facts. Raises what concerns the target as a whole."""
    survey = survey_failover(move.flow, move.wave)
    findings = tuple(finding for finding in survey.findings if finding.kind != INFORMATION)
    lines = tuple(finding.message for finding in survey.findings if finding.kind == INFORMATION)
    facts = {
        "topics": len(survey.topics.names),
        "partitions": len(survey.missing),
        "groups": len({position.group for position in survey.positions}),
        MISSING: missing_document(survey.missing),
    }
    return ended(PREFLIGHT, findings, lines, facts)


def move_groups(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Commits, after it noted what each group had on the target: once, however often it runs. Raises what concerns the target as a
    whole."""
    flow, survey = move.flow, survey_failover(move.flow, move.wave)
    findings = [finding for finding in survey.findings if finding.kind != INFORMATION]
    lines = tuple(f"{show(position.group)}: {position}" for position in survey.positions)
    if not options.dry_run and not any(finding.kind == STOP for finding in findings):
        _note_groups(flow, survey, notes)
        findings += _commit_positions(flow, survey, notes)
    return ended(MOVE_GROUPS, in_order(findings, flow.name), lines, {GROUPS: list(notes.of_step(MOVE_GROUPS).get(GROUPS, ()))})


def _note_groups(flow: "Flow", survey: FailoverSurvey, notes: WaveNotes) -> None:
    names = sorted({position.group for position in survey.positions if position.target is not None})
    settings = flow.client("target", "admin")
    with Cluster(flow.target, settings, flow.request_seconds) as target:
        there = read_positions(Groups(target), names)
    facts = {name: make_note(name, survey.positions, there[name], notes.of_group(name)) for name in names}
    changed = {name: of_group for name, of_group in facts.items() if of_group[AFTER] and of_group != notes.of_group(name)}
    if changed:
        names = sorted({*notes.of_step(MOVE_GROUPS).get(GROUPS, ()), *changed})
        notes.keep(MOVE_GROUPS, {**notes.of_step(MOVE_GROUPS), GROUPS: names})
        notes.keep_groups(changed)


def make_note(name: str, positions: Iterable[FailoverPosition], there: Positions, before: Mapping[str, Any]) -> dict[str, Any]:
    """What is noted of a group before it is put on these positions: what it has `there` on the target, all that the mirror commits or has
    committed for it, and how good that is. `before`: what was noted of it.

    If another client moved it since, that position is what it has. If that lies further on, it stays, and nothing is noted.
    """
    noted = _drop_positions_of_others(move_from_facts(before), there)
    places = {
        place.remote: place
        for place in positions
        if place.group == name
        and place.target is not None
        and (place.kind != COMMITTED or (noted and place.target in noted.ours(place.remote)))
    }
    wanted = {tp: Committed(place.target, place.metadata) for tp, place in places.items() if place.target is not None}
    reread = _read_partitions(before.get(REREAD, {}))
    reread = {tp: reread.get(tp, 0) if place.kind == COMMITTED else place.reread for tp, place in places.items()}
    return {
        **facts_of_move(plan_move(noted, there, wanted, {})),
        REREAD: _group_by_topic({tp: count for tp, count in reread.items() if count != 0}),
        KNOWN_MS: min((int(place.time.timestamp() * 1000) for place in places.values() if place.time is not None), default=None),
    }


def _drop_positions_of_others(noted: GroupMove | None, there: Positions) -> GroupMove | None:
    if noted is None or noted.is_taken_back:
        return None
    theirs = {tp for tp, present in there.items() if tp in noted.before and present.offset not in noted.ours(tp)}
    return replace(noted, before={tp: committed for tp, committed in noted.before.items() if tp not in theirs})


def _commit_positions(flow: "Flow", survey: FailoverSurvey, notes: WaveNotes) -> list[Finding]:
    expected: dict[str, dict[TopicPartition, int | None]] = {}
    for position in survey.positions:
        expected.setdefault(position.group, {})[position.remote] = position.committed
    with Cluster(flow.target, flow.client("target", "admin"), flow.request_seconds) as target:
        refused = place_groups(notes, target, Groups(target), survey.to_commit(), expected)
    return [stop(GroupNotMoved(name, ", ".join(why), flow.target)) for name, why in sorted(refused.items())]


def _read_partitions(topics: Mapping[str, Mapping[str, int | None]]) -> dict[TopicPartition, int | None]:
    return {TopicPartition(topic, int(number)): count for topic, of_topic in topics.items() for number, count in of_topic.items()}


def _group_by_topic(positions: Mapping[TopicPartition, int | None]) -> dict[str, dict[str, int | None]]:
    topics: dict[str, dict[str, int | None]] = {}
    for tp, offset in sorted(positions.items()):
        topics.setdefault(tp.topic, {})[str(tp.partition)] = offset
    return topics


def close(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Closes the whole flow: its source is lost for every topic. Raises what the target says."""
    closing = close_flow(move.flow, options.who, options.reason, options.dry_run, notes)
    verb = "would be" if options.dry_run else "is"
    missing = survey_failover(move.flow, move.wave).missing
    if not options.dry_run:
        notes.keep(PREFLIGHT, {**notes.of_step(PREFLIGHT), MISSING: missing_document(missing)})
    lacking = [partition for partition in missing if partition.offsets]
    records = sum(partition.offsets for partition in lacking)
    lines = (
        f"{move.flow.name} {verb} closed, in {len(closing.lanes)} lanes as of now: {closing.decision}.",
        f"At most {records:,} records of {len(lacking)} partitions are known to be missing; the report lists them.",
    )
    return ended(OPEN, (), lines, {CLOSED: str(closing.decision)})


def roll_back_close(_move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Does nothing: a wave whose flow is closed cannot be rolled back, and before that nothing was done."""
    return ended(OPEN, (), ("The flow was not closed.",))
