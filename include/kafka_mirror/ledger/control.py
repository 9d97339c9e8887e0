"""The control topic on the target: what people decided about a flow. Every plan reads it; `decide` writes it, and lanes never do.

The mirror notes there what an undo needs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_mirror.errors import DecidedMeanwhile, KafkaFailure, LedgerUnsuitable, UnexpectedOffset
from kafka_mirror.formats.batches.batch_records import StoredRecord
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import create_topics
from kafka_mirror.kafka.broker_pool import ask_with_server
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import GroupTransaction
from kafka_mirror.kafka.log_reader import newest_records, stored_records
from kafka_mirror.kafka.model import Topic
from kafka_mirror.kafka.produce_request import Outgoing
from kafka_mirror.kafka.reader import Ranges
from kafka_mirror.kafka.transactions import Fenced
from kafka_mirror.kafka.writer import RecordWriter
from kafka_mirror.ledger.compare_and_set import CommitInDoubt, ConditionalWriter, await_readable
from kafka_mirror.ledger.control_records import CONFIGURATION_KEY, Decision, decode, encode, encode_key

Read = Callable[[Cluster, Mapping[str, Any], Ranges], list[StoredRecord]]


class Control:
    """The control topic of one flow."""

    def __init__(
        self, topic: str, target: Cluster, consumer: Mapping[str, Any], producer: Mapping[str, Any], transactional_id: str
    ) -> None:
        """`transactional_id`: of those who decide."""
        self.topic = topic
        self._target = target
        self._consumer = consumer
        self._producer = producer
        self._transactional_id = transactional_id
        self.read_end = 0
        """Up to where the topic was read; 0: it was not."""

    def exists(self) -> bool:
        """Whether the topic is there. Raises LedgerUnsuitable when its settings would endanger what it holds."""
        topic = self._target.topics([self.topic]).get(self.topic)
        if topic is not None:
            self._check(topic)
        return topic is not None

    def create(self, replication_factor: int) -> None:
        """Creates the topic. Does nothing harmful if someone else is faster."""
        self._check(create_topics.create_compacted(self._target, self.topic, 1, replication_factor))

    def read(self) -> tuple[Decision, ...]:
        """Everything that was decided and not replaced by a newer decision of the same key, oldest first.

        A record without value takes its key out. Raises ControlUnreadable: what cannot be read might be a pause.
        """
        self.read_end = self._find_end()
        newest = self._read_records(self.read_end, newest_records)
        return tuple(decode(record.value, str(record)) for record in newest if record.value is not None)

    def write_next(self, decisions: Sequence[Decision]) -> None:
        """Writes decisions, all or none, right after what was read last; gives back once readers of the topic find them.

        So nothing was decided in between, and each decision is later than all that stand in front of it: what a partition's ledger
        record notes is only the time of the newest one that was acted on. Raises DecidedMeanwhile: nothing was written.
        """
        records = [Outgoing(self.topic, encode_key(decision), encode(decision)) for decision in decisions]
        log = TopicPartition(self.topic, 0)
        writer = ConditionalWriter(self._target.alias, self._producer, self._transactional_id, self._target.timeout)
        try:
            writer.write(records, log, self.read_end, "the decision")
        except (UnexpectedOffset, Fenced) as other:
            raise DecidedMeanwhile(self.topic) from other
        except CommitInDoubt as doubt:
            there = {(record.key, record.value) for record in self._read_records(self._find_end())}
            if not all((record.key, record.value) in there for record in records):
                raise DecidedMeanwhile(self.topic) from doubt
        written = self.read_end + len(records)
        if await_readable(self._target, {log: written}, self._target.timeout):
            raise KafkaFailure(
                f"The decision is written to {self.topic}, but an open transaction still hides it from readers.",
                topic=self.topic,
                next="Look at the target's brokers; it counts once they have ended the transaction.",
            )

    def begin(self) -> GroupTransaction:
        """Begins a transaction that ends without effect once anybody writes decisions after what was read, by `write_next`: it has their
        transactional id."""
        return GroupTransaction(self._target, self._transactional_id)

    def note(self, notes: Sequence[Decision]) -> None:
        """Writes what the mirror notes for itself, acknowledged by all replicas, wherever the topic ends by now: several may at a time.

        Raises as RecordWriter: some of the notes may be written then.
        """
        records = [Outgoing(self.topic, encode_key(note), encode(note)) for note in notes]
        RecordWriter(self._target.alias, self._producer, self._target.timeout).write(records, "the notes of groups")

    def announce_configuration(self) -> None:
        """Lets lanes that follow end, because the configuration was changed: they watch the end of this topic. Raises as `note`."""
        record = Outgoing(self.topic, CONFIGURATION_KEY, None)
        RecordWriter(self._target.alias, self._producer, self._target.timeout).write([record], "the change of the configuration")

    def write(self, decision: Decision) -> None:
        """Writes a decision, acknowledged by all replicas, and reads it back. Raises KafkaFailure if it is not there then.

        Somebody else's may stand after it already, whatever their clock says: it was written all the same.
        """
        key, value = encode_key(decision), encode(decision)
        RecordWriter(self._target.alias, self._producer, self._target.timeout).write([Outgoing(self.topic, key, value)], "the decision")
        if (key, value) not in [(record.key, record.value) for record in self._read_records(self._find_end())]:
            raise KafkaFailure(
                f"The decision was acknowledged by {self.topic}, and is not in it.",
                topic=self.topic,
                next="Look at the topic and at who writes to it, then decide again: twice is harmless.",
            )

    def _find_end(self) -> int:
        partition = TopicPartition(self.topic, 0)
        ends = self._target.offsets([partition], "latest", committed=True)
        if partition not in ends:
            raise KafkaFailure(
                f"The control topic {self.topic} has no leader, so nothing is copied: a decision might be in it.",
                topic=self.topic,
                partition=0,
                next="Bring the target's brokers back; the next run goes on by itself.",
            )
        return ends[partition]

    def _read_records(self, end: int, read: Read = stored_records) -> list[StoredRecord]:
        ranges = {TopicPartition(self.topic, 0): (0, end)}
        return ask_with_server(self._consumer, lambda settings: read(self._target, settings, ranges))

    def _check(self, topic: Topic) -> None:
        if len(topic.partitions) != 1:
            raise LedgerUnsuitable(self.topic, "partitions", str(len(topic.partitions)), "1")
        create_topics.check_compacted(self._target, topic)
