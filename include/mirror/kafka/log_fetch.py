"""Fetching logs of our own up to given ends, and the committed records in what was fetched."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import kafka.errors as errors

from mirror.errors import KafkaFailure, MirrorError
from mirror.formats.batch_records import StoredRecord, records_in
from mirror.formats.record_batch import RecordBatch
from mirror.kafka.batch_fetch import FetchedPartition, FetchLimits, ask_for
from mirror.kafka.connection_errors import is_retriable, raise_for
from mirror.offsets.partition import TopicPartition

if TYPE_CHECKING:
    from mirror.kafka.broker_connection import BrokerConnection
    from mirror.kafka.fetch_response import FetchResponse

FETCH_BYTES = 8 * 1024 * 1024
_LIMITS = FetchLimits(FETCH_BYTES, FETCH_BYTES, wait_ms=10, committed=True)
_NO_PROGRESS = 3
"""After this many empty answers in a row the leader is asked anew."""
_OUT_OF_RANGE = errors.OffsetOutOfRangeError.errno


class AnotherLog(Exception):
    """Raised when the log of a partition does not hold the position where reading was to go on."""

    def __init__(self, tp: TopicPartition, position: int) -> None:
        super().__init__(f"{tp} does not hold @{position}")
        self.partition = tp
        self.position = position


def fetch_to_ends(
    connection: "BrokerConnection",
    fetched: Mapping[TopicPartition, FetchedPartition],
    ends: Mapping[TopicPartition, int],
    unconfirmed: set[TopicPartition],
    refused: Callable[[TopicPartition, int], MirrorError],
) -> None:
    """Fetches every partition up to its end, and those that are `unconfirmed` at least once. Raises AnotherLog, what `refused` makes of an
    error code, and kafka-python's errors that pass."""
    waits = 0
    while short := {tp: there for tp, there in fetched.items() if there.position < ends[tp] or tp in unconfirmed}:
        before = sum(there.position for there in short.values())
        answers: list[FetchResponse] = []
        # Brokers fill an answer in the order of the question.
        ask_for(connection, dict(sorted(short.items(), key=lambda item: item[1].bytes)), _LIMITS, answers.append)
        connection.receive()
        (answer,) = answers
        raise_for(answer.error_code)
        for data in answer.partitions:
            tp = TopicPartition(data.topic, data.partition)
            if data.error_code == _OUT_OF_RANGE or data.diverged_at is not None:
                raise AnotherLog(tp, fetched[tp].position)
            if data.error_code:
                if is_retriable(data.error_code):
                    raise_for(data.error_code)
                raise refused(tp, data.error_code)
            fetched[tp].add(data)
            fetched[tp].read_old(FETCH_BYTES)
            if (closed := fetched[tp].closed) is not None:
                raise closed
            unconfirmed.discard(tp)
        waits = 0 if sum(there.position for there in short.values()) > before else waits + 1
        if waits >= _NO_PROGRESS:
            tp, there = next(iter(short.items()))
            raise errors.OffsetNotAvailableError(f"{tp} ends at {there.position}, and {ends[tp]} was told")


def committed_records(tp: TopicPartition, fetched: FetchedPartition, start: int, end: int) -> list[StoredRecord]:
    """The records of a fetched partition in `[start, end)`. Raises KafkaFailure for a batch that cannot be read."""
    records: list[StoredRecord] = []
    for batch, is_copied in fetched.batches:
        if not is_copied:
            continue
        if not batch.is_intact:
            raise _damaged(tp, batch, "its checksum is not that of its bytes")
        try:
            records += [StoredRecord(tp, *record) for record in records_in(batch) if start <= record[0] < end]
        except ValueError as failure:
            raise _damaged(tp, batch, str(failure)) from failure
    return records


def _damaged(tp: TopicPartition, batch: RecordBatch, detail: str) -> KafkaFailure:
    return KafkaFailure(
        f"The batch at {tp}@{batch.base_offset} cannot be read: {detail}. Nothing was written.",
        topic=tp.topic,
        partition=tp.partition,
        offset=batch.base_offset,
        next="Look at the disk of the broker that leads the partition, and let an intact replica lead it; the next run goes on by itself.",
    )
