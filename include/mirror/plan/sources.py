"""The source as a plan finds it: the partitions to look at, with their offsets, and how old an open transaction is."""

import time
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import replace

from mirror.config import Flow
from mirror.config.per_topic import StartPosition
from mirror.errors import BlockedByOpenTransaction, MirrorError
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.epochs import epoch_ends
from mirror.kafka.model import Topic
from mirror.kafka.reading import BoundedReader
from mirror.kafka.transactions import holders
from mirror.offsets.partition import TopicPartition
from mirror.plan.choose import SourcePartition

_EPOCH_SECONDS = 5.0


def source_partitions(
    source: Cluster,
    topics: Mapping[str, Topic],
    wanted: Iterable[TopicPartition],
    committed: bool,
    errors: MutableMapping[str, MirrorError],
) -> dict[TopicPartition, SourcePartition]:
    """The wanted partitions with their offsets. One without a leader is absent: it is looked at again in the next run."""
    listed = list(wanted)
    # The end is asked for last: it never lies in front of the last stable offset or the log start that were read before.
    starts = source.offsets(listed, "earliest", errors=errors)
    readable = source.offsets(listed, "latest", committed=True, errors=errors) if committed else None
    ends = source.ends(listed, errors)
    found: dict[TopicPartition, SourcePartition] = {}
    for tp in listed:
        if tp in starts and tp in ends and (readable is None or tp in readable):
            end = ends[tp]
            readable_end = end.offset if readable is None else readable[tp]
            found[tp] = SourcePartition(tp, topics[tp.topic].id, starts[tp], readable_end, end.offset, leader_epoch=end.leader_epoch)
    return found


def with_epoch_ends(
    flow: Flow, found: Mapping[TopicPartition, SourcePartition], records: Mapping[TopicPartition, LedgerRecord]
) -> dict[TopicPartition, SourcePartition]:
    """The partitions, those with a new leader epoch since their last copy with the end of the old one. That alone tells of a truncated log
    that has grown again. One whose leader does not answer is looked at again by the lane that copies it."""
    asked = {
        tp: (epoch, partition.end)
        for tp, partition in found.items()
        if (epoch := _epoch(records.get(tp))) is not None and partition.leader_epoch is not None and epoch < partition.leader_epoch
    }
    ends = epoch_ends(flow.client("source", "consumer"), asked, _EPOCH_SECONDS)
    return {tp: replace(partition, epoch_end=ends.get(tp)) for tp, partition in found.items()}


def _epoch(record: LedgerRecord | None) -> int | None:
    return None if record is None else record.leader_epoch


def offsets_by_time(
    source: Cluster, starts: Mapping[TopicPartition, StartPosition], errors: MutableMapping[str, MirrorError]
) -> dict[TopicPartition, int | None]:
    """The first offset at or after the start time of each partition whose start is a time. What is refused of a topic is in `errors`."""
    by_time: dict[int, list[TopicPartition]] = {}
    for tp, start in starts.items():
        if start.kind == "timestamp" and start.value is not None:
            by_time.setdefault(start.value, []).append(tp)
    offsets: dict[TopicPartition, int | None] = {}
    for timestamp, partitions in by_time.items():
        offsets.update(source.offsets_for_time(partitions, timestamp, errors))
    return offsets


def open_transactions(
    flow: Flow, source: Cluster, partitions: Iterable[SourcePartition], errors: MutableMapping[str, MirrorError]
) -> dict[TopicPartition, BlockedByOpenTransaction]:
    """The given partitions whose last stable offset has been held by one transaction for too long.

    Kafka is asked whose transaction that is and since when. Where it does not tell, the record at the last stable offset does, for it is
    the transaction's first: its timestamp is the producer's, so that may be wrong, and the error says so. A topic that may not be read is
    in `errors`.
    """
    held = {found.tp: found for found in partitions if found.readable_end < found.end}
    if not held:
        return {}
    longest = flow.value("mirror.open.transaction.max.seconds")
    told = holders(source, flow.client("source", "admin"), {tp: found.readable_end for tp, found in held.items()}, longest)
    untold = {tp: held[tp] for tp, holder in told.items() if holder.seconds is None and not holder.is_over}
    ages = _ages_by_timestamp(flow, untold, errors) if untold else {}
    blocked: dict[TopicPartition, BlockedByOpenTransaction] = {}
    for tp, holder in told.items():
        age = ages.get(tp) if tp in untold else holder.seconds
        if holder.is_over or (age is not None and age > longest):
            found = held[tp]
            blocked[tp] = BlockedByOpenTransaction(*tp, found.readable_end, found.end, age, str(holder), holder.why if tp in untold else "")
    return blocked


def _ages_by_timestamp(
    flow: Flow, held: Mapping[TopicPartition, SourcePartition], errors: MutableMapping[str, MirrorError]
) -> dict[TopicPartition, float]:
    reader = BoundedReader(flow.source, flow.client("source", "consumer"), committed=False)
    seconds = flow.value("admin.timeout.ms") / 1000
    first = reader.first_visible({tp: (found.readable_end, found.end) for tp, found in held.items()}, seconds, errors)
    return {tp: time.time() - message.timestamp()[1] / 1000 for tp, message in first.items()}
