"""Which topics of the source are found."""

from collections.abc import Iterable, MutableMapping
from typing import Any

from kafka_mirror.errors import AuthorizationRefused, MirrorError
from kafka_mirror.kafka.cluster import TopicListing
from kafka_mirror.kafka.model import Topic
from kafka_mirror.policy import DefaultReplicationPolicy, TopicSelection
from kafka_mirror.policy.filters import DefaultTopicFilter
from kafka_mirror.topics.topics import discover


class Listing:
    """A source that lists `visible` and knows of `hidden`."""

    def __init__(self, visible: set[str], hidden: set[str]) -> None:
        self.visible = visible
        self.hidden = hidden
        self.asked: set[str] = set()

    def listing(self) -> TopicListing:
        return TopicListing(frozenset(self.visible), {})

    def listed_topics(self, names: Iterable[str], errors: MutableMapping[str, MirrorError]) -> dict[str, Topic]:
        return self.topics(names, errors)

    def topics(self, names: Iterable[str], errors: MutableMapping[str, MirrorError]) -> dict[str, Topic]:
        self.asked = set(names)
        errors |= {name: AuthorizationRefused("east", "DESCRIBE", name) for name in self.asked & self.hidden}
        return {name: Topic(name, name, ()) for name in self.asked & self.visible}


def selection(*topics: str) -> TopicSelection:
    return TopicSelection("east", "west", DefaultReplicationPolicy({}), DefaultTopicFilter(topics, ("left-out",)))


def found(source: Any, *topics: str) -> Any:
    return discover(selection(*topics), source)


def test_only_selected_topics_are_described() -> None:
    source = Listing({"orders", "left-out", "west.orders", "mm2-x.internal"}, set())
    assert set(found(source, ".*").topics) == {"orders"}
    assert source.asked == {"orders"}


def test_all_visible_names_are_kept_to_tell_what_was_deleted() -> None:
    assert found(Listing({"orders", "left-out"}, set()), ".*").names == {"orders", "left-out"}


def test_a_topic_spelled_out_but_hidden_is_an_error_and_one_that_does_not_exist_is_none() -> None:
    result = found(Listing({"orders"}, {"pay"}), "orders", "pay", "planned", "left-out")
    assert (set(result.topics), set(result.errors)) == ({"orders"}, {"pay"})
