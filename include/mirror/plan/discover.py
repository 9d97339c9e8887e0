"""Which topics of the source a flow mirrors, as found now."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mirror.errors import MirrorError
from mirror.kafka.model import Topic
from mirror.policy import TopicSelection

if TYPE_CHECKING:
    from mirror.kafka.cluster import Cluster


@dataclass(frozen=True)
class SourceTopics:
    """The selected topics by name, the names of all that the source shows us, and what it refuses to tell of single topics."""

    topics: Mapping[str, Topic]
    names: frozenset[str]
    errors: Mapping[str, MirrorError] = field(default_factory=dict)


def discover(selection: TopicSelection, source: "Cluster") -> SourceTopics:
    """Lists the source, applies the selection, and describes what is left.

    A cluster leaves out of its list what we may not see. So topics that the configuration spells out are asked for by name: then a
    missing permission is an error that names the topic, instead of a topic that is silently not mirrored.
    """
    names = frozenset(source.names())
    asked = names | set(selection.topic_filter.literal_names)
    wanted = {name for name in asked if selection.should_replicate(name)}
    refused: dict[str, MirrorError] = {name: error for name in asked if (error := selection.refusal(name)) is not None}
    topics = source.topics(wanted, refused)
    return SourceTopics(topics, names, refused)
