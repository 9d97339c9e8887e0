"""Who writes although the wave is fenced."""

from datetime import UTC, datetime

from kafka_mirror.cutover.steps.writers import FenceWatch, QuietPeriod, Writers, find_newest_record, report_fence, report_silent_producers
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import ActiveProducer
from kafka_mirror.kafka.producers import OpenTransaction

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
ORDERS = TopicPartition("orders", 0)
SILENT, BEFORE, AFTER = ActiveProducer(6, 0, 1_000, None), ActiveProducer(7, 2, 2_000, None), ActiveProducer(7, 2, 3_000, None)


def findings(producers=(), growth=None, by="acl", owners=None, **period):
    watch = FenceWatch(
        QuietPeriod(frozenset([ORDERS]), 0.0, 0.0, **period),
        {ORDERS: (SILENT, BEFORE)},
        Writers(NOW, {ORDERS: producers}, owners or {}, growth or {}, 4.0),
    )
    return list(report_fence(watch, by))


def test_only_the_producer_that_wrote_since_the_watch_began_is_named():
    (finding,) = findings((SILENT, AFTER), {ORDERS: 3})
    assert finding.code == "StillWritten"
    assert finding.message == "orders: it grew by 3 offsets in 4.0 s, in partitions 0, by producer id 7 with epoch 2."
    assert finding.error.next.startswith("Stop the producer itself: a DENY does not hold off a super user.")


def test_growth_that_no_producer_explains_comes_from_one_without_an_id():
    (finding,) = findings((SILENT, BEFORE), {ORDERS: 3}, by="hand")
    assert finding.message.endswith("by a producer that is not idempotent, so Kafka knows no id of it.")
    assert finding.error.next.startswith("Stop the producer. Kafka tells no producer's address")


def test_an_open_transaction_is_named_with_its_owner_and_the_commands_for_one_that_hangs():
    owner = OpenTransaction(7, 2, "tx", 1, 34.4)
    (finding,) = findings((ActiveProducer(7, 2, 1, 12),), open_from={ORDERS: 12}, owners={ORDERS: owner})
    assert finding.message == f"orders-0: a transaction is open from offset 12 on, for 34 s: {owner}."
    assert finding.error.commands == (
        "kafka-transactions.sh --bootstrap-server <source> find-hanging --topic orders --partition 0",
        "kafka-transactions.sh --bootstrap-server <source> abort --topic orders --partition 0 --start-offset 12",
    )


def test_of_a_transaction_whose_coordinator_says_nothing_its_leader_knows_the_id():
    (finding,) = findings((ActiveProducer(7, 2, 1, 12),), open_from={ORDERS: 12})
    assert finding.message == "orders-0: a transaction is open from offset 12 on: producer id 7 with epoch 2."


def test_a_leader_that_is_silent_is_named():
    assert [finding.code for finding in findings(silent=frozenset([ORDERS]))] == ["LeaderMissing"]


def test_producers_that_write_no_more_are_information():
    (finding,) = report_silent_producers(Writers(NOW, {ORDERS: (SILENT, BEFORE)}))
    assert finding.message == "Leaders remember 2 producer ids that wrote before, and write no more: 6, 7."
    assert list(report_silent_producers(Writers(NOW, {ORDERS: ()}))) == []


def test_the_newest_record_is_that_of_any_producer():
    assert find_newest_record({ORDERS: (AFTER, SILENT, ActiveProducer(8, 0, None, None))}) == 3_000
    assert find_newest_record({ORDERS: ()}) is None


def test_of_brokers_that_are_too_old_to_tell_nobody_is_called_not_idempotent_and_no_tool_is_named_that_they_do_not_know():
    period = QuietPeriod(frozenset([ORDERS]), 0.0, 0.0, open_from={ORDERS: 12})
    watch = FenceWatch(period, {}, Writers(NOW, growth={ORDERS: 3}, seconds=4.0, untold={ORDERS: 12}))
    written, transaction = report_fence(watch, "acl")
    assert written.message.endswith("by somebody whom brokers older than Kafka 2.8 do not name.")
    assert transaction.message == "orders-0: a transaction is open from offset 12 on."
    assert transaction.error.commands == ()
    assert "transaction.timeout.ms" in transaction.error.next
