"""Who writes to a wave: what the source is asked and says, since when nobody writes, and who writes although the wave is fenced."""

from datetime import UTC, datetime
from types import SimpleNamespace as Answer

import pytest

from kafka_mirror.config import load
from kafka_mirror.cutover.steps import writers
from kafka_mirror.cutover.steps.writers import (
    RECENT_SECONDS,
    FenceWatch,
    QuietPeriod,
    Writers,
    add_look,
    find_newest_record,
    report_fence,
    report_silent_producers,
    report_writers,
    survey_writers,
)
from kafka_mirror.cutover.wave.step import INFORMATION, WARNING
from kafka_mirror.errors import KafkaFailure
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import ActiveProducer, LogOffsets
from kafka_mirror.kafka.producers import OpenTransaction
from tests.unit.cli.command_line import VALID

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)


def stamp(seconds_ago):
    return int((NOW.timestamp() - seconds_ago) * 1000)


def producer(number=7, ago=1.0, start=None):
    return ActiveProducer(number, 2, stamp(ago), start)


def said_of(*producers, **facts):
    writers = Writers(NOW, {ORDERS: producers}, **facts)
    return [(each.kind, each.code, each.message) for each in report_writers(writers)]


def test_where_nobody_writes_nothing_is_said():
    assert said_of(growth={ORDERS: 0}) == []


def test_a_producer_is_named_by_id_epoch_partition_and_the_time_of_its_last_record():
    (found,) = said_of(producer(ago=60))
    assert found[:2] == (WARNING, "ActiveProducers")
    assert "id 7 with epoch 2 (partitions 0, last at 2026-11-21 07:59:00 UTC)" in found[2]


def test_a_producer_of_several_partitions_is_one():
    other = TopicPartition("orders", 1)
    (found,) = list(report_writers(Writers(NOW, {ORDERS: (producer(ago=60),), other: (producer(ago=30),)})))
    assert "1 producer writes to it" in found.message
    assert "(partitions 0, 1, last at 2026-11-21 07:59:30 UTC)" in found.message


def test_a_producer_that_wrote_nothing_for_long_is_information_alone():
    assert said_of(producer(ago=RECENT_SECONDS + 1)) == [
        (INFORMATION, "QuietProducers", "1 more producer ids have written nothing newer than 10 minutes: 7.")
    ]
    assert said_of(producer(ago=RECENT_SECONDS - 1))[0][1] == "ActiveProducers"


def test_an_open_transaction_is_named_with_its_owner_and_its_age():
    owner = OpenTransaction(7, 2, "tx", 1, 34.4)
    found = said_of(producer(start=12, ago=RECENT_SECONDS + 1), owners={ORDERS: owner})
    assert found[0] == (
        WARNING,
        "TransactionOpen",
        "orders-0: a transaction is open from offset 12 on, for 34 s: transactional id 'tx', producer id 7 with epoch 2, "
        "coordinator is broker 1.",
    )
    assert found[1][1] == "ActiveProducers", "however old its records are"


def test_a_younger_transaction_of_the_partition_is_not_taken_for_that_of_the_oldest_ones_owner():
    owner = OpenTransaction(7, 2, "tx", 1, 34.4)
    found = [each[2] for each in said_of(producer(start=12), producer(8, start=20), owners={ORDERS: owner}) if each[1] == "TransactionOpen"]
    assert ["'tx'" in each for each in found] == [True, False]
    assert found[1].endswith("from offset 20 on: producer id 8 with epoch 2.")


def test_an_end_that_moves_is_named_and_that_nobody_is_known_who_could_have_moved_it():
    assert said_of(growth={ORDERS: 30}, seconds=2.0) == [
        (
            WARNING,
            "TopicGrows",
            "orders: it grew by 30 offsets in 2.0 s, in partitions 0; of some of it Kafka knows no producer, so it is not idempotent and "
            "has no id.",
        )
    ]
    known = [each for each in said_of(producer(), growth={ORDERS: 30}, seconds=2.0) if each[1] == "TopicGrows"]
    assert known[0][2].endswith("in partitions 0.")


