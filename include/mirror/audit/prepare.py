"""What an audit has to compare: the ledger first, then what both sides still hold of what it says."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from mirror.audit.holdings import Holdings
from mirror.audit.model import LeftOut
from mirror.audit.stretch import Stretch
from mirror.audit.stretches import PLACE_UNKNOWN, history_stretch, live_stretches, nothing_copied, without_all
from mirror.config import Flow
from mirror.errors import ErrorReport
from mirror.formats.control import ACCEPT_RECORDS, RESTART
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import control_of
from mirror.kafka.ledger import LedgerView
from mirror.offsets.intervals import Interval, within
from mirror.offsets.partition import TopicPartition
from mirror.plan.checks import check_clusters
from mirror.plan.decisions import Decisions
from mirror.plan.own_topics import read_decisions, read_ledger
from mirror.policy import topic_selection

UNKNOWN_TOPIC = "{}: the ledger knows nothing of this topic, so nothing of it was compared."


@dataclass(frozen=True)
class Scope:
    """What is asked for; each narrows it further. `topics`: these source topics. `source_offsets`: these offsets of these partitions.
    `times`: offsets between those of two times."""

    topics: Collection[str] = ()
    source_offsets: Mapping[TopicPartition, Interval] | None = None
    times: tuple[datetime, datetime] | None = None


@dataclass(frozen=True)
class Prepared:
    """What to compare, and what could not even be tried. `tails`: where records behind the copy would be nobody's, by source partition."""

    time: datetime
    records: Mapping[TopicPartition, LedgerRecord] = field(default_factory=dict)
    stretches: tuple[Stretch, ...] = ()
    left_out: Mapping[TopicPartition, tuple[LeftOut, ...]] = field(default_factory=dict)
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = ()
    tails: Mapping[TopicPartition, Interval] = field(default_factory=dict)

    @property
    def offsets(self) -> int:
        """How many source offsets are to be read: an upper bound of the records."""
        return sum(stretch.offsets for stretch in self.stretches)


def prepare(flow: Flow, source: Cluster, target: Cluster, scope: Scope) -> Prepared:
    """Looks at the ledger and both clusters. Raises what concerns the whole flow."""
    clusters = flow.source, source.cluster_id(), flow.target, target.cluster_id()
    control = control_of(flow, target)
    decisions = read_decisions(flow, control, dry_run=True)
    time = datetime.now(UTC)
    _, view = read_ledger(flow, target, control, decisions, dry_run=True)
    check_clusters(view.records.values(), *clusters, decisions)
    looking = _Looking(flow, source, target, scope, decisions, view)
    looking.run()
    return Prepared(
        time,
        looking.records,
        tuple(looking.stretches),
        {tp: tuple(left) for tp, left in looking.left_out.items()},
        tuple(looking.errors),
        tuple(looking.notices),
        looking.tails,
    )


