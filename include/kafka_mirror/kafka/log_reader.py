"""Reading topics of our own up to given ends, over the connections of a cluster: all committed records, or the newest one of each key.

What this process has read of compacted topics it remembers, so that it reads only what follows the next time. Lanes write a ledger record
of each busy partition every second, and Kafka compacts after minutes at the earliest: without this, each plan and each lane would read tens
of thousands of records for a hundred that count.

    log      a b a c b a │ c a c
    memory         c b a ┘ position, with the leader epoch of the batch in front of it

The position is of use only in the same log. So it is named by topic id and partition, and the leader is asked with the epoch (KIP-320): a
log that was cut off and has grown again answers that it went another way. What is asked for may be deleted in front, too. Then all of it is
read again, from where the log begins.
"""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from kafka_mirror.formats.batches.batch_records import StoredRecord
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.asked_cluster import AskedCluster
from kafka_mirror.kafka.broker_pool import Leader
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.fetch import FetchLimits
from kafka_mirror.kafka.reader import FETCH_BYTES, Batches, RangeReader, Ranges, records_within

_MOST_BYTES = 32 * 1024 * 1024
"""Of all logs together; a ledger that is larger is read as a whole each time."""
_RECORD_BYTES = 200
"""What Python adds to a record, about."""
_NO_ID = {"", "AAAAAAAAAAAAAAAAAAAAAA"}
"""What a broker says of a topic that has no id."""

LogKey = tuple[str, int]
"""Topic id and partition."""
_LIMITS = FetchLimits(FETCH_BYTES, FETCH_BYTES, wait_ms=10, committed=True)
_OF_A_LOGIN = ("bootstrap.servers", "security.", "sasl.", "ssl.")

log = logging.getLogger(__name__)


class LogState(NamedTuple):
    """The newest record of each key in front of a position, the one that was written least recently first."""

    position: int
    epoch: int
    newest: Mapping[bytes | None, StoredRecord]

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return sum(len(record.key or b"") + len(record.value or b"") + _RECORD_BYTES for record in self.newest.values())


class LogMemory:
    """The states of the logs that were read last. Safe for several threads; a state is never changed."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._states: dict[LogKey, LogState] = {}

    def recall(self, key: LogKey, end: int) -> LogState | None:
        """What is remembered of a log that is read up to `end`; None: nothing, or more than that."""
        with self._lock:
            state = self._states.get(key)
        return state if state is not None and state.position <= end else None

    def keep(self, key: LogKey, state: LogState) -> None:
        """Remembers a state in place of an earlier one, unless a key is deleted in it: compaction takes out what deletes it, and then
        nothing of the log tells any more. What was read least recently makes room."""
        with self._lock:
            self._states.pop(key, None)
            if key[0] in _NO_ID or any(record.value is None for record in state.newest.values()):
                return
            self._states[key] = state
            size = sum(other.bytes for other in self._states.values())
            while size > self._most_bytes:
                size -= self._states.pop(next(iter(self._states))).bytes

    def forget(self, key: LogKey) -> None:
        """Remembers nothing of a log."""
        with self._lock:
            self._states.pop(key, None)


MEMORY = LogMemory()
"""Of this process."""


def stored_records(cluster: Cluster, settings: Mapping[str, Any], ranges: Ranges) -> list[StoredRecord]:
    """The committed records in `[start, end)` of each partition, in order within each. `settings` are those of a consumer of the cluster.
    Raises StaleAnswer if a leader's log ends in front of a range."""
    with _log_in(cluster, settings) as reader:
        reading = RangeReader(reader, _drop_empty(ranges), _LIMITS)
        return [record for tp, batches in reading.read_batches() for record in _records(tp, batches, ranges[tp])]


def newest_records(cluster: Cluster, settings: Mapping[str, Any], ranges: Ranges) -> list[StoredRecord]:
    """The newest committed record of each key in the ranges, in the order in which they were written in each partition. Logs that are read
    from their beginning are remembered: this process reads only what follows the next time."""
    with _log_in(cluster, settings) as reader:
        return _NewestReading(reader, _drop_empty(ranges)).read_newest()


def login(settings: Mapping[str, Any]) -> dict[str, Any]:
    """By whom, and where, a client with these settings is connected."""
    return {name: value for name, value in settings.items() if name.startswith(_OF_A_LOGIN)}


# ------------------------------------------------------------ inside


@contextmanager
def _log_in(cluster: Cluster, settings: Mapping[str, Any]) -> Iterator[AskedCluster]:
    """The cluster, or as another client if the consumer logs in otherwise, or elsewhere."""
    if login(settings) == login(cluster.settings):
        yield cluster
        return
    with closing(AskedCluster(cluster.alias, settings, cluster.timeout)) as others:
        yield others


def _drop_empty(ranges: Ranges) -> Ranges:
    return {tp: (start, end) for tp, (start, end) in ranges.items() if start < end}


def _records(tp: TopicPartition, batches: Batches, within: tuple[int, int]) -> Iterator[StoredRecord]:
    for records in records_within(tp, batches, *within):
        yield from (StoredRecord(tp, record.offset, record.key, record.value) for record in records)


class _NewestReading(RangeReader):
    """Begins after what is remembered of each log. The leader says whether that is of its log: it is asked in any case."""

    def __init__(self, cluster: AskedCluster, ranges: Ranges) -> None:
        super().__init__(cluster, ranges, _LIMITS)
        self._keys: dict[TopicPartition, LogKey] = {}
        self._newest: dict[TopicPartition, dict[bytes | None, StoredRecord]] = {tp: {} for tp in ranges}
        self._places: dict[TopicPartition, tuple[int, int]] = {}
        """The offset after the last batch of each log that was read, and the batch's leader epoch."""

    def read_newest(self) -> list[StoredRecord]:
        """Reads all of them."""
        for tp, batches in self.read_batches():
            start, end = self._ranges[tp]
            newest = self._newest[tp]
            for record in _records(tp, batches, (start, end)):
                newest.pop(record.key, None)  # it stands where it was written last
                newest[record.key] = record
            whole = [batch for batch, _ in batches if batch.next_offset <= end]
            if whole:
                self._places[tp] = whole[-1].next_offset, whole[-1].leader_epoch
        for tp, place in self._places.items():
            if not self._ranges[tp][0]:
                MEMORY.keep(self._keys[tp], LogState(*place, self._newest[tp]))
        return [record for newest in self._newest.values() for record in newest.values()]

    def begin_of(self, tp: TopicPartition, leader: Leader) -> tuple[int, int | None]:
        """The offset after what is remembered."""
        start, end = self._ranges[tp]
        self._keys[tp] = leader.topic_id, tp.partition
        state = MEMORY.recall(self._keys[tp], end) if not start else None
        if state is None:
            return start, None
        self._newest[tp] = dict(state.newest)
        return state.position, state.epoch

    def handle_another_log(self, tp: TopicPartition, position: int, diverged_at: int | None) -> None:
        """Reads all of it again if it is another log than the one that is remembered, or was read so far."""
        log.debug("Cluster '%s': %s is read again, it does not hold @%d.", self.cluster.alias, tp, position)
        MEMORY.forget(self._keys[tp])
        start = self._ranges[tp][0]
        if position == start and diverged_at is None:
            super().handle_another_log(tp, position, diverged_at)
            return
        self._newest[tp].clear()
        self._places.pop(tp, None)
        self.go_on(tp, start)
