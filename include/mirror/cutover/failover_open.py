"""The last step of a wave whose source is lost: the flow is closed against a source that comes back."""

from mirror.cutover.close_flow import close_flow
from mirror.cutover.move import Move
from mirror.cutover.steps import OPEN, StepOptions, StepOutcome, WaveNotes, ended


def step(move: Move, _notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Closes the flow, all of it: who lost a source lost it for every topic. Raises what the target says."""
    closing = close_flow(move.flow, options.who, options.reason, options.dry_run)
    verb = "would be" if options.dry_run else "is"
    lines = (f"{move.flow.name} {verb} closed, in {len(closing.lanes)} lanes as of now: {closing.decision}.",)
    return ended(OPEN, (), lines, {"closed": str(closing.decision)})
