"""The tasks of the `cutover` DAG: a step of a wave each, and the report."""

import logging
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import TaskInstanceState, TriggerRule, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException, AirflowRescheduleException

from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.tasks import (
    MAX_LISTED_ERRORS,
    ONE_VALUE,
    from_xcom,
    is_dry_run,
    pull,
    push_return_value,
    run_name,
    skip,
    task_body,
    to_xcom,
)
from kafka_mirror.airflow.time_limits import step_limit
from kafka_mirror.cutover.wave.findings import STOP, WARNING
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, read_name, wave_name
from kafka_mirror.cutover.wave.selection import Wave, patterns
from kafka_mirror.cutover.wave.step import FAILOVER, OPEN, PREFLIGHT, STEPS, STOPPED, WAITING, StepOptions, StepOutcome, steps_of
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.next_step import own

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

log = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(seconds=5)
"""After which pause a step that waits is run again: the write pause may be on."""
_AT_ONCE_SECONDS = 60.0
"""For how long a step waits by itself before it gives its place to others."""


def step_task(flow: "Flow", step: str) -> Any:
    """The task of one step. It returns what the step did (`dry_run`: would do); it is red when something stops the wave."""
    flow_name = flow.name

    @task(task_id=task_id_of(step), trigger_rule=TriggerRule.NONE_FAILED, execution_timeout=step_limit(flow, step), **ONE_VALUE)
    def run() -> dict[str, Any]:
        """Runs the step alone, from what the clusters and the control topic say now. One that waits is run again after a pause."""
        from kafka_mirror.cutover.wave.run import run_wave

        with task_body():
            flow, mode = configured_flow(flow_name), str(_params()["mode"])
            if step not in steps_of(mode):
                skip(f"A {mode} has no step {step}.")
            wave = _wave()
            options = _options(flow, wave)
            if step == PREFLIGHT and not options.dry_run:
                _check_not_taken_back(flow, options)
            result = run_wave(flow, wave, options, only=step)
        # When the result of an earlier step holds no more, the outcome is that step's.
        outcome = result.outcomes[-1] if result.outcomes else StepOutcome(step, "done", (f"The wave is {result.record.state} already.",))
        value = _logged(outcome)
        if outcome.state == WAITING and not is_dry_run():
            _wait(flow_name, result.record.name, outcome, value)
        if outcome.state == STOPPED and not is_dry_run():
            push_return_value(value)
            raise AirflowFailException(_why_stopped(flow_name, result.record.name, outcome))
        return value

    return run()


def report_task(flow_name: str) -> Any:
    """The leaf: the wave's report in the log and in XCom, whatever became of the steps. It is red unless the wave is open."""

    @task(task_id="report", trigger_rule=TriggerRule.ALL_DONE, retries=0, **ONE_VALUE)
    def run() -> dict[str, Any]:
        """The report as a document."""
        from kafka_mirror.cutover.wave.control_notes import written_since_open
        from kafka_mirror.cutover.wave.report import WaveReport
        from kafka_mirror.cutover.wave.run import stored_waves

        red = _red_tasks()
        if is_dry_run():
            return _report_dry_run(flow_name, red)
        with task_body():
            flow, wave = configured_flow(flow_name), _wave()
            stored, name = stored_waves(flow), _name(flow_name, wave)
            record = stored.waves.get(name)
            if record is None or (sorted(record.topics), sorted(record.groups)) != (sorted(wave.topics), sorted(wave.groups)):
                raise AirflowFailException(
                    f"{flow_name}: the control topic has no wave {name} of these topics and groups, so no step of it began. {_look_at(red)}"
                )
            notes = {group: note.facts for group, note in stored.groups.get(name, {}).items()}
            report = WaveReport(flow_name, record, notes, written_since_open(flow, stored, name))
            log.info("\n%s", report.markdown())
            value = to_xcom(report.as_document(), {"wave": name, "state": record.state})
        if record.state != OPENED or red:
            push_return_value(value)
            next_step = record.next_step or OPEN
            at = "" if record.state == OPENED else f", and its next step is {next_step}"
            raise AirflowFailException(f"{flow_name}: the wave {name} is {record.state}{at}. {_look_at(red or [task_id_of(next_step)])}")
        return value

    return run()


def _report_dry_run(flow_name: str, red: Sequence[str]) -> dict[str, Any]:
    """What would stop the wave now. Of the steps behind the preflight stops are expected: nobody was shut out, and nothing moved."""
    value: Any = pull(task_id_of(PREFLIGHT))
    if value is None or red:
        raise AirflowFailException(f"{flow_name}: nobody knows whether the wave could move; nothing was changed. {_look_at(red)}")
    preflight = from_xcom(value) or value["totals"]
    stops = [str(finding["message"]) for finding in preflight.get("findings", ()) if finding["kind"] == STOP]
    if preflight["state"] == STOPPED:
        listed = stops or ["The log of the task preflight lists what stops it: it is too much for XCom."]
        raise AirflowFailException(_listed(f"{flow_name}: the wave could not move, and nothing was changed", listed))
    log.info("%s: nothing stops the wave. The logs of the steps say what they would do; nothing was changed.", flow_name)
    return {"dry_run": True, "stops": []}


def _red_tasks() -> list[str]:
    """The tasks of this run's steps that failed; those behind them did not run."""
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


def _params() -> Any:
    return get_current_context()["params"]


