"""What the tasks of the `cutover` DAG do: a step of a wave each, and the report."""

import logging
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import TaskInstanceState, get_current_context
from airflow.sdk.exceptions import AirflowRescheduleException

from kafka_mirror.airflow.flow_files import configured_flow
from kafka_mirror.airflow.flow_operator import task_id_of
from kafka_mirror.airflow.tasks import (
    MAX_LISTED_ERRORS,
    fail,
    from_xcom,
    is_dry_run,
    is_true,
    log_lines,
    pull,
    push_return_value,
    run_name,
    skip,
    task_body,
    to_xcom,
)
from kafka_mirror.config import Flow
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, name_wave, read_name
from kafka_mirror.cutover.wave.run import read_waves, report_wave, run_wave
from kafka_mirror.cutover.wave.selection import Wave, parse_patterns
from kafka_mirror.cutover.wave.step import (
    FAILOVER,
    OPEN,
    PREFLIGHT,
    STEPS,
    STOP,
    STOPPED,
    WAITING,
    WARNING,
    StepOptions,
    StepOutcome,
    list_steps,
)
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.next_step import mirror_command

if TYPE_CHECKING:
    from kafka_mirror.airflow.operators import MirrorCutoverOperator

log = logging.getLogger(__name__)

LOOK_AGAIN = timedelta(seconds=5)
"""After which pause a step that waits is run again: the write pause may be on."""
_AT_ONCE_SECONDS = 60.0
"""For how long a step waits by itself before it gives its place to others."""


def run_steps(operator: "MirrorCutoverOperator") -> Any:
    """Runs the steps from what the clusters and the control topic say now. Raises AirflowRescheduleException while a step waits."""
    with task_body():
        flow = configured_flow(operator.flow)
        if operator.step and operator.step not in list_steps(operator.mode):
            skip(f"A {operator.mode} has no step {operator.step}.")
        wave = read_wave(operator.topics, operator.groups)
        options = _read_options(operator, wave)
        if not options.dry_run and operator.step in ("", PREFLIGHT):
            _check_not_taken_back(flow, options)
        result = run_wave(flow, wave, options, only=operator.step or None)
    # When the result of an earlier step holds no more, the last outcome is that step's.
    outcomes = result.outcomes or (StepOutcome(operator.step or OPEN, "done", (f"The wave is {result.record.state} already.",)),)
    values = [_log_outcome(outcome) for outcome in outcomes]
    value = values[-1] if operator.step else {"wave": result.record.name, "state": result.record.state, "steps": values}
    roll_back = str(mirror_command(f"cutover rollback --flow {flow.name!r} --wave {shlex.quote(result.record.name)}"))
    last = outcomes[-1]
    if not options.dry_run and last.state == WAITING:
        _wait(last, value, timedelta(minutes=float(operator.wait_minutes)), operator.task_id, roll_back)
    if result.state == STOPPED and not (options.dry_run and operator.step):
        stopped = next((outcome for outcome in outcomes if outcome.state == STOPPED), last)
        stops = [str(finding) for finding in stopped.findings if finding.kind == STOP]
        said = _list_names(f"{flow.name}: {stopped.step} of the wave {result.record.name} is stopped", stops)
        task = operator.task_id if stopped.step == operator.step or not operator.step else task_id_of(stopped.step)
        push_return_value(value)
        fail(f"{said}\nMend that, and clear the task {task} with those after it; or roll back: {roll_back}")
    return value


def _read_options(operator: "MirrorCutoverOperator", wave: Wave) -> StepOptions:
    """What the arguments say of how the steps run. Raises UsageError."""
    reason = str(operator.reason or "").strip()
    if operator.mode == FAILOVER and not reason:
        raise UsageError("A failover declares the source lost, and says why.", next="Trigger the DAG again, and fill in the field «Why».")
    run: Any = get_current_context()["dag_run"]
    person = getattr(run, "triggering_user_name", None)  # as far as Airflow knows
    return StepOptions(
        wave=read_wave_name(operator.flow, wave, operator.mode, operator.wave),
        who=f"{person} (run {run_name()})" if person else run_name(),
        reason=reason or "asked for in Airflow",
        mode=operator.mode,
        dry_run=is_true(operator.plan_only),
        max_lag=int(operator.max_lag),
        by=operator.by,
        quiet_seconds=float(operator.quiet_seconds),
        full_audit=is_true(operator.full_audit),
        timeout=_AT_ONCE_SECONDS,
        progress=log.info,
    )


def read_wave(topics: Any, groups: Any) -> Wave:
    """The wave of these patterns between commas. Raises UsageError."""
    topics, groups = (str(patterns_of or "").strip() for patterns_of in (topics, groups))
    try:
        if not topics:
            raise ValueError("it names no pattern")
        return Wave(parse_patterns(topics), parse_patterns(groups) if groups else ())
    except ValueError as error:
        raise UsageError(f"The wave cannot be read: {error}.", next="Trigger the DAG again with patterns between commas.") from None


