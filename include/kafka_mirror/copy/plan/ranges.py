"""What to do with one partition: a range to copy, nothing, or an error of this partition alone.

             log start                watermark          last stable offset      end
source  ─────────┼──────── copied ────────┼──── the range ────────┼─ open transaction ─┤
                 └─ after the watermark: a gap                    └─ nothing committed is readable from here on
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from kafka_mirror.config.catalogue.values import StartPosition
from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, FIRST_SIGHT, GAP, Range
from kafka_mirror.errors import ErrorReport, MirrorError, Remedy, SourceGap, SourceRecreated, SourceTruncated, SourceUnreadable
from kafka_mirror.formats.offsets.partition import NO_TOPIC_ID, TopicPartition
from kafka_mirror.ledger.checks import find_lost
from kafka_mirror.ledger.record import Blocked, LedgerRecord

_LONGEST_PAUSE = timedelta(hours=1)


@dataclass(frozen=True)
class SourceOffsets:
    """One source partition as found. `readable_end` is the last stable offset, or the end where uncommitted records are mirrored too."""

    tp: TopicPartition
    topic_id: str
    log_start: int
    readable_end: int
    end: int
    time_offset: int | None = None
    """The first offset at or after the configured start time, where one is configured and there is such a record."""
    leader_epoch: int | None = None
    """The leader epoch when the end was asked for."""
    epoch_end: int | None = None
    """Where the leader epoch of the ledger's watermark ends in the log as it is now, if newer epochs follow."""
    is_unconfirmed: bool = False
    """Whether newer epochs follow, and the leader did not say where that one ends: the log may have been cut off below the watermark."""

    is_contradicted: bool = False
    """Whether another bootstrap server knows a newer leader, so that the broker which said all this is cut off from its cluster."""

    def make_range(self, start: int, end: int, reason: str, skip_to: int | None = None) -> Range:
        """A range of this partition."""
        log_end = self.end if self.end > end else None
        return Range(self.tp.topic, self.tp.partition, self.topic_id, start, end, reason, skip_to, self.leader_epoch, log_end=log_end)


def first_sight(partition: SourceOffsets, start: StartPosition) -> Range:
    """The range of a partition that the ledger does not know. Its start is committed even if there is nothing to copy."""
    position = partition.log_start
    if start.kind == "latest" or (start.kind == "timestamp" and partition.time_offset is None):
        position = partition.readable_end
    elif start.kind == "timestamp" and partition.time_offset is not None:
        position = partition.time_offset
    elif start.kind == "offset" and start.value is not None:
        position = start.value
    position = max(partition.log_start, min(position, partition.readable_end))
    # The log start may have moved past the end since that was asked for.
    return partition.make_range(position, max(position, partition.readable_end), FIRST_SIGHT)


def next_range(
    partition: SourceOffsets, record: LedgerRecord, skip_gaps: bool, now: datetime, interval: timedelta
) -> Range | ErrorReport | None:
    """What is owed to a partition that the ledger knows; None if nothing is. Without an `interval` a refused record is tried at once."""
    tp, watermark = partition.tp, record.watermark
    if (another := _explain_other_log(partition, record)) is not None:
        return another.report()
    if (lost := find_lost(tp, record)) is not None:
        return lost
    if watermark < partition.log_start:
        if not skip_gaps:
            return SourceGap(tp.topic, tp.partition, watermark, partition.log_start).report()
        end = max(partition.readable_end, partition.log_start)
        return partition.make_range(partition.log_start, end, GAP, skip_to=partition.log_start)
    if watermark >= partition.readable_end:
        return report_unconfirmed(tp, watermark, record.leader_epoch).report() if partition.is_unconfirmed else None
    blocked = record.blocked
    if blocked is not None and blocked.offset == watermark:
        # A time that is still to come is of a host whose clock is ahead, or ours is behind: it postpones nothing.
        waits = timedelta() <= now - (blocked.tried or record.writer.time) < pause(blocked, interval)
        return report_blocked(tp, blocked) if waits else partition.make_range(watermark, partition.readable_end, BLOCKED)
    return partition.make_range(watermark, partition.readable_end, BEHIND)


def _explain_other_log(partition: SourceOffsets, record: LedgerRecord) -> MirrorError | None:
    """Why the log is not the one that was copied, or why that is unknown; None if it is."""
    tp, watermark = partition.tp, record.watermark
    if partition.is_contradicted:
        return report_contradicted(tp, watermark)
    if not record.is_of(partition.topic_id, partition.leader_epoch):
        return SourceRecreated(tp.topic, tp.partition, watermark, record.source_topic_id, partition.topic_id)
    departed = partition.epoch_end if record.leader_epoch is not None else None
    if partition.end < watermark or (departed is not None and departed < watermark):
        return SourceTruncated(
            tp.topic,
            tp.partition,
            watermark,
            partition.end,
            departed,
            may_be_new=NO_TOPIC_ID in (record.source_topic_id, partition.topic_id),
        )
    return None


def report_unconfirmed(tp: TopicPartition, offset: int, epoch: int | None) -> MirrorError:
    """The error of a partition where it is unknown whether its log was cut off in front of an offset."""
    return SourceUnreadable(
        f"{tp}@{offset}: the partition has another leader on the source, which does not say where leader epoch {epoch} ends in its log. So "
        "it is not known whether the log was cut off in front of this offset. Nothing was done with the partition.",
        topic=tp.topic,
        partition=tp.partition,
        offset=offset,
        next="Look at the partition's leader on the source if this lasts; it is asked again each time.",
    )


def report_contradicted(tp: TopicPartition, offset: int) -> MirrorError:
    """The error of a partition whose broker is cut off from its cluster."""
    return SourceUnreadable(
        f"{tp}@{offset}: the broker of the source that answered for the partition is cut off from its cluster: another one knows a newer "
        "leader. Nothing was done with the partition.",
        topic=tp.topic,
        partition=tp.partition,
        offset=offset,
        next="Nothing, the next run asks again. If it stays, look for a broker that does not reach its controller, and name others before "
        "it in bootstrap.servers.",
    )


def pause(blocked: Blocked, interval: timedelta) -> timedelta:
    """How long a refused record is left alone before it is tried again: the copy's interval, doubled with each try, at most an hour."""
    return min(interval * (1 << min(blocked.tries, 12)), _LONGEST_PAUSE)


def report_blocked(tp: TopicPartition, blocked: Blocked) -> ErrorReport:
    """The error of a partition that is left alone for now, in the words of the run that found it."""
    message = f"{blocked.message} Stuck since {blocked.since:%Y-%m-%d %H:%M:%S} UTC, tried {blocked.tries} times."
    return ErrorReport(blocked.code, message, *tp, blocked.offset).with_next(
        "Remove the cause that is named. The record is tried again by itself: with the next run once a limit of the remote topic has "
        "changed, and at the latest every hour; a copy that a person starts tries it at once. To go on without it: ",
        Remedy("skip-record", *tp),
    )
