"""The steps of a wave whose source is lost: they ask the target alone.

- `run_preflight` says where groups would continue, what may be missing, and what stops the wave.
- `move_groups` commits the best position that the target knows of each group. Its notes have the form of a planned wave's notes, so the
  same roll back puts groups back to where they were.
- `close` closes the flow against a source that comes back. After that no copy that was under way can commit, so what is missing is noted
  once more, for good, in place of what the preflight knew.
"""

from collections.abc import Iterable, Mapping

from kafka_mirror.cutover.failover.close_flow import close_flow
from kafka_mirror.cutover.failover.missing_records import MISSING, write_missing
from kafka_mirror.cutover.failover.positions import COMMITTED, FailoverPosition
from kafka_mirror.cutover.failover.survey import survey_failover
from kafka_mirror.cutover.groups.placement import GROUPS, GroupAim, GroupPlacer
from kafka_mirror.cutover.wave.findings import INFORMATION, has_stop
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.record import WaveNotes
from kafka_mirror.cutover.wave.step import KNOWN_MS, MOVE_GROUPS, OPEN, PREFLIGHT, REREAD, StepOptions, StepOutcome, make_outcome
from kafka_mirror.errors.display import show
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_move import by_partition, by_topic, move_from_facts
from kafka_mirror.kafka.model import Committed
from kafka_mirror.ledger.control_records import CLOSED


def run_preflight(move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Reads only. What may be missing is among the facts. Raises what concerns the target as a whole."""
    survey = survey_failover(move)
    findings = tuple(finding for finding in survey.findings if finding.kind != INFORMATION)
    lines = tuple(finding.message for finding in survey.findings if finding.kind == INFORMATION)
    facts = {
        "topics": len(move.topics.names),
        "partitions": len(survey.missing),
        "groups": len({position.group for position in survey.positions}),
        MISSING: write_missing(survey.missing),
    }
    return make_outcome(PREFLIGHT, findings, lines, facts)


def move_groups(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Commits, after it noted what each group had on the target: once, however often it runs. Raises what concerns the target as a
    whole."""
    survey = survey_failover(move)
    findings = [finding for finding in survey.findings if finding.kind != INFORMATION]
    lines = tuple(f"{show(position.group)}: {position}" for position in survey.positions)
    if not options.dry_run and not has_stop(findings):
        placer = GroupPlacer(move.sides.target, move.sides.target_groups, notes, options.wave)
        findings += placer.place(find_aims(survey.positions, notes), dry_run=False, stood=survey.committed).findings
    return make_outcome(MOVE_GROUPS, findings, lines, {GROUPS: list(notes.of_step(MOVE_GROUPS).get(GROUPS, ()))})


def find_aims(positions: Iterable[FailoverPosition], notes: WaveNotes) -> dict[str, GroupAim]:
    """Where each group goes on, and how good that is. A group that stands further on already stays there: nothing is noted of that, unless
    the mirror put it there."""
    by_group: dict[str, dict[TopicPartition, FailoverPosition]] = {}
    for position in positions:
        noted = move_from_facts(notes.of_group(position.group))
        is_ours = noted is not None and not noted.is_taken_back and position.target in noted.ours(position.remote)
        if position.target is not None and (position.kind != COMMITTED or is_ours):
            by_group.setdefault(position.group, {})[position.remote] = position
    return {name: _make_aim(of_group, notes.of_group(name).get(REREAD, {})) for name, of_group in by_group.items()}


def _make_aim(positions: Mapping[TopicPartition, FailoverPosition], reread: Mapping[str, Mapping[str, int | None]]) -> GroupAim:
    """`reread`: what an earlier run noted of positions on which the group stands now."""
    before = by_partition(reread)
    counts = {tp: before.get(tp, 0) if place.kind == COMMITTED else place.reread for tp, place in positions.items()}
    since = min((int(place.time.timestamp() * 1000) for place in positions.values() if place.time is not None), default=None)
    wanted = {tp: Committed(place.target, place.metadata) for tp, place in positions.items() if place.target is not None}
    return GroupAim(wanted, facts={REREAD: by_topic({tp: count for tp, count in counts.items() if count != 0}), KNOWN_MS: since})


def close(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Closes the whole flow: its source is lost for every topic. Raises what the target says."""
    closing = close_flow(move.flow, options.who, options.reason, options.dry_run, notes)
    verb = "would be" if options.dry_run else "is"
    missing = survey_failover(move).missing
    if not options.dry_run:
        notes.keep(PREFLIGHT, {**notes.of_step(PREFLIGHT), MISSING: write_missing(missing)})
    lacking = [partition for partition in missing if partition.offsets]
    records = sum(partition.offsets for partition in lacking)
    lines = (
        f"{move.flow.name} {verb} closed, in {len(closing.lanes)} lanes as of now: {closing.decision}.",
        f"At most {records:,} records of {len(lacking)} partitions are known to be missing; the report lists them.",
    )
    return make_outcome(OPEN, (), lines, {CLOSED: str(closing.decision)})


def roll_back_close(_move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Does nothing: a wave whose flow is closed cannot be rolled back, and before that nothing was done."""
    return make_outcome(OPEN, (), ("The flow was not closed.",))
