"""The source partitions of a plan: those that may be copied, with their offsets, and how old an open transaction is.

A partition may be copied that the filters accept and whose remote partition is there.
"""

import hashlib
import time
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace

from kafka_mirror.config import Flow
from kafka_mirror.config.catalogue.values import StartPosition
from kafka_mirror.copy.plan.ranges import SourceOffsets, report_contradicted, report_unconfirmed
from kafka_mirror.copy.plan.target_checks import report_missing_remote
from kafka_mirror.errors import BlockedByOpenTransaction, ErrorReport, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.cluster_answers import DescribedTopic
from kafka_mirror.kafka.model import LogOffsets, LogPosition, Topic
from kafka_mirror.kafka.producers import holders
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.policy import TopicSelection
from kafka_mirror.topics.topics import TopicChange

_EPOCH_SECONDS = 5.0


@dataclass
class Eligible:
    """Source topics and their partitions that may be copied; what has to wait is a notice, what is wrong an error. `remotes` are the remote
    topics that exist, by source topic; `missing` is what the target lacks, with the partitions that wait for it, and `waiting` are those
    of them that can be read."""

    topics: dict[str, Topic] = field(default_factory=dict)
    remotes: dict[str, Topic] = field(default_factory=dict)
    partitions: list[TopicPartition] = field(default_factory=list)
    waiting: list[TopicPartition] = field(default_factory=list)
    missing: dict[TopicChange, frozenset[int]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    errors: list[ErrorReport] = field(default_factory=list)


def eligible(
    source: Cluster,
    target: Cluster,
    selection: TopicSelection,
    records: Mapping[TopicPartition, LedgerRecord],
    discover: bool,
    created: Mapping[str, int],
    refused: MutableMapping[str, MirrorError],
) -> Eligible:
    """Looks at both sides. `records`: the ledger's; without `discover` (refresh.topics.enabled=false) there are no others.
    `created` are partition counts of remote topics that a dry run would have created.

    Topics in the ledger are asked for by name: a cluster does not list what it hides from us, and a topic that was mirrored must not
    silently be mirrored no more.
    """
    mirrored: dict[str, list[int]] = {}
    for tp in records:
        mirrored.setdefault(tp.topic, []).append(tp.partition)
    names = set(mirrored) | (source.listing().names if discover else set())
    refused.update({name: error for name in names if (error := selection.refusal(name)) is not None})
    chosen = [name for name in names if selection.should_replicate(name)]
    shared = selection.with_shared_remote_name(chosen, mirrored)
    refused.update(shared)
    to_mirror = [name for name in chosen if name not in shared]
    topics = source.find_listed_topics(to_mirror, refused) if discover else source.topics(to_mirror, refused)
    hidden: dict[str, MirrorError] = {}
    remote_topics = target.topics({selection.remote(name) for name in topics}, hidden)
    result = Eligible()
    for name, topic in sorted(topics.items()):
        remote = selection.remote(name)
        if remote in hidden:
            result.errors.append(replace(hidden[remote].report(), topic=name))
            continue
        there = max(len(remote_topics[remote].partitions) if remote in remote_topics else 0, created.get(remote, 0))
        result.topics[name] = topic
        if remote in remote_topics:
            result.remotes[name] = remote_topics[remote]
        result.partitions.extend(TopicPartition(name, p.number) for p in topic.partitions if p.number < there and p.leader is not None)
        lost = sorted(number for number in mirrored.get(name, ()) if number >= there)
        result.errors.extend(
            report_missing_remote(tp, remote, records.get(tp)).report() for tp in (TopicPartition(name, number) for number in lost)
        )
        new = frozenset(p.number for p in topic.partitions if p.number >= there).difference(lost)
        if new:
            result.missing[TopicChange(name, remote, len(topic.partitions))] = new
        result.waiting.extend(TopicPartition(name, p.number) for p in topic.partitions if p.number in new and p.leader is not None)
        if leaderless := [p.number for p in topic.partitions if p.leader is None]:
            result.notices.append(f"{topic.name}: partitions {leaderless} of the source have no leader; the next run looks again.")
    return result


def digest_of(selection: TopicSelection, topics: Iterable[DescribedTopic]) -> str:
    """A digest of the topics that the flow means and how many partitions each has."""
    meant = (topic for topic in topics if not topic.error_code and not topic.name.startswith("__") and selection.takes(topic.name))
    lines = sorted(f"{topic.name} {len(topic.topic.partitions)}\n" for topic in meant)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:32]


def source_partitions(
    source: Cluster,
    topics: Mapping[str, Topic],
    wanted: Iterable[TopicPartition],
    committed: bool,
    errors: MutableMapping[str, MirrorError],
) -> dict[TopicPartition, SourceOffsets]:
    """The wanted partitions with their offsets. One without a leader is absent: it is looked at again in the next run."""
    return {
        tp: SourceOffsets(tp, topics[tp.topic].id, log.start, log.stable, log.end, leader_epoch=log.leader_epoch)
        for tp, log in source.log_offsets(wanted, errors, committed).items()
        if min(log.start, log.stable, log.end) >= 0
    }


