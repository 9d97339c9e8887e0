"""Offset syncs: pairs of the ledger's offset maps in MirrorMaker 2's bytes, for its checkpoints and for a way back to it.

They are written after a copy. Our own translation goes by the ledger and does not need them.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import replication_policy
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.formats.mm2 import OffsetSync
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.mm2_topics import newest_offset_syncs
from kafka_mirror.groups.offset_sync_pairs import choose_pairs
from kafka_mirror.groups.offset_sync_store import SyncPair
from kafka_mirror.kafka.create_topics import BY_THE_HOUR, OFFSET_SYNCS_FACTOR, ensure_internal_topic
from kafka_mirror.kafka.produce_request import Outgoing
from kafka_mirror.kafka.writer import RecordWriter
from kafka_mirror.ledger.control_records import TAKEN_OVER
from kafka_mirror.ledger.record import LedgerRecord

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.config.flow import Side
    from kafka_mirror.kafka.cluster import Cluster

MANY_READ = 500_000
"""From how many records on a run says that reading them back takes its time."""


@dataclass(frozen=True)
class OffsetSyncsResult:
    """How many pairs of how many partitions were written; what to tell people; and why some are not written, if so."""

    pairs: int = 0
    partitions: int = 0
    notices: tuple[str, ...] = ()
    errors: tuple[ErrorReport, ...] = ()


NO_SYNCS = OffsetSyncsResult()


def place(flow: "Flow") -> "tuple[Side, str]":
    """The side that holds the offset syncs of a flow, and the topic. Its name carries the alias of the cluster at the other end."""
    side: Side = flow.value("offset-syncs.topic.location")
    return side, replication_policy(flow).offset_syncs_topic(flow.target if side == "source" else flow.source)


def emit(
    flow: "Flow",
    source: "Cluster",
    target: "Cluster",
    records: Mapping[TopicPartition, LedgerRecord],
    copied: Mapping[TopicPartition, int],
) -> OffsetSyncsResult:
    """Writes the pairs that a run made due. `copied`: the partitions that it copied records of, with the source offset it began at.

    What an earlier run could not write of these partitions is written too. An error is in the answer and never raised, for the records are
    copied whatever becomes of their pairs. Where nothing was copied, no broker is asked.
    """
    if not copied or not flow.value("emit.offset-syncs.enabled"):
        return NO_SYNCS
    side, topic = place(flow)
    try:
        return _emit(flow, side, source if side == "source" else target, topic, records, copied)
    except MirrorError as failure:
        return OffsetSyncsResult(errors=(_explain(failure, side),))


def _emit(
    flow: "Flow",
    side: "Side",
    cluster: "Cluster",
    topic: str,
    records: Mapping[TopicPartition, LedgerRecord],
    copied: Mapping[TopicPartition, int],
) -> OffsetSyncsResult:
    newest_syncs = newest_offset_syncs(cluster, flow.client(side, "consumer"), topic, copied.keys())
    newest, lag_max = newest_syncs.pairs if newest_syncs else {}, flow.value("offset.lag.max")
    due = {tp: due_pairs(records[tp], newest.get(tp), lag_max, start) for tp, start in sorted(copied.items())}
    syncs = [OffsetSync(*tp, *pair) for tp, pairs in due.items() for pair in pairs]
    if syncs:
        if newest_syncs is None:
            ensure_internal_topic(cluster, topic, flow.value(OFFSET_SYNCS_FACTOR), OFFSET_SYNCS_FACTOR, BY_THE_HOUR)
        writer = RecordWriter(cluster.alias, flow.client(side, "producer"), cluster.timeout)
        now = int(time.time() * 1000)
        writer.write((Outgoing(topic, sync.key, sync.value, now) for sync in syncs), "the offset syncs")
    notices = [str(error) for error in newest_syncs.damaged] if newest_syncs else []
    if newest_syncs and newest_syncs.read >= MANY_READ:
        notices.append(
            f"{newest_syncs.read} records of {topic} on '{cluster.alias}' were read to find the newest pair of every partition. To have "
            f"the topic compacted more often: kafka-configs.sh --alter --topic {topic} --add-config segment.ms={BY_THE_HOUR['segment.ms']}"
        )
    return OffsetSyncsResult(len(syncs), sum(map(bool, due.values())), tuple(notices))


def due_pairs(record: LedgerRecord, newest: SyncPair | None, lag_max: int, copied_from: int) -> tuple[SyncPair, ...]:
    """The pairs of a partition that a run which began to copy at `copied_from` writes after the newest one. While a restart copies once
    more, readers go by the older copies, as our own translation does, whose pairs the topic has."""
    if record.older is not None and record.older.offset_map is not None:
        copied_from = max(copied_from, record.older.end)
    # A restart is a decision, and of the decisions the newest is noted. Of a flow that was taken over the pairs are MirrorMaker 2's own.
    may_be_lost = record.decided is not None and record.decided.decision != TAKEN_OVER
    return choose_pairs(record.group_map, newest, lag_max, copied_from, may_be_lost=may_be_lost)


def _explain(failure: MirrorError, side: str) -> ErrorReport:
    report = failure.report()
    other = "" if side == "target" else "offset-syncs.topic.location=target keeps them off the source; "
    return replace(
        report,
        message=f"The records are copied, but not all of their offset syncs are written. {report.message}",
        next=f"{report.next} The next run that copies of these partitions writes what is missing. To do without: {other}"
        "emit.offset-syncs.enabled=false writes none.",
    )
