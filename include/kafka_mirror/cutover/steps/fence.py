"""The write fence: keeps everybody from writing to the source topics of a wave, and proves that no producer writes.

What counts in the end is not that the ends stood still for some seconds: every later step compares the ends that the fence noted again
(`find_fence_breaks`), until the wave is open. The quiet seconds only cover what is under way when the fence closes: a produce request in
flight, and a broker that follows the controller's ACLs a moment later.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kafka_mirror.cutover.steps.fence_acls import plan_fence, plan_way_back, set_acls, take_back
from kafka_mirror.cutover.steps.wave_ends import LogsLook, find_departed, look_at_source
from kafka_mirror.cutover.steps.writers import (
    EndsWatcher,
    FenceWatch,
    find_newest_record,
    report_fence,
    report_silent_producers,
    report_untold_writers,
)
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.record import Acls, WaveNotes, read_acls
from kafka_mirror.cutover.wave.step import (
    BY_ACL,
    BY_CHECK,
    DONE,
    FENCE,
    LAST_WRITE_MS,
    QUIET_SINCE_MS,
    STOPPED,
    WAITING,
    Finding,
    StepOptions,
    StepOutcome,
    make_outcome,
    report_wave_topics,
    stop,
    warning,
)
from kafka_mirror.errors import LeaderMissing, NotFenced, WrittenSinceFence
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.partition import TopicPartition

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

ENDS, EPOCHS = "ends", "epochs"
"""The facts of the step `fence` that have them, and the leader epoch beside each; -1 where no broker gave one."""
_UNKNOWN = -1

Ends = Mapping[TopicPartition, int]


def group_by_topic(offsets: Ends) -> dict[str, list[int]]:
    """An offset for each partition of whole topics, as notes have them: the one of partition 0 first."""
    topics: dict[str, list[int]] = {}
    for tp, offset in sorted(offsets.items()):
        topics.setdefault(tp.topic, []).append(offset)
    return topics


def spread_to_partitions(topics: Mapping[str, Sequence[int]]) -> dict[TopicPartition, int]:
    """The offset of each partition, from lists by topic: the first one is that of partition 0."""
    return {TopicPartition(topic, number): offset for topic, offsets in topics.items() for number, offset in enumerate(offsets)}


def read_fence_ends(facts: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """The end of each partition of the wave when it was fenced, from the notes of the step `fence`; empty without a fence."""
    return spread_to_partitions(facts.get(ENDS) or {})


def read_fence_marks(facts: Mapping[str, Any]) -> dict[TopicPartition, tuple[int | None, int]]:
    """The ends as of the fence, each with the leader epoch in which it was one; None if no broker gave that."""
    epochs = spread_to_partitions(facts.get(EPOCHS) or {})
    return {tp: (epoch if (epoch := epochs.get(tp, _UNKNOWN)) >= 0 else None, end) for tp, end in read_fence_ends(facts).items()}


def find_moved_ends(fence: Ends, now: Ends, departed: Ends | None = None) -> Iterator[Finding]:
    """What differs between the ends that the fence noted and those of now. `departed`: the first offset of each partition whose record is
    another one than it was, though it may end where it did."""
    if not fence:
        yield stop(NotFenced(FENCE))
        return
    grown = {tp: now[tp] - end for tp, end in sorted(fence.items()) if tp in now and now[tp] != end}
    if grown:
        where = first_few([f"{tp}@{fence[tp]} ({offsets:+,})" for tp, offsets in grown.items()])
        yield stop(WrittenSinceFence(f"{len(grown)} of {len(fence)} partitions do not end where they did at the write fence: {where}"))
    if departed:
        where = first_few([f"{tp}@{offset}" for tp, offset in sorted(departed.items())])
        said = f"Since the write fence the source lost records of {len(departed)} partitions, and has others from {where} on"
        yield stop(WrittenSinceFence(said))
    if added := sorted(now.keys() - fence.keys()):
        said = f"{first_few(added)} {'was' if len(added) == 1 else 'were'} not there when the wave was fenced"
        yield stop(WrittenSinceFence(said))
    if silent := sorted(fence.keys() - now.keys()):
        yield stop(LeaderMissing(first_few(silent), "the source"))


BEGUN_MS, DONE_MS = "begun_ms", "done_ms"
"""Names of facts: when the fence was begun, and when it was proved, in milliseconds UTC."""


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Fences the wave, and waits until no producer writes any more.

    It is WAITING if somebody still does at the end of the time, and STOPPED if nothing was fenced, or where it looks only once. Run again,
    it proves the fence again. Raises what concerns the source as a whole.
    """
    noted = notes.read_step(FENCE)
    findings = tuple(report_wave_topics(move.wave, move.topics))
    if findings or not move.topics.names:
        return make_outcome(FENCE, findings, facts=noted)
    # The ends of an earlier proof say nothing any more once a new one begins.
    earlier = {name: fact for name, fact in noted.items() if name not in (ENDS, EPOCHS)}
    facts: dict[str, Any] = {BEGUN_MS: _now_ms(), **earlier, "by": options.by}
    lines: list[str] = []
    if options.by == BY_ACL:
        change = plan_fence(move, noted)
        if change.findings:
            return make_outcome(FENCE, change.findings, facts=noted)
        lines += _say_acls(change.create, "would be created" if options.dry_run else "created")
        if not options.dry_run:
            facts = set_acls(move, notes, change, facts)
    partitions = move.list_partitions()
    if options.dry_run:
        lines.append(f"{len(partitions)} partitions would be watched until they are quiet for {options.quiet_seconds:g} s.")
        return StepOutcome(FENCE, DONE, tuple(lines), facts=noted)
    watcher = EndsWatcher(move, partitions)
    watch, is_quiet = watcher.wait_until_quiet(options, waits=options.by != BY_CHECK)
    unasked = [warning(error) for error in watcher.refused.values()]
    if is_quiet:
        facts |= _make_proof(watch, options, noted.get(LAST_WRITE_MS))
        findings = (*report_silent_producers(watch.writers), *report_untold_writers(watch.writers), *unasked, *watch.unasked)
        return StepOutcome(FENCE, DONE, (*lines, *_say_proof(watch, facts)), findings, facts)
    stops = tuple(report_fence(watch, options.by))
    waits = f"Somebody wrote to the wave in the last {options.quiet_seconds:g} s, or may still do so."
    return StepOutcome(FENCE, STOPPED if options.by == BY_CHECK else WAITING, (*lines, waits), (*stops, *unasked), facts)


