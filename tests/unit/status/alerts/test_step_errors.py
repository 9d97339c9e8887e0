"""Errors that only a step can see: which of them stand, and that a check says each of them once."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.airflow.dags import steps
from kafka_mirror.config.deadlines import Limits
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.base import CLASSES
from kafka_mirror.formats.documents import pack, unpack
from kafka_mirror.status.alerts.audits import StepErrors, add_step_errors
from kafka_mirror.status.judge import problems
from kafka_mirror.status.steps import STEPS, SWITCHES
from tests.unit.status.observations import error, partition, seen

REFUSED = error("RemoteConfigRefused", "orders")
PASSING = error("KafkaFailure", "orders", retriable=True)


def test_an_error_stands_until_a_run_ends_without_it_and_one_that_is_retried_counts_from_the_second_run_on() -> None:
    first = StepErrors().record_run("run 1", [REFUSED, PASSING])
    assert first.standing == [REFUSED]
    assert first.record_run("run 1", [PASSING]).standing == [], "another try of the same run"
    second = first.record_run("run 2", [REFUSED, PASSING])
    assert second.standing == [REFUSED, PASSING]
    assert second.record_run("run 2", [PASSING]).standing == [PASSING]
    assert second.record_run("run 3", []).standing == []
    assert second.record_run("run 3", []).record_run("run 4", [PASSING]).standing == []
    assert unpack(StepErrors, pack(second)) == second


@given(
    code=st.sampled_from(sorted(set(CLASSES) - {"ClusterUnreachable", "AuthenticationFailed"})),
    topic=st.sampled_from([None, "orders"]),
    step=st.sampled_from(sorted(STEPS)),
    runs=st.integers(2, 5),
)
def test_every_error_of_the_runbook_that_a_step_ends_with_time_after_time_is_an_alert_and_its_end_ends_it(
    code: str, topic: str | None, step: str, runs: int
) -> None:
    retriable = CLASSES[code].retriable
    known = StepErrors()
    for number in range(runs):
        known = known.record_run(f"{step} {number}", [ErrorReport(code, "It failed.", topic, retriable=retriable)])
    well = seen(0, partition(9, 9))
    found = problems(add_step_errors(well, known.standing), Limits())
    assert [(each.kind, each.topic) for each in found.problems if each.opens] == [(code, None if retriable else topic)]
    over = add_step_errors(well, known.record_run("the next", []).standing)
    assert problems(over, Limits()).problems == ()
    assert problems(over, Limits()).judged(code)


def test_what_the_check_saw_by_itself_is_not_said_twice() -> None:
    both = add_step_errors(seen(0, partition(9, 9), errors=[REFUSED]), [REFUSED, error("RemoteConfigRefused", "bills")])
    assert [each.topic for each in both.status.errors] == ["orders", "bills"]
    assert both.of_steps == {"RemoteConfigRefused"}
    assert add_step_errors(seen(0, partition(9, 9), errors=[REFUSED]), [REFUSED]).of_steps == frozenset()
    silent = add_step_errors(seen(0), [error("ClusterUnreachable"), error("AuthenticationFailed")])
    assert silent.status.errors == (), "it is an alert by the cluster's name"


def test_a_step_that_is_switched_off_is_known_by_the_property_of_its_dag() -> None:
    kinds = steps.STEPS
    assert {step: kinds[step].enabled or "emit.heartbeats.enabled" for step in STEPS} == dict(SWITCHES)