def _wave() -> Wave:
    """What the trigger form asks to move. Raises UsageError."""
    params = _params()
    given = {name: str(params[name] or "").strip() for name in ("topics", "groups")}
    try:
        if not given["topics"]:
            raise ValueError("it names no pattern")
        return Wave(patterns(given["topics"]), patterns(given["groups"]) if given["groups"] else ())
    except ValueError as error:
        raise UsageError(f"The wave cannot be read: {error}.", next="Trigger the DAG again with patterns between commas.") from None


def _max_lag() -> int:
    return int(_params()["max_lag"])


def _name(flow_name: str, wave: Wave) -> str:
    given = str(_params()["wave"] or "").strip()
    try:
        return read_name(given) if given else wave_name(flow_name, wave, str(_params()["mode"]))
    except ValueError as error:
        raise UsageError(f"{error}.", next="Trigger the DAG again with another name, or with none.") from None


def _options(flow: "Flow", wave: Wave) -> StepOptions:
    params = _params()
    reason = str(params["reason"] or "").strip()
    if params["mode"] == FAILOVER and not reason:
        raise UsageError("A failover declares the source lost, and says why.", next="Trigger the DAG again, and fill in the field «Why».")
    return StepOptions(
        wave=_name(flow.name, wave),
        who=_who(),
        reason=reason or "asked for in Airflow",
        mode=params["mode"],
        dry_run=is_dry_run(),
        max_lag=_max_lag(),
        by=params["by"],
        quiet_seconds=float(params["quiet_seconds"]),
        full_audit=bool(params["full_audit"]),
        timeout=_AT_ONCE_SECONDS,
        progress=log.info,
    )


def _who() -> str:
    """Who triggered the run, as far as Airflow knows, and the run's name."""
    run: Any = get_current_context()["dag_run"]
    person = getattr(run, "triggering_user_name", None)
    return f"{person} (run {run_name()})" if person else run_name()


def _check_not_taken_back(flow: "Flow", options: StepOptions) -> None:
    """Airflow tries a task again whose worker it believes dead, and does not know that a person took the wave back meanwhile."""
    from kafka_mirror.cutover.wave.run import stored_waves

    record = stored_waves(flow).waves.get(options.wave)
    if record is not None and record.state == ROLLED_BACK and record.who == options.who:
        raise AirflowFailException(
            f"{flow.name}: {record.runner} rolled back the wave {record.name}, which this run had begun. Nothing was changed since. "
            "Trigger the DAG again to begin anew."
        )


def _logged(outcome: StepOutcome) -> dict[str, Any]:
    """The outcome for XCom, after the log had it."""
    for line in outcome.lines:
        log.info("%s", line)
    for finding in outcome.findings:
        stopped = logging.WARNING if outcome.state == WAITING else logging.ERROR
        level = {STOP: stopped, WARNING: logging.WARNING}.get(finding.kind, logging.INFO)
        log.log(level, "%s", finding)
    findings = [finding.as_document() for finding in outcome.findings]
    totals = {"step": outcome.step, "state": outcome.state}
    return to_xcom({**totals, "lines": list(outcome.lines), "findings": findings, "facts": dict(outcome.facts)}, totals)


def _wait(flow_name: str, wave: str, outcome: StepOutcome, value: Any) -> None:
    """Gives the task's place to others for a moment. Raises AirflowRescheduleException, or AirflowFailException once it waited too long.

    The time counts from where this try first waited: a clear makes a new try, a pause does not.
    """
    waits = timedelta(minutes=float(_params()["wait_minutes"]))
    context, now = get_current_context(), datetime.now(UTC)
    since = context["ti"].get_first_reschedule_date(context) or now
    if now - since > waits:
        push_return_value(value)
        raise AirflowFailException(
            f"{outcome.step} has waited for {waits.total_seconds() / 60:g} minutes: {_first_reason(outcome)} Clear the task "
            f"{task_id_of(outcome.step)} with those after it to wait on; or roll back: {_roll_back(flow_name, wave)}"
        )
    log.info("%s waits: %s It looks again in %d s.", outcome.step, _first_reason(outcome), LOOK_AGAIN.seconds)
    raise AirflowRescheduleException(now + LOOK_AGAIN)  # type: ignore[no-untyped-call]


def _first_reason(outcome: StepOutcome) -> str:
    return next((finding.message for finding in outcome.findings), outcome.lines[-1] if outcome.lines else "for the clusters.")


def _why_stopped(flow_name: str, wave: str, outcome: StepOutcome) -> str:
    stops = [str(finding) for finding in outcome.findings if finding.kind == STOP]
    task_id = task_id_of(outcome.step)
    return (
        f"{_listed(f'{flow_name}: {outcome.step} of the wave {wave} is stopped', stops)}\nMend that, and clear the task {task_id} with "
        f"those after it; or roll back: {_roll_back(flow_name, wave)}"
    )


def _roll_back(flow_name: str, wave: str) -> str:
    return str(own(f"cutover rollback --flow {flow_name!r} --wave {shlex.quote(wave)}"))


def _listed(summary: str, sentences: Sequence[str]) -> str:
    listed = "".join(f"\n- {sentence}" for sentence in sentences[:MAX_LISTED_ERRORS])
    more = len(sentences) - MAX_LISTED_ERRORS
    return f"{summary}:{listed}" + (f"\n… and {more} more, all of them in the log above." if more > 0 else "")
