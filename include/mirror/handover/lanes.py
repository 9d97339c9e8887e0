"""Writes ledger records of a flow that changes hands, by a lane's own protocol: fence, read its ledger, then write in a transaction."""

import socket
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from mirror.copy.confluent_engine import ConfluentEngine
from mirror.copy.log_end import LogEnd
from mirror.copy.model import LaneTask
from mirror.errors import DeadlineExceeded, LedgerMissing
from mirror.formats.lane_note import note, note_key
from mirror.formats.ledger import Decided, LedgerRecord, Writer
from mirror.formats.ledger_bytes import encode, encode_key
from mirror.kafka.cluster import Cluster
from mirror.kafka.ledger import Ledger
from mirror.kafka.servers import OF_ANOTHER_BROKER
from mirror.offsets.partition import TopicPartition
from mirror.plan.checks import check_clusters, check_writer
from mirror.plan.decisions import Decisions

_BATCH_BYTES = 1_000_000
_MARKER_SECONDS = 15.0
_ATTEMPTS = 5

Records = Mapping[TopicPartition, LedgerRecord]
Change = Callable[[Records, Writer], Records]
"""From what the ledger says of a lane that is fenced to the records that are written; none of them: nothing is written."""


def write_lane(task: LaneTask, change: Change, decided: Decided | None = None) -> Records:
    """Fences a lane, lets `change` say what its ledger has to say, writes that, and gives it. With `decided` the lane is marked with it
    too, for partitions that its ledger does not have yet (`mirror.formats.lane_note`).

    After the fencing nobody else can write to the lane, so what `change` looks at stays. A deposed leader may have answered for it, or may
    answer nothing: then the lane is looked at once more, by another broker. Raises what concerns the whole lane, and what leaves in doubt
    whether the lane was written.
    """
    for turn in range(_ATTEMPTS):
        attempt = _Attempt(task.beginning_at(turn), change, decided)
        try:
            return attempt.run()
        except OF_ANOTHER_BROKER as error:
            if attempt.committing:
                raise
            failure = error
        time.sleep(min(0.25 * 2**turn, 2.0))
    raise failure


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
            engine = ConfluentEngine(task, _BATCH_BYTES)
            try:
                _check_ledger(task, target)
                lane = Ledger(task.ledger_topic, task.lanes, target, task.clients.target_consumer).read_fenced(task.lane)
                known, end = lane.records, LogEnd(TopicPartition(task.ledger_topic, task.lane), lane.end)
                decisions, now = Decisions(task.decisions), datetime.now(UTC)
                check_clusters(known.values(), task.source, task.source_cluster_id, task.target, task.target_cluster_id, decisions)
                check_writer(known.values(), task.ledger_topic, task.lane, task.installation, task.interval_seconds, now, decisions)
                writer = Writer(task.installation, socket.gethostname(), task.run, now)
                changed = self._change(known, writer)
                said = {**changed, **(_note(task, self._decided, writer) if self._decided else {})}
                if said:
                    entries = [(encode_key(tp), encode(record)) for tp, record in sorted(said.items())]
                    end.delivered((offset, 1) for offset in engine.record(task.ledger_topic, task.lane, entries))
                    self.committing = True
                    engine.commit()
                    end.committed()
            finally:
                engine.close()
            if said:
                _await_marker(end, target)
        return changed


def _note(task: LaneTask, decided: Decided, writer: Writer) -> Records:
    clusters = (task.source_cluster_id, task.target_cluster_id)
    said = note(task.ledger_topic, task.ledger_id, clusters, task.lanes, decided, writer)
    return {note_key(task.ledger_topic, task.lane): said}


def _check_ledger(task: LaneTask, target: Cluster) -> None:
    found = target.topics([task.ledger_topic]).get(task.ledger_topic)
    if found is None or found.id != task.ledger_id:
        raise LedgerMissing(task.ledger_topic, task.ledger_id, found.id if found else None)


def _await_marker(written: LogEnd, target: Cluster) -> None:
    """A commit is decided before its marker is written, and whoever comes next reads committed records."""
    lane = written.log
    deadline = time.monotonic() + _MARKER_SECONDS
    while target.offsets([lane], "latest", committed=True).get(lane, -1) < written.next:
        if time.monotonic() > deadline:
            raise DeadlineExceeded(
                f"What was committed to {lane} cannot be read after {_MARKER_SECONDS:g} s.",
                topic=lane.topic,
                partition=lane.partition,
                next="Look at the target's brokers, then run the command again.",
            )
        time.sleep(0.02)
