"""Members of `topics` and `groups` that take nothing now."""

import pytest

from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, TopicFilter, TopicSelection
from kafka_mirror.policy.filters import DefaultTopicFilter

POLICY = DefaultReplicationPolicy({})


def idle(topics, names, exclude=(), **fields):
    selection = TopicSelection("east", "west", POLICY, DefaultTopicFilter(topics, exclude), **fields)
    return selection.idle_members(names)


def test_a_misspelt_member_is_named_beside_one_that_takes_a_topic():
    found = idle(["bils", "orders.*", "x[0-9]"], ["bills", "orders.v1"])
    assert (found.members, found.is_whole_list, found.is_amiss) == (("bils", "x[0-9]"), False, False)
    assert str(found) == "topics: no topic of east is taken by 'bils', 'x[0-9]'; all that others take is."


@pytest.mark.parametrize("names", [[], ["bills"], ["west.bils", "__bils", "mm2-bils.internal"]])
def test_a_list_that_takes_nothing_is_amiss(names):
    found = idle(["bils"], names)
    assert found.is_amiss and "No topic of east is taken by topics ('bils')" in str(found)


def test_what_is_excluded_or_came_from_the_target_is_not_taken():
    assert idle(["orders"], ["orders"], ["ord.*"]).is_amiss
    assert idle(["west.*"], ["west.orders", "west.x"]).is_amiss


def test_nothing_is_said_where_every_member_takes_a_topic():
    assert idle([".*", "orders"], ["orders"]) is None


@pytest.mark.parametrize("names", [[], ["west.orders", "west.heartbeats", "__consumer_offsets"]])
def test_a_flow_of_everything_waits_for_the_first_topic_and_nothing_is_amiss(names):
    found = idle(["^(?!__.*$).*"], names)
    assert found.is_whole_list and not found.is_amiss
    assert str(found) == "east has no topic yet that this flow takes (topics); the first one that comes is taken."


def test_a_topic_that_a_cutover_moved_counts_as_taken_and_a_way_back_waits_for_one():
    assert idle(["orders"], ["orders"], moved=frozenset({"orders"})) is None
    assert idle(["orders"], [], returned=frozenset()) is None


def test_members_that_only_mean_something_together_are_judged_together():
    assert idle(["(a", "b)c"], ["x"]).members == ("(a|b)c",)
    assert idle(["(?i)x", "orders"], ["ORDERS"]) is None


def test_an_empty_list_takes_nothing():
    assert "topics (empty)" in str(idle([], ["orders"]))


def test_heartbeats_that_come_whatever_the_list_says_do_not_make_it_whole():
    assert idle(["ordres"], ["heartbeats", "orders"]).is_amiss


class OwnFilter(TopicFilter):
    def should_replicate(self, topic):
        return topic.startswith("own")


@pytest.mark.parametrize(("names", "amiss"), [(["x"], True), (["own"], False)])
def test_a_filter_of_ones_own_has_no_members_and_is_asked_as_a_whole(names, amiss):
    found = TopicSelection("east", "west", POLICY, OwnFilter()).idle_members(names)
    assert (found is not None and found.is_amiss) is amiss
    assert found is None or "by topic.filter.class: nothing" in str(found)


def test_with_names_kept_both_ways_a_side_without_topics_of_its_own_is_not_amiss():
    keeps = IdentityReplicationPolicy({"source.cluster.alias": "east"})
    selection = TopicSelection("east", "west", keeps, DefaultTopicFilter([".*"], ["a[.].*"]))
    assert not selection.idle_members(["a.orders", "a.pay"]).is_amiss
