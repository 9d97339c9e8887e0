"""Whether the last records of ours still stand in remote partitions that have grown since.

             kept              lost              target_next
    then  ───────────────┼──────────────────────────┤
    now   ───────────────┼── aborted records ──────────────────┤ end

A leader without our last records may take over while a transaction writes. What that had sent stands where they were, and is aborted: the
partition ends behind `target_next` as it should, and only a reader of committed records sees the hole.
"""

from collections.abc import Mapping

from mirror.copy.checks import RemotePartition, ends_with_ours
from mirror.errors import MirrorError
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.reading import BoundedReader
from mirror.offsets.partition import TopicPartition

_FIRST_LOOK = 1000


def can_be_seen(found: RemotePartition, record: LedgerRecord) -> bool:
    """Whether a record of ours stood right in front of `target_next` that nothing but a loss can have removed, or the cleaner."""
    return ends_with_ours(record) and 0 <= found.log_start < record.target_next


def lost_from(
    reader: BoundedReader, asked: Mapping[TopicPartition, tuple[int, int]], seconds: float, errors: dict[str, MirrorError]
) -> dict[TopicPartition, int]:
    """Of remote partitions, given with log start and `target_next`, those whose last record of ours is gone, with the offset behind the
    last one that is left. A topic that may not be read is in `errors`."""
    last = {remote: (target_next - 1, target_next) for remote, (_, target_next) in asked.items()}
    visible = reader.first_visible(last, seconds, errors, in_all=False)
    gone = [remote for remote in asked if remote not in visible and remote.topic not in errors]
    return {remote: _end_of_visible(reader, remote, *asked[remote], seconds) for remote in gone}


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
