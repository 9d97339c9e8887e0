"""The step `move-groups`: commits the exact positions of a wave's groups on the target; `rollback` puts back what was there before.

What a group had on the target is noted before anything is committed (`group_move`). Both look at the clusters again each time, so a run
that was killed goes on, and one more run does nothing.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mirror.cutover.findings import STOP, Finding, in_order, of_error, some
from mirror.cutover.flow_settings import right_findings
from mirror.cutover.group_commit import positions_on, unlike, write_positions
from mirror.cutover.group_move import GroupMove, GroupUndo, Positions, facts_of_move, move_from_facts, plan_move, plan_undo
from mirror.cutover.group_move_findings import (
    GroupLogs,
    active_group,
    active_groups,
    not_committed,
    not_taken_back,
    read_on_source,
    stays_where_it_is,
    stops_of_groups,
    used_on_target,
)
from mirror.cutover.group_survey import GroupSurvey, survey_groups
from mirror.cutover.groups import WaveGroup
from mirror.cutover.move import Move
from mirror.cutover.steps import EMPTY_SINCE_MS, MOVE_GROUPS, WAITING, StepOptions, StepOutcome, WaveNotes, ended
from mirror.errors import MirrorError
from mirror.kafka.group_members import describe_groups
from mirror.kafka.model import Committed
from mirror.kafka.polling import until
from mirror.offsets.partition import TopicPartition

GROUPS = "groups"
"""The step's fact with the names of all groups that were noted; where each stands is in its own note."""
_PAUSE_SECONDS = 0.5

Moves = Mapping[str, GroupMove]


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Moves the groups. It waits for members on the source to leave. Raises what concerns a cluster as a whole."""
    look = _look(move, options)
    findings = list(look.findings)
    if look.is_stopped:
        return _ended(move, findings)
    if look.active:
        return StepOutcome(MOVE_GROUPS, WAITING, (), in_order((*look.active, *findings), move.flow.name))
    groups = {group.name: group for group in look.survey.groups.groups}
    there = positions_on(move.sides.target_groups, groups)
    moves, foreign = _planned(groups, notes, there)
    findings += [used_on_target(name, places, move.flow.target) for name, places in foreign.items()]
    if foreign or options.dry_run:
        return _ended(move, findings, tuple(_lines(moves, there, options.dry_run)))
    empty_since = _note(moves, notes, there)
    began = time.monotonic()
    findings += _commit(move, moves, there)
    facts = {
        GROUPS: list(notes.of_step(MOVE_GROUPS)[GROUPS]),
        "positions": sum(len(of_group.after) for of_group in moves.values()),
        "committed": sum(len(of_group.due(there[name])) for name, of_group in moves.items()),
        "commit_seconds": round(time.monotonic() - began, 3),
        EMPTY_SINCE_MS: empty_since,
    }
    return replace(_ended(move, findings, tuple(_lines(moves, there, dry_run=False))), facts=facts)


def rollback(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Puts back what each group had on the target, where a position of ours still stands. Raises what concerns a cluster as a whole."""
    names = notes.of_step(MOVE_GROUPS).get(GROUPS, ())
    moves = {name: noted for name in names if (noted := move_from_facts(notes.of_group(name))) is not None and not noted.is_taken_back}
    there = positions_on(move.sides.target_groups, moves)
    undo = {name: plan_undo(noted, there.get(name, {})) for name, noted in moves.items()}
    members = _members_on_target(move, [name for name, of_group in undo.items() if not of_group.is_nothing])
    idle = {name: of_group for name, of_group in undo.items() if name not in members}
    findings = [*members.values(), *(stays_where_it_is(name, of.foreign, move.flow.target) for name, of in idle.items() if of.foreign)]
    if not options.dry_run:
        undone = _write_undo(move, moves, idle)
        findings += [not_taken_back(name, places, move.flow.target, options.wave) for name, places in undone.items()]
        back = {name: facts_of_move(replace(moves[name], is_taken_back=True)) for name in idle if name not in undone}
        if back:
            notes.keep_groups(back)
    return _ended(move, findings, tuple(_undo_lines(idle, options.dry_run)))


# ------------------------------------------------------------ what there is to move


@dataclass(frozen=True)
class _GroupLook:
    survey: GroupSurvey
    findings: tuple[Finding, ...]
    active: tuple[Finding, ...]

    @property
    def is_stopped(self) -> bool:
        return any(finding.kind == STOP for finding in self.findings)


def _look(move: Move, options: StepOptions) -> _GroupLook:
    """The groups once nothing but members on the source kept them, and these have left or time is up."""
    deadline = time.monotonic() + (0 if options.dry_run else options.timeout)
    while True:
        survey = survey_groups(move.flow, move.context, move.wave, move.topics.names, move.names, move.sides)
        groups = survey.groups.groups
        findings = (
            *stops_of_groups(survey.groups, _logs(move, groups), move.flow.source, move.flow.target),
            *right_findings(survey.rights),
            *map(of_error, survey.errors),
        )
        look = _GroupLook(survey, findings, tuple(active_groups(groups, move.flow.source)))
        remaining = deadline - time.monotonic()
        if look.is_stopped or not look.active or remaining <= 0:
            return look
        options.progress(f"Waiting for {some([group.name for group in groups if group.members])} to have no members on {move.flow.source}.")
        _await_no_members(move, [group.name for group in groups if group.members], remaining)


def _await_no_members(move: Move, names: list[str], seconds: float) -> None:
    def nobody() -> bool:
        described = describe_groups(move.sides.source, names, {})
        return not any(group.members for group in described.values())

    until(nobody, seconds, every=_PAUSE_SECONDS)


