"""What must hold of a remote partition before anything is written to it.

                     log start            target_next      last stable offset = end
    remote partition ────┼───────── ours ─────────┼── marker ──┼
                                                  └─ window ───┘   no visible record may stand here

Our own commit marker is the one entry that may follow our last record. If exactly one offset follows `target_next`, it is that
marker, for the transaction is known to be committed; more than one may be aborted attempts or somebody else's records, so they are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_mirror.errors import MirrorError, TargetHidden, TargetLostRecords, TargetMissing, TargetRecreated, TargetUnavailable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import ConfigEntry, Topic
from kafka_mirror.ledger.record import LedgerRecord

UNKNOWN = -1
"""An offset that no broker gave."""
LIMITS = (
    "cleanup.policy",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.type",
)
"""The configs by which a broker takes or refuses a single record (LogValidator)."""


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


def unusable(state: RemotePartition, record: LedgerRecord | None) -> MirrorError | None:
    """Why a transaction must leave this partition out, if it must: it cannot be written, where a commit marker to it would block the whole
    lane, or it is not what the ledger speaks of."""
    return _report_unavailable(state, record) or _report_other_topic(state, record)


def report_missing_remote(tp: TopicPartition, remote: str, record: LedgerRecord | None) -> MirrorError:
    """The error of a remote partition that does not exist; where the ledger has another name for it, that is the cause."""
    if record is not None and record.target_topic != remote:
        return TargetRecreated(tp.topic, tp.partition, remote, f"name {record.target_topic}", remote)
    return TargetMissing(tp.topic, tp.partition, remote)


def _report_unavailable(state: RemotePartition, record: LedgerRecord | None) -> MirrorError | None:
    tp, remote = state.source, state.remote
    if state.topic is None or tp.partition >= len(state.topic.partitions):
        return report_missing_remote(tp, remote, record)
    partition = state.topic.partitions[tp.partition]
    if partition.leader is None or UNKNOWN in (state.log_start, state.last_stable, state.end):
        return TargetUnavailable(tp.topic, tp.partition, remote, "it has no leader")
    if len(partition.isr) < min(state.min_insync, len(partition.replicas)):
        return TargetUnavailable(
            tp.topic, tp.partition, remote, f"{len(partition.isr)} replicas are in sync and min.insync.replicas is {state.min_insync}"
        )
    return None


def _report_other_topic(state: RemotePartition, record: LedgerRecord | None) -> MirrorError | None:
    if record is None or state.topic is None:
        return None
    tp, remote = state.source, state.remote
    if record.target_topic != remote:
        return TargetRecreated(tp.topic, tp.partition, remote, f"name {record.target_topic}", remote)
    if record.target_topic_id != state.topic.id:
        return TargetRecreated(tp.topic, tp.partition, remote, f"topic id {record.target_topic_id}", state.topic.id)
    if state.end < record.target_next:
        return TargetLostRecords(tp.topic, tp.partition, remote, record.target_next, state.end)
    return None


def find_hidden(state: RemotePartition, record: LedgerRecord | None) -> MirrorError | None:
    """Whether what we committed cannot be read. Our own transactions are over, markers included, once the lane is fenced."""
    if record is None or not 0 <= state.last_stable < record.target_next <= state.end:
        return None
    return TargetHidden(state.source.topic, state.source.partition, state.remote, state.last_stable, record.target_next)


def window(state: RemotePartition, record: LedgerRecord | None, accepted: int = 0) -> tuple[int, int] | None:
    """The target offsets in which no visible record may stand, if they must be read to know that. In front of `accepted` a person lets
    them stay where the ledger knows nothing of the partition."""
    start = max(state.log_start, accepted) if record is None else max(state.log_start, record.target_next)
    if start >= state.last_stable:
        return None
    only_our_marker = record is not None and ends_with_ours(record) and state.last_stable == state.end == record.target_next + 1
    return None if only_our_marker else (start, state.last_stable)


def ends_with_ours(record: LedgerRecord) -> bool:
    """Whether a record of ours stands right in front of `target_next`. After a person's decision somebody else's may, and of a partition
    that was taken over from MirrorMaker 2 we have written none yet."""
    offset_map = record.offset_map
    return record.records > 0 and offset_map.last is not None and offset_map.target_end == record.target_next


def limits_text(configs: Mapping[str, ConfigEntry]) -> str:
    """The limits of a remote topic in one line, as the ledger notes those under which a record was refused; empty if they are not known.
    Once they are others, the record is worth another try at once."""
    return " ".join(f"{name}={entry.value}" for name in LIMITS if (entry := configs.get(name)) is not None)
