"""Writes ledger records of a flow that changes hands, by a lane's own protocol: fence, read its ledger, then write in a transaction."""

import socket
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from mirror.copy.confluent_engine import ConfluentEngine
from mirror.copy.model import LaneTask
from mirror.errors import DeadlineExceeded, LedgerMissing
from mirror.formats.ledger import LedgerRecord, Writer
from mirror.formats.ledger_bytes import encode, encode_key
from mirror.kafka.cluster import Cluster
from mirror.kafka.ledger import Ledger
from mirror.offsets.partition import TopicPartition
from mirror.plan.checks import check_clusters, check_writer
from mirror.plan.decisions import Decisions

_BATCH_BYTES = 1_000_000
_MARKER_SECONDS = 15.0

Records = Mapping[TopicPartition, LedgerRecord]
Change = Callable[[Records, Writer], Records]
"""From what the ledger says of a lane that is fenced to the records that are written; none of them: nothing is written."""


def write_lane(task: LaneTask, change: Change) -> Records:
    """Fences a lane, lets `change` say what its ledger has to say, writes that, and gives it.

    After the fencing nobody else can write to the lane, so what `change` looks at stays. Raises what concerns the whole lane.
    """
    with Cluster(task.target, task.clients.target_admin, task.request_seconds) as target:
        engine = ConfluentEngine(task, _BATCH_BYTES)
        try:
            _check_ledger(task, target)
            known = Ledger(task.ledger_topic, task.lanes, target, task.clients.target_consumer).read_lane(task.lane)
            decisions, now = Decisions(task.decisions), datetime.now(UTC)
            check_clusters(known.values(), task.source, task.source_cluster_id, task.target, task.target_cluster_id, decisions)
            check_writer(known.values(), task.ledger_topic, task.lane, task.installation, task.interval_seconds, now, decisions)
            changed = change(known, Writer(task.installation, socket.gethostname(), task.run, now))
            if changed:
                engine.record(task.ledger_topic, task.lane, [(encode_key(tp), encode(record)) for tp, record in sorted(changed.items())])
                engine.commit()
        finally:
            engine.close()
        if changed:
            _await_marker(task, target)
    return changed


def _check_ledger(task: LaneTask, target: Cluster) -> None:
    found = target.topics([task.ledger_topic]).get(task.ledger_topic)
    if found is None or found.id != task.ledger_id:
        raise LedgerMissing(task.ledger_topic, task.ledger_id, found.id if found else None)


def _await_marker(task: LaneTask, target: Cluster) -> None:
    """A commit is decided before its marker is written, and whoever comes next reads committed records."""
    lane = TopicPartition(task.ledger_topic, task.lane)
    end = target.offsets([lane], "latest").get(lane, 0)
    deadline = time.monotonic() + _MARKER_SECONDS
    while target.offsets([lane], "latest", committed=True).get(lane, -1) < end:
        if time.monotonic() > deadline:
            raise DeadlineExceeded(
                f"What was committed to {lane} cannot be read after {_MARKER_SECONDS:g} s.",
                topic=task.ledger_topic,
                partition=task.lane,
                next="Look at the target's brokers, then run the command again.",
            )
        time.sleep(0.02)
