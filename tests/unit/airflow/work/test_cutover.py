"""What a task of the cutover DAG says of a wave that was taken back by hand meanwhile, or whose fence was broken."""

from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowFailException

from kafka_mirror.airflow.operators import MirrorCutoverOperator
from kafka_mirror.airflow.work import cutover
from kafka_mirror.cutover.wave.record import ROLLED_BACK, UNDER_WAY, WaveRecord
from kafka_mirror.cutover.wave.run import WaveRun
from kafka_mirror.cutover.wave.step import FENCE, PLANNED, STOPPED, StepOptions, StepOutcome

RUN = "ann (run east-to-west.cutover / manual__1)"
FLOW = SimpleNamespace(name="east->west")


def check(monkeypatch, state, who=RUN):
    record = WaveRecord("w", ("orders",), (), PLANNED, who, "because", 1, state, runner="bob")
    monkeypatch.setattr(cutover, "read_waves", lambda _flow: SimpleNamespace(waves={"w": record}))
    cutover._check_not_taken_back(FLOW, StepOptions("w", RUN, "because", dry_run=False))


def test_the_next_try_of_its_first_task_does_not_begin_it_anew(monkeypatch):
    with pytest.raises(AirflowFailException, match="bob rolled back the wave w, which this run had begun"):
        check(monkeypatch, ROLLED_BACK)


@pytest.mark.parametrize(("state", "who"), [(UNDER_WAY, RUN), (ROLLED_BACK, "ann (run east-to-west.cutover / manual__0)")])
def test_a_wave_that_is_under_way_goes_on_and_that_of_another_run_is_begun_anew(monkeypatch, state, who):
    assert check(monkeypatch, state, who) is None


def test_a_step_whose_fence_is_broken_names_the_fences_task_as_the_one_to_clear(monkeypatch):
    broken = WaveRun(WaveRecord("w", ("orders",), (), PLANNED, RUN, "because", 1), (StepOutcome(FENCE, STOPPED),))
    monkeypatch.setattr(cutover, "configured_flow", lambda _name: FLOW)
    monkeypatch.setattr(cutover, "get_current_context", lambda: {"dag_run": SimpleNamespace(triggering_user_name="ann")})
    monkeypatch.setattr(cutover, "run_name", lambda: "east-to-west.cutover / manual__1")
    monkeypatch.setattr(cutover, "push_return_value", lambda _value: None)
    monkeypatch.setattr(cutover, "run_wave", lambda *_arguments, only: broken)
    task = MirrorCutoverOperator(task_id="open", flow="east->west", step="open", topics="orders", plan_only=False)
    with pytest.raises(AirflowFailException, match="clear the task fence with those after it"):
        task.execute({})
