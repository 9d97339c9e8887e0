"""Records written to a partition only if nothing was written there since it was read.

Kafka knows no condition on a write, but a transaction tells where its records were delivered before it is committed:

    read up to ─┐
    … │ theirs  │ ours │ marker │ ours …    delivered at the end that was read, or right after our own marker: committed
    … │ theirs  │ another │ ours            delivered elsewhere: aborted, and never read

The end that was read may be that of a deposed leader: cut off from its cluster, and not from us, it goes on answering. What is written is
acknowledged by the true leader alone, so the place at which it is delivered tells whether the end, and all that was read in front of it,
was true. A marker that a new coordinator wrote once more, or somebody else's aborted records, look the same: then it is written again for
nothing.
"""

import operator
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka_mirror.errors import AuthorizationRefused, ClusterUnreachable, DeadlineExceeded, KafkaFailure, UnexpectedOffset
from kafka_mirror.formats.batches.record_batch import RecordBatch
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_connection import OF_TARGET
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import COORDINATOR_MOVES, TOPIC_DENIED, name_of
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.kafka.produce_request import Outgoing, batches_of
from kafka_mirror.kafka.transactions import PRODUCE, SHORT_MS, Transactions
from kafka_mirror.kafka.writer import await_acknowledgement

_MARKER_POLL_SECONDS = 0.01
_PAUSE_SECONDS = 0.2
_BATCH_BYTES = 512 * 1024
_COORDINATOR_MOVES = frozenset(map(name_of, COORDINATOR_MOVES))


class LogEnd:
    """The end of one partition of the target, as far as it is known: as it was read, and then after what was delivered."""

    def __init__(self, log: TopicPartition, end: int, source: TopicPartition | None = None) -> None:
        """`source`: the partition that is copied into it, which an error then names."""
        self.log = log
        self.next = end
        self._source = source
        self._open = False

    def extend(self, spans: Iterable[tuple[int, int]]) -> None:
        """Takes the first offset and the number of records of each span that a transaction wrote, in order.

        Raises UnexpectedOffset: the transaction must not be committed.
        """
        for first, records in spans:
            if first != self.next:
                raise UnexpectedOffset(self.log, self.next, first, self._source)
            self.next = first + records
            self._open = True

    def pass_marker(self) -> None:
        """After the commit of a transaction: its marker follows what it wrote."""
        self.next += self._open
        self._open = False


def await_readable(
    target: Cluster, ends: Mapping[TopicPartition, int], seconds: float, every: float = _MARKER_POLL_SECONDS
) -> dict[TopicPartition, int]:
    """Waits until what was committed can be read up to these ends; gives up to where it can for those of which more cannot be read after so
    many seconds.

    A commit is decided before its markers are written, so for some milliseconds readers of committed records do not see it.
    """
    wanted = dict(ends)

    def find_hidden() -> dict[TopicPartition, int]:
        stable = target.offsets(wanted, "latest", committed=True)
        hidden = {tp: stable.get(tp, 0) for tp, end in wanted.items() if stable.get(tp, 0) < end}
        for tp in wanted.keys() - hidden.keys():
            del wanted[tp]
        return hidden

    return poll_until(find_hidden, seconds, every, enough=operator.not_)


class CommitInDoubt(Exception):
    """Raised when the broker did not say how a commit ended. It has ended by now: what is not in the log never will be.

    A coordinator answers so while a later producer of the same transactional id fences this one: it meets its own unfinished change of
    state (seen with Kafka 4.3.1: «transition to ONGOING while it already a pending state PREPARE_EPOCH_FENCE»).
    """


class ConditionalWriter:
    """Writes to one cluster under a transactional id that all who write to the partition share."""

    def __init__(self, alias: str, settings: Mapping[str, Any], transactional_id: str, seconds: float) -> None:
        """`settings` are those of a producer; `seconds`: how long each step may take."""
        self._alias = alias
        self._settings = settings
        self._id = transactional_id
        self._seconds = seconds

    def write(self, records: Iterable[Outgoing], log: TopicPartition, end: int, what: str) -> None:
        """Commits the records, all of one partition, if they are delivered right at its `end`; `what` names them in errors.

        What fails before the commit is tried again while there is time. Raises UnexpectedOffset or Fenced, then nothing was written;
        CommitInDoubt, then it may have been; and what the brokers say.
        """
        batches = batches_of(records, _BATCH_BYTES)
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                return self._write(batches, log, end, f"writing {what}")
            except (ClusterUnreachable, KafkaFailure) as failure:
                passes = isinstance(failure, ClusterUnreachable) or failure.reason in _COORDINATOR_MOVES
                if not passes or time.monotonic() + _PAUSE_SECONDS >= deadline:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def _write(self, batches: Sequence[RecordBatch], log: TopicPartition, end: int, step: str) -> None:
        transactions = self._begin()
        try:
            transactions.begin()
            LogEnd(log, end).extend(self._send(transactions, batches, log, step))
            self._commit(transactions, log)
        finally:
            transactions.close()

    def _begin(self) -> Transactions:
        """No step takes longer than the transaction may be open."""
        pool = BrokerPool(self._alias, self._settings, min(self._seconds, SHORT_MS / 1000), OF_TARGET, carries_batches=True)
        return Transactions(pool, self._id, SHORT_MS)

    def _send(
        self, transactions: Transactions, batches: Iterable[RecordBatch], log: TopicPartition, step: str
    ) -> Iterator[tuple[int, int]]:
        """Sends one batch after the other; gives where each was delivered, and how many records it has."""
        transactions.add({log: log.topic})
        sequence = 0
        for batch in batches:
            sent = batch.stamp_producer(*transactions.producer, sequence)
            answer = await_acknowledgement(transactions.pool, step, log, sent, PRODUCE[transactions.version], self._id)
            if answer.error_code == TOPIC_DENIED:
                raise AuthorizationRefused(self._alias, "WRITE", f"topic {log.topic}", topic=log.topic)
            if answer.error_code:
                raise transactions.translate(answer.error_code, step)
            sequence += batch.record_count
            yield answer.base_offset, batch.record_count

    def _commit(self, transactions: Transactions, log: TopicPartition) -> None:
        try:
            transactions.commit()
        except (ClusterUnreachable, DeadlineExceeded, KafkaFailure) as failure:
            later = self._begin()  # whatever was open under the transactional id has ended when a later producer has begun
            later.close()
            raise CommitInDoubt(f"{log}: {failure}") from failure
