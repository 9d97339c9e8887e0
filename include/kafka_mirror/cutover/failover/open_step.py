"""The last step of a wave whose source is lost: the flow is closed against a source that comes back.

Behind that no copy that was under way can commit any more. So what is missing is noted once more, for good, in the place of what the first
step knew.
"""

from kafka_mirror.cutover.failover.close_flow import close_flow
from kafka_mirror.cutover.failover.missing_document import MISSING, missing_document
from kafka_mirror.cutover.failover.survey import survey_failover
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.step import OPEN, PREFLIGHT, StepOptions, StepOutcome, WaveNotes, ended
from kafka_mirror.ledger.control_records import CLOSED


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Closes the flow, all of it: who lost a source lost it for every topic. Raises what the target says."""
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


def rollback(_move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Nothing: once the flow is closed nobody rolls the wave back, and before that nothing was done."""
    return ended(OPEN, (), ("The flow was not closed.",))
