"""At which write of `open` a run of the trial dies."""

from types import SimpleNamespace

import pytest

from kafka_mirror.ledger.control_records import MOVED, WAVE
from tests.trial import mover
from tests.trial.mover import LANE_DEATH, LEDGER_DEATH, MOVED_DEATH


class Died(BaseException):
    """In the place of a signal."""


@pytest.mark.parametrize(
    ("death", "written"),
    [
        (None, [WAVE, "lane", "lane", MOVED]),
        (LANE_DEATH, [WAVE, "lane"]),
        (LEDGER_DEATH, [WAVE, "lane", "lane"]),
        (MOVED_DEATH, [WAVE, "lane", "lane", MOVED]),
    ],
)
def test_a_run_dies_behind_its_first_lane_or_on_either_side_of_the_decision_and_not_before_open(monkeypatch, death, written):
    done = []

    def die():
        raise Died

    def write(_control, decisions):
        done.extend(decision.decision for decision in decisions)

    monkeypatch.setattr(mover, "_die", die)
    monkeypatch.setattr(mover, "BatchProducer", producer := SimpleNamespace(commit=lambda _producer: done.append("lane")))
    monkeypatch.setattr(mover, "Control", control := SimpleNamespace(write_next=write))
    say = mover._progress(death)
    say("last-copy begins.")
    producer.commit(None)
    assert done.pop() == "lane"
    say("open begins.")
    died = False
    try:
        control.write_next(None, [SimpleNamespace(decision=WAVE)])
        producer.commit(None)
        producer.commit(None)
        control.write_next(None, [SimpleNamespace(decision=MOVED)])
    except Died:
        died = True
    assert (died, done) == (death is not None, written)
