"""The step `move-groups` of a wave whose source is lost: commits the best position that the target knows of each group.

What it notes has the form of a planned wave's notes, so the same roll back puts groups back to where they were.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kafka_mirror.cutover.failover.positions import COMMITTED, FailoverPosition
from kafka_mirror.cutover.failover.survey import FailoverSurvey, survey_failover
from kafka_mirror.cutover.groups.placement import place_groups
from kafka_mirror.cutover.wave.findings import INFORMATION, STOP, Finding, in_order, stop
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.step import KNOWN_MS, MOVE_GROUPS, REREAD, StepOptions, StepOutcome, WaveNotes, ended
from kafka_mirror.errors import GroupNotMoved
from kafka_mirror.errors.display import show
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_commit import positions_on
from kafka_mirror.groups.group_move import AFTER, GroupMove, Positions, facts_of_move, move_from_facts, plan_move
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

GROUPS = "groups"
"""The step's fact with the names of all groups that were noted, as the planned step has it."""


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Commits, after it noted what each group had on the target: once, however often it runs. Raises what concerns the target as a
    whole."""
    flow, survey = move.flow, survey_failover(move.flow, move.wave)
    findings = [finding for finding in survey.findings if finding.kind != INFORMATION]
    lines = tuple(f"{show(position.group)}: {position}" for position in survey.positions)
    if not options.dry_run and not any(finding.kind == STOP for finding in findings):
        _note(flow, survey, notes)
        findings += _commit(flow, survey, notes)
    return ended(MOVE_GROUPS, in_order(findings, flow.name), lines, {GROUPS: list(notes.of_step(MOVE_GROUPS).get(GROUPS, ()))})


def _note(flow: "Flow", survey: FailoverSurvey, notes: WaveNotes) -> None:
    names = sorted({position.group for position in survey.positions if position.target is not None})
    settings = flow.client("target", "admin")
    with Cluster(flow.target, settings, flow.request_seconds) as target:
        there = positions_on(Groups(target), names)
    facts = {name: note_of_group(name, survey.positions, there[name], notes.of_group(name)) for name in names}
    changed = {name: of_group for name, of_group in facts.items() if of_group[AFTER] and of_group != notes.of_group(name)}
    if changed:
        names = sorted({*notes.of_step(MOVE_GROUPS).get(GROUPS, ()), *changed})
        notes.keep(MOVE_GROUPS, {**notes.of_step(MOVE_GROUPS), GROUPS: names})
        notes.keep_groups(changed)


def note_of_group(name: str, positions: Iterable[FailoverPosition], there: Positions, before: Mapping[str, Any]) -> dict[str, Any]:
    """What is noted of a group before it is put on these positions: what it has `there` on the target, all that the mirror commits or has
    committed for it, and how good that is. `before`: what was noted of it.

    Where somebody else moved it since, that is what it has; where that lies further on, it stays, and nothing is noted.
    """
    noted = _ours_alone(move_from_facts(before), there)
    places = {
        place.remote: place
        for place in positions
        if place.group == name
        and place.target is not None
        and (place.kind != COMMITTED or (noted and place.target in noted.ours(place.remote)))
    }
    wanted = {tp: Committed(place.target, place.metadata) for tp, place in places.items() if place.target is not None}
    reread = _partitions(before.get(REREAD, {}))
    reread = {tp: reread.get(tp, 0) if place.kind == COMMITTED else place.reread for tp, place in places.items()}
    return {
        **facts_of_move(plan_move(noted, there, wanted, {})),
        REREAD: _by_topic({tp: count for tp, count in reread.items() if count != 0}),
        KNOWN_MS: min((int(place.time.timestamp() * 1000) for place in places.values() if place.time is not None), default=None),
    }


def _ours_alone(noted: GroupMove | None, there: Positions) -> GroupMove | None:
    if noted is None or noted.is_taken_back:
        return None
    theirs = {tp for tp, present in there.items() if tp in noted.before and present.offset not in noted.ours(tp)}
    return replace(noted, before={tp: committed for tp, committed in noted.before.items() if tp not in theirs})


def _commit(flow: "Flow", survey: FailoverSurvey, notes: WaveNotes) -> list[Finding]:
    expected: dict[str, dict[TopicPartition, int | None]] = {}
    for position in survey.positions:
        expected.setdefault(position.group, {})[position.remote] = position.committed
    with Cluster(flow.target, flow.client("target", "admin"), flow.request_seconds) as target:
        refused = place_groups(notes, target, Groups(target), survey.to_commit(), expected)
    return [stop(GroupNotMoved(name, ", ".join(why), flow.target)) for name, why in sorted(refused.items())]


def _partitions(topics: Mapping[str, Mapping[str, int | None]]) -> dict[TopicPartition, int | None]:
    return {TopicPartition(topic, int(number)): count for topic, of_topic in topics.items() for number, count in of_topic.items()}


def _by_topic(positions: Mapping[TopicPartition, int | None]) -> dict[str, dict[str, int | None]]:
    topics: dict[str, dict[str, int | None]] = {}
    for tp, offset in sorted(positions.items()):
        topics.setdefault(tp.topic, {})[str(tp.partition)] = offset
    return topics
