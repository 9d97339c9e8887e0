"""A plan for one run of one flow: the ledger's watermarks beside the source's offsets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from mirror.config import Flow
from mirror.config.per_topic import EARLIEST, StartPosition
from mirror.config.readable import check_readable
from mirror.errors import ErrorReport, MirrorError
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import clusters, ledger_of
from mirror.kafka.ledger import LedgerView
from mirror.kafka.model import Topic
from mirror.offsets.lanes import lane_of
from mirror.offsets.partition import TopicPartition
from mirror.plan.checks import check_clusters
from mirror.plan.choose import SourcePartition, first_sight, next_range
from mirror.plan.eligible import Eligible, eligible
from mirror.plan.model import Plan, Range
from mirror.plan.sources import offsets_by_time, open_transactions, source_partitions, with_epoch_ends
from mirror.policy import topic_selection
from mirror.sync.topics import refresh_topics


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
    """A plan with what it was made from: the ledger, the source's mirrored topics, and the offsets of all partitions that may be copied."""

    plan: Plan
    ledger: LedgerView
    topics: Mapping[str, Topic]
    source: Mapping[TopicPartition, SourcePartition]


def survey(flow: Flow, source: Cluster, target: Cluster, dry_run: bool = False) -> Survey:
    """As `plan`, for whoever needs more than the work that is owed."""
    source_id, target_id = source.cluster_id(), target.cluster_id()
    view = _ledger(flow, target, dry_run)
    check_clusters(view.records.values(), flow.source, source_id, flow.target, target_id)
    planning = _Planning(flow, source, target, view, dry_run)
    planning.run()
    ranges = _in_order(planning.ranges, view.records, flow.value("mirror.lanes"))
    errors, notices = tuple(dict.fromkeys(planning.errors)), tuple(planning.notices)
    return Survey(Plan(flow.name, ranges, errors, notices, flow.config_hash, source_id, target_id), view, planning.topics, planning.found)


def _ledger(flow: Flow, target: Cluster, dry_run: bool) -> LedgerView:
    ledger = ledger_of(flow, target)
    view = LedgerView()
    if ledger.exists():
        view = ledger.read()
    elif dry_run:
        return view
    else:
        ledger.create(flow.value("mirror.ledger.replication.factor"))
    if not view.records and not view.unreadable:
        ledger.check_readable()
    return view


class _Planning:
    """One pass over the flow's partitions, collecting ranges and errors."""

    def __init__(self, flow: Flow, source: Cluster, target: Cluster, view: LedgerView, dry_run: bool) -> None:
        self._flow = flow
        self._source = source
        self._target = target
        self._view = view
        self._dry_run = dry_run
        self._now = datetime.now(UTC)
        self.topics: Mapping[str, Topic] = {}
        self.found: Mapping[TopicPartition, SourcePartition] = {}
        self.ranges: list[Range] = []
        self.errors: list[ErrorReport] = [error.report() for error in view.unreadable.values()]
        self.notices: list[str] = []

    def run(self) -> None:
        refused: dict[str, MirrorError] = {}
        chosen = self._eligible(refused)
        self.topics = chosen.topics
        self.notices.extend(chosen.notices)
        self.errors.extend(chosen.errors)
        lanes = self._flow.value("mirror.lanes")
        wanted = [tp for tp in chosen.partitions if lane_of(*tp, lanes) not in self._view.unreadable]
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
        selection = topic_selection(self._flow)
        return eligible(self._source, self._target, selection, list(self._view.records), enabled, created, refused)

    def _choose(self, found: Mapping[TopicPartition, SourcePartition]) -> None:
        starts = {tp: self._start(tp.topic) for tp in found if tp not in self._view.records}
        offsets = offsets_by_time(self._source, starts)
        interval = timedelta(seconds=self._flow.value("mirror.copy.interval.seconds"))
        for tp, partition in found.items():
            record = self._view.records.get(tp)
            if record is None:
                # A time that no leader could answer just now is not a time behind all records: the next run asks again.
                if starts[tp].kind != "timestamp" or tp in offsets:
                    self.ranges.append(first_sight(replace(partition, time_offset=offsets.get(tp)), starts[tp]))
                continue
            skip = self._flow.per_topic("mirror.on.gap", tp.topic) == "skip-and-record"
            chosen = next_range(partition, record, skip, self._now, interval)
            if isinstance(chosen, Range):
                self.ranges.append(chosen)
            elif chosen is not None:
                self.errors.append(chosen)

    def _start(self, topic: str) -> StartPosition:
        """`latest` and times are for partitions that exist at the topic's first run; one that is added later has no records that were
        meant to be left out, so it starts at its beginning."""
        if any(tp.topic == topic for tp in self._view.records):
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
