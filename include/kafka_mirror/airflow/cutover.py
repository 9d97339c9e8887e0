"""The tasks of the `cutover` DAG: a step of a wave each, and the report."""

import logging
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import TaskInstanceState, TriggerRule, get_current_context
from airflow.sdk.exceptions import AirflowRescheduleException

from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.flow_operator import FlowOperator, flow_task, is_true
from kafka_mirror.airflow.tasks import (
    MAX_LISTED_ERRORS,
    fail,
    from_xcom,
    is_dry_run,
    pull,
    push_return_value,
    run_name,
    skip,
    task_body,
    to_xcom,
)
from kafka_mirror.cutover.wave.findings import STOP, WARNING
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, name_wave, read_name
from kafka_mirror.cutover.wave.selection import Wave, patterns
from kafka_mirror.cutover.wave.step import (
    BY_HAND,
    FAILOVER,
    OPEN,
    PLANNED,
    PREFLIGHT,
    STEPS,
    STOPPED,
    WAITING,
    StepOptions,
    StepOutcome,
    list_steps,
)
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.next_step import mirror_command

if TYPE_CHECKING:
    from airflow.sdk import Context

    from kafka_mirror.config import Flow

log = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(seconds=5)
"""After which pause a step that waits is run again: the write pause may be on."""
_AT_ONCE_SECONDS = 60.0
"""For how long a step waits by itself before it gives its place to others."""


