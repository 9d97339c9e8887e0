"""Offset syncs: pairs of the ledger's offset maps in MirrorMaker 2's bytes, for its checkpoints and for a way back to it.

They are written after a copy. Our own translation goes by the ledger and does not need them. Of the many records of a run only some are
worth a pair, MirrorMaker 2's own choice (OffsetSyncWriter.PartitionState): the first of a map, the one after a gap in the source, then one
every `offset.lag.max` + 1 target offsets, and the end. All pairs of a map are true, and a reader never goes further than one after the pair
before a group, so whatever is left out makes a translation earlier, never late:

    map      10 … 400 → 5 … 395        offset.lag.max = 100
    written  10→5, 111→106, 212→207, 313→308, 400→395
    a reader translates 300 to 208, which is early: the record itself is at 295.

What may not happen is that a pair of another life of the topics (one of them was recreated, or copying was restarted) stays beside ours.
MirrorMaker 2's store forgets all it knows of a partition when a pair comes whose upstream offset is smaller than the newest one's; so if
what the syncs topic has does not agree with the map, the map's pairs are written from the first on, after such a step back.
"""

import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from kafka_mirror.config.policies import replication_policy
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.formats.mm2 import OffsetSync
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.mm2_topics import newest_offset_syncs
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
MOST = 64
"""How many pairs of a partition are written at once, at most; a reader keeps no more."""

BEGINNING = SyncPair(-1, -1)
"""Readers forget all before it, and lead every group to the beginning of the remote partition."""

_SMALLEST = -(2**63)


@dataclass(frozen=True)
class OffsetSyncsResult:
    """How many pairs of how many partitions were written; what to tell people; and why some are not written, if so."""

    pairs: int = 0
    partitions: int = 0
    notices: tuple[str, ...] = ()
    errors: tuple[ErrorReport, ...] = ()


NO_SYNCS = OffsetSyncsResult()


def find_syncs_topic(flow: "Flow") -> "tuple[Side, str]":
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
    side, topic = find_syncs_topic(flow)
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


# ------------------------------------------------------------ which pairs


class _Row(NamedTuple):
    """Evenly spaced pairs: the first one, the distance to the next on both sides, and how many there are."""

    first: SyncPair
    step: int
    number: int


def choose_pairs(
    offset_map: OffsetMap, newest: SyncPair | None, lag_max: int, copied_from: int, *, may_be_lost: bool = False
) -> tuple[SyncPair, ...]:
    """The pairs to write after `newest`, the last that the syncs topic has of the partition (None: it has none), in their order.

    `copied_from` is the source offset at which the run began to copy: of a record after it no run of this life can have written a pair.
    `may_be_lost`: the copy may have been restarted, so the pair of a record that the map does not know may be that of a lost copy.
    Never more than MOST: of more, the newest half stays, the older half gets thinner with age. Upstream offsets rise, but for a step back
    in front of the first pair that makes readers forget what does not agree with the map.
    """
    runs = offset_map.runs
    if not runs:
        return () if newest in (None, BEGINNING) else (BEGINNING,)
    if newest is None or (newest.upstream < copied_from and is_harmless(offset_map, newest, may_be_lost=may_be_lost)):
        return _thin(list(_lay_rows(runs, newest, lag_max)), MOST)
    back = _step_back(runs[0], newest)
    return back + _thin(list(_lay_rows(runs, None, lag_max)), MOST - len(back))


def is_harmless(offset_map: OffsetMap, pair: SyncPair, *, may_be_lost: bool = False) -> bool:
    """Whether a reader that has this pair beside the map's is never late: it is a pair of the map, as far as the map can tell, or one from
    before it that leads to no position after the map's first record. Where it may be lost, the map has to know the very pair, unless
    nothing that it does not know stands in front of its first record."""
    first, last = offset_map.runs[0], offset_map.runs[-1]
    if pair.upstream < first.source:
        return pair.downstream < (0 if may_be_lost and first.thinned else first.target)
    if pair.upstream >= last.source + last.length:
        return False
    index = bisect_right(offset_map.runs, pair.upstream, key=lambda run: run.source) - 1
    run = offset_map.runs[index]
    inside = pair.upstream - run.source
    if inside < run.length:
        return pair.downstream == run.target + inside
    following = offset_map.runs[index + 1]
    return not may_be_lost and following.thinned and run.target + run.length <= pair.downstream < following.target


def _step_back(first: Run, newest: SyncPair) -> tuple[SyncPair, ...]:
    """A pair in front of the map's first one, if that is not a step back by itself. It leads to the map's first record at most; or, where
    others stand in front of that, to the beginning."""
    if first.source < newest.upstream:
        return ()
    return (SyncPair(max(newest.upstream - 1, _SMALLEST), -1 if first.thinned else first.target - 1),)


def _lay_rows(runs: Sequence[Run], newest: SyncPair | None, lag_max: int) -> Iterator[_Row]:
    """What PartitionState would emit of the records after `newest`, and the end."""
    before = synced = None if newest is None or newest.upstream < runs[0].source else newest
    for run in runs:
        skipped = 0 if before is None else max(0, before.upstream + 1 - run.source)
        if skipped >= run.length:
            continue
        source, target, length = run.source + skipped, run.target + skipped, run.length - skipped
        contiguous = before is not None and source == before.upstream + 1
        to_next = max(0, synced.downstream + 1 + lag_max - target) if synced is not None and contiguous else 0
        before = SyncPair(source + length - 1, target + length - 1)
        if to_next < length:
            row = _Row(SyncPair(source + to_next, target + to_next), lag_max + 1, (length - to_next - 1) // (lag_max + 1) + 1)
            synced = _build_pair(row, row.number - 1)
            yield row
    if before is not None and before != synced and before != newest:
        yield _Row(before, 1, 1)


def _thin(rows: Sequence[_Row], most: int) -> tuple[SyncPair, ...]:
    ends = list(accumulate(row.number for row in rows))
    pairs = []
    for place in _choose_places(ends[-1] if ends else 0, most):
        index = bisect_right(ends, place)
        pairs.append(_build_pair(rows[index], place - (ends[index - 1] if index else 0)))
    return tuple(pairs)


def _choose_places(count: int, most: int) -> Sequence[int]:
    """Which of `count` places are kept, at most `most`: all, or the newest half, and of the older ones the first and some whose distances
    from the end grow evenly, as factors."""
    if count <= most:
        return range(count)
    recent = most // 2
    steps = most - recent - 1
    factor = ((count - 1) / recent) ** (1 / steps)
    distances = {*range(recent), *(min(count - 1, round(recent * factor**step)) for step in range(steps)), count - 1}
    return sorted(count - 1 - distance for distance in distances)


def _build_pair(row: _Row, place: int) -> SyncPair:
    return SyncPair(row.first.upstream + place * row.step, row.first.downstream + place * row.step)
