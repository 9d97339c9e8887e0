"""A plan for one run of one flow: the ledger's watermarks beside the source's offsets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from mirror.config import Flow
from mirror.config.per_topic import EARLIEST, StartPosition
from mirror.config.readable import check_readable
from mirror.errors import ErrorReport, MirrorError, named_with
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import clusters, control_of
from mirror.kafka.ledger import LedgerView
from mirror.kafka.model import Topic
from mirror.offsets.lanes import lane_of
from mirror.offsets.partition import TopicPartition
from mirror.plan.acting import acted_on, records_accepted_until
from mirror.plan.checks import check_clusters, check_handed_back, handed_back
from mirror.plan.choose import SourcePartition, first_sight, next_range
from mirror.plan.decisions import NO_DECISIONS, Decisions
from mirror.plan.eligible import Eligible, eligible
from mirror.plan.model import BLOCKED, DECIDED, Plan, Range, Standing
from mirror.plan.own_topics import read_decisions, read_ledger
from mirror.plan.sources import offsets_by_time, open_transactions, source_partitions, with_epoch_ends
from mirror.policy import topic_selection
from mirror.sync.topics import refresh_topics

UNNAMED = (
    "mirror.installation is not set: a second installation that copies this flow would not be noticed, and the two would keep interrupting "
    "each other. Set it, to another name in each installation."
)
"""Said while a flow has no ledger records yet."""


def plan(flow: Flow, dry_run: bool = False) -> Plan:
    """What the next copy of the flow has to do.

    Creates the ledger if there is none, and on a fresh flow the remote topics, so that the first copy need not wait for `refresh-topics`;
    with `dry_run` nothing is written and the plan is the same. Raises what concerns the whole flow, ConfigurationError before anything is
    asked or written; what concerns a partition is in `Plan.errors`.
    """
    check_readable(flow)
    with clusters(flow) as (source, target):
        return survey(flow, source, target, dry_run).plan


@dataclass(frozen=True)
class Survey:
    """A plan with what it was made from: the ledger, the source's mirrored topics, the offsets of all partitions that may be copied, the
    remote topics that exist (by source topic), and what people decided."""

    plan: Plan
    ledger: LedgerView
    topics: Mapping[str, Topic]
    source: Mapping[TopicPartition, SourcePartition]
    remotes: Mapping[str, Topic] = field(default_factory=dict)
    decisions: Decisions = field(default_factory=Decisions)


def survey(flow: Flow, source: Cluster, target: Cluster, dry_run: bool = False, undecided: bool = False) -> Survey:
    """As `plan`, for whoever needs more than the work that is owed. With `undecided` as if nobody had decided about any partition."""
    with named_with(flow.name):
        return _survey(flow, source, target, dry_run, undecided)


def _survey(flow: Flow, source: Cluster, target: Cluster, dry_run: bool, undecided: bool) -> Survey:
    source_id, target_id = source.cluster_id(), target.cluster_id()
    control = control_of(flow, target)
    decisions = read_decisions(flow, control, dry_run)
    check_handed_back(decisions)
    ledger_id, view = read_ledger(flow, target, control, decisions, dry_run)
    check_clusters(view.records.values(), flow.source, source_id, flow.target, target_id, decisions)
    planning = _Planning(flow, source, target, view, NO_DECISIONS if undecided else decisions, dry_run)
    planning.run()
    if not flow.value("mirror.installation") and not view.records:
        planning.notices.append(UNNAMED)
    flow_wide = (
        decisions.adopted(flow.source, source_id),
        decisions.adopted(flow.target, target_id),
        decisions.ownership(flow.value("mirror.installation")),
        decisions.throttle,
    )
    made = Plan(
        flow=flow.name,
        ranges=_in_order(planning.ranges, view.records, flow.value("mirror.lanes")),
        errors=tuple(dict.fromkeys(error.of_flow(flow.name) for error in planning.errors)),
        notices=tuple(planning.notices),
        config_hash=flow.config_hash,
        source_cluster_id=source_id,
        target_cluster_id=target_id,
        ledger_id=ledger_id,
        decisions=tuple(each for each in flow_wide if each is not None),
    )
    return Survey(made, view, planning.topics, planning.found, planning.remotes, decisions)


class _Planning:
    """One pass over the flow's partitions, collecting ranges and errors."""

    def __init__(self, flow: Flow, source: Cluster, target: Cluster, view: LedgerView, decisions: Decisions, dry_run: bool) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._view = view
        self._mirrored = {tp.topic for tp in view.records}
        self._decisions = decisions
        self._selection = topic_selection(flow)
        self._dry_run = dry_run
        self._now = datetime.now(UTC)
        self.topics: Mapping[str, Topic] = {}
        self.remotes: Mapping[str, Topic] = {}
        self.found: Mapping[TopicPartition, SourcePartition] = {}
        self.ranges: list[Range] = []
        self.errors: list[ErrorReport] = [error.report() for error in view.unreadable.values()]
        self.notices: list[str] = []

    def run(self) -> None:
        """Fills `ranges`, `errors` and `notices`, and what was found on the way."""
        refused: dict[str, MirrorError] = {}
        chosen = self._eligible(refused)
        self.topics, self.remotes = chosen.topics, chosen.remotes
        self.notices.extend(chosen.notices)
        self.errors.extend(error for error in chosen.errors if not self._paused(error))
        lanes = self._flow.value("mirror.lanes")
        wanted = [tp for tp in self._not_paused(chosen.partitions) if lane_of(*tp, lanes) not in self._view.unreadable]
        committed = self._flow.client("source", "consumer").get("isolation.level") != "read_uncommitted"
        found = source_partitions(self._source, chosen.topics, wanted, committed, refused)
        self.found = with_epoch_ends(self._flow, found, self._view.records)
        self._choose(self.found)
        self._report_open_transactions(self.found, refused)
        self.errors.extend(error.report() for error in refused.values())

    def _eligible(self, refused: dict[str, MirrorError]) -> Eligible:
        """The partitions that may be copied. On a fresh flow the remote topics are made first."""
        created: Mapping[str, int] = {}
        enabled = self._flow.value("refresh.topics.enabled")
        if enabled and not self._view.records and not self._view.unreadable:
            refreshed = refresh_topics(self._flow, self._source, self._target, self._dry_run)
            self.errors.extend(refreshed.errors)
            if self._dry_run:
                created = {**refreshed.created, **refreshed.extended}
        return eligible(self._source, self._target, self._selection, list(self._view.records), enabled, created, refused)

    def _not_paused(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """The partitions that nobody paused; the others are named, with who paused them and why."""
        pauses = {tp: self._decisions.pause(tp) for tp in partitions}
        told = {each.key: each for each in pauses.values() if each is not None}
        self.notices.extend(
            f"{each.topic if each.partition is None else f'{each.topic}-{each.partition}'} is left out: {each}" for each in told.values()
        )
        return [tp for tp, pause in pauses.items() if pause is None]

    def _paused(self, error: ErrorReport) -> bool:
        if error.topic is None or error.partition is None:
            return False
        return self._decisions.pause(TopicPartition(error.topic, error.partition)) is not None

    def _choose(self, found: Mapping[TopicPartition, SourcePartition]) -> None:
        starts = {tp: self._start(tp.topic) for tp in found if tp not in self._view.records}
        offsets = offsets_by_time(self._source, starts)
        # What is tolerated blocks nothing, so a partition that was stuck before is not left alone any longer.
        tolerant = self._flow.value("errors.tolerance") == "all"
        interval = timedelta(seconds=0 if tolerant else self._flow.value("mirror.copy.interval.seconds"))
        for tp, partition in found.items():
            record = self._view.records.get(tp)
            if record is not None:
                self._go_on(partition, record, interval)
            elif starts[tp].kind != "timestamp" or tp in offsets:
                self._begin(replace(partition, time_offset=offsets.get(tp)), starts[tp])
            # Else: a time that no leader could answer just now is not a time behind all records; the next run asks again.

    def _begin(self, partition: SourcePartition, start: StartPosition) -> None:
        decisions = self._decisions.of(partition.tp)
        accepted = records_accepted_until(decisions, self._standing(partition)) is not None
        self.ranges.append(replace(first_sight(partition, start), decisions=decisions if accepted else ()))

    def _go_on(self, partition: SourcePartition, record: LedgerRecord, interval: timedelta) -> None:
        tp = partition.tp
        known = record
        record, applied = acted_on(record, self._decisions.of(tp), self._standing(partition))
        if (left := handed_back(tp, record)) is not None:
            self.errors.append(left.report())
            return
        if record.watermark != known.watermark:
            # What was asked for is where the old watermark's epoch ends.
            partition = replace(partition, epoch_end=None)
        skip = self._flow.per_topic("mirror.on.gap", tp.topic) == "skip-and-record"
        chosen = next_range(partition, record, skip, self._now, interval)
        if applied and not isinstance(chosen, ErrorReport):
            # What was decided is committed even if there is nothing to copy.
            chosen = chosen or partition.range(record.watermark, record.watermark, DECIDED)
            chosen = replace(chosen, reason=BLOCKED if chosen.reason == BLOCKED else DECIDED, decisions=applied)
            self.notices.extend(f"{tp}: {each}" for each in applied)
        if isinstance(chosen, Range):
            self.ranges.append(replace(chosen, records=record.records, bytes=record.bytes))
        elif chosen is not None:
            self.errors.append(chosen)

    def _standing(self, partition: SourcePartition) -> Standing:
        topic = partition.tp.topic
        remote = self.remotes.get(topic)
        return Standing(
            partition.topic_id, partition.log_start, self._selection.remote(topic), remote.id if remote else None, partition.leader_epoch
        )

    def _start(self, topic: str) -> StartPosition:
        """`latest` and times are for partitions that exist at the topic's first run; one that is added later has no records that were
        meant to be left out, so it starts at its beginning."""
        if topic in self._mirrored:
            return EARLIEST
        start: StartPosition = self._flow.per_topic("mirror.start", topic)
        return start

    def _report_open_transactions(self, found: Mapping[TopicPartition, SourcePartition], refused: dict[str, MirrorError]) -> None:
        """Work that is owed and cannot be read. A partition that still has something readable is copied first."""
        busy = {planned.topic_partition for planned in self.ranges if planned.offsets}
        waiting = [partition for tp, partition in found.items() if tp not in busy]
        self.errors.extend(error.report() for error in open_transactions(self._flow, waiting, refused).values())


def _in_order(ranges: list[Range], records: Mapping[TopicPartition, LedgerRecord], lanes: int) -> tuple[Range, ...]:
    """Lane by lane: the least recently served lane first, then the one with most to do; a budget may not reach the last ones."""
    served: dict[int, datetime] = {}
    for tp, record in records.items():
        lane = lane_of(*tp, lanes)
        served[lane] = max(served.get(lane, record.writer.time), record.writer.time)
    by_lane: dict[int, list[Range]] = {}
    for planned in ranges:
        by_lane.setdefault(lane_of(planned.topic, planned.partition, lanes), []).append(planned)
    never = datetime.min.replace(tzinfo=UTC)
    order = sorted(by_lane, key=lambda lane: (served.get(lane, never), -sum(planned.offsets for planned in by_lane[lane])))
    return tuple(planned for lane in order for planned in sorted(by_lane[lane], key=lambda each: each.topic_partition))
