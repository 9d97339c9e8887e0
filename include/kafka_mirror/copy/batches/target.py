"""The target side of a copy: a lane's transactions, batch by batch.

    first batch of each partition     alone, and asked again while the markers of the last transaction are being written
    every further one                 follows without waiting, one batch of a partition in a request, several requests under way

Whatever fails ends the attempt: nothing is sent twice.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

import kafka.errors as errors

from kafka_mirror.copy.batches.partition import InFlightBatches
from kafka_mirror.copy.model import BatchRefused, LaneTask, PartitionAssignment, RecordLimits, RefusedRecord
from kafka_mirror.errors import AuthorizationRefused, MirrorError, Overtaken, TransactionTooSlow
from kafka_mirror.formats.batches.batch_records import Record, has_key, read_records
from kafka_mirror.formats.batches.batch_rewrite import OutgoingBatch
from kafka_mirror.formats.batches.record_batch import next_sequence, seal_batch
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import produce_request
from kafka_mirror.kafka.broker_connection import OF_TARGET, BrokerConnection
from kafka_mirror.kafka.broker_pool import SOON_SECONDS, BrokerPool, Leader, receive
from kafka_mirror.kafka.connection_errors import name_of
from kafka_mirror.kafka.produce_request import Acknowledgement, Batch, Produced, ProduceRequests, keyed_batches, read_produced
from kafka_mirror.kafka.transactions import CONCURRENT, PRODUCE, Transactions

OLD_SHARE = 0.8
"""From this part of its timeout on a transaction counts as ended by the broker for its age."""


class LaneTransactions(Transactions):
    """The transactions under a lane's transactional id. Opening it fences every earlier attempt and ends its open transaction."""

    def __init__(self, task: LaneTask, pool: BrokerPool) -> None:
        self._lane = task.lane
        self.timeout = task.transaction_timeout_ms / 1000
        """After how many seconds the target aborts a transaction."""
        super().__init__(pool, task.transactional_id, task.transaction_timeout_ms)

    def translate(self, code: int, step: str) -> Exception:
        """As for every transaction, with the lane in front."""
        return super().translate(code, f"lane {self._lane}: {step}")

    def translate_fence(self, code: int) -> MirrorError:
        """One that the broker ended for its age looks exactly like a fence; only its age tells them apart."""
        if self.age >= OLD_SHARE * self.timeout:
            return TransactionTooSlow(self._lane, self.age, self.timeout)
        return Overtaken(self._lane, code == errors.InvalidProducerIdMappingError.errno)

    @property
    def what(self) -> str:
        """The lanes' ids differ in the lane alone, and one grant for their prefix is what a person would give."""
        return f"transactional ids with the prefix {self.id.removesuffix(str(self._lane))}"


_TIMESTAMP = (
    "its timestamp is further from the broker's clock than message.timestamp.before.max.ms or message.timestamp.after.max.ms allows"
)
_NO_KEY = "it has no key, and the remote topic is compacted"
_REASONS = {
    errors.MessageSizeTooLargeError.errno: "it is larger than max.message.bytes",
    errors.RecordListTooLargeError.errno: "it is larger than max.message.bytes",
    errors.InvalidTimestampError.errno: _TIMESTAMP,
    errors.InvalidRecordError.errno: f"the broker calls it invalid, as it does if {_TIMESTAMP}",
    errors.UnsupportedCompressionTypeError.errno: "its broker cannot unpack it",
}
REFUSALS = frozenset(_REASONS)
"""Error codes that say something of the records of a batch."""


