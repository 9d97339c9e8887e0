"""The step `move-groups`: commits the exact positions of a wave's groups on the target; `rollback` puts back what was there before."""

import time
from collections.abc import Collection, Iterator, Mapping
from functools import partial

from kafka_mirror.cutover.steps.group_placement import GROUPS, GroupAim, GroupPlacer
from kafka_mirror.cutover.steps.group_survey import (
    GroupLogs,
    WaveGroup,
    WaveGroups,
    describe_members,
    find_active_groups,
    find_group_stops,
    find_unstable_positions,
    survey_groups,
)
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.step import MOVE_GROUPS, WAITING, Finding, StepOptions, StepOutcome, has_stop, make_outcome, stop
from kafka_mirror.errors import ClusterContradictsItself, GroupActive, GroupNotMoved, GroupReadOn, GroupUnstable, MirrorError
from kafka_mirror.errors.words import first_few, show
from kafka_mirror.groups.group_move import GroupMove, Positions, move_from_facts
from kafka_mirror.kafka.groups import Groups, describe_groups, read_positions
from kafka_mirror.kafka.model import Committed
from kafka_mirror.kafka.polling import poll_until

_PAUSE_SECONDS = 0.5


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Moves the groups of a planned wave. It waits for members on the source to leave. Raises what concerns a cluster as a whole."""
    surveyed, findings, active = _look(move, options)
    if has_stop(findings):
        return make_outcome(MOVE_GROUPS, findings)
    if active:
        return StepOutcome(MOVE_GROUPS, WAITING, (), (*active, *findings))
    aims = {group.name: _make_aim(group) for group in surveyed.groups}
    placement = _make_placer(move, notes, options).place(aims, options.dry_run)
    read_on = _find_read_on(move, aims) if placement.facts else ()
    return make_outcome(MOVE_GROUPS, (*findings, *placement.findings, *read_on), placement.lines, placement.facts)


def find_changes(move: Move, notes: WaveNotes, _options: StepOptions) -> tuple[Finding, ...]:
    """A stop for each group that is used on the source since it was moved, or lost a position on the target: an undo of `group-offsets` may
    take one back, and what is not used expires. A group that has no position on the source any more does not count."""
    noted = {name: move_from_facts(notes.of_group(name)) for name in notes.of_step(MOVE_GROUPS).get(GROUPS, ())}
    here = read_positions(move.sides.source_groups, noted)
    moves = {name: of for name, of in noted.items() if of is not None and not of.source.keys().isdisjoint(here[name])}
    if not moves:
        return ()
    refused: dict[str, MirrorError] = {}
    members = {name: of.members for name, of in describe_groups(move.sides.source, moves, refused).items() if of.members}
    active = [stop(GroupActive(name, describe_members(joined, with_ids=True), move.flow.source)) for name, joined in members.items()]
    there = read_positions(move.sides.target_groups, moves)
    lost = {name: list(_find_lost(of, there[name])) for name, of in moves.items()}
    missing = [stop(GroupNotMoved(name, first_few(places), move.flow.target)) for name, places in lost.items() if places]
    read_on = _find_read_on(move, {name: GroupAim(of.after, of.source) for name, of in moves.items()})
    return (*map(stop, refused.values()), *active, *missing, *read_on)


def _find_lost(noted: GroupMove, there: Positions) -> Iterator[str]:
    """Where the group has none of our positions, nor one that somebody else committed since."""
    foreign = noted.find_foreign(there)
    for tp, after in noted.after.items():
        at = there[tp].offset if tp in there else None
        if at != after.offset and tp not in foreign:
            yield f"{tp}@{'nothing' if at is None else at} instead of {after.offset}"


def rollback(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Puts back what each group had on the target, where a position of ours still stands. Raises what concerns a cluster as a whole."""
    held = {move.context.selection.remote(topic): wave for topic, wave in notes.held.items()}
    return _make_placer(move, notes, options).take_back(options.dry_run, held)


def _make_placer(move: Move, notes: WaveNotes, options: StepOptions) -> GroupPlacer:
    return GroupPlacer(move.sides.target, move.sides.target_groups, notes, options.wave)


