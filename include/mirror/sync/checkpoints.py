"""Writes checkpoints: where each group of the source would go on on the target (`checkpoints`)."""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mirror.errors import CheckpointUnwritable, ErrorReport, MirrorError
from mirror.formats.checkpoint import Checkpoint
from mirror.kafka.checkpoints import read_stored, write_checkpoints
from mirror.kafka.internal_topics import BY_THE_HOUR, ensure
from mirror.offsets.checkpoint_rules import Candidate, due
from mirror.offsets.holes import EXACT_PLACE
from mirror.offsets.translation import BY_MAP, EXACT, NONE
from mirror.sync.counting import OVER_BUDGET
from mirror.sync.group_clusters import group_clusters
from mirror.sync.group_work import GroupWork
from mirror.sync.groups import with_offsets
from mirror.sync.known_places import KnownPlaces
from mirror.sync.step import Done
from mirror.sync.translated_groups import GroupOffset, translate_groups

if TYPE_CHECKING:
    from mirror.config import Flow

_SHOWN = 20


@dataclass(frozen=True)
class Emitted:
    """What was written for some groups, or would be. `kinds` counts all answers; `unanswered` are those without.

    `beyond_map`: exact answers that the offset map did not give. `over_budget`: early ones, for counting them would have cost too much.
    """

    groups: int = 0
    written: int = 0
    unchanged: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    unanswered: tuple[GroupOffset, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    beyond_map: int = 0
    over_budget: int = 0

    def __add__(self, other: "Emitted") -> "Emitted":
        return Emitted(
            self.groups + other.groups,
            self.written + other.written,
            self.unchanged + other.unchanged,
            self.kinds + other.kinds,
            self.unanswered + other.unanswered,
            self.errors + tuple(error for error in other.errors if error not in self.errors),
            self.beyond_map + other.beyond_map,
            self.over_budget + other.over_budget,
        )


def step(flow: "Flow", dry_run: bool = False) -> Done:
    """`checkpoints` as a step, for the groups that the source has now. Raises what concerns a cluster as a whole."""
    from mirror.sync.group_job import submit_by_hand
    from mirror.sync.group_steps import run_group_step

    return run_group_step("checkpoints", flow, None, dry_run, submit_by_hand)


def emit(work: GroupWork, names: Collection[str], dry_run: bool = False) -> Emitted:
    """Writes what is new of these groups' checkpoints. Raises what concerns a cluster as a whole."""
    with group_clusters(work) as (source, target, groups):
        began = int(time.time() * 1000)
        selected = with_offsets(groups, names, work.selection.topic_filter)
        stored, damaged = read_stored(target, work.target_consumer, work.checkpoints_topic)
        translated = translate_groups(work, selected.offsets, source, target, KnownPlaces(lambda: stored))
        candidates, refused = _candidates(translated.offsets)
        new = due(candidates, stored)
        if not dry_run:
            ensure(target, work.checkpoints_topic, work.checkpoints_replication_factor, BY_THE_HOUR)
            if new:
                write_checkpoints(work.target, work.target_producer, work.checkpoints_topic, new, began, work.seconds)
    problems = [error.report() for error in (*damaged, *refused)]
    return Emitted(
        groups=len(selected.offsets),
        written=len(new),
        unchanged=len(candidates) - len(new),
        kinds=Counter(each.translated.kind for each in translated.offsets),
        unanswered=tuple(each for each in translated.offsets if each.translated.kind == NONE),
        errors=(*selected.errors, *translated.errors, *problems),
        beyond_map=sum(each.translated.kind == EXACT and each.translated.by != BY_MAP for each in translated.offsets),
        over_budget=sum(each.translated.is_over_budget for each in translated.offsets),
    )


def done(emitted: Emitted, dry_run: bool) -> Done:
    """The step's answer."""
    totals = {
        "groups": emitted.groups,
        "written": emitted.written,
        "unchanged": emitted.unchanged,
        "kinds": dict(sorted(emitted.kinds.items())),
        "beyond_map": emitted.beyond_map,
        "over_budget": emitted.over_budget,
    }
    return Done({**totals, "unanswered": unanswered_columns(emitted.unanswered)}, totals, tuple(_lines(emitted, dry_run)), emitted.errors)


def unanswered_columns(offsets: Sequence[GroupOffset]) -> dict[str, list[Any]]:
    """Positions without an answer, as columns."""
    return {
        "group": [each.group for each in offsets],
        "topic": [each.source.topic for each in offsets],
        "partition": [each.source.partition for each in offsets],
        "offset": [each.committed.offset for each in offsets],
        "reason": [each.translated.reason for each in offsets],
    }


def _candidates(offsets: Iterable[GroupOffset]) -> tuple[list[Candidate], list[MirrorError]]:
    found: list[Candidate] = []
    refused: list[MirrorError] = []
    for each in offsets:
        if each.translated.target is None:
            continue
        checkpoint = Checkpoint(each.group, *each.remote, each.committed.offset, each.translated.target, each.committed.metadata)
        try:
            _ = checkpoint.key + checkpoint.value
        except ValueError as failure:
            refused.append(CheckpointUnwritable(each.group, each.source.topic, each.source.partition, each.committed.offset, str(failure)))
        else:
            answer = each.translated
            place = "" if answer.place == EXACT_PLACE and answer.kind != EXACT else answer.place
            found.append(Candidate(checkpoint, each.generation, answer.at_most, place))
    return found, refused


def _lines(emitted: Emitted, dry_run: bool) -> Iterable[str]:
    verb = "would be written" if dry_run else "written"
    answers = ", ".join(f"{count:,} {kind}" for kind, count in sorted(emitted.kinds.items()) if kind != NONE) or "no answer"
    yield f"{emitted.groups:,} groups: {emitted.written:,} checkpoints {verb}, {emitted.unchanged:,} unchanged; {answers}."
    if emitted.beyond_map:
        yield f"{emitted.beyond_map:,} of the exact ones lie beyond what the offset map knows; they were counted, now or before."
    if emitted.over_budget:
        yield f"{emitted.over_budget:,} stayed early; {OVER_BUDGET}."
    for each in emitted.unanswered[:_SHOWN]:
        yield f"{each.group} in {each.source}@{each.committed.offset}: no answer; {each.translated.reason}"
    if len(emitted.unanswered) > _SHOWN:
        yield f"… and {len(emitted.unanswered) - _SHOWN:,} more without an answer."
