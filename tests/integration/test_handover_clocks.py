"""A flow that changes hands under clocks that disagree: no decision that was acted on before comes back to life."""

from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.ledger.clusters import clusters, control_of
from kafka_mirror.migration.hand_back import HandBackRequest as HandBack
from kafka_mirror.migration.hand_back import hand_back
from kafka_mirror.migration.take_over import TakeOverRequest as TakeOver
from kafka_mirror.migration.take_over import take_over
from tests.integration.decisions import WHY

DAY = timedelta(days=1)


@pytest.fixture
def mirroring(pair, make_mirroring):
    return make_mirroring(pair, {"offset.storage.replication.factor": "1"})


def test_a_restart_that_was_decided_by_a_clock_that_is_ahead_is_acted_on_once(mirroring, left, make_topic, decide, monkeypatch):
    topic = make_topic("orders", 1, 50)
    mirroring.copy()
    where = ("--flow", mirroring.pair.flow, "--topic", topic, "--partition", "0")
    _decide_a_day_ahead(monkeypatch, decide, *where)
    assert mirroring.copy().records == 40
    ((tp, before),) = mirroring.ledger().items()

    assert hand_back(mirroring.flow, HandBack("a test")).errors == ()
    assert mirroring.ledger()[tp].is_handed_back
    with clusters(mirroring.flow) as (_, target):
        restart, handed = (each for each in control_of(mirroring.flow, target).read() if each.decision in ("restart", "handed-back"))
    assert restart.when < handed.when == mirroring.ledger()[tp].decided.when

    assert take_over(mirroring.flow, TakeOver("a test")).errors == ()
    planned = plan(mirroring.flow)
    assert planned.ranges == ()
    assert copy_in_process(mirroring.flow, planned) == []
    after = mirroring.ledger()[tp]
    assert (after.watermark, after.target_next) == (50, before.target_next + 1), "behind the marker of the last transaction"


def _decide_a_day_ahead(monkeypatch, decide, *where):
    class Ahead(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz or UTC) + DAY

    with monkeypatch.context() as patched:
        patched.setattr("kafka_mirror.decide.run.datetime", Ahead)
        code, _, errors = decide("restart", *where, "--to-offset", "10", "--reason", WHY)
    assert code == 0, errors
