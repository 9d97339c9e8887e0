"""The step `move-groups` of a wave whose source is lost: commits the best position that the target knows of each group.

What it notes has the form of a planned wave's notes, so the same roll back puts groups back to where they were.
"""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from mirror.cutover.failover_survey import FailoverSurvey, survey_failover
from mirror.cutover.findings import INFORMATION, STOP, Finding, in_order, stop
from mirror.cutover.move import Move
from mirror.cutover.steps import KNOWN_MS, MOVE_GROUPS, REREAD, STEP_MODULES, StepOptions, StepOutcome, WaveNotes, ended
from mirror.errors import MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.groups import Groups
from mirror.kafka.model import Committed
from mirror.offsets.partition import TopicPartition
from mirror.sync.groups.group_move import AFTER, BEFORE

if TYPE_CHECKING:
    from mirror.config import Flow

GROUPS = "groups"
"""The step's fact with the names of all groups that were noted, as the planned step has it."""


def step(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Commits, after it noted what each group had on the target; what was noted first stays. Run again, it does what is left. Raises what
    concerns the target as a whole."""
    flow, survey = move.flow, survey_failover(move.flow, move.wave)
    findings = [finding for finding in survey.findings if finding.kind != INFORMATION]
    lines = tuple(f"{position.group}: {position}" for position in survey.positions)
    commit = survey.to_commit()
    if not options.dry_run and not any(finding.kind == STOP for finding in findings):
        _note(survey, commit, notes)
        findings += _commit(flow, commit)
    return ended(MOVE_GROUPS, in_order(findings, flow.name), lines, {GROUPS: list(notes.of_step(MOVE_GROUPS).get(GROUPS, ()))})


def rollback(move: Move, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """As the planned step takes it back: that too asks the target alone."""
    return cast(StepOutcome, importlib.import_module(STEP_MODULES[MOVE_GROUPS]).rollback(move, notes, options))


def _note(survey: FailoverSurvey, commit: Mapping[str, Mapping[TopicPartition, Committed]], notes: WaveNotes) -> None:
    facts: dict[str, Mapping[str, Any]] = {}
    for name, positions in commit.items():
        if BEFORE in notes.of_group(name):
            continue
        moved = [position for position in survey.positions if position.group == name and position.remote in positions]
        facts[name] = {
            BEFORE: _by_topic({position.remote: position.committed for position in moved}),
            AFTER: _by_topic({position.remote: position.target for position in moved}),
            REREAD: _by_topic({position.remote: position.reread for position in moved if position.reread != 0}),
            KNOWN_MS: min((int(position.time.timestamp() * 1000) for position in moved if position.time is not None), default=None),
        }
    if facts:
        names = sorted({*notes.of_step(MOVE_GROUPS).get(GROUPS, ()), *facts})
        notes.keep(MOVE_GROUPS, {**notes.of_step(MOVE_GROUPS), GROUPS: names})
        notes.keep_groups(facts)


def _commit(flow: "Flow", commit: Mapping[str, Mapping[TopicPartition, Committed]]) -> list[Finding]:
    settings, errors = flow.client("target", "admin"), dict[str, MirrorError]()
    with Cluster(flow.target, settings, flow.request_seconds) as target, Groups(target, settings) as groups:
        refused = groups.commit(commit, errors)
    reasons = {name: ", ".join(f"{tp} ({why})" for tp, why in of_group.items()) for name, of_group in refused.items() if of_group}
    reasons |= {name: error.message for name, error in errors.items()}
    step = "Mend what is named, and run the step again."
    return [
        stop("group-not-committed", f"{name}: not all positions could be committed on {flow.target}: {why}.", step, group=name)
        for name, why in sorted(reasons.items())
    ]


def _by_topic(positions: Mapping[TopicPartition, int | None]) -> dict[str, dict[str, int | None]]:
    topics: dict[str, dict[str, int | None]] = {}
    for tp, offset in sorted(positions.items()):
        topics.setdefault(tp.topic, {})[str(tp.partition)] = offset
    return topics