def rollback(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Removes the ACLs that the fence set, and no others; those on which waves of other flows stand go with the last of these. Raises what
    the clusters answer; then it is simply run again."""
    noted = notes.read_step(FENCE)
    if options.dry_run:
        return StepOutcome(FENCE, DONE, tuple(_say_acls(read_acls(noted), "would be removed")), facts=noted)
    removed, standing = take_back(move, notes)
    lines = [*_say_acls(removed, "removed"), *_say_acls(standing, "stays: a wave of another flow stands on it")]
    lines = lines or ["The fence set no ACL; producers that people stopped may write again."]
    if noted:
        notes.keep(FENCE, {})
    return StepOutcome(FENCE, DONE, tuple(lines))


def lift_for_way_back(move: Move, notes: WaveNotes, options: StepOptions, way_back: "Flow") -> StepOutcome:
    """Lets the way back of an open wave write to the source topics that keep their names, and no other producer.

    The DENY for everybody is replaced by one for each other principal that some ALLOW lets write. What cannot be replaced stays, and is a
    stop. Raises what the source answers.
    """
    noted = notes.read_step(FENCE)
    change = plan_way_back(move, noted, way_back)
    created, removed = ("would be created", "would be removed") if options.dry_run else ("created", "removed")
    lines = (*_say_acls(change.create, created), *_say_acls(change.remove, removed))
    facts = noted
    if (change.create or change.remove) and not options.dry_run:
        facts = set_acls(move, notes, change, noted)
        notes.keep(FENCE, facts)
    return make_outcome(FENCE, change.findings, lines, facts)


def find_fence_breaks(move: Move, notes: WaveNotes, look: LogsLook | None = None) -> tuple[Finding, ...]:
    """What differs from the ends that the fence noted, and from the logs that they were of: nothing as long as it holds. `look`: what was
    just seen of the source, which is asked otherwise."""
    marks = read_fence_marks(notes.read_step(FENCE))
    look = (look or look_at_source(move)) if marks else LogsLook({})
    ends = {tp: end for tp, (_, end) in marks.items()}
    return (*look.stops, *find_moved_ends(ends, look.ends, find_departed(move, look.logs, marks)))


def _make_proof(watch: FenceWatch, options: StepOptions, noted: int | None) -> dict[str, Any]:
    """What the notes have of a fence that is proved. The last write is what was seen to move, else the newest record that leaders know of
    a producer with an id, by that producer's clock; or what an earlier proof noted, if that is later. Null if none of them is there."""
    period, now, now_ms = watch.period, time.monotonic(), _now_ms()
    grew = period.last_growth
    last_write = find_newest_record(watch.writers.producers) if grew is None else now_ms - round((now - grew) * 1000)
    return {
        ENDS: group_by_topic(period.ends),
        EPOCHS: group_by_topic({tp: period.epochs.get(tp, _UNKNOWN) for tp in period.ends}),
        LAST_WRITE_MS: max((stamp for stamp in (last_write, noted) if stamp is not None), default=None),
        QUIET_SINCE_MS: now_ms - round((now - period.since) * 1000),
        DONE_MS: now_ms,
        "quiet_seconds": options.quiet_seconds,
    }


def _say_proof(watch: FenceWatch, facts: Mapping[str, Any]) -> Iterator[str]:
    seconds = (facts[DONE_MS] - facts[QUIET_SINCE_MS]) / 1000
    yield f"{len(watch.period.ends)} partitions stood still for {seconds:.1f} s, and no transaction is open in them."
    if facts[LAST_WRITE_MS] is not None:
        yield f"The last write was at {datetime.fromtimestamp(facts[LAST_WRITE_MS] / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC."


def _say_acls(acls: Acls, done: str) -> list[str]:
    return [f"{acl.topic}: {acl} {done}" for acl in acls]


def _now_ms() -> int:
    return round(datetime.now(UTC).timestamp() * 1000)
