"""Creating a topic so that it can be written to when the call returns."""

import time

from mirror.errors import DeadlineExceeded
from mirror.kafka.cluster import Cluster
from mirror.kafka.model import NewTopic, Topic

_PAUSE_SECONDS = 0.05


def create_topic(cluster: Cluster, new: NewTopic) -> Topic:
    """Creates the topic and waits until every partition has a leader. Does nothing harmful if someone else is faster: the topic is theirs.

    Raises what the brokers say if it cannot be created, and DeadlineExceeded.
    """
    failure = cluster.create_topics([new])[new.name]
    deadline = time.monotonic() + cluster.timeout
    while True:
        topic = cluster.topics([new.name]).get(new.name)
        if topic is not None and all(partition.leader is not None for partition in topic.partitions):
            return topic
        if topic is None and failure is not None and getattr(failure, "reason", "") != "TOPIC_ALREADY_EXISTS":
            raise failure
        if time.monotonic() > deadline:
            raise DeadlineExceeded(
                f"Cluster '{cluster.alias}': the topic {new.name} was created, but not every partition has a leader after "
                f"{cluster.timeout:g} s.",
                topic=new.name,
                next="Look at the brokers; the next run, or the same command again, goes on by itself.",
            )
        time.sleep(_PAUSE_SECONDS)