def test_where_leaders_are_too_old_to_tell_it_is_said_that_the_fence_sees_ends_alone():
    late = TopicPartition("orders", 1)
    found = list(report_writers(Writers(NOW, growth={ORDERS: 3}, seconds=1.0, untold={ORDERS: None, late: 12})))
    assert [(each.kind, each.code) for each in found] == [(WARNING, each) for each in ("TopicGrows", "TransactionOpen", "WritersUntold")]
    grows, transaction, untold = (each.message for each in found)
    assert grows == "orders: it grew by 3 offsets in 1.0 s, in partitions 0.", "whether its producer is idempotent is not known"
    assert transaction == "orders-1: a transaction is open from offset 12 on."
    assert untold.startswith("It is unknown who writes to orders-0, orders-1: their leaders are older than Kafka 2.8.")


SILENT_PRODUCER, OLDER, YOUNGER = ActiveProducer(7, 0, 1, None), ActiveProducer(8, 0, 1, 20), ActiveProducer(9, 0, 1, 25)


@pytest.fixture
def flow(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(VALID + "mirror.open.transaction.max.seconds = 77\n")
    return load([file]).flow("east->west")


def test_the_owner_of_the_oldest_open_transaction_of_each_partition_is_asked_for(flow, monkeypatch):
    questions = []

    def holders(_source, starts, longest):
        questions.append((starts, longest))
        return {ORDERS: OpenTransaction(8, 0, "tx", 1, 3.0)}

    monkeypatch.setattr(writers, "active_producers", lambda *_: {ORDERS: (SILENT_PRODUCER, YOUNGER, OLDER), PAYMENTS: (SILENT_PRODUCER,)})
    monkeypatch.setattr(writers, "holders", holders)
    found = survey_writers(flow, None, [ORDERS], {})
    assert questions == [({ORDERS: 20}, 77)]
    assert found.owners == {ORDERS: OpenTransaction(8, 0, "tx", 1, 3.0)}


def test_without_open_transactions_no_owner_is_asked_for(flow, monkeypatch):
    monkeypatch.setattr(writers, "active_producers", lambda *_: {ORDERS: (SILENT_PRODUCER,)})
    monkeypatch.setattr(writers, "holders", lambda *_: pytest.fail("nobody holds anything"))
    assert survey_writers(flow, None, [ORDERS], {}).owners == {}


def test_partitions_of_which_leaders_are_too_old_to_tell_come_with_where_a_transaction_holds_them_back(flow, monkeypatch):
    refused = {"payments": KafkaFailure("payments")}
    monkeypatch.setattr(writers, "active_producers", lambda *_: {})
    source = Answer(log_offsets=lambda asked, _refused: {tp: LogOffsets(0, 4 + tp.partition, 5, None) for tp in asked})
    partitions = [ORDERS, TopicPartition("orders", 1), PAYMENTS]
    found = survey_writers(flow, source, partitions, refused)
    assert found.untold == {ORDERS: 4, TopicPartition("orders", 1): None}, "who is refused is another matter"


def at(end, stable=None):
    return LogOffsets(0, end if stable is None else stable, end, 1)


def looks(*answers):
    """The period after looks at seconds 0, 1, 2, …"""
    period = QuietPeriod(frozenset([ORDERS, PAYMENTS]), 0.0, 0.0)
    for second, answer in enumerate(answers):
        period = add_look(period, answer, float(second))
    return period


STILL = {ORDERS: at(5), PAYMENTS: at(9)}


def test_ends_that_stand_still_are_quiet_from_the_first_look_on():
    period = looks(STILL, STILL, STILL)
    assert (period.since, period.growth, period.ends) == (0.0, {}, {ORDERS: 5, PAYMENTS: 9})
    assert (period.lasts(2.0, 2.0), period.lasts(2.1, 2.0)) == (True, False)


def test_a_partition_that_grows_begins_the_quiet_anew_for_all():
    period = looks(STILL, {**STILL, ORDERS: at(8)}, {**STILL, ORDERS: at(8)})
    assert (period.since, period.growth, period.last_growth) == (1.0, {ORDERS: 3}, 1.0)
    assert not period.lasts(2.0, 2.0)


def test_growth_counts_from_the_first_look_and_names_when_it_was_seen_last():
    period = looks(STILL, {**STILL, ORDERS: at(8)}, {ORDERS: at(9), PAYMENTS: at(10)}, {ORDERS: at(9), PAYMENTS: at(11)})
    assert period.growth == {ORDERS: 4, PAYMENTS: 2}
    assert (period.measure_growth_after(2.0), period.measure_growth_after(1.0)) == ({PAYMENTS: 2}, {ORDERS: 4, PAYMENTS: 2})


def test_a_log_that_became_shorter_moved_too():
    assert looks(STILL, {**STILL, ORDERS: at(4)}).since == 1.0


def test_an_open_transaction_is_no_quiet_although_the_end_stands_still():
    period = looks({**STILL, ORDERS: at(5, stable=3)}, {**STILL, ORDERS: at(5, stable=3)})
    assert (period.open_from, period.is_still, period.lasts(0.0, 9.0)) == ({ORDERS: 3}, False, False)
    assert add_look(period, STILL, 2.0).since == 1.0, "the newest look that saw it open"


def test_a_partition_whose_leader_is_silent_is_no_quiet_and_keeps_the_end_that_it_had():
    period = looks(STILL, {ORDERS: at(5)})
    assert (period.silent, period.lasts(0.0, 9.0)) == ({PAYMENTS}, False)
    assert looks(STILL, {ORDERS: at(5), PAYMENTS: LogOffsets(0, -1, 9, 1)}).silent == {PAYMENTS}
    grown = add_look(period, {**STILL, PAYMENTS: at(12)}, 2.0)
    assert (grown.growth, grown.since) == ({PAYMENTS: 3}, 2.0)


def test_a_partition_that_another_broker_leads_since_begins_the_quiet_anew_though_its_end_stands_still():
    led_anew = {**STILL, ORDERS: LogOffsets(0, 5, 5, 2)}
    period = looks(STILL, led_anew, led_anew)
    assert (period.since, period.growth, period.epochs) == (1.0, {}, {ORDERS: 2, PAYMENTS: 1})
    assert looks(STILL, {**STILL, ORDERS: LogOffsets(0, 5, 5, None)}).since == 0.0, "who does not tell says nothing"


SILENT, BEFORE, AFTER = ActiveProducer(6, 0, 1_000, None), ActiveProducer(7, 2, 2_000, None), ActiveProducer(7, 2, 3_000, None)


def said_of_fenced(producers=(), growth=None, by="acl", owners=None, **period):
    watch = FenceWatch(
        QuietPeriod(frozenset([ORDERS]), 0.0, 0.0, **period),
        {ORDERS: (SILENT, BEFORE)},
        Writers(NOW, {ORDERS: producers}, owners or {}, growth or {}, 4.0),
    )
    return list(report_fence(watch, by))


def test_only_the_producer_that_wrote_since_the_watch_began_is_named():
    (finding,) = said_of_fenced((SILENT, AFTER), {ORDERS: 3})
    assert finding.code == "StillWritten"
    assert finding.message == "orders: it grew by 3 offsets in 4.0 s, in partitions 0, by producer id 7 with epoch 2."
    assert finding.error.next.startswith("Stop the producer itself: a DENY does not hold off a super user.")


def test_growth_that_no_producer_explains_comes_from_one_without_an_id():
    (finding,) = said_of_fenced((SILENT, BEFORE), {ORDERS: 3}, by="hand")
    assert finding.message.endswith("by a producer that is not idempotent, so Kafka knows no id of it.")
    assert finding.error.next.startswith("Stop the producer. Kafka tells no producer's address")


def test_an_open_transaction_is_named_with_its_owner_and_the_commands_for_one_that_hangs():
    owner = OpenTransaction(7, 2, "tx", 1, 34.4)
    (finding,) = said_of_fenced((ActiveProducer(7, 2, 1, 12),), open_from={ORDERS: 12}, owners={ORDERS: owner})
    assert finding.message == f"orders-0: a transaction is open from offset 12 on, for 34 s: {owner}."
    assert finding.error.commands == (
        "kafka-transactions.sh --bootstrap-server <source> find-hanging --topic orders --partition 0",
        "kafka-transactions.sh --bootstrap-server <source> abort --topic orders --partition 0 --start-offset 12",
    )


def test_of_a_transaction_whose_coordinator_says_nothing_its_leader_knows_the_id():
    (finding,) = said_of_fenced((ActiveProducer(7, 2, 1, 12),), open_from={ORDERS: 12})
    assert finding.message == "orders-0: a transaction is open from offset 12 on: producer id 7 with epoch 2."


def test_a_leader_that_is_silent_is_named():
    assert [finding.code for finding in said_of_fenced(silent=frozenset([ORDERS]))] == ["LeaderMissing"]


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
