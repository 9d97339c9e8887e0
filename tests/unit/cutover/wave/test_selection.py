"""What a wave's patterns take: whole names, topics that the flow replicates, and never what belongs to the mirrors."""

import pytest

from kafka_mirror.cutover.wave.selection import Wave, match_names, parse_patterns, select_topics
from kafka_mirror.cutover.wave.step import STOP, report_wave_topics
from kafka_mirror.policy import DefaultReplicationPolicy, TopicSelection
from kafka_mirror.policy.filters import DefaultTopicFilter

SELECTION = TopicSelection(
    "east", "west", DefaultReplicationPolicy({"source.cluster.alias": "east"}), DefaultTopicFilter((".*",), ("private.*",))
)
NAMES = (
    *("orders", "orders-eu", "payments", "private", "west.orders", "heartbeats", "east.checkpoints.internal"),
    *("mm2-offset-syncs.west.internal", "mm2-ledger.north.internal", "mm2-control.north.internal"),
)


def test_patterns_are_cut_at_commas_and_blanks_do_not_count():
    assert parse_patterns(" orders.*, payments ,") == ("orders.*", "payments")


@pytest.mark.parametrize("text", ["", " , ", "orders,(", "*"])
def test_what_is_no_pattern_is_refused(text):
    with pytest.raises(ValueError):
        parse_patterns(text)


def test_a_pattern_has_to_match_a_whole_name_and_those_that_match_none_are_named():
    assert match_names(("orders", "pay", "or.*"), NAMES) == ({"orders", "orders-eu"}, ("pay",))


def test_topics_of_mirrors_heartbeats_and_what_came_from_the_target_stay_whatever_the_patterns_say():
    chosen = select_topics(Wave((".*",)), NAMES, SELECTION)
    assert (chosen.names, chosen.not_replicated) == (("orders", "orders-eu", "payments"), ("private",))


def test_what_matches_nothing_and_what_is_not_replicated_stops_the_wave_each_with_a_next_step():
    wave = Wave(("orders", "nothing", "west.orders", "private"))
    found = list(report_wave_topics(wave, select_topics(wave, NAMES, SELECTION)))
    assert [(each.kind, each.code, each.topic) for each in found] == [
        (STOP, "PatternMatchesNothing", None),
        (STOP, "PatternMatchesNothing", None),
        (STOP, "TopicNotReplicated", "private"),
    ]
    assert "--topics nothing" in found[0].message
    assert all(each.error.next for each in found)