# ------------------------------------------------------------ what there is to move


def _look(move: Move, options: StepOptions) -> tuple[WaveGroups, tuple[Finding, ...], tuple[Finding, ...]]:
    """The groups once nothing but members on the source kept them, and these have left or time is up; what is said of them; and a stop for
    each that is still active."""
    deadline = time.monotonic() + (0 if options.dry_run else options.timeout)
    while True:
        surveyed = survey_groups(move)
        groups = surveyed.groups
        findings = tuple(find_group_stops(surveyed, _read_logs(move, groups), move.flow.source, move.flow.target))
        active = tuple(find_active_groups(groups, move.flow.source))
        remaining = deadline - time.monotonic()
        if has_stop(findings) or not active or remaining <= 0:
            return surveyed, findings, active
        names = [group.name for group in groups if group.members]
        unstable = [group.name for group in groups if group.unstable]
        if names:
            options.progress(f"Waiting for {first_few(names)} to have no members on {move.flow.source}.")
        if unstable:
            options.progress(f"Waiting for transactions to end that commit offsets of {first_few(unstable)}.")
        time.sleep(min(_PAUSE_SECONDS, remaining))
        poll_until(partial(_have_left, move, names), remaining, every=_PAUSE_SECONDS)


def _have_left(move: Move, names: Collection[str]) -> bool:
    """Whether all members have left. A group that is refused now is reported by the next look."""
    return not any(group.members for group in describe_groups(move.sides.source, names, {}).values())


def _read_logs(move: Move, groups: tuple[WaveGroup, ...]) -> GroupLogs:
    positions = [position for group in groups for position in group.positions]
    ours = {*move.list_partitions(), *(position.source for position in positions)}
    remotes = sorted({position.remote for position in positions if position.translated.target is not None})
    source, target, refused = move.sides.source, move.sides.target, dict[str, MirrorError]()
    starts, ends = (target.offsets(remotes, which, errors=refused) for which in ("earliest", "latest"))
    bounds = {tp: (start, ends[tp]) for tp, start in starts.items() if tp in ends}
    return GroupLogs(source.offsets(sorted(ours), "earliest", errors=refused), bounds)


def _make_aim(group: WaveGroup) -> GroupAim:
    """Where the group continues. The leader epoch of its commits counts the source's leaders, so it is left out."""
    positions = {
        position.remote: Committed(position.translated.target, position.committed.metadata)
        for position in group.positions
        if position.translated.target is not None
    }
    return GroupAim(positions, {position.source: position.committed.offset for position in group.positions})


def _find_read_on(move: Move, aims: Mapping[str, GroupAim]) -> Iterator[Finding]:
    """A stop for each group that stands elsewhere on the source than where it was moved from, or soon may; as every bootstrap server tells
    it, for a coordinator that is cut off from its cluster goes on telling where the group stood."""
    answers, silent = move.sides.source.ask_each_server(lambda server: read_positions(Groups(server), aims))
    if not answers:
        raise next(iter(silent.values()))
    refused: dict[str, MirrorError] = {}
    unstable = find_unstable_positions(move, {name: aim.source for name, aim in aims.items()}, refused)
    yield from map(stop, refused.values())
    yield from (stop(GroupUnstable(name, first_few(places))) for name, places in unstable.items())
    for name, aim in aims.items():
        by_server = {server: _find_moved(aim, positions[name]) for server, positions in answers.items()}
        first, *others = by_server.values()
        if any(places != first for places in others):
            stands = [f"{server}: {first_few(places) or 'where it was moved from'}" for server, places in by_server.items()]
            what = f"where {show(name)} is: {'; '.join(stands)}"
            yield stop(ClusterContradictsItself(move.flow.source, what, group=name))
        elif first:
            yield stop(GroupReadOn(name, first_few(first), move.flow.source))


def _find_moved(aim: GroupAim, here: Positions) -> list[str]:
    """Where the group stands in the topics of its move, but for where it was moved from."""
    topics = {tp.topic for tp in aim.source}
    return [f"{tp}@{at.offset}" for tp, at in sorted(here.items()) if tp.topic in topics and aim.source.get(tp) != at.offset]
