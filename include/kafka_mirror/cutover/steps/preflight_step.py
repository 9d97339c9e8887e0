"""The first step of a wave: the preflight, as `cutover plan` shows it. It reads only."""

from kafka_mirror.cutover.steps.preflight import preflight
from kafka_mirror.cutover.wave.findings import INFORMATION
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.step import PREFLIGHT, StepOptions, StepOutcome, WaveNotes, ended


def step(move: Move, _notes: WaveNotes, _options: StepOptions) -> StepOutcome:
    """Asks both clusters everything that would stop the wave; notes the size of the wave. Raises ConfigurationError."""
    result = preflight(move.flow, move.wave)
    lag = sum(partition.lag or 0 for partition in result.partitions)
    sizes = {"topics": len(result.topics), "partitions": len(result.partitions), "groups": len(result.groups), "lag": lag}
    size = f"{len(result.topics)} topics with {len(result.partitions)} partitions, {len(result.groups)} groups."
    findings = tuple(finding for finding in result.findings if finding.kind != INFORMATION)
    information = tuple(finding.message for finding in result.findings if finding.kind == INFORMATION)
    return ended(PREFLIGHT, findings, (size, *information), sizes)
