"""A wave that somebody took back by hand while the DAG's run that had begun it goes on."""

from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowFailException

from kafka_mirror.airflow import cutover
from kafka_mirror.cutover.wave import run
from kafka_mirror.cutover.wave.record import ROLLED_BACK, UNDER_WAY, WaveRecord
from kafka_mirror.cutover.wave.step import PLANNED, StepOptions

RUN = "ann (run east-to-west.cutover / manual__1)"
FLOW = SimpleNamespace(name="east->west")


def check(monkeypatch, state, who=RUN):
    record = WaveRecord("w", ("orders",), (), PLANNED, who, "because", 1, state, runner="bob")
    monkeypatch.setattr(run, "read_waves", lambda _flow: SimpleNamespace(waves={"w": record}))
    cutover._check_not_taken_back(FLOW, StepOptions("w", RUN, "because", dry_run=False))


def test_the_next_try_of_its_first_task_does_not_begin_it_anew(monkeypatch):
    with pytest.raises(AirflowFailException, match="bob rolled back the wave w, which this run had begun"):
        check(monkeypatch, ROLLED_BACK)


@pytest.mark.parametrize(("state", "who"), [(UNDER_WAY, RUN), (ROLLED_BACK, "ann (run east-to-west.cutover / manual__0)")])
def test_a_wave_that_is_under_way_goes_on_and_that_of_another_run_is_begun_anew(monkeypatch, state, who):
    assert check(monkeypatch, state, who) is None
