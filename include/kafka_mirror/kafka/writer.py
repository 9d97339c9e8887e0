"""Writing records outside any transaction (decisions, checkpoints, heartbeats …): each once, acknowledged by all replicas, or an error.

Every batch has the writer's producer id and a sequence number, and is sent as it is until a leader has said what became of it (KIP-98):

    batch 0 ──► leader ── no answer ──► batch 0 ──► written now, or it was there already
                                                    batch 1 follows

So what is sent again after a broken connection, or to the next leader, stands in the log once.
"""

import socket
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import kafka.errors as errors
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest

from kafka_mirror.errors import KafkaFailure, MirrorError
from kafka_mirror.formats.batches.compression import has_packer
from kafka_mirror.formats.batches.record_batch import CODECS, RecordBatch, next_sequence
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.connection_errors import is_retriable, name_of, raise_for
from kafka_mirror.kafka.produce_request import ALL_REPLICAS, KEY, Acknowledgement, Outgoing, acknowledgements, batches_of

_BATCH_BYTES = 512 * 1024
_INIT_PRODUCER_ID, _PRODUCE = 5, 11
"""The newest versions that a writer speaks."""
_OLDEST_PRODUCE = 3
"""That of Kafka 0.11: the first with batches as they are today."""
_NOBODY = {"transactional_id": None, "transaction_timeout_ms": 1000, "producer_id": -1, "producer_epoch": -1}
_THERE_ALREADY = errors.DuplicateSequenceNumberError.errno
_INVALID_TIMESTAMP = errors.InvalidTimestampError.errno
_CLOCK_NEXT = (
    "Compare the clock of the host that writes with the broker's and set it (NTP). A broker takes a record whose time is at most "
    "log.message.timestamp.after.max.ms (an hour) ahead of its own clock; the next run goes on by itself."
)
_LOST_TRACK = {errors.OutOfOrderSequenceNumberError.errno, errors.UnknownProducerIdError.errno}


def await_acknowledgement(
    pool: BrokerPool, step: str, tp: TopicPartition, batch: tuple[bytes, memoryview], newest: int, transactional_id: str | None = None
) -> Acknowledgement:
    """What the leader says of a batch, which is its header and its records. The same is sent again while Kafka calls that an error that
    passes, as while another broker becomes leader. `newest`: the newest version of a produce request to speak."""

    def question(pool: BrokerPool) -> Acknowledgement:
        """Raises kafka-python's error for a code that passes."""
        try:
            connection = pool.connect(pool.find_leaders([tp])[tp].node)
        except errors.TopicAuthorizationFailedError as refused:
            return Acknowledgement(*tp, refused.errno, -1)
        kind = ProduceRequest.TopicProduceData
        topic = kind(name=tp.topic, partition_data=[kind.PartitionProduceData(index=tp.partition, records=b"".join(batch))])
        request = ProduceRequest(
            version=connection.choose_version(KEY, newest, _OLDEST_PRODUCE),
            transactional_id=transactional_id,
            acks=ALL_REPLICAS,
            timeout_ms=int(pool.seconds * 1000),
            topic_data=[topic],
        )
        answer: Acknowledgement = connection.ask(request, _read_one)
        if is_retriable(answer.error_code):
            raise_for(answer.error_code)
        return answer

    return pool.ask(step, question)


@dataclass
class _Producer:
    """By whom batches are sent, and the sequence number of each partition's next one."""

    id: int
    epoch: int
    sequences: dict[TopicPartition, int] = field(default_factory=lambda: defaultdict(int))


class RecordWriter:
    """Writes records to one cluster, in their order within each partition."""

    def __init__(self, alias: str, settings: Mapping[str, Any], seconds: float) -> None:
        """`settings` are those of a producer; `seconds`: how long a batch may take."""
        self._alias = alias
        self._settings = settings
        self._seconds = seconds
        self._pool: BrokerPool | None = None
        self._producer: _Producer | None = None
        """Of the last write; None after one that failed: which sequence numbers that used is unknown."""

    def write(self, records: Iterable[Outgoing], what: str) -> None:
        """Writes all of them and waits until all replicas have them; `what` names them in errors, such as "the decision".

        Raises DeadlineExceeded, KafkaFailure, AuthorizationRefused …: some of the records may be written then.
        """
        by_partition: dict[TopicPartition, list[Outgoing]] = {}
        for record in records:
            by_partition.setdefault(TopicPartition(record.topic, record.partition), []).append(record)
        if not by_partition:
            return
        codec = str(self._settings.get("compression.type"))
        pool = self._pool = self._pool or BrokerPool(self._alias, self._settings, self._seconds)
        producer, self._producer = self._producer, None
        try:
            for tp, of_one in by_partition.items():
                step = f"writing {what} to {tp.topic}"
                producer = producer or _new_producer(pool, step, tp.topic)
                for batch in batches_of(of_one, _BATCH_BYTES, codec if has_packer(codec) else CODECS[0]):
                    _write(pool, step, producer, tp, batch)
        except MirrorError as failure:
            if failure.retriable:
                failure.add_next(before=f"{what[:1].upper()}{what[1:]} may be written or not, and writing it once more is harmless.")
            raise
        finally:
            pool.release()
        self._producer = producer


def _read_one(answered: Any) -> Acknowledgement:
    [answer] = acknowledgements(answered)
    return answer


def _new_producer(pool: BrokerPool, step: str, topic: str) -> _Producer:
    def question(pool: BrokerPool) -> _Producer:
        """Raises kafka-python's error for a code that passes."""
        connection = pool.pick_connection()
        version = connection.choose_version(InitProducerIdRequest.API_KEY, _INIT_PRODUCER_ID)
        answer = connection.ask(InitProducerIdRequest(version=version, **_NOBODY))
        if is_retriable(answer.error_code):
            raise_for(answer.error_code)
        if answer.error_code:
            what = f"topic {topic} (before Kafka 3.0 also IDEMPOTENT_WRITE on the cluster)"
            raise pool.errors.translate_code(answer.error_code, step, topic=topic, operation="WRITE", what=what)
        return _Producer(answer.producer_id, answer.producer_epoch)

    return pool.ask(step, question)


def _write(pool: BrokerPool, step: str, producer: _Producer, tp: TopicPartition, batch: RecordBatch) -> None:
    sequence = producer.sequences[tp]
    answer = await_acknowledgement(
        pool, step, tp, batch.stamp_producer(producer.id, producer.epoch, sequence, transactional=False), _PRODUCE
    )
    if answer.error_code in _LOST_TRACK:
        name = name_of(answer.error_code)
        said = f"Cluster '{pool.alias}': {step} failed: {name}. The leader of {tp} no longer knows what was written before."
        raise KafkaFailure(said, reason=name, topic=tp.topic, partition=tp.partition)
    if answer.error_code == _INVALID_TIMESTAMP:
        time = datetime.fromtimestamp(batch.max_timestamp / 1000, UTC)
        said = (
            f"Cluster '{pool.alias}': {step} failed: INVALID_TIMESTAMP. The record is stamped {time:%Y-%m-%d %H:%M:%S} UTC by the clock of "
            f"this host, {socket.gethostname()}; the broker's clock is another. {answer.message or ''}"
        )
        raise KafkaFailure(said.rstrip(), reason=name_of(answer.error_code), topic=tp.topic, partition=tp.partition, next=_CLOCK_NEXT)
    if answer.error_code not in (0, _THERE_ALREADY):
        raise pool.errors.translate_code(answer.error_code, step, topic=tp.topic, operation="WRITE", what=f"topic {tp.topic}")
    producer.sequences[tp] = next_sequence(sequence, batch.record_count)
