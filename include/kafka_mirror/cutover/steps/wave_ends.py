"""Where the logs of a wave end on both clusters, and what must hold of that before a wave is opened.

         source                                target
copied ──────┤ watermark = end      copied ──────┤ target_next ├─ our marker at most ─┤ end

A broker that is cut off from its cluster, and not from us, goes on answering as the leader that it was. On the target every write shows
that; on the source, and where `open` only looks at the target, nothing does but another broker that knows more, or leads in a newer epoch.
So no step of a wave believes one server.

Equal ends are not the same log either: after an unclean election other records may stand at the same offsets. Where the leader epoch is
another one than was noted, the log is asked up to where it is the noted one (KIP-320).

    noted, epoch 4    ──────────────┼── gone ──┤ the end that was noted
    the log now       ── epoch 4 ───┼─ epoch 6 ┤ the same end, and other records in front of it
"""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kafka_mirror.copy.plan.ranges import report_unconfirmed
from kafka_mirror.copy.plan.target_checks import RemotePartition, find_hidden, unusable
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.step import Finding, stop, warning
from kafka_mirror.errors import (
    ClusterContradictsItself,
    DecisionPending,
    MirrorError,
    NotCopiedToTheEnd,
    NotCopiedYet,
    ServerSilent,
    SourceTruncated,
    TargetWritten,
)
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.documents import columns, rows_of
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import LogOffsets, LogPosition, PartitionLog
from kafka_mirror.ledger.decisions import Decisions, Present, is_still_in_force
from kafka_mirror.ledger.record import LedgerRecord

Records = Mapping[TopicPartition, LedgerRecord]


def select_unopened(records: Records, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
    """The partitions that the ledger does not have as moved yet."""
    return [tp for tp in partitions if (record := records.get(tp)) is None or record.moved is None]


def report_late(
    marks: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], obstacles: Mapping[TopicPartition, str] = MappingProxyType({})
) -> Iterator[Finding]:
    """A stop for partitions that are not copied to these ends. `marks`: up to where each is copied, if anything of it is; `obstacles`: what
    else keeps a partition from being copied whole."""
    places = {tp: f"is at {marks.get(tp, 'nothing')} of {end}" for tp, end in ends.items() if marks.get(tp) != end} | dict(obstacles)
    if places:
        where = first_few([f"{tp} {place}" for tp, place in sorted(places.items())])
        yield stop(NotCopiedToTheEnd(len(places), len({*ends, *obstacles}), where))


def check_source_ends(records: Records, logs: "Logs") -> Iterator[Finding]:
    """What is said against partitions whose copy does not end where the source does."""
    if unknown := [tp for tp in logs if tp not in records]:
        yield stop(NotCopiedYet(first_few(unknown)))
    obstacles = {tp: why for tp, log in logs.items() if tp in records and (why := _find_obstacle(records[tp], log))}
    ends = {tp: state.log.end for tp, state in logs.items() if tp in records and tp not in obstacles and state.log is not None}
    yield from report_late({tp: record.watermark for tp, record in records.items()}, ends, obstacles)


def _find_obstacle(record: LedgerRecord, state: PartitionLog) -> str:
    """Why it does not count up to where a partition is copied; empty if it does."""
    if record.handed_back is not None:
        return "(MirrorMaker 2 mirrors it)"
    if state.log is None or min(state.log.stable, state.log.end) < 0:
        return "(it has no leader)"
    if not record.is_of(state.topic_id, state.log.leader_epoch):
        return "(the topic was created again)"
    return f"(a transaction is open from {state.log.stable} on)" if state.log.stable < state.log.end else ""


def check_target_ends(remotes: Iterable[RemotePartition], records: Records) -> Iterator[Finding]:
    """What is said against remote partitions that are not as the ledger left them, as far as it shows without reading them."""
    for remote in remotes:
        record = records[remote.source]
        error: MirrorError | None = unusable(remote, record) or find_hidden(remote, record)
        if error is not None:
            yield stop(error)
        elif remote.last_stable < remote.end:
            said = f"{remote.remote}-{remote.source.partition}: a transaction is open from {remote.last_stable} on"
            yield stop(TargetWritten(said, topic=remote.source.topic))


