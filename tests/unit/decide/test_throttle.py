"""Deciding how fast a flow copies."""

import pytest

from kafka_mirror.decide.flow_wide import throttle
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.errors import NothingToDecide
from tests.unit.decision_records import DECIDED_AT, decision


def asked(rate, before=None, configured=-1):
    (made,) = throttle(DecisionRequest("throttle", "ana@ops", "the link is full", bytes_per_second=rate), before, configured, DECIDED_AT)
    return made


@pytest.mark.parametrize(
    ("rate", "before", "configured", "words"),
    [
        (5_000_000, None, -1, "the flow copies at most 5,000,000 bytes a second;"),
        (-1, None, 1000, "the flow copies as fast as it can;"),
        (None, decision("throttle"), 2000, "the flow copies at most 2,000 bytes a second, as the properties say;"),
        (None, decision("throttle"), -1, "the flow copies as fast as it can, as the properties say;"),
    ],
)
def test_the_decision_says_what_holds_from_then_on(rate, before, configured, words):
    made = asked(rate, before, configured)
    assert made.effect.startswith(words)
    assert made.effect.endswith("a run that is under way does so from its next transaction on")
    assert (made.decision.bytes_per_second, made.decision.who, made.decision.key) == (rate, "ana@ops", ("throttle", None, None))


def test_where_nobody_decided_there_is_nothing_to_take_back():
    with pytest.raises(NothingToDecide, match="the properties say at most 2,000 bytes a second"):
        asked(None, configured=2000)
