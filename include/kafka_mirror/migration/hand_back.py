"""`hand-back`: MirrorMaker 2 goes on where the mirror stopped, after the watermarks; but for topics that are others by now."""

import operator
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kafka_mirror.config import Flow
from kafka_mirror.config.policies import replication_policy, topic_selection
from kafka_mirror.config.validate import check_readable
from kafka_mirror.copy.lane_writer import Records, write_lanes
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import plan_without_work
from kafka_mirror.copy.run import lane_task
from kafka_mirror.errors import (
    AuthorizationRefused,
    CopyUnderWay,
    ErrorReport,
    KafkaFailure,
    MirrorError,
    MovedTopicsNotExcluded,
    NothingToHandBack,
    RenamedTopicsHandedBack,
    WayBackHandedBack,
    name_flow_in_errors,
)
from kafka_mirror.formats.documents import columns
from kafka_mirror.formats.mm2 import PARTITIONS, SourcePartition, encode_offset, partition_of
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.offset_syncs import emit
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.create_topics import create_topic
from kafka_mirror.kafka.model import NewTopic, Topic
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.kafka.produce_request import Outgoing
from kafka_mirror.kafka.writer import RecordWriter
from kafka_mirror.ledger.apply_decisions import is_applied
from kafka_mirror.ledger.checks import check_clusters
from kafka_mirror.ledger.clusters import control_of, ledger_of, read_decisions, read_ledger, two_clusters
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import HANDED_BACK, RESTART, Decision
from kafka_mirror.ledger.decisions import Decisions, moment_after
from kafka_mirror.ledger.record import Decided, Writer
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.migration.connect import MirrorMaker, read_stored_offsets, require_stopped
from kafka_mirror.policy.rename import RenamingPolicy

FROM_THE_START = -1
"""What MirrorMaker 2 takes for no offset: it then begins where auto.offset.reset says."""

_REPLICATION_FACTOR = "3"
_MARKER_SECONDS = 1.0
"""How long a transaction that was just committed may still be open to readers."""


@dataclass(frozen=True)
class ResumeOffsets:
    """The offset of the last record that was mirrored, by source partition, or FROM_THE_START; `again`: the partitions of topics that are
    gone or were recreated. In neither are those of topics that we may not look at: `errors` has these."""

    offsets: Mapping[TopicPartition, int]
    anew: frozenset[TopicPartition] = frozenset()
    notices: tuple[str, ...] = ()
    errors: tuple[ErrorReport, ...] = ()


def resume_offsets(flow: Flow, source: Cluster, records: Records) -> ResumeOffsets:
    """Holds the ledger against the source as it is now: an offset of a topic's old records would leave out as many of its new ones."""
    refused: dict[str, MirrorError] = {}
    topics = source.topics({tp.topic for tp in records}, refused)
    same = [tp for tp, record in records.items() if tp.topic in topics and record.is_of(topics[tp.topic].id)]
    ends = source.offsets(same, "latest", errors=refused)
    handed = {tp: record for tp, record in records.items() if tp.topic not in refused}
    anew = handed.keys() - same
    reset = _read_reset(flow)
    return ResumeOffsets(
        {tp: FROM_THE_START if tp in anew else max(record.watermark - 1, FROM_THE_START) for tp, record in handed.items()},
        frozenset(anew),
        (*_report_others({tp: handed[tp] for tp in sorted(anew)}, topics, reset), *_report_lost(handed, ends, reset)),
        tuple(_report_silence(error, flow) for error in refused.values()),
    )


def list_waiting_restarts(records: Records, decisions: Decisions) -> list[tuple[TopicPartition, str]]:
    """The restarts that were decided and that no copy has done, in words."""
    return [
        (tp, decision.describe_as(f"restart at source offset {decision.offset}"))
        for tp, record in sorted(records.items())
        for decision in decisions.select(tp)
        if decision.decision == RESTART and decision.watermark == record.watermark and not is_applied(record, decision)
    ]


def require_excluded(flow: Flow, decisions: Decisions) -> None:
    """Raises WayBackHandedBack for a way back, and MovedTopicsNotExcluded if MirrorMaker 2 would copy a topic that was moved: it knows
    neither."""
    if flow.value("mirror.way.back"):
        raise WayBackHandedBack(flow.name)
    selection = topic_selection(flow)
    moved = tuple(topic for topic in sorted(decisions.moved_topics) if selection.takes(topic))
    if moved:
        raise MovedTopicsNotExcluded(
            flow.name, ",".join([*flow.value("topics.exclude"), *(topic.replace(".", "[.]") for topic in moved)]), moved
        )


def require_known_names(flow: Flow, records: Records) -> None:
    """Raises RenamedTopicsHandedBack if the mirror wrote a topic that MirrorMaker 2 is to copy under another name than MirrorMaker 2 would:
    it has no rules, and knows nothing of those that stood in the file before."""
    selection, policy = topic_selection(flow), replication_policy(flow)
    theirs = policy.without_rules if isinstance(policy, RenamingPolicy) else policy
    remotes = {tp.topic: record.target_topic for tp, record in sorted(records.items()) if selection.takes(tp.topic)}
    names = {topic: remote for topic, remote in remotes.items() if remote != theirs.format_remote_topic(flow.source, topic)}
    if names:
        raise RenamedTopicsHandedBack(flow.name, tuple(names), tuple(names.values()))


