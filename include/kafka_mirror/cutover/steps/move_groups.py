"""The step `move-groups`: commits the exact positions of a wave's groups on the target; `rollback` puts back what was there before.

`GroupPlacer` does both, for a planned move and for a failover. What a group had there is noted before anything is committed (`group_move`).
Each call looks at the target again, so a run that was killed continues, and one more run does nothing.

All positions are committed in a transaction under the transactional id of the control topic's writer. A run that takes the wave over
writes there first, and the broker then fences the transaction of the run that had the wave. So a replaced run changes no group.
"""

import random
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

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
from kafka_mirror.cutover.wave.step import (
    EMPTY_SINCE_MS,
    MOVE_GROUPS,
    WAITING,
    Finding,
    StepOptions,
    StepOutcome,
    has_stop,
    make_outcome,
    stop,
    warning,
)
from kafka_mirror.errors import (
    ClusterContradictsItself,
    DecidedMeanwhile,
    GroupActive,
    GroupNotMoved,
    GroupNotTakenBack,
    GroupReadOn,
    GroupUnstable,
    GroupUsedOnTarget,
    MirrorError,
)
from kafka_mirror.errors.words import first_few, show
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_move import (
    GroupMove,
    GroupUndo,
    Positions,
    facts_of_move,
    find_unlike,
    is_same,
    move_from_facts,
    plan_move,
    plan_undo,
)
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups, GroupTransaction, Wanted, describe_groups, read_positions
from kafka_mirror.kafka.model import Committed
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.kafka.transactions import Fenced

GROUPS = "groups"
"""The step's fact with the names of all groups that were noted; where each stands is in its own note."""

Moves = Mapping[str, GroupMove]

_AT_ONCE = 200
"""Groups in one transaction, which is open for some round trips each."""
_PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0)
"""How long to wait before a fenced transaction is begun again: another writer decided something, and the wave may still be ours."""

Reasons = dict[str, list[str]]


