"""Puts groups on positions of the target and back to where they were, whoever says where they go on: a move, or a failover.

What a group had there is noted before anything is committed (`group_move`). Both look at the target again each time, so a run that was
killed goes on, and one more run does nothing.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from kafka_mirror.cutover.groups.model import people
from kafka_mirror.cutover.groups.owned_positions import place_groups
from kafka_mirror.cutover.wave.findings import Finding, stop, warning
from kafka_mirror.cutover.wave.step import EMPTY_SINCE_MS, MOVE_GROUPS, WaveNotes
from kafka_mirror.errors import GroupActive, GroupNotMoved, GroupNotTakenBack, GroupUsedOnTarget, MirrorError
from kafka_mirror.errors.display import show
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_commit import positions_on, unlike
from kafka_mirror.groups.group_move import (
    GroupMove,
    GroupUndo,
    Positions,
    facts_of_move,
    move_from_facts,
    plan_move,
    plan_undo,
)
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.group_members import describe_groups
from kafka_mirror.kafka.group_transaction import Wanted
from kafka_mirror.kafka.groups import Groups

GROUPS = "groups"
"""The step's fact with the names of all groups that were noted; where each stands is in its own note."""

Moves = Mapping[str, GroupMove]


@dataclass(frozen=True)
class GroupAim:
    """Where a group shall go on: positions on the target, with metadata, and those on the source that they were made of."""

    positions: Positions
    source: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Placement:
    """What was done, or would be."""

    findings: tuple[Finding, ...] = ()
    lines: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class GroupPlacer:
    """Places the groups of one wave on the target."""

    def __init__(self, target: Cluster, groups: Groups, notes: WaveNotes, wave: str) -> None:
        """`groups` are those of the target; `wave` is its name, for the commands to run next."""
        self._target = target
        self._groups = groups
        self._notes = notes
        self._wave = wave

    def place(self, aims: Mapping[str, GroupAim], dry_run: bool) -> Placement:
        """Notes, commits and reads back; nothing of it if somebody else moved a group since it was noted. Raises what concerns the target
        as a whole."""
        there = positions_on(self._groups, aims)
        moves = {name: plan_move(self._noted(name), there[name], aim.positions, aim.source) for name, aim in aims.items()}
        foreign = tuple(self._foreign(aims, there))
        if foreign or dry_run:
            return Placement(foreign, tuple(_lines(moves, there, dry_run)))
        empty_since = self._note(moves, there)
        began = time.monotonic()
        findings = tuple(self._commit(moves, there))
        facts = {
            GROUPS: list(self._notes.of_step(MOVE_GROUPS)[GROUPS]),
            "positions": sum(len(of_group.after) for of_group in moves.values()),
            "committed": sum(len(of_group.due(there[name])) for name, of_group in moves.items()),
            "commit_seconds": round(time.monotonic() - began, 3),
            EMPTY_SINCE_MS: empty_since,
        }
        return Placement(findings, tuple(_lines(moves, there, dry_run)), facts)

    def take_back(self, dry_run: bool, held: Mapping[str, str] = MappingProxyType({})) -> Placement:
        """Puts back what each group had, where a position of ours still stands and the group has no members; but for `held` remote topics,
        on which another open wave stands (its name). Raises as `place`."""
        names = self._notes.of_step(MOVE_GROUPS).get(GROUPS, ())
        moves = {name: noted for name in names if (noted := self._noted(name)) is not None and not noted.is_taken_back}
        there = positions_on(self._groups, moves)
        undo = {name: plan_undo(noted, there.get(name, {}), held) for name, noted in moves.items()}
        active = self._active([name for name, of_group in undo.items() if not of_group.is_nothing])
        idle = {name: of_group for name, of_group in undo.items() if name not in active}
        stays = [self._stays(name, of_group.foreign) for name, of_group in idle.items() if of_group.foreign]
        undone = {} if dry_run else self._write_undo(moves, idle, there)
        lost = [stop(GroupNotTakenBack(name, first_few(why), self._target.alias, self._wave)) for name, why in undone.items()]
        back = {name: facts_of_move(replace(moves[name], is_taken_back=True)) for name in idle if name not in undone}
        if back and not dry_run:
            self._notes.keep_groups(back)
        return Placement((*active.values(), *stays, *lost), (*_undo_lines(idle, dry_run), *_held_lines(moves, there, held)))

    # ------------------------------------------------------------ inside

    def _noted(self, name: str) -> GroupMove | None:
        return move_from_facts(self._notes.of_group(name))

    def _foreign(self, aims: Mapping[str, GroupAim], there: Mapping[str, Positions]) -> Iterator[Finding]:
        """A stop for each group that somebody else moved since it was noted, but for where it is to stand anyway."""
        for name, aim in aims.items():
            noted = self._noted(name)
            strange = {} if noted is None or noted.is_taken_back else noted.foreign(there[name])
            elsewhere = {tp: at for tp, at in strange.items() if tp not in aim.positions or aim.positions[tp].offset != at}
            if elsewhere:
                yield stop(self._used(name, elsewhere))

    def _used(self, name: str, foreign: Mapping[TopicPartition, int]) -> GroupUsedOnTarget:
        places = first_few([f"{tp}@{offset}" for tp, offset in foreign.items()])
        return GroupUsedOnTarget(name, places, next(iter(foreign)).topic, self._target.alias)

    def _stays(self, name: str, foreign: Mapping[TopicPartition, int]) -> Finding:
        """Positions of others, which a roll back does not touch."""
        error = self._used(name, foreign).report()
        return warning(error.with_next("A roll back leaves them. Reset the group there by hand if nobody wants that."), name)

    def _note(self, moves: Moves, there: Mapping[str, Positions]) -> int:
        """Notes the groups and what each had, before anything is committed; since when the groups are empty, as far as anybody looked."""
        before = self._notes.of_step(MOVE_GROUPS)
        is_over = not any(of_group.due(there[name]) for name, of_group in moves.items())
        empty_since = int(before.get(EMPTY_SINCE_MS, 0) if is_over else 0) or int(time.time() * 1000)
        names = sorted({*before.get(GROUPS, ()), *moves})
        if names != before.get(GROUPS):
            self._notes.keep(MOVE_GROUPS, {**before, GROUPS: names, EMPTY_SINCE_MS: empty_since})
        facts = {name: facts_of_move(of_group) for name, of_group in moves.items()}
        changed = {name: of_group for name, of_group in facts.items() if of_group != self._notes.of_group(name)}
        if changed:
            self._notes.keep_groups(changed)
        return empty_since

    def _commit(self, moves: Moves, there: Mapping[str, Positions]) -> Iterator[Finding]:
        """Commits what is due, and yields what does not stand there afterwards."""
        due = {name: of_group.due(there[name]) for name, of_group in moves.items()}
        refused = self._put(due, there)
        now = positions_on(self._groups, moves)
        wrong = dict(unlike({name: of_group.after for name, of_group in moves.items()}, now))
        for name in sorted({*refused, *wrong}):
            yield stop(GroupNotMoved(name, first_few(refused.get(name) or wrong[name]), self._target.alias))

    def _write_undo(self, moves: Moves, undo: Mapping[str, GroupUndo], there: Mapping[str, Positions]) -> dict[str, list[str]]:
        """Commits and deletes, and gives what does not stand afterwards as it should, by group."""
        wanted = {name: {tp: moves[name].before[tp] for tp in (*of.commit, *of.delete)} for name, of in undo.items()}
        refused = self._put(wanted, there)
        return dict(unlike(wanted, positions_on(self._groups, undo))) | refused

    def _put(self, wanted: Wanted, there: Mapping[str, Positions]) -> dict[str, list[str]]:
        """Puts groups there, as long as they stand where they stood."""
        expected = {name: {tp: there[name][tp].offset if tp in there[name] else None for tp in of} for name, of in wanted.items()}
        return place_groups(self._notes, self._target, self._groups, wanted, expected)

    def _active(self, names: list[str]) -> dict[str, Finding]:
        """A stop for each of these groups that has members on the target, or of which nobody knows."""
        refused: dict[str, MirrorError] = {}
        described = describe_groups(self._target, names, refused)
        alias = self._target.alias
        active = {name: stop(GroupActive(name, people(of.members, True), alias)) for name, of in described.items() if of.members}
        return active | {name: stop(error) for name, error in refused.items()}


def _lines(moves: Moves, there: Mapping[str, Positions], dry_run: bool) -> Iterator[str]:
    verb = "would be committed" if dry_run else "committed"
    for name, of_group in sorted(moves.items()):
        due = of_group.due(there[name])
        yield f"{show(name)}: {len(due)} of {len(of_group.after)} positions {verb}, {len(of_group.after) - len(due)} stood there already."


def _held_lines(moves: Moves, there: Mapping[str, Positions], held: Mapping[str, str]) -> Iterator[str]:
    for name, of_group in sorted(moves.items()):
        stays = sorted(tp for tp in of_group.before if tp.topic in held and tp in there.get(name, {}))
        if stays:
            waves = ", ".join(sorted({held[tp.topic] for tp in stays}))
            yield f"{show(name)}: {len(stays)} positions stay, for the wave {waves} is open and stands on them: {first_few(stays)}."


def _undo_lines(undo: Mapping[str, GroupUndo], dry_run: bool) -> Iterator[str]:
    verb = "would be" if dry_run else "were"
    for name, of_group in sorted(undo.items()):
        deleted = f"{len(of_group.delete)} {verb} deleted, for there was none before"
        yield f"{show(name)}: {len(of_group.commit)} positions {verb} put back, {deleted}."
