"""The control topic on the target: what people decided about a flow. Every plan reads it; `decide` writes it, and lanes never do."""

from collections.abc import Iterator, Mapping
from typing import Any

from confluent_kafka import Message

from mirror.errors import KafkaFailure, LedgerUnsuitable
from mirror.formats.control import Decision, decode, encode, encode_key
from mirror.kafka import compacted
from mirror.kafka.bootstrap import asking_on
from mirror.kafka.cluster import Cluster
from mirror.kafka.model import Topic
from mirror.kafka.reading import BoundedReader
from mirror.kafka.writing import Outgoing, RecordWriter
from mirror.offsets.partition import TopicPartition

_READ_SECONDS = 60.0


class Control:
    """The control topic of one flow."""

    def __init__(self, topic: str, target: Cluster, consumer: Mapping[str, Any], producer: Mapping[str, Any]) -> None:
        self.topic = topic
        self._target = target
        self._consumer = consumer
        self._producer = producer

    def exists(self) -> bool:
        """Whether the topic is there. Raises LedgerUnsuitable when its settings would endanger what it holds."""
        topic = self._target.topics([self.topic]).get(self.topic)
        if topic is not None:
            self._check(topic)
        return topic is not None

    def create(self, replication_factor: int) -> None:
        """Creates the topic. Does nothing harmful if someone else is faster."""
        self._check(compacted.create(self._target, self.topic, 1, replication_factor))

    def read(self) -> tuple[Decision, ...]:
        """Everything that was decided and not replaced by a newer decision of the same key, oldest first.

        A record without value takes its key out. Raises ControlUnreadable: what cannot be read might be a pause.
        """
        newest: dict[bytes, Message] = {}
        for message in self._messages():
            key = _bytes(message.key())
            newest.pop(key, None)
            if message.value() is not None:
                newest[key] = message
        return tuple(decode(_bytes(message.value()), f"{self.topic}-0@{message.offset()}") for message in newest.values())

    def write(self, decision: Decision) -> None:
        """Writes a decision, acknowledged by all replicas, and reads it back. Raises KafkaFailure if it is not there then.

        Somebody else's may stand behind it already, whatever their clock says: it was written all the same.
        """
        key, value = encode_key(decision), encode(decision)
        RecordWriter(self._target.alias, self._producer, self._target.timeout).write([Outgoing(self.topic, key, value)], "the decision")
        if (key, value) not in [(_bytes(message.key()), _bytes(message.value())) for message in self._messages()]:
            raise KafkaFailure(
                f"The decision was acknowledged by {self.topic}, and is not in it.",
                topic=self.topic,
                next="Look at the topic and at who writes to it, then decide again: twice is harmless.",
            )

    def _messages(self) -> Iterator[Message]:
        partition = TopicPartition(self.topic, 0)
        ends = self._target.offsets([partition], "latest", committed=True)
        if partition not in ends:
            raise KafkaFailure(
                f"The control topic {self.topic} has no leader, so nothing is copied: a decision might be in it.",
                topic=self.topic,
                partition=0,
                next="Bring the target's brokers back; the next run goes on by itself.",
            )
        ranges = {partition: (0, ends[partition])}
        yield from asking_on(self._consumer, lambda settings: [*BoundedReader(self._target.alias, settings).read(ranges, _READ_SECONDS)])

    def _check(self, topic: Topic) -> None:
        if len(topic.partitions) != 1:
            raise LedgerUnsuitable(self.topic, "partitions", str(len(topic.partitions)), "1")
        compacted.check(self._target, topic)


def _bytes(data: Any) -> bytes:
    return b"" if data is None else bytes(data)