def refusal_of(work: PartitionAssignment, outgoing: OutgoingBatch, answer: Acknowledgement, largest: int) -> BatchRefused:
    """The refusal of a batch, which is opened if its records have no more than `largest` bytes. The records that the broker names are the
    culprits; a record that is alone in its batch is meant anyway."""
    records: list[Record] = []
    with suppress(ValueError):  # what cannot be opened has no names; the next attempt says so
        read_records(seal_batch(outgoing.batch), records, largest)
    offsets = [offset for start, length in outgoing.stretches for offset in range(start, start + length)]
    named = [(place, why) for place, why in answer.records if 0 <= place < len(records)]
    culprits = [_name_culprit(work, answer.error_code, offsets[place], records[place], why) for place, why in sorted(named)]
    detail = culprits[0].detail if culprits else _explain(answer.error_code, answer.message)
    return BatchRefused(work.source, work.start, offsets[0], outgoing.batch.record_count, detail, culprits)


def _name_culprit(work: PartitionAssignment, code: int, offset: int, record: Record, why: str) -> RefusedRecord:
    _, timestamp, _, rest = record
    lacks_key = work.limits.needs_key and not has_key(rest)
    return RefusedRecord(offset, timestamp, has_key(rest), f"{_NO_KEY} ({name_of(code)})" if lacks_key else _explain(code, why))


def _explain(code: int, why: str | None) -> str:
    return f"{_REASONS[code]} ({name_of(code)}{f': {why}' if why else ''})"


_REQUEST_BYTES = 1024 * 1024
_REQUESTS_IN_FLIGHT, _BYTES_IN_FLIGHT = 32, 8 * _REQUEST_BYTES
"""How many requests and bytes are in flight at a broker: it always has some to do while the answers to others gather."""
_POLL_SECONDS = 0.02


