"""What is remembered from check to check.

Mismatches of audits, until an audit finds them mended: an audit may look at some topics or intervals alone. And errors that only a step
beside the copy can see, such as a config that the target refuses, until a run of the step ends without them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kafka_mirror.audit.model import DIFFERENT, EQUAL, AuditResult, PartitionAudit
from kafka_mirror.config import Flow
from kafka_mirror.errors import AuthenticationFailed, ClusterUnreachable, ErrorReport, MirrorError, NextStep
from kafka_mirror.errors.next_step import mirror_command
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.status.observation import CheckObservation
from kafka_mirror.status.problems import FlowProblem, Place, group_problems
from kafka_mirror.status.status import GONE
from kafka_mirror.status.steps import SWITCHES, run_step

MISMATCH = "AuditMismatch"

COUNTED = 100
"""How many runs are known to be counted."""

KEPT = 1000
"""How many mismatches are remembered, the newest, and how many errors of a run: an alert shows ten of a topic."""


@dataclass(frozen=True)
class Mismatch:
    """A difference that an audit of `[start, end)` of a source partition found; `offset` is where, if that is known."""

    topic: str
    partition: int
    remote: str
    start: int
    end: int
    offset: int | None
    line: str

    def is_answered_by(self, other: PartitionAudit) -> bool:
        """Whether a later audit of the partition looked at the same place."""
        if (other.topic, other.partition, other.remote) != (self.topic, self.partition, self.remote):
            return False
        start, end = other.source
        return start <= self.offset < end if self.offset is not None else start <= self.start and self.end <= end


@dataclass(frozen=True)
class Audits:
    """The mismatches that stand. `counted`: the audits that are in it, by the run that made each, with their times."""

    mismatches: tuple[Mismatch, ...] = ()
    counted: Mapping[str, str] = field(default_factory=dict)

    def add_audit(self, run: str, document: Mapping[str, Any]) -> "Audits":
        """With what an audit found, as `AuditResult.as_document` gives it; one that is in it already changes nothing."""
        if self.counted.get(run) == document["time"]:
            return self
        result = AuditResult.from_document(document)
        answered = [partition for partition in result.partitions if partition.state in (EQUAL, DIFFERENT)]
        open_mismatches = [old for old in self.mismatches if not any(old.is_answered_by(partition) for partition in answered)]
        new_mismatches = [
            _mismatch(partition, result.time.strftime("%Y-%m-%d %H:%M UTC")) for partition in answered if partition.state == DIFFERENT
        ]
        counted = {**self.counted, run: document["time"]}
        newest = sorted(counted, key=lambda run_name: counted[run_name])[-COUNTED:]
        return Audits((*open_mismatches, *new_mismatches)[-KEPT:], {run_name: counted[run_name] for run_name in newest})

    def drop_gone(self, observation: CheckObservation) -> "Audits":
        """Without the places of which the source has nothing any more (they are deleted, or the topic was created again and does not reach
        so far), or which the flow no longer mirrors: no audit can look there. All of them while the clusters cannot be compared."""
        if not observation.comparable:
            return self
        ends = {partition.topic_partition: partition.end for partition in observation.status.partitions if partition.state != GONE}

        def is_there(mismatch: Mismatch) -> bool:
            tp, last = TopicPartition(mismatch.topic, mismatch.partition), mismatch.end - 1 if mismatch.offset is None else mismatch.offset
            if tp not in ends or last < observation.log_starts.get(tp, 0):
                return False
            end = ends[tp]
            return end is None or last < end

        return replace(self, mismatches=tuple(filter(is_there, self.mismatches)))

    def problems(self, flow: str, patience: float) -> list[FlowProblem]:
        """One for each topic whose copy is not equal."""
        places = [Place(mismatch.topic, mismatch.partition, mismatch.line) for mismatch in self.mismatches]
        advice = {
            mismatch.topic: NextStep.of(
                "This shows both records, and changes nothing: ",
                mirror_command(f"audit --flow '{flow}' --topics {mismatch.topic}"),
                f" (in Airflow, the DAG audit with the parameter topics = {mismatch.topic}).",
            )
            for mismatch in self.mismatches
        }
        said = "The copy of {} is not equal to its source."
        return group_problems(MISMATCH, places, said=said, next=advice, patience=patience, severity="critical")


def _mismatch(partition: PartitionAudit, when: str) -> Mismatch:
    difference = partition.difference
    line = (
        str(difference)
        if difference is not None
        else f"{partition.topic_partition}: {partition.source_records:,} and {partition.target_records:,} records"
    )
    offset = difference.source_offset if difference is not None else None
    return Mismatch(partition.topic, partition.partition, partition.remote, *partition.source, offset, f"{line} (audit of {when})")


DRY = ("topic-configs", "topic-acls", "schemas")
"""The steps that are cheap to ask what they would fail with; what `refresh-topics` would, a look at the flow asks itself."""


_SEEN_BY_EVERY_CHECK = (ClusterUnreachable, AuthenticationFailed)


@dataclass(frozen=True)
class StepErrors:
    """What the newest run of a step ended with. `lasting`: the codes that the run before ended with too."""

    run: str = ""
    errors: tuple[ErrorReport, ...] = ()
    lasting: frozenset[str] = frozenset()

    def record_run(self, run: str, errors: Iterable[ErrorReport]) -> "StepErrors":
        """What is known after a run, or after another try of the same one."""
        lasting = self.lasting if run == self.run else frozenset(error.code for error in self.errors)
        return StepErrors(run, tuple(errors)[:KEPT], lasting)

    @property
    def standing(self) -> list[ErrorReport]:
        """The errors that do not end by themselves, and those that should have ended with the newest run, and did not."""
        return [error for error in self.errors if not error.retriable or error.code in self.lasting]


def is_enabled(flow: Flow, step: str) -> bool:
    """Whether the flow has the step. What one that is switched off met before stands no more."""
    return bool(flow.value(SWITCHES[step]))


def add_step_errors(observation: CheckObservation, errors: Iterable[ErrorReport]) -> CheckObservation:
    """The observation with these errors of steps, but for those that the check saw by itself."""
    status = observation.status
    of_check = {(error.code, error.topic) for error in status.errors}
    more = [
        error.with_flow(status.flow)
        for error in errors
        if (error.code, error.topic) not in of_check and error.kind not in _SEEN_BY_EVERY_CHECK
    ]
    errors = tuple(dict.fromkeys((*status.errors, *more)))
    return replace(observation, status=replace(status, errors=errors), of_steps=frozenset(error.code for error in more))


def ask_dry_runs(flow: Flow) -> list[ErrorReport]:
    """What the steps of `DRY` would fail with now; nothing is written. Without what may end by itself: one look does not show
    whether it lasts."""
    errors: list[ErrorReport] = []
    for step in DRY:
        if is_enabled(flow, step):
            try:
                errors += run_step(step, flow, dry_run=True).errors
            except MirrorError as error:
                errors.append(error.report())
    return [error for error in errors if not error.retriable]
