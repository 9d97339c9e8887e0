"""Writes checkpoints: where each group of the source would go on on the target (`checkpoints`)."""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields

from kafka_mirror.errors import CheckpointUnwritable, ErrorReport, MirrorError
from kafka_mirror.errors.words import show
from kafka_mirror.formats.documents import columns
from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.holes import EXACT_PLACE
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, due, target_epoch
from kafka_mirror.groups.context import GroupContext, Offsets, group_clusters, open_control
from kafka_mirror.groups.exact_offsets import KnownPlaces
from kafka_mirror.groups.find import read_group_offsets
from kafka_mirror.groups.group_translation import GroupOffset, translate_groups
from kafka_mirror.groups.hole_reader import OVER_BUDGET
from kafka_mirror.groups.mm2_topics import read_stored, write_checkpoints
from kafka_mirror.groups.translation import BY_MAP, EXACT, NONE
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.create_topics import BY_THE_HOUR, CHECKPOINTS_FACTOR, ensure_internal_topic
from kafka_mirror.kafka.model import End
from kafka_mirror.ledger.checks import check_closed
from kafka_mirror.ledger.clusters import check_ledger_name, check_two_clusters, collect_decisions
from kafka_mirror.ledger.step import StepResult

_SHOWN = 20


@dataclass(frozen=True)
class CheckpointsResult:
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

    def __add__(self, other: "CheckpointsResult") -> "CheckpointsResult":
        errors = self.errors + tuple(error for error in other.errors if error not in self.errors)
        sums = {of.name: getattr(self, of.name) + getattr(other, of.name) for of in fields(self)}
        return CheckpointsResult(**{**sums, "errors": errors})


def emit(context: GroupContext, names: Collection[str], dry_run: bool = False) -> CheckpointsResult:
    """Writes what is new of these groups' checkpoints. Raises FlowClosed, and what concerns a cluster as a whole."""
    clients = context.clients
    with group_clusters(context) as (source, target, groups, _):
        check_two_clusters(source, target, context.selection.is_one_cluster)
        decisions = collect_decisions(open_control(context, target))
        check_closed(decisions)
        if not target.topics([context.checkpoints_topic]):
            check_ledger_name(context.policy.ledger_topic(context.source), context.source, target, decisions)
        began = int(time.time() * 1000)
        selected = read_group_offsets(groups, names, context.selection.topic_filter)
        stored, damaged = read_stored(target, clients.target_consumer, context.checkpoints_topic)
        ends = _read_remote_ends(context, target, selected.offsets)
        translated = translate_groups(context, selected.offsets, source, target, KnownPlaces(lambda: stored))
        candidates, refused = _find_candidates(translated.offsets, ends)
        new = due(candidates, stored)
        if not dry_run:
            factor = context.checkpoints_replication_factor
            ensure_internal_topic(target, context.checkpoints_topic, factor, CHECKPOINTS_FACTOR, BY_THE_HOUR)
            if new:
                write_checkpoints(context.target, clients.target_producer, context.checkpoints_topic, new, began, context.request_seconds)
    problems = [error.report() for error in (*damaged, *refused)]
    return CheckpointsResult(
        groups=len(selected.offsets),
        written=len(new),
        unchanged=len(candidates) - len(new),
        kinds=Counter(offset.translated.kind for offset in translated.offsets),
        unanswered=tuple(offset for offset in translated.offsets if offset.translated.kind == NONE),
        errors=(*selected.errors, *translated.errors, *problems),
        beyond_map=sum(offset.translated.kind == EXACT and offset.translated.by != BY_MAP for offset in translated.offsets),
        over_budget=sum(offset.translated.is_over_budget for offset in translated.offsets),
    )


def step_result(emitted: CheckpointsResult, dry_run: bool) -> StepResult:
    """The step's answer."""
    totals = {
        "groups": emitted.groups,
        "written": emitted.written,
        "unchanged": emitted.unchanged,
        "kinds": dict(sorted(emitted.kinds.items())),
        "beyond_map": emitted.beyond_map,
        "over_budget": emitted.over_budget,
    }
    rows = ((of.group, *of.source, of.committed.offset, of.translated.reason) for of in emitted.unanswered)
    unanswered = columns(("group", "topic", "partition", "offset", "reason"), rows)
    return StepResult({**totals, "unanswered": unanswered}, totals, tuple(_write_lines(emitted, dry_run)), emitted.errors)


def _read_remote_ends(context: GroupContext, target: Cluster, offsets: Offsets) -> dict[TopicPartition, End]:
    """The ends of the remote partitions, with their leader epochs. Asked for before the ledger is read: no position in it is of an older
    log."""
    selection = context.selection
    topics = {tp.topic for of_group in offsets.values() for tp in of_group}
    remote = {topic: selection.remote(topic) for topic in topics if selection.should_replicate(topic)}
    wanted = {TopicPartition(remote[topic], number) for of_group in offsets.values() for topic, number in of_group if topic in remote}
    return target.ends(wanted, {})


def _find_candidates(offsets: Iterable[GroupOffset], ends: Mapping[TopicPartition, End]) -> tuple[list[NotedCheckpoint], list[MirrorError]]:
    candidates: list[NotedCheckpoint] = []
    refused: list[MirrorError] = []
    for offset in offsets:
        if offset.translated.target is None:
            continue
        checkpoint = Checkpoint(offset.group, *offset.remote, offset.read_until, offset.translated.target, offset.committed.metadata)
        try:
            _ = checkpoint.key + checkpoint.value
        except ValueError as failure:
            refused.append(CheckpointUnwritable(offset.group, *offset.source, offset.committed.offset, str(failure)))
            continue
        answer, logs, end = offset.translated, offset.logs, ends.get(offset.remote)
        if logs is not None and offset.record is not None:
            epoch = None if end is None else target_epoch(offset.record, end.offset, end.leader_epoch)
            logs = logs._replace(target=logs.target._replace(leader_epoch=epoch))
        place = "" if answer.place == EXACT_PLACE and answer.kind != EXACT else answer.place
        candidates.append(NotedCheckpoint(checkpoint, offset.generation, place, None, logs, answer.at_most))
    return candidates, refused


def _write_lines(emitted: CheckpointsResult, dry_run: bool) -> Iterable[str]:
    verb = "would be written" if dry_run else "written"
    answers = ", ".join(f"{count:,} {kind}" for kind, count in sorted(emitted.kinds.items()) if kind != NONE) or "no answer"
    yield f"{emitted.groups:,} groups: {emitted.written:,} checkpoints {verb}, {emitted.unchanged:,} unchanged; {answers}."
    if emitted.beyond_map:
        yield f"{emitted.beyond_map:,} of the exact ones lie beyond what the offset map knows; they were counted, now or before."
    if emitted.over_budget:
        yield f"{emitted.over_budget:,} stayed early; {OVER_BUDGET}."
    for offset in emitted.unanswered[:_SHOWN]:
        yield f"{show(offset.group)} in {offset}: no answer; {offset.translated.reason}"
    if len(emitted.unanswered) > _SHOWN:
        yield f"… and {len(emitted.unanswered) - _SHOWN:,} more without an answer."