class MirrorCutoverOperator(FlowOperator):
    """Moves a wave of topics and consumer groups to the target: all steps in one task, or `step` alone.

    `topics` and `groups` are Java patterns between commas. The other arguments are those of the cutover DAG's trigger form. It begins as
    a dry run, which changes nothing: `plan_only=False` moves. A step that waits for people gives the task's place to others and looks
    again, for `wait_minutes` at most. The clusters and the control topic are the only state: a cleared task goes on from there.
    It returns what each step did, of `step` what that did, and fails when something stops the wave.
    """

    template_fields: Sequence[str] = (
        *(
            "flow",
            "topics",
            "groups",
            "wave",
            "mode",
            "by",
            "reason",
            "max_lag",
            "quiet_seconds",
            "full_audit",
            "wait_minutes",
            "plan_only",
        ),
    )

    def __init__(
        self,
        *,
        topics: str,
        groups: str = "",
        step: str = "",
        wave: str = "",
        mode: str = PLANNED,
        by: str = BY_HAND,
        reason: str = "",
        max_lag: int | str = 1000,
        quiet_seconds: float | str = 5,
        full_audit: bool | str = False,
        wait_minutes: float | str = 60,
        plan_only: bool | str = True,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.topics = topics
        self.groups = groups
        self.step = step
        self.wave = wave
        self.mode = mode
        self.by = by
        self.reason = reason
        self.max_lag = max_lag
        self.quiet_seconds = quiet_seconds
        self.full_audit = full_audit
        self.wait_minutes = wait_minutes
        self.plan_only = plan_only

    def execute(self, context: "Context") -> Any:  # noqa: ARG002 — the base class's
        """Runs the steps from what the clusters and the control topic say now. Raises AirflowRescheduleException while a step waits."""
        from kafka_mirror.cutover.wave.run import run_wave

        with task_body():
            flow = configured_flow(self.flow)
            if self.step and self.step not in list_steps(self.mode):
                skip(f"A {self.mode} has no step {self.step}.")
            wave = read_wave(self.topics, self.groups)
            options = self._options(wave)
            if not options.dry_run and self.step in ("", PREFLIGHT):
                _check_not_taken_back(flow, options)
            result = run_wave(flow, wave, options, only=self.step or None)
        # When the result of an earlier step holds no more, the last outcome is that step's.
        outcomes = result.outcomes or (StepOutcome(self.step or OPEN, "done", (f"The wave is {result.record.state} already.",)),)
        values = [_log_outcome(outcome) for outcome in outcomes]
        value = values[-1] if self.step else {"wave": result.record.name, "state": result.record.state, "steps": values}
        name, last = result.record.name, outcomes[-1]
        if not options.dry_run and last.state == WAITING:
            _wait(self.flow, name, last, value, float(self.wait_minutes), self.task_id)
        stopped = next((outcome for outcome in outcomes if outcome.state == STOPPED), last)
        if result.state == STOPPED and not (options.dry_run and self.step):
            push_return_value(value)
            is_own = stopped.step == self.step or not self.step
            fail(_why_stopped(self.flow, name, stopped, self.task_id if is_own else task_id_of(stopped.step)))
        return value

    def _options(self, wave: Wave) -> StepOptions:
        """What the arguments say of how the steps run. Raises UsageError."""
        reason = str(self.reason or "").strip()
        if self.mode == FAILOVER and not reason:
            raise UsageError(
                "A failover declares the source lost, and says why.", next="Trigger the DAG again, and fill in the field «Why»."
            )
        return StepOptions(
            wave=read_wave_name(self.flow, wave, self.mode, self.wave),
            who=_find_runner(),
            reason=reason or "asked for in Airflow",
            mode=self.mode,
            dry_run=is_true(self.plan_only),
            max_lag=int(self.max_lag),
            by=self.by,
            quiet_seconds=float(self.quiet_seconds),
            full_audit=is_true(self.full_audit),
            timeout=_AT_ONCE_SECONDS,
            progress=log.info,
        )


def read_wave(topics: Any, groups: Any) -> Wave:
    """The wave of these patterns between commas. Raises UsageError."""
    topics, groups = (str(patterns_of or "").strip() for patterns_of in (topics, groups))
    try:
        if not topics:
            raise ValueError("it names no pattern")
        return Wave(patterns(topics), patterns(groups) if groups else ())
    except ValueError as error:
        raise UsageError(f"The wave cannot be read: {error}.", next="Trigger the DAG again with patterns between commas.") from None


def read_wave_name(flow_name: str, wave: Wave, mode: str, name: Any) -> str:
    """The wave's name: the one that somebody gave, or one made of its topics. Raises UsageError."""
    name = str(name or "").strip()
    try:
        return read_name(name) if name else name_wave(flow_name, wave, mode)
    except ValueError as error:
        raise UsageError(f"{error}.", next="Trigger the DAG again with another name, or with none.") from None


def report_task(flow_name: str) -> Any:
    """The leaf: the wave's report in the log and in XCom, whatever became of the steps. It is red unless the wave is open."""

    @flow_task(task_id="report", trigger_rule=TriggerRule.ALL_DONE, retries=0)
    def run() -> dict[str, Any]:
        """The report as a document."""
        from kafka_mirror.cutover.wave.run import read_waves, report_wave

        red = _red_tasks()
        if is_dry_run():
            return _report_dry_run(flow_name, red)
        with task_body():
            flow, params = configured_flow(flow_name), get_current_context()["params"]
            wave = read_wave(params["topics"], params["groups"])
            stored, name = read_waves(flow), read_wave_name(flow_name, wave, params["mode"], params["wave"])
            record = stored.waves.get(name)
            if record is None or (sorted(record.topics), sorted(record.groups)) != (sorted(wave.topics), sorted(wave.groups)):
                fail(
                    f"{flow_name}: the control topic has no wave {name} of these topics and groups, so no step of it began. {_look_at(red)}"
                )
            report = report_wave(flow, stored, name)
            log.info("\n%s", report.markdown())
            value = to_xcom(report.as_document(), {"wave": name, "state": record.state})
        if record.state != OPENED or red:
            push_return_value(value)
            next_step = record.next_step or OPEN
            at = "" if record.state == OPENED else f", and its next step is {next_step}"
            fail(f"{flow_name}: the wave {name} is {record.state}{at}. {_look_at(red or [task_id_of(next_step)])}")
        return value

    return run()


def _report_dry_run(flow_name: str, red: Sequence[str]) -> dict[str, Any]:
    """What would stop the wave now. Of the steps after the preflight stops are expected: no producer was shut out, and nothing moved."""
    value: Any = pull(task_id_of(PREFLIGHT))
    if value is None or red:
        fail(f"{flow_name}: it is unknown whether the wave could move; nothing was changed. {_look_at(red)}")
    preflight = from_xcom(value) or value["totals"]
    stops = [str(finding["message"]) for finding in preflight.get("findings", ()) if finding["kind"] == STOP]
    if preflight["state"] == STOPPED:
        listed = stops or ["The log of the task preflight lists what stops it: it is too much for XCom."]
        fail(_list_names(f"{flow_name}: the wave could not move, and nothing was changed", listed))
    log.info("%s: nothing stops the wave. The logs of the steps say what they would do; nothing was changed.", flow_name)
    return {"dry_run": True, "stops": []}


def _red_tasks() -> list[str]:
    """The tasks of this run's steps that failed; those after them did not run."""
    context: Any = get_current_context()
    run, names = context["dag_run"], [task_id_of(step) for step in steps_in_order()]
    states = context["ti"].get_task_states(dag_id=run.dag_id, task_ids=names, run_ids=[run.run_id]).get(run.run_id, {})
    return [name for name in names if states.get(name) == TaskInstanceState.FAILED]


def _look_at(task_ids: Sequence[str]) -> str:
    return f"The log of the task {task_ids[0] if task_ids else task_id_of(PREFLIGHT)} says why."


def task_id_of(step: str) -> str:
    """The id of a step's task."""
    return step.replace("-", "_")


def steps_in_order() -> tuple[str, ...]:
    """All steps that the DAG has tasks for; a failover skips some."""
    return STEPS


def _find_runner() -> str:
    """Who triggered the run, as far as Airflow knows, and the run's name."""
    run: Any = get_current_context()["dag_run"]
    person = getattr(run, "triggering_user_name", None)
    return f"{person} (run {run_name()})" if person else run_name()


def _check_not_taken_back(flow: "Flow", options: StepOptions) -> None:
    """Airflow tries a task again whose worker it believes dead, and does not know that a person took the wave back meanwhile."""
    from kafka_mirror.cutover.wave.run import read_waves

    record = read_waves(flow).waves.get(options.wave)
    if record is not None and record.state == ROLLED_BACK and record.who == options.who:
        fail(
            f"{flow.name}: {record.runner} rolled back the wave {record.name}, which this run had begun. Nothing was changed since. "
            "Trigger the DAG again to begin from the first step."
        )


def _log_outcome(outcome: StepOutcome) -> dict[str, Any]:
    """The outcome for XCom, after the log had it."""
    for line in outcome.lines:
        log.info("%s", line)
    for finding in outcome.findings:
        stopped = logging.WARNING if outcome.state == WAITING else logging.ERROR
        level = {STOP: stopped, WARNING: logging.WARNING}.get(finding.kind, logging.INFO)
        log.log(level, "%s", finding)
    return to_xcom(outcome.as_document(), {"step": outcome.step, "state": outcome.state})


def _wait(flow_name: str, wave: str, outcome: StepOutcome, value: Any, minutes: float, task_id: str) -> None:
    """Gives the task's place to others for a moment. Raises AirflowRescheduleException, or AirflowFailException once it waited too long.

    The time counts from where this try first waited: a clear makes a new try, a pause does not.
    """
    waits = timedelta(minutes=minutes)
    context, now = get_current_context(), datetime.now(UTC)
    since = context["ti"].get_first_reschedule_date(context) or now
    if now - since > waits:
        push_return_value(value)
        fail(
            f"{outcome.step} has waited for {waits.total_seconds() / 60:g} minutes: {_first_reason(outcome)} Clear the task "
            f"{task_id} with those after it to wait on; or roll back: {_roll_back(flow_name, wave)}"
        )
    log.info("%s waits: %s It looks again in %d s.", outcome.step, _first_reason(outcome), LOOK_AGAIN.seconds)
    raise AirflowRescheduleException(now + LOOK_AGAIN)  # type: ignore[no-untyped-call]


def _first_reason(outcome: StepOutcome) -> str:
    return next((finding.message for finding in outcome.findings), outcome.lines[-1] if outcome.lines else "for the clusters.")


def _why_stopped(flow_name: str, wave: str, outcome: StepOutcome, task_id: str) -> str:
    stops = [str(finding) for finding in outcome.findings if finding.kind == STOP]
    return (
        f"{_list_names(f'{flow_name}: {outcome.step} of the wave {wave} is stopped', stops)}\nMend that, and clear the task {task_id} with "
        f"those after it; or roll back: {_roll_back(flow_name, wave)}"
    )


def _roll_back(flow_name: str, wave: str) -> str:
    return str(mirror_command(f"cutover rollback --flow {flow_name!r} --wave {shlex.quote(wave)}"))


def _list_names(summary: str, sentences: Sequence[str]) -> str:
    listed = "".join(f"\n- {sentence}" for sentence in sentences[:MAX_LISTED_ERRORS])
    more = len(sentences) - MAX_LISTED_ERRORS
    return f"{summary}:{listed}" + (f"\n… and {more} more, all of them in the log above." if more > 0 else "")
