"""What is wrong with remote partitions that the next run would refuse to write to: a plan does not look at them, a lane does."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.copy.plan.target_checks import UNKNOWN, RemotePartition, unusable, window
from kafka_mirror.errors import ErrorReport, MirrorError, UnexplainedTarget
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.clusters import ledger_of
from kafka_mirror.ledger.record import LedgerRecord, Writer

_READ_SECONDS = 5.0


def remote_errors(
    flow: Flow, target: Cluster, partitions: Iterable[TopicPartition], records: Mapping[TopicPartition, LedgerRecord]
) -> list[ErrorReport]:
    """The errors that a lane would have with the remote partitions of these source partitions, as far as reading shows them.

    Remote partitions that do not exist (yet) are the plan's business. Too few in-sync replicas are not looked for.
    """
    hidden: dict[str, MirrorError] = {}
    remotes = _read_remote_partitions(flow, target, list(partitions), records, hidden)
    errors: list[ErrorReport] = []
    windows: dict[TopicPartition, tuple[int, int]] = {}
    for tp, remote in remotes.items():
        error = unusable(remote, records.get(tp))
        suspicious = window(remote, records.get(tp))
        if error is not None:
            errors.append(error.report())
        elif suspicious and flow.per_topic("mirror.on.unexplained.target", tp.topic) != "append":
            windows[tp] = suspicious
    unexplained = _find_unexplained(flow, remotes, windows, records)
    return [*errors, *_keep_unexplained(flow, target, unexplained, records)]


def _read_remote_partitions(
    flow: Flow,
    target: Cluster,
    partitions: list[TopicPartition],
    records: Mapping[TopicPartition, LedgerRecord],
    hidden: dict[str, MirrorError],
) -> dict[TopicPartition, RemotePartition]:
    selection = topic_selection(flow)
    names = {topic: selection.remote(topic) for topic in {tp.topic for tp in partitions}}
    topics = target.topics(names.values(), hidden)
    remotes = {tp: TopicPartition(names[tp.topic], tp.partition) for tp in partitions}
    there = {
        tp: remote for tp, remote in remotes.items() if remote.topic in topics and remote.partition < len(topics[remote.topic].partitions)
    }
    ends = target.offsets(there.values(), "latest", errors=hidden)
    # Most remote partitions end with our last record and its marker: for those, one question is enough.
    others = [remote for tp, remote in there.items() if not _is_end_ours(records.get(tp), ends.get(remote))]
    stable = ends | target.offsets(others, "latest", committed=True, errors=hidden)
    starts = dict.fromkeys(ends, 0) | target.offsets(others, "earliest", errors=hidden)
    return {
        tp: RemotePartition(
            source=tp,
            remote=remote.topic,
            topic=topics[remote.topic],
            log_start=starts.get(remote, UNKNOWN),
            last_stable=stable.get(remote, UNKNOWN),
            end=ends.get(remote, UNKNOWN),
        )
        for tp, remote in there.items()
        if remote.topic not in hidden
    }


def _is_end_ours(record: LedgerRecord | None, end: int | None) -> bool:
    return record is not None and end is not None and end <= record.target_next + (record.records > 0)


def _keep_unexplained(
    flow: Flow, target: Cluster, errors: Mapping[TopicPartition, ErrorReport], records: Mapping[TopicPartition, LedgerRecord]
) -> list[ErrorReport]:
    """The errors that no copy explains which committed between our reading of the ledger and of the target: those of lanes that are being
    written just now, or whose ledger says something else by now, are for the next look."""
    if not errors:
        return []
    ledger = ledger_of(flow, target)
    lanes = {tp: TopicPartition(ledger.topic, lane_of(*tp, ledger.lanes)) for tp in errors}
    stable = target.offsets(set(lanes.values()), "latest", committed=True)
    ends = target.offsets(set(lanes.values()), "latest")
    now = ledger.read().records
    return [
        error
        for tp, error in errors.items()
        if stable.get(lanes[tp]) == ends.get(lanes[tp]) and _find_written(now.get(tp)) == _find_written(records.get(tp))
    ]


def _find_written(record: LedgerRecord | None) -> Writer | None:
    """Who wrote a record, and when: what a decision makes of it before anything is written has the same."""
    return record.writer if record is not None else None


def _find_unexplained(
    flow: Flow,
    remotes: Mapping[TopicPartition, RemotePartition],
    windows: Mapping[TopicPartition, tuple[int, int]],
    records: Mapping[TopicPartition, LedgerRecord],
) -> dict[TopicPartition, ErrorReport]:
    by_remote = {TopicPartition(remotes[tp].remote, tp.partition): tp for tp in windows}
    refused: dict[str, MirrorError] = {}
    reader = BoundedReader(flow.target, flow.client("target", "consumer"))
    visible = reader.first_visible({remote: windows[tp] for remote, tp in by_remote.items()}, _READ_SECONDS, refused, partial=True)
    errors: dict[TopicPartition, ErrorReport] = {}
    for remote, tp in by_remote.items():
        if remote.topic in refused:
            errors[tp] = replace(refused[remote.topic].report(), topic=tp.topic)
        elif remote in visible:
            offset = visible[remote].offset
            errors[tp] = UnexplainedTarget(tp.topic, tp.partition, remote.topic, offset, remotes[tp].end, tp in records).report()
    return errors
