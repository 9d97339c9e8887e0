"""MirrorMaker 2 with exactly-once support, killed in its transactions: taken over and handed back, with nothing lost or doubled."""

import pytest

from kafka_mirror.migration.hand_back import HandBackRequest as HandBack
from kafka_mirror.migration.hand_back import hand_back
from tests.integration.conftest import make_mirroring
from tests.integration.taking_turns import arrived, exact, make_maker, taken_over

__all__ = ["make_maker", "make_mirroring"]


@pytest.mark.faults  # by hand, and short, in tests/integration/test_take_over.py
def test_exactly_once_tasks_are_fenced_and_their_open_transaction_is_ended(pair, make_mirroring, make_maker):
    mirroring = make_mirroring(pair, {"source.consumer.isolation.level": "read_committed"})
    topic = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, topic, 2)
    mirroring.oracle.produce(mirroring.source, topic, 500, seed=1, transactions=50, abort_percent=20)
    maker = make_maker(
        {"target.exactly.once.source.support": "enabled", "source.consumer.isolation.level": "read_committed", "tasks.max": "2"}
    )
    maker.start()
    arrived(mirroring, topic, sum(each.records for each in mirroring.oracle.count(mirroring.source, topic)), "read_committed")
    mirroring.oracle.produce(mirroring.source, topic, 40_000, seed=2)
    arrived(mirroring, topic, 501)
    maker.kill()
    done = taken_over(mirroring)
    assert done.errors == ()
    assert f"Fenced: {pair.source}-mm2-MirrorSourceConnector-1." in done.lines
    assert done.result["watermark"] == [stored + 1 for stored in done.result["stored"]], "offsets and data are one transaction"
    assert mirroring.copy().errors == ()
    exact(mirroring, topic)
    hand_back(mirroring.flow, HandBack("a test"))
    mirroring.oracle.produce(mirroring.source, topic, 200, seed=3)
    maker.start()
    committed = sum(each.records for each in mirroring.oracle.count(mirroring.source, topic))
    arrived(mirroring, topic, committed, "read_committed")
    maker.stop()
    exact(mirroring, topic)