@dataclass(frozen=True)
class GroupAim:
    """Where a group is to continue: positions on the target with metadata, the source positions that they were translated from, and further
    facts that are noted of it."""

    positions: Positions
    source: Mapping[TopicPartition, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class GroupPlacer:
    """Places the groups of one wave on the target. `groups` are those of the target; `wave` is its name, for the commands to run next."""

    target: Cluster
    groups: Groups
    notes: WaveNotes
    wave: str

    def place(self, aims: Mapping[str, GroupAim], dry_run: bool, stood: Mapping[str, Positions] | None = None) -> StepOutcome:
        """Notes, commits and reads back; nothing of it if somebody else moved a group since it was noted. Raises what concerns the target
        as a whole.

        `stood`: where the groups stood when their aims were found. A roll back puts them back there, by whomever they were moved; and a
        group that stands elsewhere by now stays where it is.
        """
        there = read_positions(self.groups, aims) if stood is None else {name: stood.get(name, {}) for name in aims}
        moves, foreign = {}, list[Finding]()
        for name, aim in aims.items():
            noted = move_from_facts(self.notes.read_group(name))
            if noted is not None and not noted.is_taken_back:
                of_others = noted.find_foreign(there[name]).items() if stood is None else ()
                noted = noted if stood is None else noted.drop_others(there[name])
                if elsewhere := {tp: at for tp, at in of_others if tp not in aim.positions or aim.positions[tp].offset != at}:
                    foreign.append(stop(self._make_used_error(name, elsewhere)))
            moves[name] = plan_move(noted, there[name], aim.positions, aim.source)
        if foreign or dry_run:
            return make_outcome(MOVE_GROUPS, foreign, tuple(_say_moves(moves, there, dry_run)))
        empty_since = self._note(moves, there, aims)
        began = time.monotonic()
        findings = tuple(self._commit(moves, there))
        facts = {
            GROUPS: list(self.notes.read_step(MOVE_GROUPS)[GROUPS]),
            "positions": sum(len(of_group.after) for of_group in moves.values()),
            "committed": sum(len(of_group.find_due(there[name])) for name, of_group in moves.items()),
            "commit_seconds": round(time.monotonic() - began, 3),
            EMPTY_SINCE_MS: empty_since,
        }
        return make_outcome(MOVE_GROUPS, findings, tuple(_say_moves(moves, there, dry_run)), facts)

    def take_back(self, dry_run: bool, held: Mapping[str, str] = MappingProxyType({})) -> StepOutcome:
        """Puts back what each group had, where a position of ours still stands and the group has no members; but for `held` remote topics,
        on which another open wave stands (its name). Raises what concerns the target as a whole."""
        names = self.notes.read_step(MOVE_GROUPS).get(GROUPS, ())
        moves = {
            name: noted for name in names if (noted := move_from_facts(self.notes.read_group(name))) is not None and not noted.is_taken_back
        }
        there = read_positions(self.groups, moves)
        undo = {name: plan_undo(noted, there.get(name, {}), held) for name, noted in moves.items()}
        active = self._find_active([name for name, of_group in undo.items() if not of_group.is_nothing])
        idle = {name: of_group for name, of_group in undo.items() if name not in active}
        stays = [self._warn_of_foreign(name, of_group.foreign) for name, of_group in idle.items() if of_group.foreign]
        undone = dict[str, list[str]]()
        if not dry_run:
            wanted = {name: {tp: moves[name].before[tp] for tp in (*of.commit, *of.delete)} for name, of in idle.items()}
            refused = self._put(wanted, there)
            undone = dict(find_unlike(wanted, read_positions(self.groups, idle))) | refused
        lost = [stop(GroupNotTakenBack(name, first_few(why), self.target.alias, self.wave)) for name, why in undone.items()]
        back = {name: facts_of_move(replace(moves[name], is_taken_back=True)) for name in idle if name not in undone}
        if back and not dry_run:
            self.notes.keep_groups(back)
        lines = (*_say_undo(idle, dry_run), *_say_held(moves, there, held))
        return make_outcome(MOVE_GROUPS, (*active.values(), *stays, *lost), lines)

    # ------------------------------------------------------------ inside

    def _make_used_error(self, name: str, foreign: Mapping[TopicPartition, int]) -> GroupUsedOnTarget:
        places = first_few([f"{tp}@{offset}" for tp, offset in foreign.items()])
        return GroupUsedOnTarget(name, places, next(iter(foreign)).topic, self.target.alias)

    def _warn_of_foreign(self, name: str, foreign: Mapping[TopicPartition, int]) -> Finding:
        """Positions of others, which a roll back does not touch."""
        error = self._make_used_error(name, foreign).report()
        return warning(error.with_next("A roll back leaves them. Reset the group there by hand if they are not wanted."), name)

    def _note(self, moves: Moves, there: Mapping[str, Positions], aims: Mapping[str, GroupAim]) -> int:
        """Notes the groups and what each had, before anything is committed; since when the groups are empty, as far as anybody looked."""
        before = self.notes.read_step(MOVE_GROUPS)
        is_over = not any(of_group.find_due(there[name]) for name, of_group in moves.items())
        empty_since = int(before.get(EMPTY_SINCE_MS, 0) if is_over else 0) or int(time.time() * 1000)
        names = sorted({*before.get(GROUPS, ()), *moves})
        if names != before.get(GROUPS):
            self.notes.keep(MOVE_GROUPS, {**before, GROUPS: names, EMPTY_SINCE_MS: empty_since})
        facts = {name: {**facts_of_move(of_group), **aims[name].facts} for name, of_group in moves.items()}
        changed = {name: of_group for name, of_group in facts.items() if of_group != self.notes.read_group(name)}
        if changed:
            self.notes.keep_groups(changed)
        return empty_since

    def _commit(self, moves: Moves, there: Mapping[str, Positions]) -> Iterator[Finding]:
        """Commits what is due, and yields what does not stand there afterwards."""
        due = {name: of_group.find_due(there[name]) for name, of_group in moves.items()}
        refused = self._put(due, there)
        now = read_positions(self.groups, moves)
        wrong = dict(find_unlike({name: of_group.after for name, of_group in moves.items()}, now))
        for name in sorted({*refused, *wrong}):
            yield stop(GroupNotMoved(name, first_few(refused.get(name) or wrong[name]), self.target.alias))

    def _put(self, wanted: Wanted, there: Mapping[str, Positions]) -> dict[str, list[str]]:
        """Commits the wanted positions; gives the reasons of what was refused, by group. A group that has members, or stands elsewhere than
        `there`, stays as it is. Raises WaveRunElsewhere once another run has the wave: then nothing of the group was changed."""
        names = sorted(name for name, positions in wanted.items() if positions)
        reasons: Reasons = {}
        for first in range(0, len(names), _AT_ONCE):
            self._put_some({name: wanted[name] for name in names[first : first + _AT_ONCE]}, there, reasons)
        return reasons

    def _put_some(self, wanted: Wanted, there: Mapping[str, Positions], reasons: Reasons) -> None:
        """Begins again without the groups that turn out to be in use, and after another writer fenced the transaction."""
        fenced, pauses = Fenced(), list(_PAUSES)
        while pauses:
            wanted = {name: positions for name, positions in wanted.items() if name not in reasons}
            try:
                if not wanted or self._try(self.notes.begin(), wanted, there, reasons):
                    return
            except Fenced as other:
                fenced = other
                time.sleep(pauses.pop(0) * random.random())  # noqa: S311 — two that began together must not do so again
        raise DecidedMeanwhile("the control topic") from fenced

    def _try(self, transaction: GroupTransaction, wanted: Wanted, there: Mapping[str, Positions], reasons: Reasons) -> bool:
        """Whether they are committed; if not, the `reasons` say which groups are in use."""
        try:
            errors: dict[str, MirrorError] = {}
            refused = transaction.add(wanted, errors)
            # Asked after the commit and before the end of the transaction: members that join in between wait for its end before they read.
            used = dict(self._find_moved(wanted, there)) | self._find_members(wanted)
            if used:
                transaction.abort()
                reasons |= used
                return False
            transaction.commit()
        except BaseException:
            transaction.abort()
            raise
        reasons |= {name: [f"{tp} ({why})" for tp, why in sorted(places.items())] for name, places in refused.items() if places}
        reasons |= {name: [error.message] for name, error in errors.items()}
        reasons |= {name: [f"{why}; they may have begun where it stood before"] for name, (why,) in self._find_members(wanted).items()}
        return True

    def _find_moved(self, wanted: Wanted, expected: Mapping[str, Positions]) -> Iterator[tuple[str, list[str]]]:
        """Groups that another client moved: neither to the expected nor to the wanted position. (An earlier commit may have succeeded
        without an answer.)"""
        for name, there in read_positions(self.groups, wanted).items():
            places = []
            for tp, aim in sorted(wanted[name].items(), key=lambda pair: pair[0]):
                offset, before = (of[tp].offset if tp in of else None for of in (there, expected[name]))
                if offset != before and not is_same(there.get(tp), aim):
                    places.append(f"{tp}@{'nothing' if offset is None else offset}")
            if places:
                yield name, [f"moved meanwhile by somebody else: {', '.join(places)}"]

    def _find_members(self, wanted: Wanted) -> Reasons:
        refused: dict[str, MirrorError] = {}
        described = describe_groups(self.target, wanted, refused)
        return {
            **{name: [f"it has {len(group.members)} members"] for name, group in described.items() if group.members},
            **{name: [error.message] for name, error in refused.items()},
        }

    def _find_active(self, names: list[str]) -> dict[str, Finding]:
        """A stop for each of these groups that has members on the target, or that the target does not describe."""
        refused: dict[str, MirrorError] = {}
        described = describe_groups(self.target, names, refused)
        alias = self.target.alias
        active = {name: stop(GroupActive(name, describe_members(of.members, True), alias)) for name, of in described.items() if of.members}
        return active | {name: stop(error) for name, error in refused.items()}


def _say_moves(moves: Moves, there: Mapping[str, Positions], dry_run: bool) -> Iterator[str]:
    verb = "would be committed" if dry_run else "committed"
    for name, of_group in sorted(moves.items()):
        due = of_group.find_due(there[name])
        yield f"{show(name)}: {len(due)} of {len(of_group.after)} positions {verb}, {len(of_group.after) - len(due)} stood there already."


def _say_held(moves: Moves, there: Mapping[str, Positions], held: Mapping[str, str]) -> Iterator[str]:
    for name, of_group in sorted(moves.items()):
        stays = sorted(tp for tp in of_group.before if tp.topic in held and tp in there.get(name, {}))
        if stays:
            waves = ", ".join(sorted({held[tp.topic] for tp in stays}))
            yield f"{show(name)}: {len(stays)} positions stay, for the wave {waves} is open and stands on them: {first_few(stays)}."


def _say_undo(undo: Mapping[str, GroupUndo], dry_run: bool) -> Iterator[str]:
    verb = "would be" if dry_run else "were"
    for name, of_group in sorted(undo.items()):
        deleted = f"{len(of_group.delete)} {verb} deleted, for there was none before"
        yield f"{show(name)}: {len(of_group.commit)} positions {verb} put back, {deleted}."


# ------------------------------------------------------------ the step of a planned wave


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
    noted = {name: move_from_facts(notes.read_group(name)) for name in notes.read_step(MOVE_GROUPS).get(GROUPS, ())}
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
