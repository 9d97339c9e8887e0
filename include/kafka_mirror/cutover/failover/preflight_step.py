"""The first step of a wave whose source is lost: where groups would go on, what may be missing, and what stops it."""

from kafka_mirror.cutover.failover.missing_document import MISSING, missing_document
from kafka_mirror.cutover.failover.survey import survey_failover
from kafka_mirror.cutover.wave.findings import INFORMATION
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.step import PREFLIGHT, StepOptions, StepOutcome, WaveNotes, ended


def step(move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Says it; what may be missing is among the facts. It reads only. Raises what concerns the target as a whole."""
    survey = survey_failover(move.flow, move.wave)
    findings = tuple(finding for finding in survey.findings if finding.kind != INFORMATION)
    lines = tuple(finding.message for finding in survey.findings if finding.kind == INFORMATION)
    facts = {
        "topics": len(survey.topics.names),
        "partitions": len(survey.missing),
        "groups": len({position.group for position in survey.positions}),
        MISSING: missing_document(survey.missing),
    }
    return ended(PREFLIGHT, findings, lines, facts)
