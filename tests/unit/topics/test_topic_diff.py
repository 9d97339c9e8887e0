"""What has to change on the target, by comparison alone."""

import pytest

from kafka_mirror.kafka.model import Partition, Topic
from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, ReplicationPolicy, TopicSelection
from kafka_mirror.policy.filters import DefaultTopicFilter
from kafka_mirror.policy.selection import unusable
from kafka_mirror.topics.topics import TopicChange, TopicDiff, find_orphans, plan_topics

DEFAULT = DefaultReplicationPolicy({"source.cluster.alias": "east"})
IDENTITY = IdentityReplicationPolicy({"source.cluster.alias": "east"})


def topic(name: str, partitions: int) -> Topic:
    return Topic(name, f"id of {name}", tuple(Partition(number, 1, (1,), (1,)) for number in range(partitions)))


def topics(**partitions: int) -> dict[str, Topic]:
    return {name: topic(name, count) for name, count in partitions.items()}


def selection(policy: ReplicationPolicy, *exclude: str) -> TopicSelection:
    return TopicSelection("east", "west", policy, DefaultTopicFilter((".*",), exclude))


def planned(source: dict[str, Topic], target: dict[str, Topic], **remote_names: str) -> TopicDiff:
    return plan_topics(source, target, {name: f"east.{name}" for name in source} | remote_names)


def test_missing_remote_topics_get_the_partitions_of_their_source() -> None:
    changes = planned(topics(b=2, a=3), {})
    assert changes.create == (TopicChange("a", "east.a", 3), TopicChange("b", "east.b", 2))
    assert (changes.extend, changes.unchanged, changes.errors) == ((), (), {})


def test_partitions_are_added_and_never_taken_away() -> None:
    target = {name: topic(name, 2) for name in ("east.more", "east.same", "east.fewer")}
    changes = planned(topics(more=3, same=2, fewer=1), target)
    assert changes.extend == (TopicChange("more", "east.more", 3),)
    assert changes.unchanged == ("east.fewer", "east.same")
    assert changes.create == ()


def test_an_unusable_remote_name_is_an_error_of_that_topic_alone() -> None:
    changes = planned(topics(a=1, b=1, c=1), {}, a="us east.a", b="x" * 250)
    assert [change.topic for change in changes.create] == ["c"]
    assert "a: its remote name 'us east.a' contains ' '" in str(changes.errors["a"])
    assert "has 250 characters, and Kafka takes 249 at most" in str(changes.errors["b"])


@pytest.mark.parametrize("name", ["a", "A-1_.x", "x" * 249])
def test_kafkas_own_names_are_usable(name: str) -> None:
    assert unusable(name) == ""


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "é", "a/b", "a:b", "x" * 250])
def test_other_names_are_not(name: str) -> None:
    assert unusable(name)


def test_remote_topics_without_upstream_are_found() -> None:
    target = ["east.gone", "east.there", "own", "north.other", "east.north.gone"]
    found = find_orphans(selection(DEFAULT), {"there"}, target)
    assert found == {"east.gone": "gone", "east.north.gone": "north.gone"}


def test_internal_and_excluded_remote_topics_are_not_called_orphans() -> None:
    target = ["east.checkpoints.internal", "east.mm2-ledger.x.internal", "east.left-out", "mm2-ledger.east.internal", "east.west.x"]
    assert find_orphans(selection(DEFAULT, "left-out"), set(), target) == {}


def test_under_the_identity_policy_topics_of_the_target_alone_are_not_called_orphans() -> None:
    assert find_orphans(selection(IDENTITY), {"there"}, ["own", "there", "heartbeats", "east.x"]) == {}
    assert find_orphans(selection(IDENTITY), {"there"}, ["east.heartbeats"]) == {"east.heartbeats": "heartbeats"}
