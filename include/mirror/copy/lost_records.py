"""Whether the last records of ours still stand in remote partitions that have grown since.

             kept              lost              target_next
    then  ───────────────┼──────────────────────────┤
    now   ───────────────┼── aborted records ──────────────────┤ end

A leader without our last records may take over while a transaction writes. What that had sent stands where they were, and is aborted: the
partition ends behind `target_next` as it should, and only a reader of committed records sees the hole.
"""

from collections.abc import Mapping

from mirror.copy.checks import RemotePartition, ends_with_ours
from mirror.errors import MirrorError, TargetLostRecords
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.reading import BoundedReader
from mirror.offsets.partition import TopicPartition

_FIRST_LOOK = 1000


def losses(
    reader: BoundedReader, target: Cluster, looked_at: Mapping[TopicPartition, tuple[RemotePartition, LedgerRecord]], seconds: float
) -> dict[TopicPartition, TargetLostRecords]:
    """What was lost, by source partition, of the given remote partitions and their records in the ledger; none of them compacted.

    Looked at are those in which a record of ours stood right in front of `target_next`. A topic that may not be read is left to whoever
    reads what stands behind that.
    """
    asked = {
        TopicPartition(found.remote, tp.partition): tp
        for tp, (found, record) in looked_at.items()
        if ends_with_ours(record) and 0 <= found.log_start < record.target_next
    }
    if not asked:
        return {}
    nexts = {remote: looked_at[tp][1].target_next for remote, tp in asked.items()}
    unread: dict[str, MirrorError] = {}
    last = {remote: (target_next - 1, target_next) for remote, target_next in nexts.items()}
    visible = reader.first_visible(last, seconds, unread, in_all=False)
    gone = [remote for remote in asked if remote not in visible and remote.topic not in unread]
    starts = target.offsets(gone, "earliest") if gone else {}
    lost = {}
    for remote in gone:
        target_next = nexts[remote]
        if starts.get(remote, target_next) < target_next:  # else retention took it meanwhile, or nobody can tell
            end = _end_of_visible(reader, remote, starts[remote], target_next, seconds)
            lost[asked[remote]] = TargetLostRecords(*asked[remote], remote.topic, target_next, end)
    return lost


def _end_of_visible(reader: BoundedReader, remote: TopicPartition, log_start: int, target_next: int, seconds: float) -> int:
    """Looked for backwards, in steps that get larger."""
    end, step = target_next, _FIRST_LOOK
    while end > log_start:
        start = max(log_start, end - step)
        offsets = [int(message.offset() or 0) for message in reader.read({remote: (start, end)}, seconds)]
        if offsets:
            return offsets[-1] + 1
        end, step = start, 8 * step
    return log_start