def read_wave_name(flow_name: str, wave: Wave, mode: str, name: Any) -> str:
    """The wave's name: the one that somebody gave, or one made of its topics. Raises UsageError."""
    name = str(name or "").strip()
    try:
        return read_name(name) if name else name_wave(flow_name, wave, mode)
    except ValueError as error:
        raise UsageError(f"{error}.", next="Trigger the DAG again with another name, or with none.") from None


def report(flow_name: str) -> dict[str, Any]:
    """The report as a document. Raises AirflowFailException unless the wave is open and no step failed."""
    context: Any = get_current_context()
    run, names = context["dag_run"], [task_id_of(step) for step in STEPS]
    states = context["ti"].get_task_states(dag_id=run.dag_id, task_ids=names, run_ids=[run.run_id]).get(run.run_id, {})
    red = [name for name in names if states.get(name) == TaskInstanceState.FAILED]  # those after them did not run
    if is_dry_run():
        return _report_dry_run(flow_name, red)
    with task_body():
        flow, params = configured_flow(flow_name), context["params"]
        wave = read_wave(params["topics"], params["groups"])
        stored, name = read_waves(flow), read_wave_name(flow_name, wave, params["mode"], params["wave"])
        record = stored.waves.get(name)
        if record is None or (sorted(record.topics), sorted(record.groups)) != (sorted(wave.topics), sorted(wave.groups)):
            fail(f"{flow_name}: the control topic has no wave {name} of these topics and groups, so no step of it began. {_look_at(red)}")
        text = report_wave(flow, stored, name)
        log.info("\n%s", text.as_markdown())
        value = to_xcom(text.as_document(), {"wave": name, "state": record.state})
    if record.state != OPENED or red:
        push_return_value(value)
        next_step = record.next_step or OPEN
        at = "" if record.state == OPENED else f", and its next step is {next_step}"
        fail(f"{flow_name}: the wave {name} is {record.state}{at}. {_look_at(red or [task_id_of(next_step)])}")
    return value


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


def _look_at(task_ids: Sequence[str]) -> str:
    return f"The log of the task {task_ids[0] if task_ids else task_id_of(PREFLIGHT)} says why."


def _check_not_taken_back(flow: Flow, options: StepOptions) -> None:
    """Airflow tries a task again whose worker it believes dead, and does not know that a person took the wave back meanwhile."""
    record = read_waves(flow).waves.get(options.wave)
    if record is not None and record.state == ROLLED_BACK and record.who == options.who:
        fail(
            f"{flow.name}: {record.runner} rolled back the wave {record.name}, which this run had begun. Nothing was changed since. "
            "Trigger the DAG again to begin from the first step."
        )


def _log_outcome(outcome: StepOutcome) -> dict[str, Any]:
    """The outcome for XCom, after the log had it."""
    log_lines(outcome.lines, logging.INFO)
    for finding in outcome.findings:
        stopped = logging.WARNING if outcome.state == WAITING else logging.ERROR
        level = {STOP: stopped, WARNING: logging.WARNING}.get(finding.kind, logging.INFO)
        log.log(level, "%s", finding)
    return to_xcom(outcome.as_document(), {"step": outcome.step, "state": outcome.state})


def _wait(outcome: StepOutcome, value: Any, longest: timedelta, task_id: str, roll_back: str) -> None:
    """Gives the task's place to others for a moment. Raises AirflowRescheduleException, or AirflowFailException once it waited too long.

    The time counts from where this try first waited: a clear makes a new try, a pause does not.
    """
    context, now = get_current_context(), datetime.now(UTC)
    since = context["ti"].get_first_reschedule_date(context) or now
    first = next((finding.message for finding in outcome.findings), outcome.lines[-1] if outcome.lines else "for the clusters.")
    if now - since > longest:
        push_return_value(value)
        fail(
            f"{outcome.step} has waited for {longest.total_seconds() / 60:g} minutes: {first} Clear the task {task_id} with those after it "
            f"to wait on; or roll back: {roll_back}"
        )
    log.info("%s waits: %s It looks again in %d s.", outcome.step, first, LOOK_AGAIN.seconds)
    raise AirflowRescheduleException(now + LOOK_AGAIN)  # type: ignore[no-untyped-call]


def _list_names(summary: str, sentences: Sequence[str]) -> str:
    listed = "".join(f"\n- {sentence}" for sentence in sentences[:MAX_LISTED_ERRORS])
    more = len(sentences) - MAX_LISTED_ERRORS
    return f"{summary}:{listed}" + (f"\n… and {more} more, all of them in the log above." if more > 0 else "")
