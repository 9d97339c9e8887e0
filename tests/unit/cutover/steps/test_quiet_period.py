"""Since when nobody writes."""

from kafka_mirror.cutover.steps.writers import QuietPeriod, add_look
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import LogOffsets

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)


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