def _logs(move: Move, groups: tuple[WaveGroup, ...]) -> GroupLogs:
    positions = [position for group in groups for position in group.positions]
    ours = {*move.source_partitions(), *(TopicPartition(position.topic, position.partition) for position in positions)}
    remotes = sorted({position.remote for position in positions if position.answer.target is not None})
    source, target, refused = move.sides.source, move.sides.target, dict[str, MirrorError]()
    starts, ends = (target.offsets(remotes, which, errors=refused) for which in ("earliest", "latest"))
    bounds = {tp: (start, ends[tp]) for tp, start in starts.items() if tp in ends}
    return GroupLogs(source.offsets(sorted(ours), "earliest", errors=refused), bounds)


def _planned(
    groups: Mapping[str, WaveGroup], notes: WaveNotes, there: Mapping[str, Positions]
) -> tuple[dict[str, GroupMove], dict[str, dict[TopicPartition, int]]]:
    """The move of each group, and where somebody else moved it since it was noted."""
    moves, foreign = {}, {}
    for name, group in groups.items():
        noted, present = move_from_facts(notes.of_group(name)), there[name]
        wanted = {
            position.remote: Committed(position.answer.target, position.metadata)
            for position in group.positions
            if position.answer.target is not None
        }
        source = {TopicPartition(position.topic, position.partition): position.offset for position in group.positions}
        moves[name] = plan_move(noted, present, wanted, source)
        strange = {} if noted is None or noted.is_taken_back else noted.foreign(present)
        strange = {tp: offset for tp, offset in strange.items() if tp not in wanted or wanted[tp].offset != offset}
        if strange:
            foreign[name] = strange
    return moves, foreign


# ------------------------------------------------------------ noting, committing, reading back


def _note(moves: Moves, notes: WaveNotes, there: Mapping[str, Positions]) -> int:
    """Notes the groups and what each had, before anything is committed; since when the groups are empty, as far as anybody looked."""
    before = notes.of_step(MOVE_GROUPS)
    is_over = not any(of_group.due(there[name]) for name, of_group in moves.items())
    empty_since = int(before.get(EMPTY_SINCE_MS, 0) if is_over else 0) or int(time.time() * 1000)
    names = sorted({*before.get(GROUPS, ()), *moves})
    if names != before.get(GROUPS):
        notes.keep(MOVE_GROUPS, {**before, GROUPS: names, EMPTY_SINCE_MS: empty_since})
    facts = {name: facts_of_move(of_group) for name, of_group in moves.items()}
    changed = {name: of_group for name, of_group in facts.items() if of_group != notes.of_group(name)}
    if changed:
        notes.keep_groups(changed)
    return empty_since


def _commit(move: Move, moves: Moves, there: Mapping[str, Positions]) -> Iterator[Finding]:
    """Commits what is due, and yields what does not stand there afterwards, and groups that went on on the source meanwhile."""
    refused = write_positions(move.sides.target_groups, {name: of_group.due(there[name]) for name, of_group in moves.items()}, {})
    now = positions_on(move.sides.target_groups, moves)
    wrong = dict(unlike({name: of_group.after for name, of_group in moves.items()}, now))
    for name in sorted({*refused, *wrong}):
        yield not_committed(name, refused.get(name) or wrong[name], move.flow.target)
    here = positions_on(move.sides.source_groups, moves)
    for name, of_group in moves.items():
        moved_on = {tp: present.offset for tp, present in here[name].items() if of_group.source.get(tp, present.offset) != present.offset}
        if moved_on:
            yield read_on_source(name, [f"{tp}@{offset}" for tp, offset in moved_on.items()], move.flow.source)


def _write_undo(move: Move, moves: Moves, undo: Mapping[str, GroupUndo]) -> dict[str, list[str]]:
    """Commits and deletes, and gives what does not stand afterwards as it should, by group."""
    groups = move.sides.target_groups
    commit, delete = ({name: getattr(of, what) for name, of in undo.items()} for what in ("commit", "delete"))
    refused = write_positions(groups, commit, delete)
    wanted = {name: {tp: moves[name].before[tp] for tp in (*of.commit, *of.delete)} for name, of in undo.items()}
    return dict(unlike(wanted, positions_on(groups, undo))) | refused


def _members_on_target(move: Move, names: list[str]) -> dict[str, Finding]:
    """A stop for each of these groups that has members on the target, or of which nobody knows."""
    refused: dict[str, MirrorError] = {}
    described = describe_groups(move.sides.target, names, refused)
    active = {name: active_group(name, of.members, move.flow.target) for name, of in described.items() if of.members}
    return active | {name: of_error(error.report()) for name, error in refused.items()}


# ------------------------------------------------------------ words


def _ended(move: Move, findings: list[Finding], lines: tuple[str, ...] = ()) -> StepOutcome:
    return ended(MOVE_GROUPS, in_order(findings, move.flow.name), lines)


def _lines(moves: Moves, there: Mapping[str, Positions], dry_run: bool) -> Iterator[str]:
    verb = "would be committed" if dry_run else "committed"
    for name, of_group in sorted(moves.items()):
        due = of_group.due(there[name])
        yield f"{name}: {len(due)} of {len(of_group.after)} positions {verb}, {len(of_group.after) - len(due)} stood there already."


def _undo_lines(undo: Mapping[str, GroupUndo], dry_run: bool) -> Iterator[str]:
    verb = "would be" if dry_run else "were"
    for name, of_group in sorted(undo.items()):
        yield f"{name}: {len(of_group.commit)} positions {verb} put back, {len(of_group.delete)} {verb} deleted, for there was none before."
