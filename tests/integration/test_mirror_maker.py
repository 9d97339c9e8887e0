"""The real MirrorMaker 2 and this mirror take turns with one flow: each goes on where the other stopped, however that one ended."""

import pytest

from kafka_mirror.errors import HandedBack, MirrorError, MirrorMakerRunning
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.migration.hand_back import HandBackRequest as HandBack
from kafka_mirror.migration.hand_back import hand_back
from kafka_mirror.migration.take_over import TakeOverRequest, take_over
from tests.integration.taking_turns import NEVER_FLUSHED, arrived, exact, make_maker, taken_over

__all__ = ["make_maker"]


def refusal(call):
    with pytest.raises(MirrorError) as raised:
        call()
    return raised.value


def test_a_flow_changes_hands_and_nothing_is_lost_or_doubled(mirroring, make_topic, make_maker):
    orders, payments = make_topic("orders", 3, 600), make_topic("payments", 1, 50)
    maker = make_maker(NEVER_FLUSHED)
    maker.start()
    arrived(mirroring, orders, 600)
    arrived(mirroring, payments, 50)
    assert isinstance(refusal(lambda: take_over(mirroring.flow, TakeOverRequest("a test"))), MirrorMakerRunning)
    maker.stop()

    # Stopped in order: what Connect kept is where it stopped. Somebody else wrote to one of the remote topics meanwhile.
    mirroring.oracle.produce(mirroring.target, mirroring.pair.remote(payments), 1, seed=77)
    mirroring.oracle.produce(mirroring.source, orders, 300, seed=2)
    done = taken_over(mirroring)
    assert [(error.code, error.topic, error.offset) for error in done.errors] == [("TailInDoubt", payments, 50)]
    assert done.result["topic"] == [orders] * 3
    assert done.result["watermark"] == [stored + 1 for stored in done.result["stored"]]
    assert take_over(mirroring.flow, TakeOverRequest("a test")).result["ours"] == 3
    copied = mirroring.copy()
    assert (copied.records, {error.code for error in copied.errors}) == (300, {"UnexplainedTarget"})
    exact(mirroring, orders)
    assert taken_over(mirroring, topics=(payments,), at_stored=True).errors == ()
    assert mirroring.copy().state == "nothing to do"

    # Back to MirrorMaker 2, which is then killed while it copies: it kept no offset since.
    hand_back(mirroring.flow, HandBack("a test"))
    assert isinstance(refusal(mirroring.copy), HandedBack)
    mirroring.oracle.produce(mirroring.source, orders, 400, seed=3)
    maker.start()
    arrived(mirroring, orders, 1300)
    exact(mirroring, orders)
    mirroring.oracle.produce(mirroring.source, orders, 40_000, seed=4)
    arrived(mirroring, orders, 1301)
    maker.kill()
    mirroring.oracle.produce(mirroring.source, orders, 100, seed=5)
    done = taken_over(mirroring)
    assert done.errors == ()
    rows = dict(zip(zip(done.result["topic"], done.result["partition"], strict=True), done.result["watermark"], strict=True))
    stored = dict(zip(zip(done.result["topic"], done.result["partition"], strict=True), done.result["stored"], strict=True))
    assert any(rows[tp] > stored[tp] + 1 for tp in rows), "what Connect kept trails"
    assert mirroring.copy().errors == ()
    exact(mirroring, orders)
    assert {tp for tp in mirroring.ledger() if tp.topic == payments} == {TopicPartition(payments, 0)}
