"""`hand-back`: MirrorMaker 2 goes on where the mirror stopped."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from mirror.config import Flow
from mirror.config.readable import check_readable
from mirror.copy.run import LANES_AT_ONCE, lane_task
from mirror.errors import AuthorizationRefused, CopyUnderWay, KafkaFailure, NothingToHandBack, named_with
from mirror.formats.connect_offsets import PARTITIONS, SourcePartition, encode_offset, partition_of
from mirror.formats.control import HANDED_BACK, Decision
from mirror.formats.ledger import Decided, Writer
from mirror.handover.going_on import FROM_THE_START, GoingOn, going_on, not_acted_on
from mirror.handover.lanes import Records, write_lane
from mirror.handover.mirrormaker import MirrorMaker, require_stopped, stored_offsets
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import clusters, control_of, ledger_of
from mirror.kafka.creating import create_topic
from mirror.kafka.model import NewTopic
from mirror.kafka.writing import Outgoing, RecordWriter
from mirror.offsets.partition import TopicPartition
from mirror.plan.checks import check_clusters
from mirror.plan.decisions import moment_after
from mirror.plan.model import Plan
from mirror.plan.own_topics import read_decisions, read_ledger
from mirror.plan.run import plan_without_work
from mirror.sync.offset_syncs import emit
from mirror.sync.step import Done

_REPLICATION_FACTOR = "3"


@dataclass(frozen=True)
class Request:
    """Who hands the flow back, and why."""

    who: str
    why: str = "handed back to MirrorMaker 2"
    maker: MirrorMaker | None = None


def hand_back(flow: Flow, request: Request, dry_run: bool = False) -> Done:
    """Writes Kafka Connect's offsets for every partition of the ledger, after an end was put to every copy; for topics that were created
    anew or are gone, that there are none. With `dry_run` nothing is written or fenced. Running it again is harmless as long as
    MirrorMaker 2 is not started. Topics that we may not look at are in the answer's errors, and MirrorMaker 2 is told nothing of them.

    Raises MirrorMakerRunning, CopyUnderWay, NothingToHandBack, and what the brokers say. If it ends half-way, the flow counts as handed
    back and MirrorMaker 2 may not have been told: run it again.
    """
    check_readable(flow)
    with named_with(flow.name), clusters(flow) as (source, target):
        return _HandBack(flow, source, target, request).run(dry_run)


class _HandBack:
    def __init__(self, flow: Flow, source: Cluster, target: Cluster, request: Request) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._maker = request.maker or MirrorMaker.of(flow)
        self._control = control_of(flow, target)
        self._request = request

    def run(self, dry_run: bool) -> Done:
        """Looks, ends our own copies, tells MirrorMaker 2."""
        flow, source_id, target_id = self._flow, self._source.cluster_id(), self._target.cluster_id()
        require_stopped(flow, self._maker)
        decisions = read_decisions(flow, self._control, dry_run=True)
        records: Records = {}
        ledger_id = ""
        if ledger_of(flow, self._target).topic_id() is not None:
            ledger_id, view = read_ledger(flow, self._target, self._control, decisions, dry_run=True)
            check_clusters(view.records.values(), flow.source, source_id, flow.target, target_id, decisions)
            for unreadable in view.unreadable.values():
                raise unreadable
            records = view.records
        if not records:
            raise NothingToHandBack(flow.name)
        self._require_silence(records)
        notices = not_acted_on(records, decisions)  # while the ledger tells: behind the fence everything counts as done
        going = going_on(flow, self._source, records)  # if that fails, it is to fail before anything is written
        if not dry_run:
            plan = plan_without_work(flow, source_id, target_id, ledger_id, decisions)
            when = moment_after(decisions, records.values(), datetime.now(UTC))
            records, going, emitted = self._handed_back(plan, Decision(HANDED_BACK, self._request.who, when, self._request.why))
            notices = (*notices, *emitted)
        return self._done(records, going, notices, dry_run)

    def _handed_back(self, plan: Plan, decision: Decision) -> tuple[Records, GoingOn, tuple[str, ...]]:
        partitions = self._offsets_topic()
        self._control.write_next([decision])  # before anything is told to MirrorMaker 2: from now on nothing is planned
        records = self._fenced(plan, Decided.of(decision))
        require_stopped(self._flow, self._maker)
        going = going_on(self._flow, self._source, records)
        self._write_offsets(going, partitions)
        # Pairs of an old topic would translate offsets of the new one to anywhere.
        behind = {tp: records[tp].watermark for tp in going.offsets.keys() - going.anew}
        emitted = emit(self._flow, self._source, self._target, records, behind)
        return records, going, (*emitted.notices, *(str(error) for error in emitted.errors))

    def _require_silence(self, records: Records) -> None:
        """Raises CopyUnderWay while a transaction is open where a copy writes."""
        ledger = ledger_of(self._flow, self._target)
        partitions = [TopicPartition(ledger.topic, lane) for lane in range(ledger.lanes)]
        partitions += [TopicPartition(record.target_topic, tp.partition) for tp, record in records.items()]
        stable = self._target.offsets(partitions, "latest", committed=True)
        ends = self._target.offsets(partitions, "latest")
        if not any(stable.get(tp, end) < end for tp, end in ends.items()):
            return
        time.sleep(1.0)  # the marker of a transaction that was just committed
        stable = self._target.offsets(partitions, "latest", committed=True)
        for tp, end in ends.items():
            if stable.get(tp, end) < end:
                raise CopyUnderWay(*tp, stable[tp], end)

    def _fenced(self, plan: Plan, decided: Decided) -> Records:
        """Fences every lane, notes in its ledger that MirrorMaker 2 goes on, with each of its partitions and with whatever an old plan may
        bring it, and gives what it says then."""

        def change(known: Records, writer: Writer) -> Records:
            return {tp: replace(record, writer=writer, decided=decided, handed_back=decided) for tp, record in known.items()}

        def one(lane: int) -> Records:
            """The ledger records of a lane, read behind its fence."""
            return write_lane(lane_task(self._flow, plan, lane, "hand-back"), change, decided)

        with ThreadPoolExecutor(LANES_AT_ONCE) as threads:
            return {tp: record for records in threads.map(one, range(self._flow.value("mirror.lanes"))) for tp, record in records.items()}

    # ------------------------------------------------------------ Connect's offsets

    def _write_offsets(self, going: GoingOn, partitions: int) -> None:
        """Where MirrorMaker 2 is to begin from the start there is nothing to say, unless an offset stands there."""
        kept = stored_offsets(self._flow, self._target, self._maker).offsets
        said = {tp: offset for tp, offset in going.offsets.items() if offset != FROM_THE_START or kept.get(tp) is not None}
        outgoing = [self._offset(tp, offset, partitions) for tp, offset in said.items()]
        writer = RecordWriter(self._flow.target, self._flow.client("target", "producer"), self._target.timeout)
        writer.write(outgoing, "Kafka Connect's offsets")

    def _offset(self, tp: TopicPartition, offset: int, partitions: int) -> Outgoing:
        key = SourcePartition(self._maker.connector, self._flow.source, *tp).key
        return Outgoing(self._maker.offsets_topic, key, encode_offset(offset), partition=partition_of(key, partitions))

    def _offsets_topic(self) -> int:
        """How many partitions the offsets topic has. Creates it as Connect does where it is missing."""
        partitions, replicas = self._worker("partitions", str(PARTITIONS)), self._worker("replication.factor", _REPLICATION_FACTOR)
        new = NewTopic(self._maker.offsets_topic, int(partitions), int(replicas), {"cleanup.policy": "compact"})
        try:
            return len(create_topic(self._target, new).partitions)
        except (AuthorizationRefused, KafkaFailure) as failure:
            failure.next = (
                f"Set {self._flow.target}.offset.storage.* as the workers have it, or let a worker create the topic. {failure.next}"
            )
            raise

    def _worker(self, name: str, default: str) -> str:
        setting = self._flow.worker_settings.get(f"offset.storage.{name}")
        return default if setting is None else self._flow.references.resolve(setting)

    def _done(self, records: Records, going: GoingOn, notices: tuple[str, ...], dry_run: bool) -> Done:
        rows = sorted(going.offsets)
        result = {
            "topic": [tp.topic for tp in rows],
            "partition": [tp.partition for tp in rows],
            "watermark": [records[tp].watermark for tp in rows],
            "offset": [going.offsets[tp] for tp in rows],
        }
        verb = "would be" if dry_run else "were"
        lines = [
            f"{tp}: MirrorMaker 2 goes on at source offset {records[tp].watermark}."
            if tp not in going.anew
            else f"{tp}: MirrorMaker 2 begins anew, and not at the watermark {records[tp].watermark}."
            for tp in rows
        ]
        lines += [*going.notices, *notices]
        lines.append(
            f"{len(rows)} partitions {verb} handed back, in {self._maker.offsets_topic}, to the connector {self._maker.connector}."
        )
        return Done(result, {"handed_back": len(rows)}, tuple(lines), going.errors)
