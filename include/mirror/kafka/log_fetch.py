"""Fetching logs of our own up to given ends, and the committed records in what was fetched."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mirror.formats.batch_records import StoredRecord, records_in
from mirror.offsets.partition import TopicPartition

if TYPE_CHECKING:
    from mirror.kafka.broker_connection import BrokerConnection
    from mirror.kafka.fetch_response import FetchResponse

_NO_PROGRESS = 3
"""After so many empty answers in a row the end of a range is not waited for any longer."""


class NotClean(Exception):
    """Raised for an answer that librdkafka's client has to be asked for."""


def fetch_to_ends(
    connection: "BrokerConnection",
    fetched: Mapping[TopicPartition, Any],
    ends: Mapping[TopicPartition, int],
    limits: Any,
    unconfirmed: set[TopicPartition],
) -> None:
    """Fetches every partition up to its end, and those that are `unconfirmed` at least once. Raises NotClean."""
    from mirror.kafka.batch_fetch import ask_for

    waits = 0
    while short := {tp: there for tp, there in fetched.items() if there.position < ends[tp] or tp in unconfirmed}:
        before = sum(there.position for there in short.values())
        answers: list[FetchResponse] = []
        # Brokers fill an answer in the order of the question.
        ask_for(connection, dict(sorted(short.items(), key=lambda item: item[1].bytes)), limits, answers.append)
        connection.receive()
        (answer,) = answers
        if answer.error_code:
            raise NotClean(f"a fetch has the error code {answer.error_code}")
        for data in answer.partitions:
            tp = TopicPartition(data.topic, data.partition)
            if data.error_code or data.diverged_at is not None:
                raise NotClean(f"{tp} has the error code {data.error_code}, or another log")
            fetched[tp].add(data)
            unconfirmed.discard(tp)
            if fetched[tp].old is not None:
                raise NotClean(f"{tp} has records of an old format")
        waits = 0 if sum(there.position for there in short.values()) > before else waits + 1
        if waits >= _NO_PROGRESS:
            raise NotClean("the end of a range is not there")


def committed_records(tp: TopicPartition, fetched: Any, start: int, end: int) -> list[StoredRecord]:
    """The records of a fetched partition in `[start, end)`. Raises NotClean."""
    records: list[StoredRecord] = []
    for batch, is_copied in fetched.batches:
        if not is_copied:
            continue
        if not batch.is_intact:
            raise NotClean(f"{tp}@{batch.base_offset}: the checksum of a batch is not that of its bytes")
        try:
            records += [StoredRecord(tp, *record) for record in records_in(batch) if start <= record[0] < end]
        except ValueError as failure:
            raise NotClean(f"{tp}@{batch.base_offset}: {failure}") from failure
    return records