def _report_others(anew: Records, topics: Mapping[str, Topic], reset: str) -> Iterator[str]:
    """A sentence about each topic that is another one, or none, since it was copied."""
    for name, record in {tp.topic: record for tp, record in anew.items()}.items():
        said, what = "is gone from the source", "a new one of that name"
        if name in topics:
            said, what = f"was recreated on the source (topic id {record.source_topic_id} became {topics[name].id})", "it"
        yield f"{name}: the topic {said}, so no old offset is given. MirrorMaker 2 begins {what} {reset}"


def _report_lost(records: Records, ends: Mapping[TopicPartition, int], reset: str) -> Iterator[str]:
    """A sentence about each partition whose log ends in front of what was copied."""
    for tp in sorted(ends.keys() & records.keys()):
        if ends[tp] < records[tp].watermark:
            lost = f"{tp}: the source ends at {ends[tp]}, in front of the watermark {records[tp].watermark}: it lost records."
            grown = "If it has grown past the watermark when MirrorMaker 2 is started, what is written until then is left out"
            yield f"{lost} {grown}; else MirrorMaker 2 begins {reset}"


def _read_reset(flow: Flow) -> str:
    """Where MirrorMaker 2 begins without an offset it can use, in words."""
    setting = flow.java_settings("source", "consumer").get("auto.offset.reset")
    reset = "earliest" if setting is None else flow.references.resolve(setting)
    if reset.strip().lower() == "earliest":
        return "from its start (auto.offset.reset=earliest)."
    return f"where auto.offset.reset={reset} says, and leaves out what stands in front of that: earliest would leave out nothing."


def _report_silence(error: MirrorError, flow: Flow) -> ErrorReport:
    error.add_next(
        after="Nothing was said to MirrorMaker 2 about this topic, for it may have been recreated. Once it can be looked at, run "
        "hand-back again before MirrorMaker 2 is started. Else it goes by what Kafka Connect kept."
    )
    return error.with_flow(flow.name).report()


@dataclass(frozen=True)
class HandBackRequest:
    """Who hands the flow back, and why."""

    who: str
    why: str = "handed back to MirrorMaker 2"
    maker: MirrorMaker | None = None


def hand_back(flow: Flow, request: HandBackRequest, dry_run: bool = False) -> StepResult:
    """Writes Kafka Connect's offsets for every partition of the ledger, after an end was put to every copy; for topics that were created
    again or are gone, that there are none. With `dry_run` nothing is written or fenced. Running it again is harmless as long as
    MirrorMaker 2 is not started. Topics that we may not look at are in the answer's errors, and MirrorMaker 2 gets nothing about them.

    Raises MirrorMakerRunning, CopyUnderWay, NothingToHandBack, and what the brokers say. If it ends half-way, the flow counts as handed
    back and MirrorMaker 2 may not know it: run it again.
    """
    check_readable(flow)
    with name_flow_in_errors(flow.name), two_clusters(flow) as (source, target):
        return _HandBack(flow, source, target, request, request.maker or MirrorMaker.of(flow)).run(dry_run)


