"""Whose errors a pass of a wave's copy is judged by."""

from kafka_mirror.cutover.steps.catch_up import select_errors
from kafka_mirror.errors import ErrorReport

OURS, OTHERS, WHOLE = (
    ErrorReport("SourceGap", "Gone.", "orders", 0),
    ErrorReport("SourceGap", "Gone.", "payments", 0),
    ErrorReport("LaneTaken", "Busy."),
)


def test_errors_of_other_topics_are_none_of_the_wave_and_those_of_the_flow_are():
    assert select_errors([OURS, OTHERS, WHOLE, OURS], {"orders"}) == (OURS, WHOLE)
