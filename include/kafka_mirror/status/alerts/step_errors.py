"""Errors that only a step beside the copy can see, such as a config that the target refuses: they stand from the run of the step that met
them until a run of it ends without them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kafka_mirror.config import Flow
from kafka_mirror.errors import AuthenticationFailed, ClusterUnreachable, ErrorReport, MirrorError
from kafka_mirror.status.observation import CheckObservation
from kafka_mirror.status.steps import SWITCHES, run_step

DRY = ("topic-configs", "topic-acls", "schemas")
"""The steps that are cheap to ask what they would fail with; what `refresh-topics` would, a look at the flow asks itself."""

KEPT = 1000
"""How many errors of a run are remembered."""

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
        error.of_flow(status.flow)
        for error in errors
        if (error.code, error.topic) not in of_check and error.kind not in _SEEN_BY_EVERY_CHECK
    ]
    errors = tuple(dict.fromkeys((*status.errors, *more)))
    return replace(observation, status=replace(status, errors=errors), of_steps=frozenset(error.code for error in more))


def ask_dry_runs(flow: Flow) -> list[ErrorReport]:
    """What the steps of `DRY` would fail with now; nothing is written. Of what may end by itself nobody knows whether it lasts."""
    errors: list[ErrorReport] = []
    for step in DRY:
        if is_enabled(flow, step):
            try:
                errors += run_step(step, flow, dry_run=True).errors
            except MirrorError as error:
                errors.append(error.report())
    return [error for error in errors if not error.retriable]
