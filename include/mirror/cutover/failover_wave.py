"""The steps of a wave whose source is lost: the preflight, the groups' positions, and the flow that is closed. All of it on the target alone.

They are called with the flow and the wave, not with a Move: that one has both clusters open. What they note has the form of a planned wave's
notes, so that a roll back puts groups back to where they were.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mirror.cutover.close_flow import close_flow
from mirror.cutover.failover_survey import FailoverSurvey, survey_failover
from mirror.cutover.findings import INFORMATION, STOP, Finding, in_order, stop
from mirror.cutover.steps import AFTER, BEFORE, MOVE_GROUPS, OPEN, PREFLIGHT, StepOptions, StepOutcome, WaveNotes, ended
from mirror.cutover.wave import Wave
from mirror.errors import MirrorError
from mirror.kafka.cluster import Cluster
from mirror.kafka.groups import Committed, Groups
from mirror.offsets.partition import TopicPartition

if TYPE_CHECKING:
    from mirror.config import Flow

GROUPS = "groups"
"""The fact of `move-groups` with the names of all groups that were noted."""


def preflight_step(flow: "Flow", wave: Wave) -> StepOutcome:
    """Says what stops the wave, what may be missing and where groups would go on; what may be missing is among the facts. It reads only."""
    survey = survey_failover(flow, wave)
    findings = tuple(finding for finding in survey.findings if finding.kind != INFORMATION)
    lines = tuple(finding.message for finding in survey.findings if finding.kind == INFORMATION)
    facts = {
        "topics": len(survey.topics.names),
        "partitions": len(survey.missing),
        GROUPS: len({position.group for position in survey.positions}),
        "missing": [partition.as_document() for partition in survey.missing],
    }
    return ended(PREFLIGHT, findings, lines, facts)


def move_groups_step(flow: "Flow", wave: Wave, notes: WaveNotes, options: StepOptions) -> StepOutcome:
    """Commits each group's best position, after it noted what the group had on the target; what was noted first stays. Run again, it does
    what is left. Raises what concerns the target as a whole."""
    survey = survey_failover(flow, wave)
    findings = [finding for finding in survey.findings if finding.kind != INFORMATION]
    lines = tuple(f"{position.group}: {position}" for position in survey.positions)
    commit = survey.to_commit()
    if not options.dry_run and not any(finding.kind == STOP for finding in findings):
        _note(survey, commit, notes)
        findings += _commit(flow, commit)
    return ended(MOVE_GROUPS, in_order(findings, flow.name), lines, {GROUPS: sorted({position.group for position in survey.positions})})


def open_step(flow: "Flow", options: StepOptions) -> StepOutcome:
    """Closes the flow against a source that comes back. Raises what the target says."""
    closing = close_flow(flow, options.who, options.reason, options.dry_run)
    verb = "would be" if options.dry_run else "is"
    lines = (f"{flow.name} {verb} closed, in {len(closing.lanes)} lanes as of now: {closing.decision}.",)
    return ended(OPEN, (), lines, {"closed": str(closing.decision)})


def _note(survey: FailoverSurvey, commit: Mapping[str, Mapping[TopicPartition, Committed]], notes: WaveNotes) -> None:
    facts: dict[str, Mapping[str, Any]] = {}
    for name, positions in commit.items():
        if BEFORE in notes.of_group(name):
            continue
        before = {position.remote: position.committed for position in survey.positions if position.group == name}
        after = {remote: committed.offset for remote, committed in positions.items()}
        facts[name] = {BEFORE: _by_topic({remote: before[remote] for remote in positions}), AFTER: _by_topic(after)}
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