def with_epoch_ends(
    source: Cluster,
    partitions: Mapping[TopicPartition, SourceOffsets],
    records: Mapping[TopicPartition, LedgerRecord],
    seconds: float = _EPOCH_SECONDS,
) -> dict[TopicPartition, SourceOffsets]:
    """The partitions, those with a new leader epoch since their last copy with the end of what they still have of it. That alone tells of a
    truncated log that has grown again. One whose leader does not answer in time is unconfirmed; the lane that copies it
    asks again."""
    copied = [
        LogPosition(tp, epoch, records[tp].watermark)
        for tp, partition in partitions.items()
        if tp in records and (epoch := records[tp].leader_epoch) is not None and epoch < (partition.leader_epoch or 0)
    ]
    ends = {position.partition: end for position, end in source.find_shared_ends(copied, seconds).items()}
    unanswered = {position.partition for position in copied} - ends.keys()
    outdated = _find_contradicted(source, partitions, records)
    return {
        tp: replace(partition, epoch_end=ends.get(tp), is_unconfirmed=tp in unanswered, is_contradicted=tp in outdated)
        for tp, partition in partitions.items()
    }


def _find_contradicted(
    source: Cluster, partitions: Mapping[TopicPartition, SourceOffsets], records: Mapping[TopicPartition, LedgerRecord]
) -> frozenset[TopicPartition]:
    """The partitions that are not what was copied by one broker, and of which another one knows a newer leader, or the topic that was."""
    doubtful = [tp for tp, partition in partitions.items() if tp in records and _is_doubtful(partition, records[tp])]
    if not doubtful:
        return frozenset()
    answers, _ = source.ask_each_server(lambda server: _read_logs(server, doubtful))
    read = [(tp, *log) for logs in answers.values() for tp, log in logs.items()]
    return frozenset(tp for tp, topic_id, log in read if _is_contradicted(partitions[tp], records[tp], topic_id, log.leader_epoch))


def _is_doubtful(partition: SourceOffsets, record: LedgerRecord) -> bool:
    is_older = None not in (partition.leader_epoch, record.leader_epoch) and (partition.leader_epoch or 0) < (record.leader_epoch or 0)
    return is_older or not record.is_of(partition.topic_id) or partition.end < record.watermark


def _read_logs(server: Cluster, wanted: Iterable[TopicPartition]) -> dict[TopicPartition, tuple[str, LogOffsets]]:
    refused: dict[str, MirrorError] = {}
    topics = server.topics({tp.topic for tp in wanted}, refused)
    logs = server.log_offsets([tp for tp in wanted if tp.topic in topics], refused)
    return {tp: (topics[tp.topic].id, log) for tp, log in logs.items()}


def _is_contradicted(partition: SourceOffsets, record: LedgerRecord, topic_id: str, leader_epoch: int | None) -> bool:
    if topic_id != partition.topic_id:
        return topic_id == record.source_topic_id
    return leader_epoch is not None and partition.leader_epoch is not None and leader_epoch > partition.leader_epoch


def confirm_partitions(
    partitions: Mapping[TopicPartition, SourceOffsets], records: Mapping[TopicPartition, LedgerRecord]
) -> dict[TopicPartition, SourceOffsets]:
    """The partitions for callers that go by where they depart from what was copied. Raises SourceUnreadable if one is not known."""
    for tp, partition in partitions.items():
        if partition.is_contradicted:
            raise report_contradicted(tp, records[tp].watermark)
        if partition.is_unconfirmed:
            raise report_unconfirmed(tp, records[tp].watermark, records[tp].leader_epoch)
    return dict(partitions)


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
    flow: Flow, source: Cluster, partitions: Iterable[SourceOffsets], errors: MutableMapping[str, MirrorError]
) -> dict[TopicPartition, BlockedByOpenTransaction]:
    """The given partitions whose last stable offset has been held by one transaction for too long.

    Kafka is asked whose transaction that is and since when. Where it does not tell, the record at the last stable offset does, for it is
    the transaction's first: its timestamp is the producer's, so that may be wrong, and the error says so. A topic that may not be read is
    in `errors`.
    """
    held = {partition.tp: partition for partition in partitions if partition.readable_end < partition.end}
    if not held:
        return {}
    longest = flow.value("mirror.open.transaction.max.seconds")
    holders_by_partition = holders(source, {tp: partition.readable_end for tp, partition in held.items()}, longest)
    untold = {tp: held[tp] for tp, holder in holders_by_partition.items() if holder.seconds is None and not holder.is_over}
    ages = _find_ages(flow, untold, errors) if untold else {}
    blocked: dict[TopicPartition, BlockedByOpenTransaction] = {}
    for tp, holder in holders_by_partition.items():
        age = ages.get(tp) if tp in untold else holder.seconds
        if holder.is_over or (age is not None and age > longest):
            partition = held[tp]
            blocked[tp] = BlockedByOpenTransaction(
                *tp, partition.readable_end, partition.end, age, str(holder), holder.why if tp in untold else ""
            )
    return blocked


def _find_ages(
    flow: Flow, held: Mapping[TopicPartition, SourceOffsets], errors: MutableMapping[str, MirrorError]
) -> dict[TopicPartition, float]:
    reader = BoundedReader(flow.source, flow.client("source", "consumer"), committed=False)
    ranges = {tp: (partition.readable_end, partition.end) for tp, partition in held.items()}
    first = reader.first_visible(ranges, flow.request_seconds, errors)
    return {tp: time.time() - message.timestamp[1] / 1000 for tp, message in first.items()}
