"""Reading topics of our own up to given ends, over the connections of a cluster: all committed records, or the newest one of each key.

What is asked for may be deleted in front, and a leader may have another log than the one that was read before (`log_memory`): then all of
it is read again, from where the log begins.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import kafka.errors as errors

from mirror.errors import KafkaFailure, StaleAnswer
from mirror.formats.batch_records import StoredRecord, records_in
from mirror.formats.record_batch import RecordBatch
from mirror.kafka.batch_fetch import FetchedPartition, FetchLimits, ask_for
from mirror.kafka.broker_pool import BrokerPool
from mirror.kafka.cluster import Cluster
from mirror.kafka.cluster_connections import ClusterConnections
from mirror.kafka.connection_errors import is_retriable, raise_for
from mirror.kafka.fetch_response import FetchResponse
from mirror.kafka.log_memory import MEMORY, LogState
from mirror.offsets.partition import TopicPartition

FETCH_BYTES = 8 * 1024 * 1024
_LIMITS = FetchLimits(FETCH_BYTES, FETCH_BYTES, wait_ms=10, committed=True)
_NO_PROGRESS = 3
"""After this many empty answers in a row the leader is asked anew."""
_OUT_OF_RANGE = errors.OffsetOutOfRangeError.errno
_OF_A_LOGIN = ("bootstrap.servers", "security.", "sasl.", "ssl.")

Ranges = Mapping[TopicPartition, tuple[int, int]]
Fetched = Mapping[TopicPartition, FetchedPartition]

log = logging.getLogger(__name__)


def stored_records(cluster: Cluster, settings: Mapping[str, Any], ranges: Ranges) -> list[StoredRecord]:
    """The committed records in `[start, end)` of each partition, in order within each. `settings` are those of a consumer of the cluster.
    Raises StaleAnswer if a leader's log ends in front of a range."""
    with _connections(cluster, settings) as connections:
        return read_records(connections, ranges)


def newest_records(cluster: Cluster, settings: Mapping[str, Any], ranges: Ranges) -> list[StoredRecord]:
    """The newest committed record of each key in the ranges, in the order in which they were written in each partition. Logs that are read
    from their beginning are remembered: this process reads only what follows the next time."""
    with _connections(cluster, settings) as connections:
        return read_newest(connections, ranges)


def login(settings: Mapping[str, Any]) -> dict[str, Any]:
    """By whom, and where, a client with these settings is connected."""
    return {name: value for name, value in settings.items() if name.startswith(_OF_A_LOGIN)}


def read_records(connections: ClusterConnections, ranges: Ranges) -> list[StoredRecord]:
    """As `stored_records`, over these connections."""
    reader = _LogReader(connections)
    return connections.ask("reading records", lambda pool: reader.read(pool, _without_empty(ranges)))


def read_newest(connections: ClusterConnections, ranges: Ranges) -> list[StoredRecord]:
    """As `newest_records`, over these connections."""
    reader = _LogReader(connections)
    return connections.ask("reading records", lambda pool: reader.read_newest(pool, _without_empty(ranges)))


# ------------------------------------------------------------ inside


@contextmanager
def _connections(cluster: Cluster, settings: Mapping[str, Any]) -> Iterator[ClusterConnections]:
    """The cluster's own connections, or others if the consumer logs in otherwise, or elsewhere."""
    if login(settings) == login(cluster.settings):
        yield cluster.connections
        return
    others = ClusterConnections(cluster.alias, settings, cluster.timeout)
    try:
        yield others
    finally:
        others.close()


def _without_empty(ranges: Ranges) -> Ranges:
    return {tp: (start, end) for tp, (start, end) in ranges.items() if start < end}


class _AnotherLog(Exception):
    """Raised when the log of a partition does not hold the position where reading was to go on."""

    def __init__(self, tp: TopicPartition, position: int) -> None:
        super().__init__(f"{tp} does not hold @{position}")


