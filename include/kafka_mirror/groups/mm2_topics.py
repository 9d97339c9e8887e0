"""The topics that MirrorMaker 2 keeps for itself and for others: offset syncs, checkpoints, heartbeats.

They are read as MirrorMaker 2 reads them: partition 0 alone, from its beginning to its end as of now, uncommitted records included. Keys
and values are MirrorMaker 2's byte for byte. A checkpoint of ours says more in headers, which MirrorMaker 2 does not read: the generation
in which it was made, what is known of its place, and of which logs its two offsets are.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kafka_mirror.errors import InternalRecordDamaged, MirrorError
from kafka_mirror.formats import mm2
from kafka_mirror.formats.batches.batch_records import ReadRecord
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import read_headers
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, SeenLog, SeenLogs, key_of
from kafka_mirror.groups.offset_sync_store import SyncPair
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import report_no_leader
from kafka_mirror.kafka.produce_request import Outgoing
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.kafka.writer import RecordWriter

READ_SECONDS = 60.0
_LEAST_STEP = 2000

Record = TypeVar("Record")
Decode = Callable[[bytes | None, bytes | None], Record]

GENERATION = "mirror.generation"
PLACE = "mirror.place"
LOGS = "mirror.logs"
"""JSON, `[[topic id, leader epoch], [topic id, leader epoch]]`: of the source and of the target."""


@dataclass(frozen=True)
class TopicContent(Generic[Record]):
    """The records of a topic in their order, the newer of one key after the older; and those that could not be read, which are left out
    of `records`: MirrorMaker 2 would fail at some of them."""

    records: tuple[Record, ...] = ()
    damaged: tuple[MirrorError, ...] = ()


def read_topic(cluster: Cluster, settings: Mapping[str, Any], topic: str, decode: Decode[Record]) -> TopicContent[Record]:
    """All records of the topic, of which `decode` reads key and value; nothing if there is no such topic. `settings` are those of a
    consumer of the cluster.

    Raises what concerns the cluster or the topic: KafkaFailure without a leader, AuthorizationRefused, DeadlineExceeded …
    """
    end = find_end(cluster, topic)
    return TopicContent() if end is None else read_between(cluster, settings, topic, 0, end, decode)


@dataclass(frozen=True)
class NewestSyncs:
    """The newest pair of each partition that was asked for and has one, the records that could not be read, and how many were read."""

    pairs: Mapping[TopicPartition, SyncPair]
    damaged: tuple[MirrorError, ...] = ()
    read: int = 0


def newest_offset_syncs(
    cluster: Cluster, settings: Mapping[str, Any], topic: str, partitions: Collection[TopicPartition]
) -> NewestSyncs | None:
    """The newest pair of each of these partitions; None if there is no such topic. Otherwise as `read_topic`.

    The topic is read backwards, in steps that get larger: what was written a moment ago stands at its end, and brokers may compact the
    rest only after a week.
    """
    end = find_end(cluster, topic)
    if end is None:
        return None
    wanted, pairs, read = set(partitions), dict[TopicPartition, SyncPair](), 0
    damaged: list[MirrorError] = []
    step = max(_LEAST_STEP, 4 * len(wanted))
    while wanted and end > 0:
        start = max(0, end - step)
        content = read_between(cluster, settings, topic, start, end, mm2.decode_offset_sync)
        newer = {
            tp: SyncPair(sync.upstream, sync.downstream)
            for sync in content.records
            if (tp := TopicPartition(sync.topic, sync.partition)) in wanted
        }
        pairs |= newer
        wanted -= newer.keys()
        damaged += content.damaged
        read += len(content.records)
        end, step = start, 8 * step
    return NewestSyncs(pairs, tuple(damaged), read)


def find_end(cluster: Cluster, topic: str) -> int | None:
    """The end of the topic's partition 0; None if there is no such topic. Raises KafkaFailure without a leader, and
    what the cluster answers."""
    partition = TopicPartition(topic, 0)
    if topic not in cluster.topics([topic]):
        return None
    ends = cluster.offsets([partition], "latest")
    if partition not in ends:
        raise report_no_leader(partition, f"Cluster '{cluster.alias}': {partition} has no leader and cannot be read.", "the cluster's")
    return ends[partition]


def read_between(
    cluster: Cluster, settings: Mapping[str, Any], topic: str, start: int, end: int, decode: Decode[Record]
) -> TopicContent[Record]:
    """The records of partition 0 between two offsets."""
    return _read_records(cluster, settings, topic, start, end, lambda record: decode(record.key, record.value))


def _read_records(
    cluster: Cluster, settings: Mapping[str, Any], topic: str, start: int, end: int, decode: Callable[[ReadRecord], Record]
) -> TopicContent[Record]:
    records: list[Record] = []
    damaged: list[MirrorError] = []
    reader = BoundedReader(cluster.alias, settings, committed=False)
    for record in reader.read({TopicPartition(topic, 0): (start, end)}, READ_SECONDS):
        try:
            records.append(decode(record))
        except ValueError as failure:
            damaged.append(InternalRecordDamaged(topic, record.offset, str(failure)))
    return TopicContent(tuple(records), tuple(damaged))


def read_stored(
    target: Cluster, settings: Mapping[str, Any], topic: str
) -> tuple[dict[tuple[str, TopicPartition], NotedCheckpoint], list[MirrorError]]:
    """The newest checkpoint of each group and remote partition, and the records that are none; nothing if there is no such topic."""
    content = _read_records(target, settings, topic, 0, find_end(target, topic) or 0, _read_checkpoint)
    return {key_of(stored.checkpoint): stored for stored in content.records}, list(content.damaged)


def _read_checkpoint(record: ReadRecord) -> NotedCheckpoint:
    checkpoint, headers = mm2.decode_checkpoint(record.key, record.value), read_headers(record)
    kind, time = record.timestamp
    stamp = time if kind else None
    generation, place = _header(headers, GENERATION), _header(headers, PLACE) or ""
    return NotedCheckpoint(checkpoint, generation, place, stamp, _logs(_header(headers, LOGS)))


def write_checkpoints(
    alias: str, settings: Mapping[str, Any], topic: str, due: Iterable[NotedCheckpoint], time_ms: int, seconds: float
) -> None:
    """Writes them, stamped with the time at which the groups were looked at; all of them are acknowledged, or it raises."""
    RecordWriter(alias, settings, seconds).write((_encode(topic, candidate, time_ms) for candidate in due), "checkpoints")


def _encode(topic: str, candidate: NotedCheckpoint, time_ms: int) -> Outgoing:
    logs = json.dumps(candidate.logs, separators=(",", ":")) if candidate.logs else ""
    notes = {GENERATION: candidate.generation, PLACE: candidate.place, LOGS: logs}
    headers = [(name, text.encode()) for name, text in notes.items() if text and candidate.generation]
    return Outgoing(topic, candidate.checkpoint.key, candidate.checkpoint.value, time_ms, headers=tuple(headers))


def _header(headers: Any, wanted: str) -> str | None:
    values = [value for name, value in headers or () if name == wanted]
    return bytes(values[-1]).decode("ascii", "replace") if values and values[-1] is not None else None


def _logs(text: str | None) -> SeenLogs | None:
    """What the header says; None where there is none, or it is damaged: then it is unknown of which logs the checkpoint is."""
    try:
        (source_id, source_epoch), (target_id, target_epoch) = json.loads(text or "null")
    except (TypeError, ValueError):
        return None
    return SeenLogs(SeenLog(source_id, source_epoch), SeenLog(target_id, target_epoch))
