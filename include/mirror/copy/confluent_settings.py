"""What the clients of a lane are set to: the user's settings under those that the guarantees need."""

import socket

from mirror.copy.model import LaneTask
from mirror.kafka.consumer_settings import FETCH_BYTES, QUEUE_KILOBYTES, bulk_settings

_BATCH_BYTES = 1_000_000
_RECORDS_AT_A_TIME = 2_000
_PORTION_RECORD_BYTES = 2_000  # as if the records of a throttled lane had this size
_LARGEST_RECORD = 1_000_000_000


def consumer_settings(task: LaneTask) -> dict[str, object]:
    """Of the consumer that reads the source."""
    return bulk_settings({**task.clients.source_consumer, **_portions(task)}, task.read_committed)


def _portions(task: LaneTask) -> dict[str, object]:
    """A throttled lane fetches what it may copy, and not as much as it can: else it would throttle its writing alone."""
    if task.fetch_bytes is None:
        return {}
    mine = task.clients.source_consumer
    portion = {name: min(int(mine.get(name, FETCH_BYTES)), task.fetch_bytes) for name in ("fetch.max.bytes", "max.partition.fetch.bytes")}
    ahead = min(int(mine.get("queued.max.messages.kbytes", QUEUE_KILOBYTES)), max(1, task.fetch_bytes // 1024))
    # The client wants its largest message not to be larger than a fetch. That limits nothing that is read: one record always comes whole.
    return {**portion, "queued.max.messages.kbytes": ahead, "queued.min.messages": 1, "message.max.bytes": portion["fetch.max.bytes"]}


def records_at_a_time(task: LaneTask) -> int:
    """How many records to take from the consumer's queue in one turn. Taking them makes room for the next fetch: a throttled lane that took
    thousands would fetch as if it had no throttle, so it takes about a portion."""
    if task.fetch_bytes is None:
        return _RECORDS_AT_A_TIME
    return max(1, min(_RECORDS_AT_A_TIME, task.fetch_bytes // _PORTION_RECORD_BYTES))


def producer_settings(task: LaneTask, max_batch_bytes: int) -> dict[str, object]:
    """The user's producer settings under those that the guarantees need.

    The client's own limit on a record is lifted, because a large record may be small once it is compressed; the broker decides. The batch
    size stays below the smallest max.message.bytes of the lane's topics (set by the protocol): a batch is never split, and a batch that is
    refused does not say for which record.
    """
    batch = min(int(task.clients.target_producer.get("batch.size", _BATCH_BYTES)), max_batch_bytes)
    return {
        "client.id": f"{task.source}->{task.target}|lane-{task.lane}@{socket.gethostname()}",
        "linger.ms": 5,
        "compression.type": "lz4",
        "batch.num.messages": 100_000,
        "queue.buffering.max.messages": 200_000,
        "queue.buffering.max.kbytes": 256 * 1024,
        **task.clients.target_producer,
        "batch.size": batch,
        "message.max.bytes": _LARGEST_RECORD,
        "transactional.id": task.transactional_id,
        "transaction.timeout.ms": task.transaction_timeout_ms,
        "message.timeout.ms": task.transaction_timeout_ms,
        "enable.idempotence": True,
        "acks": "all",
        "allow.auto.create.topics": False,
    }