class _Looking:
    """One pass over the partitions of the ledger."""

    def __init__(self, flow: Flow, source: Cluster, target: Cluster, scope: Scope, decisions: Decisions, view: LedgerView) -> None:
        self._flow = flow
        self._source = source
        self._scope = scope
        self._decisions = decisions
        self.errors: list[ErrorReport] = [error.report() for error in view.unreadable.values()]
        self.notices: list[str] = []
        self.stretches: list[Stretch] = []
        self.left_out: dict[TopicPartition, list[LeftOut]] = {}
        self.tails: dict[TopicPartition, Interval] = {}
        self.records = self._chosen(view.records)
        committed = flow.client("source", "consumer").get("isolation.level") != "read_uncommitted"
        self._holdings = Holdings(source, target, self.records, committed)

    def run(self) -> None:
        """Fills what was asked for."""
        wanted = self._wanted()
        for tp, record in sorted(self.records.items()):
            self.left_out[tp] = []
            error = self._holdings.source_error(tp, record)
            if error is not None:
                self.errors.append(error.report())
            elif wanted is None or tp in wanted:
                self._live(tp, record, wanted[tp] if wanted is not None else None)
                self._history(tp, record, wanted[tp] if wanted is not None else None)

    # ------------------------------------------------------------ what is asked for

    def _chosen(self, records: Mapping[TopicPartition, LedgerRecord]) -> Mapping[TopicPartition, LedgerRecord]:
        scope, known = self._scope, {tp.topic for tp in records}
        self.notices += [UNKNOWN_TOPIC.format(name) for name in sorted(set(scope.topics) - known)]
        if scope.source_offsets is not None:
            offsets = scope.source_offsets
            self.notices += [UNKNOWN_TOPIC.format(tp) for tp in sorted(offsets.keys() - records.keys())]
            records = {tp: record for tp, record in records.items() if tp in offsets}
        if scope.topics:
            return {tp: record for tp, record in records.items() if tp.topic in scope.topics}
        selection = topic_selection(self._flow)
        ours = {name for name in known if selection.should_replicate(name)}
        return {tp: record for tp, record in records.items() if tp.topic in ours}

    def _wanted(self) -> Mapping[TopicPartition, Interval] | None:
        """The source offsets that were asked for; None: all there are."""
        offsets, ends = self._scope.source_offsets, self._holdings.ends
        if self._scope.times is None:
            return offsets
        asked = [tp for tp in self.records if tp in ends]
        at = [self._source.offsets_for_time(asked, int(time.timestamp() * 1000)) for time in self._scope.times]
        found: dict[TopicPartition, Interval] = {}
        for tp in asked:
            start, end = (ends[tp] if (offset := each.get(tp)) is None else offset for each in at)
            inside = within([(start, max(start, end))], *offsets[tp]) if offsets else ((start, max(start, end)),)
            found[tp] = inside[0] if inside else (start, start)
        return found

    # ------------------------------------------------------------ stretches

    def _live(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None) -> None:
        lenient, error = self._lenient(tp, record), self._holdings.live_error(tp, record)
        if error is not None and record.covered:
            self.errors.append(error.report())
            return
        held = self._holdings.held(tp, record.target_topic if error is None else None)
        stretches, left_out = live_stretches(tp, record, wanted, held)
        if error is None and wanted is None and not lenient and (tail := self._holdings.tail(tp, record)) is not None:
            self.tails[tp] = tail
            stretches = stretches or [nothing_copied(tp, record, held)]
        self._add(tp, stretches, left_out, lenient)

    def _history(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None) -> None:
        start, end = wanted or (0, max((end for topic in record.history_topics for _, end in topic.intervals), default=0))
        for topic in record.history_topics:
            places = [place for place in topic.places if place.start < end and place.end > start]
            intervals = [part for interval in topic.intervals for part in within([interval], start, end)]
            forgotten = without_all(intervals, [(place.start, place.end) for place in topic.places])
            self.left_out[tp] += [LeftOut(*each, f"{PLACE_UNKNOWN} in {topic.topic}") for each in forgotten]
            error = self._holdings.target_error(tp, topic.topic, topic.topic_id) if places else None
            if error is not None:
                self.errors.append(error.report())
                continue
            for place in places:
                self._add(tp, *history_stretch(tp, place, self._holdings.held(tp, topic.topic)), lenient=False)

    def _add(self, tp: TopicPartition, stretches: Iterable[Stretch], left_out: Iterable[LeftOut], lenient: bool) -> None:
        self.left_out[tp] += left_out
        for each in stretches:
            self.stretches.append(replace(each, compacted=self._holdings.is_compacted(tp, each.remote.topic), lenient=lenient))

    def _lenient(self, tp: TopicPartition, record: LedgerRecord) -> bool:
        """Whether records may stand in the remote partition that are no copies, or copies that a person had made a second time."""
        if self._flow.per_topic("mirror.on.unexplained.target", tp.topic) == "append":
            return True
        words = {decision.decision for decision in self._decisions.of(tp)} | ({record.decided.decision} if record.decided else set())
        return bool(words & {ACCEPT_RECORDS, RESTART})