def report_pending(decisions: Decisions, present: Present, partitions: Collection[TopicPartition]) -> list[Finding]:
    """A stop for each topic about whose partitions somebody decided what no copy has acted on: after `open` none ever would."""
    pending = [
        decision for tp in sorted(partitions) for decision in decisions.select(tp) if is_still_in_force(decision, decisions, present)
    ]
    return [
        stop(DecisionPending(topic, first_few(about)))
        for topic in dict.fromkeys(decision.topic or "" for decision in pending)
        if (about := [f"the decision about partition {decision.partition} ({decision})" for decision in pending if decision.topic == topic])
    ]


def write_ends(records: Records, partitions: Collection[TopicPartition]) -> dict[str, list[Any]]:
    """Where both sides ended when the wave was opened, as columns: after the last source offset, and after our last record."""
    rows = ((*tp, records[tp].watermark, records[tp].target_next) for tp in sorted(partitions) if tp in records)
    return columns(("topic", "partition", "source_end", "target_end"), rows)


def write_offsets(offsets: Mapping[TopicPartition, int]) -> dict[str, list[Any]]:
    """Offsets by partition, as columns."""
    return columns(_OFFSETS, ((*tp, end) for tp, end in sorted(offsets.items())))


def read_offsets(document: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """The offset of each partition, from columns. Raises ValueError where one is longer than another."""
    return {TopicPartition(topic, partition): end for topic, partition, end in rows_of(_OFFSETS, document)}


_OFFSETS = ("topic", "partition", "end")
_PAUSES = (0.2, 0.5, 1.0, 2.0)
"""How long to wait before the servers are asked again, in seconds: while a leader moves, they contradict each other for a moment."""
_EPOCH_SECONDS = 5.0

Logs = Mapping[TopicPartition, PartitionLog]
Mark = tuple[int | None, int]
"""A leader epoch, None if no broker gave it, and an offset that was an end in it."""


@dataclass(frozen=True)
class LogsLook:
    """The partitions of topics that any server knows, each as the newest leader has it; and what is said against believing it."""

    logs: Logs
    stops: tuple[Finding, ...] = ()
    warnings: tuple[Finding, ...] = ()
    contradicted: frozenset[TopicPartition] = frozenset()

    @property
    def offsets(self) -> dict[TopicPartition, LogOffsets]:
        """The offsets of the partitions that have a leader on which all servers agree."""
        return {tp: state.log for tp, state in self.logs.items() if state.log is not None and tp not in self.contradicted}

    @property
    def ends(self) -> dict[TopicPartition, int]:
        """The ends of these partitions, uncommitted records included."""
        return {tp: log.end for tp, log in self.offsets.items() if log.end >= 0}


def look_at_source(move: Move) -> LogsLook:
    """How the wave's partitions stand on the source: `look_at` says how that is found out."""
    return look_at(move.flow.source, move.sides.source, move.topics.names)


def look_at(alias: str, cluster: Cluster, topics: Collection[str]) -> LogsLook:
    """Asks every bootstrap server of a cluster for all partitions of these topics; once more while they contradict each other.
    Raises what the cluster answers if none of them tells anything."""
    look = _look(alias, cluster, topics)
    for pause in _PAUSES:
        if not look.contradicted:
            break
        time.sleep(pause)
        look = _look(alias, cluster, topics)
    return look


def find_departed(move: Move, logs: Logs, marks: Mapping[TopicPartition, Mark]) -> dict[TopicPartition, int]:
    """The partitions whose log is another one in front of a mark: where the two part. Raises SourceUnreadable if a leader does not say."""
    older: set[LogPosition] = set()
    for tp, (epoch, offset) in marks.items():
        log = logs[tp].log if tp in logs else None
        if epoch is not None and log is not None and log.leader_epoch is not None and log.leader_epoch > epoch:
            older.add(LogPosition(tp, epoch, offset))
    ends = move.sides.source.find_shared_ends(older, _EPOCH_SECONDS) if older else {}
    for tp, epoch, offset in sorted(older - ends.keys()):
        raise report_unconfirmed(tp, offset, epoch)
    return {position.partition: end for position, end in ends.items() if end < position.offset}


def find_other_logs(move: Move, logs: Logs, records: Records) -> Iterator[Finding]:
    """A stop for each partition whose log no longer has the records that were copied last, though it may end where the copy does."""
    marks = {tp: (records[tp].leader_epoch, records[tp].watermark) for tp in logs if tp in records}
    for tp, end in sorted(find_departed(move, logs, marks).items()):
        log = logs[tp].log
        assert log is not None
        yield stop(SourceTruncated(tp.topic, tp.partition, records[tp].watermark, log.end, end))


# ---------------------------------------------------------------- inside


def _look(alias: str, cluster: Cluster, topics: Collection[str]) -> LogsLook:
    answers, silent = cluster.ask_each_server(lambda server: _ask(server, topics))
    if not answers:
        raise next(iter(silent.values()))
    logs, contradictions = choose_newest({server: logs for server, (logs, _) in answers.items()})
    refused = {topic: error for _, of_server in answers.values() for topic, error in of_server.items()}
    stops = list(map(stop, refused.values()))
    if contradictions:
        places = [f"{tp} ({'; '.join(f'{server}: {_say_end(log)}' for server, log in of.items())})" for tp, of in contradictions.items()]
        stops.append(stop(ClusterContradictsItself(alias, f"where {len(places)} partitions end: {first_few(places)}")))
    warnings = [warning(ServerSilent(alias, first_few(sorted(silent)), next(iter(silent.values())).message))] if silent else []
    return LogsLook(logs, tuple(stops), tuple(warnings), frozenset(contradictions))


def _ask(server: Cluster, names: Iterable[str]) -> tuple[dict[TopicPartition, PartitionLog], dict[str, MirrorError]]:
    """What one server tells of the partitions, None of one without a leader; and what it refuses to tell of topics."""
    refused: dict[str, MirrorError] = {}
    topics = server.topics(names, refused)
    ids = {TopicPartition(name, partition.number): topic.id for name, topic in topics.items() for partition in topic.partitions}
    offsets = server.log_offsets(sorted(ids), refused)
    return {tp: PartitionLog(topic_id, offsets.get(tp)) for tp, topic_id in ids.items()}, refused


def choose_newest(
    by_server: Mapping[str, Logs],
) -> tuple[dict[TopicPartition, PartitionLog], dict[TopicPartition, dict[str, PartitionLog | None]]]:
    """Each partition as the server has it that knows the newest leader epoch, and in it the furthest end; and what all of them tell of
    those about which one is of an older epoch, or knows less than another one without a known epoch. Pure.

    In one epoch there is one leader: ends that differ in it were asked for one after the other.
    """
    logs: dict[TopicPartition, PartitionLog] = {}
    contradictions: dict[TopicPartition, dict[str, PartitionLog | None]] = {}
    for tp in sorted({tp for logs_of in by_server.values() for tp in logs_of}):
        answers = {server: logs_of.get(tp) for server, logs_of in by_server.items()}
        logs[tp] = max((log for log in answers.values() if log is not None), key=_measure_age)
        if any(not _agrees(log, logs[tp]) for log in answers.values()):
            contradictions[tp] = answers
    return logs, contradictions


def _measure_age(state: PartitionLog) -> tuple[int, int]:
    if state.log is None:
        return -2, -1
    return -1 if state.log.leader_epoch is None else state.log.leader_epoch, state.log.end


def _agrees(state: PartitionLog | None, best: PartitionLog) -> bool:
    if state is None or state.topic_id != best.topic_id or (state.log is None) != (best.log is None):
        return False
    if state.log is None or best.log is None:
        return True
    epochs = state.log.leader_epoch, best.log.leader_epoch
    return state.log.end == best.log.end if None in epochs else epochs[0] == epochs[1]


def _say_end(state: PartitionLog | None) -> str:
    if state is None:
        return "there is no such partition"
    if state.log is None:
        return "it has no leader"
    epoch = "" if state.log.leader_epoch is None else f" in leader epoch {state.log.leader_epoch}"
    return f"{state.log.end}{epoch}"
