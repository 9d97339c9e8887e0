"""Who still writes, and whose transaction is open."""

from datetime import UTC, datetime

from kafka_mirror.cutover.steps.writers import RECENT_SECONDS, Writers, report_writers
from kafka_mirror.cutover.wave.step import INFORMATION, WARNING
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import ActiveProducer
from kafka_mirror.kafka.producers import OpenTransaction

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
ORDERS = TopicPartition("orders", 0)


def stamp(seconds_ago):
    return int((NOW.timestamp() - seconds_ago) * 1000)


def producer(number=7, ago=1.0, start=None):
    return ActiveProducer(number, 2, stamp(ago), start)


def findings(*producers, **facts):
    writers = Writers(NOW, {ORDERS: producers}, **facts)
    return [(each.kind, each.code, each.message) for each in report_writers(writers)]


def test_where_nobody_writes_nothing_is_said():
    assert findings(growth={ORDERS: 0}) == []


def test_a_producer_is_named_by_id_epoch_partition_and_the_time_of_its_last_record():
    (found,) = findings(producer(ago=60))
    assert found[:2] == (WARNING, "ActiveProducers")
    assert "id 7 with epoch 2 (partitions 0, last at 2026-11-21 07:59:00 UTC)" in found[2]


def test_a_producer_of_several_partitions_is_one():
    other = TopicPartition("orders", 1)
    (found,) = list(report_writers(Writers(NOW, {ORDERS: (producer(ago=60),), other: (producer(ago=30),)})))
    assert "1 producer writes to it" in found.message
    assert "(partitions 0, 1, last at 2026-11-21 07:59:30 UTC)" in found.message


def test_a_producer_that_wrote_nothing_for_long_is_information_alone():
    assert findings(producer(ago=RECENT_SECONDS + 1)) == [
        (INFORMATION, "QuietProducers", "1 more producer ids have written nothing newer than 10 minutes: 7.")
    ]
    assert findings(producer(ago=RECENT_SECONDS - 1))[0][1] == "ActiveProducers"


def test_an_open_transaction_is_named_with_its_owner_and_its_age():
    owner = OpenTransaction(7, 2, "tx", 1, 34.4)
    found = findings(producer(start=12, ago=RECENT_SECONDS + 1), owners={ORDERS: owner})
    assert found[0] == (
        WARNING,
        "TransactionOpen",
        "orders-0: a transaction is open from offset 12 on, for 34 s: transactional id 'tx', producer id 7 with epoch 2, "
        "coordinator is broker 1.",
    )
    assert found[1][1] == "ActiveProducers", "however old its records are"


def test_a_younger_transaction_of_the_partition_is_not_taken_for_that_of_the_oldest_ones_owner():
    owner = OpenTransaction(7, 2, "tx", 1, 34.4)
    found = [
        each[2] for each in findings(producer(start=12), producer(8, start=20), owners={ORDERS: owner}) if each[1] == "TransactionOpen"
    ]
    assert ["'tx'" in each for each in found] == [True, False]
    assert found[1].endswith("from offset 20 on: producer id 8 with epoch 2.")


def test_an_end_that_moves_is_named_and_that_nobody_is_known_who_could_have_moved_it():
    assert findings(growth={ORDERS: 30}, seconds=2.0) == [
        (
            WARNING,
            "TopicGrows",
            "orders: it grew by 30 offsets in 2.0 s, in partitions 0; of some of it Kafka knows no producer, so it is not idempotent and "
            "has no id.",
        )
    ]
    known = [each for each in findings(producer(), growth={ORDERS: 30}, seconds=2.0) if each[1] == "TopicGrows"]
    assert known[0][2].endswith("in partitions 0.")


def test_where_leaders_are_too_old_to_tell_it_is_said_that_the_fence_sees_ends_alone():
    late = TopicPartition("orders", 1)
    found = list(report_writers(Writers(NOW, growth={ORDERS: 3}, seconds=1.0, untold={ORDERS: None, late: 12})))
    assert [(each.kind, each.code) for each in found] == [(WARNING, each) for each in ("TopicGrows", "TransactionOpen", "WritersUntold")]
    grows, transaction, untold = (each.message for each in found)
    assert grows == "orders: it grew by 3 offsets in 1.0 s, in partitions 0.", "whether its producer is idempotent is not known"
    assert transaction == "orders-1: a transaction is open from offset 12 on."
    assert untold.startswith("It is unknown who writes to orders-0, orders-1: their leaders are older than Kafka 2.8.")
