"""The real MirrorMaker 2 and this mirror take turns with one flow: each goes on where the other stopped, however that one ended."""

import time

import pytest

from mirror.errors import HandedBack, MirrorError, MirrorMakerRunning
from mirror.handover.hand_back import Request as HandBack
from mirror.handover.hand_back import hand_back
from mirror.handover.take_over import Request, take_over
from mirror.offsets.partition import TopicPartition
from services.mirrormaker import MirrorMaker
from services.oracle import Side

OFTEN = {"refresh.topics.interval.seconds": "2", "emit.checkpoints.enabled": "false", "emit.heartbeats.enabled": "false"}
NEVER_FLUSHED = {"target.offset.flush.interval.ms": "600000"}
"""Kafka Connect keeps offsets when a worker is stopped in order, and at no other time."""


@pytest.fixture
def make_maker(pair):
    made = []

    def make(extra=None):
        maker = MirrorMaker(pair, {**OFTEN, **(extra or {})})
        made.append(maker)
        return maker

    yield make
    for maker in made:
        maker.kill()


def eventually(condition, seconds=90, what=""):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
    return found


def arrived(mirroring, topic, records):
    """Waits until so many records of the topic stand on the target."""

    def enough():
        try:
            counted = mirroring.oracle.count(mirroring.target, mirroring.pair.remote(topic), "read_uncommitted")
        except Exception:  # noqa: BLE001 — the topic is not there yet
            return False
        return sum(each.records for each in counted) >= records

    eventually(enough, what=f"{records} records of {topic}")


def taken_over(mirroring, **options):
    """Takes over, once MirrorMaker 2 has left its group: a worker that was killed stays in it for a while."""

    def done():
        try:
            return take_over(mirroring.flow, Request("a test", **options))
        except MirrorMakerRunning:
            return None

    return eventually(done, 40, "the worker left its group")


def exact(mirroring, topic):
    """The witness compares record by record, and counts: nothing lost, doubled, foreign or out of order."""
    mirroring.assert_mirrored(topic)
    remote = Side(mirroring.target, mirroring.pair.remote(topic))
    for account in mirroring.oracle.account(Side(mirroring.source, topic), remote):
        assert (account.lost, account.doubled, account.foreign, account.disordered) == (0, 0, 0, 0)


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
    assert isinstance(refusal(lambda: take_over(mirroring.flow, Request("a test"))), MirrorMakerRunning)
    maker.stop()

    # Stopped in order: what Connect kept is where it stopped. Somebody else wrote to one of the remote topics meanwhile.
    mirroring.oracle.produce(mirroring.target, mirroring.pair.remote(payments), 1, seed=77)
    mirroring.oracle.produce(mirroring.source, orders, 300, seed=2)
    done = taken_over(mirroring)
    assert [(error.code, error.topic, error.offset) for error in done.errors] == [("TailInDoubt", payments, 50)]
    assert done.result["topic"] == [orders] * 3
    assert done.result["watermark"] == [stored + 1 for stored in done.result["stored"]]
    assert take_over(mirroring.flow, Request("a test")).result["ours"] == 3
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


def test_exactly_once_tasks_are_fenced_and_their_open_transaction_is_ended(pair, make_mirroring, make_maker):
    mirroring = make_mirroring(pair, {"source.consumer.isolation.level": "read_committed"})
    topic = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, topic, 2)
    mirroring.oracle.produce(mirroring.source, topic, 500, seed=1, transactions=50, abort_percent=20)
    maker = make_maker(
        {"target.exactly.once.source.support": "enabled", "source.consumer.isolation.level": "read_committed", "tasks.max": "2"}
    )
    maker.start()
    arrived(mirroring, topic, 100)
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
    arrived(mirroring, topic, committed)
    maker.stop()
    exact(mirroring, topic)
