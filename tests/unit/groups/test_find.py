"""Which groups are found, what of them is committed, and for how long an earlier list is believed."""

from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.errors import AuthorizationRefused
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.find import KnownGroups, read_group_offsets, recall_groups, select_groups
from kafka_mirror.groups.group_move import explain_unfit
from kafka_mirror.kafka.groups import Committed, Group
from kafka_mirror.policy.filters import DefaultGroupFilter, DefaultTopicFilter

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
REFUSED = AuthorizationRefused("east", "DESCRIBE", "the group hidden")


class Listed:
    """Stands in for a cluster's groups."""

    def __init__(self, *groups, offsets=()):
        self._groups = {group.name: group for group in groups}
        self._offsets = dict(offsets)

    def list_groups(self):
        return self._groups

    def read_committed(self, names, errors):
        errors |= {name: REFUSED for name in names if name == "hidden"}
        return {name: self._offsets.get(name, {}) for name in names if name != "hidden"}


@pytest.mark.parametrize(
    ("type", "protocol", "taken"),
    [
        ("classic", "consumer", True),
        ("consumer", "consumer", True),
        ("classic", "", True),
        ("", "consumer", True),
        ("classic", "connect", False),
        ("share", "share", False),
        ("streams", "streams", False),
    ],
)
def test_groups_of_consumers_are_taken_and_no_others(type, protocol, taken):
    found = Listed(Group("group", type, protocol, "Stable"))
    assert select_groups(found, DefaultGroupFilter((".*",), ())) == (["group"] if taken else [])
    assert select_groups(found, DefaultGroupFilter((".*",), ("gr.*",))) == []


def test_a_group_needs_a_topic_that_the_filter_takes_and_one_that_is_hidden_is_said():
    at = {TopicPartition("orders", 0): Committed(1)}
    elsewhere = {TopicPartition("other", 0): Committed(1)}
    groups = Listed(offsets={"both": {**at, **elsewhere}, "other": elsewhere})
    found = read_group_offsets(groups, ["both", "other", "none", "hidden"], DefaultTopicFilter(("orders",), ()))
    assert (dict(found.offsets), found.partitions) == ({"both": {**at, **elsewhere}}, 2)
    assert found.errors == (REFUSED.report(),)


def test_an_earlier_list_is_believed_for_a_while_and_only_with_the_same_configuration():
    result = {"time": "2026-11-21T07:59:00.000Z", "config": "abc", "group": ["a", "b"], "partitions": [3, 4]}
    assert recall_groups(result, "abc", NOW, 60) == KnownGroups(("a", "b"), 7)
    assert recall_groups(result, "abc", NOW + timedelta(seconds=1), 60) is None
    assert recall_groups(result, "other", NOW, 60) is None


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (None, ""),
        (Group("g", "classic", "consumer", "Empty"), ""),
        (Group("g", "consumer", "consumer", "Dead"), ""),
        (Group("g", "consumer", "consumer", "Reconciling"), "active on the target (Reconciling)"),
        (Group("g", "classic", "consumer", "PreparingRebalance"), "active on the target"),
        (Group("g", "share", "share", "Empty"), "of another kind (share)"),
        (Group("g", "classic", "connect", "Empty"), "of another kind (connect)"),
    ],
)
def test_only_a_group_without_members_may_be_committed_for(group, said):
    assert (said in explain_unfit(group)) if said else explain_unfit(group) == ""
