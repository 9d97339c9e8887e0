"""A flow that a failover closed: neither a plan nor a lane goes on, until somebody opens it."""

from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.errors import FlowClosed
from kafka_mirror.ledger.checks import check_closed, check_lane_open
from kafka_mirror.ledger.control_records import CLOSED, REOPENED, Decision, decode, encode, encode_key
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Decided, Writer, note

AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
DECIDED = Decision(CLOSED, "ana", AT, "the site is gone")
OPENED = Decision(REOPENED, "ben", AT + timedelta(hours=1), "compared")


def lane_note(decision):
    return note("ledger", "id", ("E", "W"), 4, Decided.of(decision), Writer("", "host", "run", AT))


def test_a_closed_flow_is_not_planned_and_says_who_closed_it_when_and_why():
    with pytest.raises(FlowClosed, match=r"closed by ana at 2026-11-21T08:00:00.000Z, after a failover: the site is gone") as closed:
        check_closed(Decisions([DECIDED]))
    assert [command.split(" -m kafka_mirror ")[1].split(" --")[0] for command in closed.value.step.commands] == [
        "cutover compare",
        "cutover reopen",
    ]


def test_a_lane_that_was_closed_copies_no_plan_from_before():
    with pytest.raises(FlowClosed):
        check_lane_open(lane_note(DECIDED))


def test_an_open_flow_goes_on():
    check_closed(Decisions())
    check_closed(Decisions([OPENED]))
    check_lane_open(None)
    check_lane_open(lane_note(OPENED))


def test_opening_stands_under_the_key_of_closing_and_both_survive_their_bytes():
    assert encode_key(DECIDED) == encode_key(OPENED) == b'["closed",null,null]'
    assert [decode(encode(decision), "here") for decision in (DECIDED, OPENED)] == [DECIDED, OPENED]
    assert (Decisions([DECIDED]).closed, Decisions([DECIDED]).reopened) == (DECIDED, None)
    assert (Decisions([OPENED]).closed, Decisions([OPENED]).reopened) == (None, OPENED)
