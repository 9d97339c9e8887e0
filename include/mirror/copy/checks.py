"""What must hold of a remote partition before anything is written to it.

                     log start            target_next      last stable offset = end
    remote partition ────┼───────── ours ─────────┼── marker ──┼
                                                  └─ window ───┘   no visible record may stand here

Our own commit marker is the one entry that may follow our last record. If exactly one offset lies behind `target_next`, it is that
marker, for the transaction is known to be committed; more than one may be aborted attempts or somebody else's records, so they are read.
"""

from dataclasses import dataclass

from mirror.copy.engine import Progress
from mirror.errors import KafkaFailure, MirrorError, TargetHidden, TargetLostRecords, TargetMissing, TargetRecreated, TargetUnavailable
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.model import Topic
from mirror.offsets.partition import TopicPartition

UNKNOWN = -1
"""An offset that no broker told."""


@dataclass(frozen=True)
class RemotePartition:
    """A remote partition as found: its topic (None if there is none), log start, last stable offset and end."""

    source: TopicPartition
    remote: str
    topic: Topic | None
    min_insync: int = 1
    log_start: int = 0
    last_stable: int = 0
    end: int = 0


def availability(found: RemotePartition) -> MirrorError | None:
    """Why a transaction must leave this partition out, if it must: a commit marker to it would block the whole lane."""
    tp, remote = found.source, found.remote
    if found.topic is None or tp.partition >= len(found.topic.partitions):
        return TargetMissing(tp.topic, tp.partition, remote)
    partition = found.topic.partitions[tp.partition]
    if partition.leader is None or UNKNOWN in (found.log_start, found.last_stable, found.end):
        return TargetUnavailable(tp.topic, tp.partition, remote, "it has no leader")
    if len(partition.isr) < min(found.min_insync, len(partition.replicas)):
        return TargetUnavailable(
            tp.topic, tp.partition, remote, f"{len(partition.isr)} replicas are in sync and min.insync.replicas is {found.min_insync}"
        )
    return None


def continuity(found: RemotePartition, record: LedgerRecord | None) -> MirrorError | None:
    """Whether the remote partition is the one the ledger speaks of, and still ends where it must."""
    if record is None or found.topic is None:
        return None
    tp, remote = found.source, found.remote
    if record.target_topic != remote:
        return TargetRecreated(tp.topic, tp.partition, remote, f"name {record.target_topic}", remote)
    if record.target_topic_id != found.topic.id:
        return TargetRecreated(tp.topic, tp.partition, remote, f"topic id {record.target_topic_id}", found.topic.id)
    if found.end < record.target_next:
        return TargetLostRecords(tp.topic, tp.partition, remote, record.target_next, found.end)
    return None


def hidden(found: RemotePartition, record: LedgerRecord | None) -> MirrorError | None:
    """Whether what we committed cannot be read. Our own transactions are over, markers included, once the lane is fenced."""
    if record is None or not 0 <= found.last_stable < record.target_next <= found.end:
        return None
    return TargetHidden(found.source.topic, found.source.partition, found.remote, found.last_stable, record.target_next)


def went_back(record: LedgerRecord, remote: str, progress: Progress) -> MirrorError | None:
    """Whether records were acknowledged in front of what was written before: then a leader without that has taken over since."""
    tp, expected = progress.source, record.target_next
    for run in progress.runs:
        if run.target < 0:
            return KafkaFailure(f"{tp}@{run.source}: the target took it and did not say where.", topic=tp.topic, partition=tp.partition)
        if run.target < expected:
            return TargetLostRecords(tp.topic, tp.partition, remote, expected, run.target)
        expected = run.target + run.length
    return None


def window(found: RemotePartition, record: LedgerRecord | None, accepted: int = 0) -> tuple[int, int] | None:
    """The target offsets in which no visible record may stand, if they have to be read to know that. In front of `accepted` a person lets
    them stay where the ledger knows nothing of the partition."""
    start = max(found.log_start, accepted) if record is None else max(found.log_start, record.target_next)
    if start >= found.last_stable:
        return None
    only_our_marker = record is not None and ends_with_ours(record) and found.last_stable == found.end == record.target_next + 1
    return None if only_our_marker else (start, found.last_stable)


def ends_with_ours(record: LedgerRecord) -> bool:
    """Whether a record of ours stands right in front of `target_next`. After a person's decision somebody else's may, and of a partition
    that was taken over from MirrorMaker 2 we have written none yet."""
    known = record.offset_map
    return record.records > 0 and known.last is not None and known.target_end == record.target_next