class _LogReader:
    """Reads as parts of a question: what it raises of kafka-python's errors is asked again where it passes."""

    def __init__(self, connections: ClusterConnections) -> None:
        self._connections = connections

    def read(self, pool: BrokerPool, ranges: Ranges) -> list[StoredRecord]:
        """All records."""
        return [record for tp, there in self._fetch(pool, ranges, {}).items() for record in _committed(tp, there, *ranges[tp])]

    def read_newest(self, pool: BrokerPool, ranges: Ranges) -> list[StoredRecord]:
        """The newest record of each key. The leader says whether what is remembered is of its log."""
        logs = {tp: (leader.topic_id, tp.partition) for tp, leader in self._connections.leaders(pool, ranges).items()}
        remembered = {tp: MEMORY.state(logs[tp], end) for tp, (start, end) in ranges.items() if not start}
        states = {tp: state for tp, state in remembered.items() if state is not None}
        try:
            fetched = self._fetch(pool, ranges, states)
        except _AnotherLog as why:
            log.debug("Cluster '%s': all of it is read again: %s", self._connections.errors.alias, why)
            for tp in states:
                MEMORY.forget(logs[tp])
            states = {}
            fetched = self._fetch(pool, ranges, states)
        records: list[StoredRecord] = []
        for tp, there in fetched.items():
            start, end = ranges[tp]
            newest = dict(states[tp].newest) if tp in states else {}
            for record in _committed(tp, there, states[tp].position if tp in states else start, end):
                newest.pop(record.key, None)  # it stands where it was written last
                newest[record.key] = record
            whole = [batch for batch, _ in there.batches if batch.next_offset <= end]
            if whole and not start:
                MEMORY.keep(logs[tp], LogState(whole[-1].next_offset, whole[-1].leader_epoch, newest))
            records += newest.values()
        return records

    def _fetch(self, pool: BrokerPool, ranges: Ranges, states: Mapping[TopicPartition, LogState]) -> Fetched:
        """What is in the ranges, as far as it was not deleted, after what is remembered. Raises _AnotherLog if the leader of a remembered
        log has another one: it is asked in any case."""
        try:
            return self._fetch_from(pool, ranges, states)
        except _AnotherLog as why:
            if states:
                raise
            log.debug("Cluster '%s': the logs' beginnings are asked for: %s", self._connections.errors.alias, why)
        try:
            return self._fetch_from(pool, self._without_deleted(pool, ranges), {})
        except _AnotherLog as why:
            raise errors.OffsetNotAvailableError(str(why)) from why

    def _without_deleted(self, pool: BrokerPool, ranges: Ranges) -> Ranges:
        """The ranges without what was deleted in front of them. Raises StaleAnswer for one that begins after the end of its log."""
        begins, ends = self._connections.bounds(pool, list(ranges))
        for tp, (start, _) in ranges.items():
            if tp in ends and ends[tp].offset < start:
                raise StaleAnswer(tp, ends[tp].offset, start)
        return {tp: (max(start, begins[tp].offset) if tp in begins else start, end) for tp, (start, end) in ranges.items()}

    def _fetch_from(self, pool: BrokerPool, ranges: Ranges, states: Mapping[TopicPartition, LogState]) -> Fetched:
        by_node: dict[int, dict[TopicPartition, FetchedPartition]] = {}
        for tp, leader in self._connections.leaders(pool, ranges).items():
            state = states.get(tp)
            start, epoch = (ranges[tp][0], None) if state is None else (state.position, state.epoch)
            by_node.setdefault(leader.node, {})[tp] = FetchedPartition(start, epoch, leader)
        for node, fetched in by_node.items():
            self._fetch_to_ends(pool, node, fetched, {tp: ranges[tp][1] for tp in fetched}, fetched.keys() & states.keys())
        return {tp: there for fetched in by_node.values() for tp, there in fetched.items()}

    def _fetch_to_ends(
        self, pool: BrokerPool, node: int, fetched: Fetched, ends: Mapping[TopicPartition, int], unconfirmed: set[TopicPartition]
    ) -> None:
        """Fetches every partition of one leader up to its end, and those that are `unconfirmed` at least once."""
        waits = 0
        while short := {tp: there for tp, there in fetched.items() if there.position < ends[tp] or tp in unconfirmed}:
            before = sum(there.position for there in short.values())
            answers: list[FetchResponse] = []
            connection = pool.to(node)
            # Brokers fill an answer in the order of the question.
            ask_for(connection, dict(sorted(short.items(), key=lambda item: item[1].bytes)), _LIMITS, answers.append)
            connection.receive()
            (answer,) = answers
            raise_for(answer.error_code)
            for data in answer.partitions:
                tp = TopicPartition(data.topic, data.partition)
                if data.error_code == _OUT_OF_RANGE or data.diverged_at is not None:
                    raise _AnotherLog(tp, fetched[tp].position)
                if is_retriable(data.error_code):
                    raise_for(data.error_code)
                if data.error_code:
                    what = f"topic {tp.topic}"
                    raise self._connections.errors.refused(data.error_code, f"reading {tp}", topic=tp.topic, operation="READ", what=what)
                fetched[tp].add(data)
                fetched[tp].read_old(FETCH_BYTES)
                if (closed := fetched[tp].closed) is not None:
                    raise closed
                unconfirmed.discard(tp)
            waits = 0 if sum(there.position for there in short.values()) > before else waits + 1
            if waits >= _NO_PROGRESS:
                tp, there = next(iter(short.items()))
                raise errors.OffsetNotAvailableError(f"{tp} ends at {there.position}, and {ends[tp]} was told")


def _committed(tp: TopicPartition, fetched: FetchedPartition, start: int, end: int) -> list[StoredRecord]:
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
