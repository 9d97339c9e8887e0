"""What stands on the source and is not copied: the topic moved to the target, and somebody wrote to it on the source all the same.

                     watermark = end as of the move        end now
source  ────── copied ──────┼───── written since ────────────┤
                            └─ with names kept the way back writes here as well, up to where its own ledger says

A producer that was not stopped, one that a network kept away, a super user whom no ACL holds off: the source takes the records and
acknowledges them, and the flow copies no more of the topic. So they are named for as long as they stand there, but for control records and
aborted ones.
"""

from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import replace

from kafka_mirror.config import Flow, load_again
from kafka_mirror.copy.plan.target_checks import RemotePartition, window
from kafka_mirror.errors import ErrorReport, MirrorError, UsageError, WrittenOnSource
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import LogOffsets, Topic
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.clusters import ledger_of
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import LedgerRecord

Records = Mapping[TopicPartition, LedgerRecord]
Range = tuple[int, int]


def moved_topics(decisions: Decisions, records: Records) -> set[str]:
    """The topics that cutovers moved to the flow's target, as the control topic or the ledger says."""
    return {*decisions.moved_topics, *(tp.topic for tp, record in records.items() if record.moved is not None)}


def find_written_since_move(flow: Flow, source: Cluster, records: Records, topics: Collection[str]) -> list[ErrorReport]:
    """WrittenOnSource of each partition of these moved topics with records on the source that are not copied, in order, and why it could
    not be found out. `records`: the flow's ledger."""
    errors: dict[str, MirrorError] = {}
    written: list[WrittenOnSource] = []
    try:
        written = _find_written(flow, source, records, topics, errors) if topics else []
    except MirrorError as error:
        return [replace(error.report(), topic=topic) for topic in sorted(topics)]  # the flow copies all others
    return [error.report() for error in (*written, *errors.values())]


def _find_written(
    flow: Flow, source: Cluster, records: Records, names: Collection[str], errors: MutableMapping[str, MirrorError]
) -> list[WrittenOnSource]:
    topics = source.topics(names, errors)
    partitions = [TopicPartition(name, partition.number) for name, topic in sorted(topics.items()) for partition in topic.partitions]
    logs = source.log_offsets(partitions, errors)
    beyond = {tp: log for tp, log in logs.items() if _find_start(records.get(tp), topics[tp.topic], log) < log.stable}
    if not beyond:
        return []
    # The ledger after the ends: it knows all that the way back had written by then.
    way_back = _find_way_back(flow, source, beyond)
    ranges = {
        tp: part for tp, log in beyond.items() if (part := find_unexplained(records.get(tp), way_back.get(tp), topics[tp.topic], log))
    }
    reader = BoundedReader(flow.source, flow.client("source", "consumer"), committed=True)
    first = reader.first_visible(ranges, flow.request_seconds, errors)
    return [WrittenOnSource(*tp, message.offset, logs[tp].stable) for tp, message in sorted(first.items())]


def find_unexplained(record: LedgerRecord | None, way_back: LedgerRecord | None, topic: Topic, log: LogOffsets) -> Range | None:
    """The offsets of a source partition that neither the flow copied nor the way back wrote, if they must be read; None: there are none.
    `way_back` is its ledger's record of what it writes there."""
    start = _find_start(record, topic, log)
    if way_back is None or way_back.target_topic_id != topic.id or way_back.target_next < start:
        return (start, log.stable) if start < log.stable else None
    state = RemotePartition(TopicPartition(topic.name, 0), topic.name, topic, 1, max(log.start, start), log.stable, log.end)
    return window(state, way_back)


def _find_start(record: LedgerRecord | None, topic: Topic, log: LogOffsets) -> int:
    """Where the log goes on after what was copied. Of a topic that was recreated under the name nothing was."""
    copied = record.watermark if record is not None and record.is_of(topic.id, log.leader_epoch) else 0
    return max(copied, log.start)


def _find_way_back(flow: Flow, source: Cluster, partitions: Collection[TopicPartition]) -> dict[TopicPartition, LedgerRecord]:
    """The records of the opposite flow's ledger, by the partition of our source that it writes; none if the configuration has no such
    flow."""
    try:
        opposite = load_again(flow).flow(f"{flow.target}->{flow.source}")
    except UsageError:
        return {}
    ledger = ledger_of(opposite, source)
    records = ledger.read().records if ledger.exists() else {}
    by_remote = {TopicPartition(record.target_topic, tp.partition): record for tp, record in records.items()}
    return {tp: by_remote[tp] for tp in partitions if tp in by_remote}