@dataclass
class _HandBack:
    flow: Flow
    source: Cluster
    target: Cluster
    request: HandBackRequest
    maker: MirrorMaker

    def run(self, dry_run: bool) -> StepResult:
        """Looks, ends our own copies, tells MirrorMaker 2."""
        flow, source_id, target_id = self.flow, self.source.cluster_id(), self.target.cluster_id()
        require_stopped(self.target, self.maker)
        control = control_of(flow, self.target)
        decisions = read_decisions(flow, control, dry_run=True)
        require_excluded(flow, decisions)
        records: Records = {}
        ledger_id = ""
        if ledger_of(flow, self.target).topic_id() is not None:
            ledger_id, view = read_ledger(flow, self.target, control, decisions, dry_run=True)
            check_clusters(view.records.values(), flow.source, source_id, flow.target, target_id, decisions)
            for unreadable in view.unreadable.values():
                raise unreadable
            records = view.records
        if not records:
            raise NothingToHandBack(flow.name)
        require_known_names(flow, records)
        self._require_silence(records)
        # While the ledger tells: after the fence everything counts as done.
        notices = tuple(
            f"{tp}: not done yet, and unknown to MirrorMaker 2: {said}. To have it done, let the copy run before hand-back; afterwards "
            "take over and decide again."
            for tp, said in list_waiting_restarts(records, decisions)
        )
        records = {tp: record for tp, record in records.items() if record.moved is None}
        going = resume_offsets(flow, self.source, records)  # if that fails, it is to fail before anything is written
        if not dry_run:
            plan = plan_without_work(flow, source_id, target_id, ledger_id, decisions)
            when = moment_after(decisions, records.values(), datetime.now(UTC))
            decision = Decision(HANDED_BACK, self.request.who, when, self.request.why)
            records, going, emitted = self._write(plan, control, decision)
            notices = (*notices, *emitted)
        return self._report_done(records, going, notices, dry_run)

    def _write(self, plan: Plan, control: Control, decision: Decision) -> tuple[Records, ResumeOffsets, tuple[str, ...]]:
        partitions = self._ensure_offsets_topic()
        control.write_next([decision])  # before anything is written for MirrorMaker 2: from now on nothing is planned
        records = self._fence(plan, Decided.of(decision))
        require_stopped(self.target, self.maker)
        going = resume_offsets(self.flow, self.source, records)
        self._write_offsets(going, partitions)
        # Pairs of an old topic would translate offsets of the new one to anywhere.
        same = {tp: records[tp].watermark for tp in going.offsets.keys() - going.anew}
        emitted = emit(self.flow, self.source, self.target, records, same)
        return records, going, (*emitted.notices, *(str(error) for error in emitted.errors))

    def _require_silence(self, records: Records) -> None:
        """Raises CopyUnderWay while a transaction is open where a copy writes."""
        ledger = ledger_of(self.flow, self.target)
        partitions = [TopicPartition(ledger.topic, lane) for lane in range(ledger.lanes)]
        partitions += [TopicPartition(record.target_topic, tp.partition) for tp, record in records.items()]
        ends = self.target.offsets(partitions, "latest")

        def find_hidden() -> list[tuple[TopicPartition, int, int]]:
            stable = self.target.offsets(partitions, "latest", committed=True)
            return [(tp, stable[tp], end) for tp, end in ends.items() if stable.get(tp, end) < end]

        if still := poll_until(find_hidden, _MARKER_SECONDS, every=0.1, enough=operator.not_):
            tp, stable, end = still[0]
            raise CopyUnderWay(*tp, stable, end)

    def _fence(self, plan: Plan, decided: Decided) -> Records:
        """Fences every lane, notes in its ledger that MirrorMaker 2 goes on, with each of its partitions and with whatever an old plan may
        bring it, and gives what it says then."""

        def change(before: Records, writer: Writer) -> Records:
            there = {tp: record for tp, record in before.items() if record.moved is None}  # of the others it is to copy nothing either
            return {tp: replace(record, writer=writer, decided=decided, handed_back=decided) for tp, record in there.items()}

        tasks = (lane_task(self.flow, plan, lane, "hand-back") for lane in range(self.flow.value("mirror.lanes")))
        return write_lanes(tasks, lambda _lane: change, decided)

    # ------------------------------------------------------------ Connect's offsets

    def _write_offsets(self, going: ResumeOffsets, partitions: int) -> None:
        """Where MirrorMaker 2 is to begin from the start there is nothing to say, unless an offset stands there."""
        stored = read_stored_offsets(self.flow, self.target, self.maker).offsets
        said = {tp: offset for tp, offset in going.offsets.items() if offset != FROM_THE_START or stored.get(tp) is not None}
        outgoing, now = [], int(time.time() * 1000)
        for tp, offset in said.items():
            key = SourcePartition(self.maker.connector, self.flow.source, *tp).key
            outgoing.append(Outgoing(self.maker.offsets_topic, key, encode_offset(offset), now, partition_of(key, partitions)))
        writer = RecordWriter(self.flow.target, self.flow.client("target", "producer"), self.target.timeout)
        writer.write(outgoing, "Kafka Connect's offsets")

    def _ensure_offsets_topic(self) -> int:
        """How many partitions the offsets topic has. Creates it as Connect does where it is missing."""
        sizes: list[int] = []
        for name, default in (("partitions", str(PARTITIONS)), ("replication.factor", _REPLICATION_FACTOR)):
            setting = self.flow.worker_settings.get(f"offset.storage.{name}")
            sizes.append(int(default if setting is None else self.flow.references.resolve(setting)))
        new = NewTopic(self.maker.offsets_topic, sizes[0], sizes[1], {"cleanup.policy": "compact"})
        try:
            return len(create_topic(self.target, new).partitions)
        except (AuthorizationRefused, KafkaFailure) as failure:
            failure.add_next(before=f"Set {self.flow.target}.offset.storage.* as the workers have it, or let a worker create the topic.")
            raise

    def _report_done(self, records: Records, going: ResumeOffsets, notices: tuple[str, ...], dry_run: bool) -> StepResult:
        rows = sorted(going.offsets)
        result = columns(("topic", "partition", "watermark", "offset"), ((*tp, records[tp].watermark, going.offsets[tp]) for tp in rows))
        verb = "would be" if dry_run else "were"
        lines = [
            f"{tp}: MirrorMaker 2 goes on at source offset {records[tp].watermark}."
            if tp not in going.anew
            else f"{tp}: MirrorMaker 2 begins again, and not at the watermark {records[tp].watermark}."
            for tp in rows
        ]
        lines += [*going.notices, *notices]
        lines.append(f"{len(rows)} partitions {verb} handed back, in {self.maker.offsets_topic}, to the connector {self.maker.connector}.")
        return StepResult(result, {"handed_back": len(rows)}, tuple(lines), going.errors)
