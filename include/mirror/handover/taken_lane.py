"""The ledger records of a lane that is taken over, once it is fenced: what was read before must still be so."""

from collections.abc import Mapping
from dataclasses import replace

from mirror.errors import ErrorReport, TakeOverRefused
from mirror.formats.ledger import Decided, LedgerRecord, Writer
from mirror.handover.evidence import Left
from mirror.handover.lanes import Records
from mirror.handover.left import Found
from mirror.handover.maps import taken_map
from mirror.handover.model import Position
from mirror.kafka.cluster import Cluster
from mirror.offsets.intervals import merged
from mirror.offsets.map import OffsetMap
from mirror.offsets.partition import TopicPartition
from mirror.offsets.sync_store import Pair
from mirror.plan.model import Plan
from mirror.plan.restart import caught_up


class TakenLane:
    """What the ledger shall say of a lane's partitions; `errors` are those that were written to since they were looked at."""

    def __init__(
        self,
        target: Cluster,
        plan: Plan,
        lanes: int,
        found: Found,
        left: Mapping[TopicPartition, Left],
        positions: Mapping[TopicPartition, Position],
        decided: Decided,
    ) -> None:
        self._target = target
        self._plan = plan
        self._lanes = lanes
        self._found = found
        self._left = left
        self._positions = positions
        self._decided = decided
        self.errors: list[ErrorReport] = []

    def change(self, known: Records, writer: Writer) -> Records:
        """The records to write; what has changed meanwhile is an error. Of several looks the last one counts."""
        self.errors.clear()
        remotes = [left.remote for left in self._left.values()]
        ends = self._target.offsets(remotes, "latest")
        ids = {name: topic.id for name, topic in self._target.topics({remote.topic for remote in remotes}).items()}
        changed: dict[TopicPartition, LedgerRecord] = {}
        for tp, left in self._left.items():
            before = known.get(tp)
            if before is not None and not before.is_handed_back:
                self._moved(tp, "another run took it over meanwhile.")
            elif ends.get(left.remote) != left.target_end or ids.get(left.remote.topic) != self._found.remotes[tp.topic].id:
                self._moved(
                    tp, f"somebody wrote to {left.remote} meanwhile: it ended at {left.target_end}, and ends at {ends.get(left.remote)}."
                )
            else:
                changed[tp] = self._record(left, before, writer)
        return changed

    def _moved(self, tp: TopicPartition, detail: str) -> None:
        error = TakeOverRefused(*tp, detail, "Find out who writes, and stop it; then run take-over again.")
        self.errors.append(error.report())

    def _record(self, left: Left, before: LedgerRecord | None, writer: Writer) -> LedgerRecord:
        source, remote = self._found.sources[left.tp], self._found.remotes[left.tp.topic]
        position = self._positions[left.tp]
        ours = before if before is not None and left.known is not None else None
        syncs = [sync for sync in left.syncs if sync.upstream < position.watermark and sync.downstream < left.target_end]
        record = LedgerRecord(
            watermark=position.watermark,
            leader_epoch=source.leader_epoch,
            source_topic_id=source.topic_id,
            target_topic=left.remote.topic,
            target_topic_id=remote.id,
            target_next=left.target_end,
            source_cluster_id=self._plan.source_cluster_id,
            target_cluster_id=self._plan.target_cluster_id,
            lanes=self._lanes,
            offset_map=taken_map(
                ours.offset_map if ours else OffsetMap(), syncs, position.pairs, Pair(position.watermark, left.target_end)
            ),
            older=ours.older if ours else None,
            earlier=before.totals if before else (0, 0),
            writer=writer,
            decided=self._decided,
            # What MirrorMaker 2 copied below is no history that a backfill could fill.
            start=0,
        )
        if ours is None:
            return record
        covered = merged((*ours.covered, (ours.watermark, position.watermark)))
        kept = replace(record, start=ours.live_start, history=ours.history, history_topics=ours.history_topics)
        return caught_up(replace(kept, covered=covered, skipped=ours.skipped))
