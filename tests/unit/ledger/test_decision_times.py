"""When a decision counts as taken: later than all that was decided before, whoever's clock is behind or ahead."""

from dataclasses import replace
from datetime import timedelta

import pytest

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.apply_decisions import act_on_decisions
from kafka_mirror.ledger.control_records import HANDED_BACK, TAKEN_OVER
from kafka_mirror.ledger.decisions import NO_DECISIONS, Decisions, moment_after
from kafka_mirror.ledger.record import Decided
from tests.unit.copy.plan.partition_facts import NOW, RECORD, acted
from tests.unit.decision_records import DECIDED_AT, decision

ORDERS = TopicPartition("orders", 0)
DAY = timedelta(days=1)
MILLISECOND = timedelta(milliseconds=1)
AGAIN = decision("restart", watermark=100, offset=20)


def test_it_is_now_to_the_millisecond_where_everybody_was_earlier():
    now = DECIDED_AT + timedelta(seconds=5, microseconds=1999)
    assert moment_after(NO_DECISIONS, [RECORD], now) == DECIDED_AT + timedelta(seconds=5, milliseconds=1)
    assert moment_after(Decisions([AGAIN]), [replace(RECORD, decided=Decided.of(AGAIN))], now) == now - timedelta(microseconds=999)


def test_it_is_later_than_what_was_decided_by_a_clock_that_is_ahead():
    ahead = replace(AGAIN, when=DECIDED_AT + DAY)
    assert moment_after(Decisions([ahead]), [], DECIDED_AT) == DECIDED_AT + DAY + MILLISECOND
    assert moment_after(NO_DECISIONS, [replace(RECORD, decided=Decided.of(ahead))], DECIDED_AT) == DECIDED_AT + DAY + MILLISECOND


@pytest.mark.parametrize("word", [HANDED_BACK, TAKEN_OVER])
def test_a_flow_that_changes_hands_under_a_clock_that_is_behind_is_not_restarted_by_an_old_decision(word):
    """The restart was acted on, and its records were copied once more up to where the watermark had been."""
    record = replace(acted(AGAIN), watermark=100)
    when = moment_after(Decisions([AGAIN]), [record], DECIDED_AT - DAY)
    noted = Decided(word, "ana", when, "why")
    moved = replace(record, decided=noted, handed_back=noted if word == HANDED_BACK else None)
    assert act_on_decisions(moved, [AGAIN], NOW) == (moved, ())


# ---------------------------------------------------------------- a ledger that was begun anew


def test_what_was_decided_about_offsets_in_a_ledger_that_is_gone_does_nothing_in_the_one_that_is_begun():
    """The new ledger notes nothing of it, and its watermark may come to stand where the old one stood."""
    before = [AGAIN, decision("accept-gap"), decision("skip-record")]
    begun = decision("begin-ledger", when=DECIDED_AT + MILLISECOND)
    assert Decisions([*before]).of(ORDERS) == tuple(before)
    assert Decisions([*before, begun]).of(ORDERS) == ()
    later = replace(AGAIN, when=DECIDED_AT + DAY)
    assert Decisions([begun, later]).of(ORDERS) == (later,)


def test_records_that_were_accepted_stay_accepted_under_a_new_ledger():
    accepted, begun = decision("accept-records"), decision("begin-ledger", when=DECIDED_AT + MILLISECOND)
    assert Decisions([accepted, begun]).of(ORDERS) == (accepted,)
