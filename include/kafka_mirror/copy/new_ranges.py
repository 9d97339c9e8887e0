"""How a lane follows: what its partitions got since it copied them last, as new ranges with an end.

One question tells all ends. Where nothing came, nothing else is asked. Where an end is not at the watermark, the plan's own rules decide
(`kafka_mirror.copy.plan.ranges`), by what a plan would ask: so a log that was cut off or created again is the same error here and there.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from kafka_mirror.copy.plan.model import BEHIND, Range
from kafka_mirror.copy.plan.ranges import SourceOffsets, next_range
from kafka_mirror.copy.plan.source_partitions import source_partitions, with_epoch_ends
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import End, Topic
from kafka_mirror.ledger.record import LedgerRecord

Records = Mapping[TopicPartition, LedgerRecord]
Ranges = Mapping[TopicPartition, Range]


def look_for_more(
    source: Cluster, committed: bool, records: Records, ranges: Ranges, ends: Mapping[TopicPartition, End] | None = None
) -> tuple[dict[TopicPartition, Range], list[ErrorReport]]:
    """The new ranges of the partitions of these records, which were copied by these ranges before, and the errors of those that cannot be
    copied any further. `committed`: the isolation level, as in the plan; `ends`: those of the partitions, if somebody asked for them.

    A partition whose log cannot be judged, and one with a gap, has neither: it is looked at again in the next turn and in the next plan.
    """
    refused: dict[str, MirrorError] = {}
    ends = source.ends(records, refused, committed) if ends is None else ends
    moved = {tp: ends[tp].offset < record.watermark for tp, record in records.items() if tp in ends and ends[tp].offset != record.watermark}
    partitions = _partitions(source, committed, moved, records, ranges, refused) if moved else {}
    now, more = datetime.now(UTC), dict[TopicPartition, Range]()
    errors = [error.report() for error in refused.values()]
    for tp, partition in partitions.items():
        chosen = next_range(partition, records[tp], skip_gaps=True, now=now, interval=timedelta())
        if isinstance(chosen, ErrorReport):
            errors.append(chosen)
        elif chosen is not None and chosen.reason == BEHIND:
            more[tp] = replace(
                ranges[tp],
                start=chosen.start,
                end=chosen.end,
                reason=BEHIND,
                leader_epoch=chosen.leader_epoch,
                log_end=chosen.log_end,
            )
    return more, [error for error in errors if not error.retriable]


def _partitions(
    source: Cluster,
    committed: bool,
    moved: Mapping[TopicPartition, bool],
    records: Records,
    ranges: Ranges,
    refused: dict[str, MirrorError],
) -> dict[TopicPartition, SourceOffsets]:
    """The partitions as a plan finds them. The ids of topics are asked for where an end went back; everywhere else the next commit does."""
    ids = {tp.topic: ranges[tp].topic_id for tp in moved}
    shorter = {tp.topic for tp, is_shorter in moved.items() if is_shorter}
    ids.update(source.topic_ids(shorter, refused))
    topics = {name: Topic(name, topic_id, ()) for name, topic_id in ids.items()}
    return with_epoch_ends(source, source_partitions(source, topics, moved, committed, refused), records)
