"""The steps of a planned wave and of a failover, each in its order. A roll back takes back the last one first."""

from kafka_mirror.cutover.failover import steps as failover
from kafka_mirror.cutover.groups import move_groups
from kafka_mirror.cutover.steps import audit_gate, catch_up, fence, last_copy, open_wave, preflight_step
from kafka_mirror.cutover.wave.step import AUDIT_GATE, CATCH_UP, FAILOVER, FENCE, LAST_COPY, MOVE_GROUPS, OPEN, PREFLIGHT, WaveStep

_PLANNED = (
    WaveStep(PREFLIGHT, preflight_step.step),
    WaveStep(CATCH_UP, catch_up.step),
    WaveStep(FENCE, fence.step, fence.holds, fence.rollback),
    WaveStep(LAST_COPY, last_copy.step),
    WaveStep(AUDIT_GATE, audit_gate.step, audit_gate.holds),
    WaveStep(MOVE_GROUPS, move_groups.step, take_back=move_groups.rollback),
    WaveStep(OPEN, open_wave.step, take_back=open_wave.rollback),
)
_FAILOVER = (
    WaveStep(PREFLIGHT, failover.run_preflight),
    WaveStep(MOVE_GROUPS, failover.move_groups, take_back=move_groups.rollback),
    WaveStep(OPEN, failover.close, take_back=failover.roll_back_close),
)


def steps_for(mode: str) -> tuple[WaveStep, ...]:
    """The steps of a wave of this mode."""
    return _FAILOVER if mode == FAILOVER else _PLANNED
