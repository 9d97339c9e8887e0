"""A long backlog and everything beside it: in one lane and in several, within one run and over runs whose budget ends too soon."""

import pytest

from kafka_mirror.formats.offsets.partition import TopicPartition
from services.oracle import Record, Side

SMALL_TRANSACTIONS = {"source->target.mirror.transaction.max.bytes": "262144"}


@pytest.fixture
def make_backlog(make_mirroring, pair, oracle):
    """Makes a flow with a backlog of some fifty transactions in one partition and, beside it, a topic with two records in each of 20."""

    def make(**settings):
        mirroring = make_mirroring(pair, {**SMALL_TRANSACTIONS, **{f"source->target.mirror.{k}": str(v) for k, v in settings.items()}})
        long, small = pair.topic("long"), pair.topic("small")
        oracle.create_topic(mirroring.source, long, 1)
        oracle.create_topic(mirroring.source, small, 20)
        oracle.produce(mirroring.source, long, 12_000, seed=1, min_size=1000, max_size=1000)
        produce_small(mirroring, small, 1)
        return mirroring, long, small

    return make


def produce_small(mirroring, topic, generation):
    records = [Record(b"%d-%d" % (generation, n), b"v", partition=n % 20) for n in range(40)]
    mirroring.oracle.produce_records(mirroring.source, topic, records)


def watermark(mirroring, topic, partition=0):
    return mirroring.ledger()[TopicPartition(topic, partition)].watermark


def green(judged):
    """A run whose budget ended before its work: nothing is wrong, and what is left is said."""
    assert (judged.state, judged.errors) == ("done", ())
    assert judged.owed > 0
    return judged


def test_a_long_backlog_keeps_no_partition_of_its_lane_waiting(make_backlog, make_mirroring, pair):
    mirroring, long, small = make_backlog(**{"lanes": 1, "run.max.bytes": 400_000})
    first = green(mirroring.copy())
    assert mirroring.assert_mirrored(small).records == 40
    assert 0 < watermark(mirroring, long) < 12_000
    assert first.bytes < 600_000, "a budget of bytes is kept to about a transaction"

    produce_small(mirroring, small, 2)
    before = watermark(mirroring, long)
    green(mirroring.copy())
    assert mirroring.assert_mirrored(small).records == 80
    assert watermark(mirroring, long) > before

    rest = make_mirroring(pair, {"source->target.mirror.lanes": "1"}).copy()
    assert (rest.state, rest.owed) == ("done", 0)
    mirroring.assert_mirrored(long)


def test_with_one_transaction_a_run_everybody_has_a_turn(make_backlog):
    mirroring, long, small = make_backlog(**{"lanes": 1, "run.max.bytes": 1})
    for _ in range(2):
        green(mirroring.copy())
    assert mirroring.assert_mirrored(small).records == 40
    assert watermark(mirroring, long) > 0
    produce_small(mirroring, small, 2)
    before = watermark(mirroring, long)
    for _ in range(2):
        green(mirroring.copy())
    assert mirroring.assert_mirrored(small).records == 80
    assert watermark(mirroring, long) > before


def test_long_backlogs_of_one_lane_take_turns_over_runs(make_mirroring, pair, oracle):
    mirroring = make_mirroring(pair, {**SMALL_TRANSACTIONS, "source->target.mirror.lanes": "1", "source->target.mirror.run.max.bytes": "1"})
    topic = pair.topic("long")
    oracle.create_topic(mirroring.source, topic, 5)
    for partition in range(5):
        oracle.produce(mirroring.source, topic, 1000, seed=partition, partition=partition, min_size=1000, max_size=1000)
    for run in range(1, 6):
        green(mirroring.copy())
        assert sum(watermark(mirroring, topic, partition) > 0 for partition in range(5)) == run


def test_a_long_backlog_keeps_no_other_lane_waiting_and_moves_on_in_every_other_run_at_least(make_backlog):
    # 12 MB at this rate take three seconds on any machine: the budget of one second ends the first run before its work.
    limits = {"run.max.seconds": 1, "max.bytes.per.second": 4_000_000, "transaction.max.bytes": 65536}
    mirroring, long, small = make_backlog(lanes=8, **limits)
    green(mirroring.copy())
    assert mirroring.assert_mirrored(small).records == 40, "each lane has a transaction, however short the time"
    assert mirroring.copy().errors == ()
    assert watermark(mirroring, long) > 0


def test_a_budget_ends_a_run_cleanly_and_the_next_goes_on(pair, make_mirroring):
    budget = {"source->target.mirror.run.max.bytes": "200000", "source->target.mirror.transaction.max.bytes": "262144"}
    mirroring = make_mirroring(pair, budget)
    name = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 4)
    mirroring.oracle.produce(mirroring.source, name, 10_000, seed=19, min_size=100)
    first = mirroring.copy()
    assert (first.state, first.errors) == ("done", ())
    assert 0 < first.records < 10_000
    assert first.owed > 0
    assert all(mirroring.ledger()[TopicPartition(name, p)].watermark > 0 for p in range(4)), "every lane gets at least one transaction"
    rounds = 0
    while mirroring.copy().state == "done":
        rounds += 1
        assert rounds < 50
    comparison = mirroring.oracle.compare(Side(mirroring.source, name), Side(mirroring.target, pair.remote(name)))
    assert comparison.equal, str(comparison)
