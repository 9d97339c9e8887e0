"""A partition of a topic, as a value.

Lanes: the fixed number of writers that the partitions of a flow are spread over.
"""

import zlib
from typing import NamedTuple

NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The id of every topic of a cluster before Kafka 2.8; it gets another one when the cluster is upgraded."""


class TopicPartition(NamedTuple):
    """One partition of one topic; sorts by topic, then number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def lane_of(topic: str, partition: int, lanes: int) -> int:
    """The lane that owns a source partition, from 0 to `lanes` − 1. It persists in users' clusters: it must never change.

    Partitions of one topic fall on neighbouring lanes, so a topic with many of them is spread evenly.
    """
    return (zlib.crc32(topic.encode()) + partition) % lanes


def transactional_id(source: str, lanes: int, lane: int) -> str:
    """The transactional.id of a lane, the same in every attempt, so that `init_transactions` fences the earlier ones.

    The length in front of the alias keeps ids apart whatever characters an alias has. It persists in users' clusters.
    """
    return f"mirror.{len(source)}.{source}.{lanes}.{lane}"


def deciders_id(source: str, lanes: int) -> str:
    """The transactional.id of those who decide about a flow: no lane's, and under the prefix that a grant for the lanes names."""
    return transactional_id(source, lanes, 0).removesuffix("0") + "control"
