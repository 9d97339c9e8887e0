"""Writes ledger records of a flow that changes hands or is closed, as a lane does: fence, read its ledger, write in a transaction."""

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from kafka_mirror.copy.batches.target import BatchProducer
from kafka_mirror.copy.lane_preflight import check_owner
from kafka_mirror.copy.model import LaneTask
from kafka_mirror.copy.run import LANES_AT_ONCE
from kafka_mirror.errors import DeadlineExceeded
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import OF_ANOTHER_BROKER, connect_anew
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.checks import check_ledger
from kafka_mirror.ledger.codec import encode, encode_key
from kafka_mirror.ledger.compare_and_set import LogEnd, await_readable
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import Decided, LedgerRecord, Writer, note, note_key
from kafka_mirror.ledger.topic import Ledger

_BATCH_BYTES = 1_000_000
_MARKER_SECONDS = 15.0
_ATTEMPTS = 5

Records = Mapping[TopicPartition, LedgerRecord]
Change = Callable[[Records, Writer], Records]
"""From what the ledger says of a lane that is fenced to the records that are written; none of them: nothing is written."""


def write_lane(task: LaneTask, change: Change, decided: Decided | None = None) -> Records:
    """Fences a lane, lets `change` say what its ledger has to say, writes that, and gives it. With `decided` the lane is marked with it
    too, for partitions that its ledger does not have yet (`kafka_mirror.ledger.record`).

    After the fencing no other client can write to the lane, so what `change` looks at stays. A deposed leader may have answered for it, or
    may answer nothing: then the lane is looked at once more, by another broker. Raises what concerns the whole lane, and what leaves in
    doubt whether the lane was written.
    """
    for turn in range(_ATTEMPTS):
        attempt = _Attempt(task.with_first_server(turn), change, decided)
        try:
            return attempt.run()
        except OF_ANOTHER_BROKER as error:
            if attempt.committing:
                raise
            failure = error
            connect_anew()
        time.sleep(min(0.25 * 2**turn, 2.0))
    raise failure


def write_lanes(tasks: Iterable[LaneTask], change_of: Callable[[int], Change], decided: Decided | None = None) -> Records:
    """Fences and writes some lanes at once, each by the change of its number; gives all records that were written. Raises what concerns
    one of them."""

    def write(task: LaneTask) -> Records:
        return write_lane(task, change_of(task.lane), decided)

    with ThreadPoolExecutor(LANES_AT_ONCE) as threads:
        return {tp: record for records in threads.map(write, tasks) for tp, record in records.items()}


class _Attempt:
    """One pass over the lane's protocol. `committing`: whether it has come so far that what it wrote may be committed."""

    def __init__(self, task: LaneTask, change: Change, decided: Decided | None) -> None:
        self._task = task
        self._change = change
        self._decided = decided
        self.committing = False

    def run(self) -> Records:
        """The records that were written, once they can be read."""
        task = self._task
        with Cluster(task.target, task.clients.target_admin, task.request_seconds) as target:
            producer = BatchProducer(task, _BATCH_BYTES)
            try:
                check_ledger(task.ledger_topic, task.ledger_id, target.topic_ids([task.ledger_topic]).get(task.ledger_topic))
                lane = Ledger(task.ledger_topic, task.lanes, target, task.clients.target_consumer).read_fenced(task.lane)
                records, end = lane.records, LogEnd(TopicPartition(task.ledger_topic, task.lane), lane.end)
                now = datetime.now(UTC)
                check_owner(task, records, Decisions(task.decisions), now)
                writer = Writer(task.installation, socket.gethostname(), task.run, now)
                changed = self._change(records, writer)
                said = {**changed, **(_note(task, self._decided, writer) if self._decided else {})}
                if said:
                    entries = [(encode_key(tp), encode(record)) for tp, record in sorted(said.items())]
                    end.extend((offset, 1) for offset in producer.record(task.ledger_topic, task.lane, entries))
                    self.committing = True
                    producer.commit()
                    end.pass_marker()
            finally:
                producer.close()
            if said:
                _await_marker(end, target)
        return changed


def _note(task: LaneTask, decided: Decided, writer: Writer) -> Records:
    clusters = (task.source_cluster_id, task.target_cluster_id)
    said = note(task.ledger_topic, task.ledger_id, clusters, task.lanes, decided, writer)
    return {note_key(task.ledger_topic, task.lane): said}


def _await_marker(written: LogEnd, target: Cluster) -> None:
    """Waits for the marker: the next reader reads committed records."""
    lane = written.log
    if await_readable(target, {lane: written.next}, _MARKER_SECONDS):
        raise DeadlineExceeded(
            f"What was committed to {lane} cannot be read after {_MARKER_SECONDS:g} s.",
            topic=lane.topic,
            partition=lane.partition,
            next="Look at the target's brokers, then run the command again.",
        )