class BatchProducer:
    """A lane's producer of batches. Opening it fences every earlier attempt and ends its open transaction."""

    def __init__(self, task: LaneTask, max_batch_bytes: int) -> None:
        self.bytes = 0
        """How many bytes of batches the transaction took."""
        self._task = task
        self._max_batch_bytes = max_batch_bytes
        settings = {"client.id": task.producer_client_id, **task.clients.target_producer}
        self.pool = BrokerPool(task.target, settings, task.request_seconds, OF_TARGET, carries_batches=True)
        """The connections to the target."""
        self._leaders: dict[TopicPartition, Leader] = {}
        self._sequences: dict[TopicPartition, int] = {}
        self._recorded: dict[TopicPartition, InFlightBatches] = {}
        self._requests = ProduceRequests(task.transactional_id, task.transaction_timeout_ms)
        self._transactions = LaneTransactions(task, self.pool)

    def begin(self, partitions: Iterable[InFlightBatches]) -> None:
        """Begins a transaction unless one is open, and finds out who leads the remote partitions."""
        new = {partition.remote for partition in partitions} - self._leaders.keys()
        if new:
            self._leaders.update(self.pool.find_leaders(new))
        if not self._transactions.is_open:
            self._transactions.begin()
            self.bytes = 0
            self._recorded = {}

    @property
    def age(self) -> float:
        """For how many seconds the target has known the transaction."""
        return self._transactions.age

    def send(self, partitions: Sequence[InFlightBatches]) -> None:
        """Sends what may be sent now, as far as requests may be under way. Raises TransactionTooSlow past the transaction's timeout, and
        ClusterUnreachable for a broker that answers nothing."""
        now = time.monotonic()
        ready = [partition for partition in partitions if partition.may_send(now)]
        if ready:
            self._transactions.add({partition.remote: partition.work.source.topic for partition in ready})
        by_node: dict[int, list[InFlightBatches]] = {}
        for partition in ready:
            by_node.setdefault(self._leaders[partition.remote].node, []).append(partition)
        for node, of_node in by_node.items():
            connection = self.pool.guard("connecting", partial(self.pool.connect, node))
            while of_node and connection.in_flight < _REQUESTS_IN_FLIGHT and connection.bytes_in_flight < _BYTES_IN_FLIGHT:
                self._produce(connection, of_node)
                of_node = [partition for partition in of_node if partition.may_send(now)]
            self.pool.guard("writing", connection.flush)
        # A broker that hangs is none that is slow: smaller transactions would not help, another leader does.
        self.pool.check_silence(min(self._task.request_seconds, OLD_SHARE * self._transactions.timeout), "writing")
        if self.age >= self._transactions.timeout:
            written = sum(partition.records for partition in partitions)
            unacknowledged = sum(sent.batch.record_count for partition in partitions for sent in (*partition.sent, *partition.waiting))
            share = written / max(1, written + unacknowledged)
            raise TransactionTooSlow(self._task.lane, self.age, self._transactions.timeout, share)

    def record(self, topic: str, partition: int, entries: Sequence[tuple[bytes, bytes]]) -> list[int]:
        """Puts keyed records into the transaction, waits until they are acknowledged, and gives their offsets in order."""
        tp = TopicPartition(topic, partition)
        new = InFlightBatches(PartitionAssignment(tp, topic, 0, len(entries), None, RecordLimits()))
        self.begin([new])
        records = self._recorded.setdefault(tp, new)
        for batch in keyed_batches(entries, self._max_batch_bytes):
            records.take(batch._replace(base_offset=records.next_offset))
        while not records.is_done:
            self.send([records])
            receive([self.pool], _POLL_SECONDS)
        offsets = [offset for run in records.runs for offset in range(run.target, run.target + run.length)]
        return offsets[-len(entries) :]

    def commit(self) -> None:
        """Commits. A commit that ends in doubt is not repeated here: the ledger, read after the next fencing, knows how it ended."""
        before = self._transactions.producer
        self._transactions.commit()
        if self._transactions.producer != before:
            self._sequences.clear()

    def close(self) -> None:
        """Aborts an open transaction and closes the connections. One that lost its lane only closes: an abort could not succeed."""
        self._transactions.close()

    def _produce(self, connection: BrokerConnection, ready: Sequence[InFlightBatches]) -> None:
        """One request with a batch of each partition, as far as it has room."""
        topics: dict[str, list[Batch]] = {}
        by_partition: dict[TopicPartition, InFlightBatches] = {}
        size = 0
        for in_flight in ready:
            if size >= _REQUEST_BYTES:
                break
            remote, batch = in_flight.remote, in_flight.send_next()
            sequence = self._sequences.get(remote, 0)
            self._sequences[remote] = next_sequence(sequence, batch.record_count)
            size += len(batch.data)
            by_partition[remote] = in_flight
            topics.setdefault(remote.topic, []).append((remote.partition, *batch.stamp_producer(*self._transactions.producer, sequence)))
        self.bytes += size
        version = connection.choose_version(produce_request.KEY, PRODUCE[self._transactions.version])
        parts = self._requests.build_parts(topics)
        decode, answered = partial(read_produced, version=version), partial(self._take_acknowledgements, by_partition)
        connection.queue_parts(produce_request.KEY, version, parts, decode, answered)

    def _take_acknowledgements(self, by_partition: dict[TopicPartition, InFlightBatches], answered: Produced) -> None:
        for answer in answered.batches:
            in_flight = by_partition[TopicPartition(answer.topic, answer.partition)]
            if not answer.error_code:
                in_flight.take_acknowledgement(answer.base_offset)
            elif answer.error_code == CONCURRENT and not in_flight.is_added:
                batch = in_flight.send_again(time.monotonic() + SOON_SECONDS)
                self._sequences[in_flight.remote] = next_sequence(self._sequences[in_flight.remote], -batch.record_count)
            else:
                raise self._translate_refusal(in_flight, answer)

    def _translate_refusal(self, in_flight: InFlightBatches, answer: Acknowledgement) -> Exception:
        code, source = answer.error_code, in_flight.work.source
        if code == errors.TopicAuthorizationFailedError.errno:
            return AuthorizationRefused(self._task.target, "WRITE", f"topic {in_flight.remote.topic}", topic=source.topic)
        if code in REFUSALS and in_flight.remote not in self._recorded:
            return refusal_of(in_flight.work, in_flight.sent[0], answer, self._task.unpacked_max_bytes)
        return self._transactions.translate(code, f"writing to {in_flight.remote}")
