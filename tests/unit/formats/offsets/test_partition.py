"""Lanes persist in users' clusters, so their numbers are written down here."""

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.offsets.partition import lane_of, transactional_id


def test_lanes_are_for_keeps():
    assert [lane_of("orders", partition, 16) for partition in range(4)] == [14, 15, 0, 1]
    assert lane_of("Grüße", 0, 16) == 1


def test_transactional_ids_are_for_keeps():
    assert transactional_id("east", 16, 3) == "mirror.4.east.16.3"


def test_aliases_with_dots_and_digits_never_share_an_id():
    assert transactional_id("a.16", 1, 0) != transactional_id("a", 16, 1)


@given(st.text(min_size=1, max_size=249), st.integers(0, 10_000), st.integers(1, 256))
def test_every_partition_has_one_lane(topic, partition, lanes):
    assert 0 <= lane_of(topic, partition, lanes) < lanes


@given(st.text(min_size=1, max_size=50), st.integers(1, 64))
def test_the_partitions_of_a_topic_are_spread_evenly(topic, lanes):
    assert {lane_of(topic, partition, lanes) for partition in range(lanes)} == set(range(lanes))
