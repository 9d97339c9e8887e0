"""What an audit has to compare: the ledger first, then what both sides still hold of what it says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from mirror.audit.holdings import Holdings
from mirror.audit.live_stretches import live_stretches, nothing_copied
from mirror.audit.model import LeftOut
from mirror.audit.pair_search import Pairs, search_pairs, searches
from mirror.audit.scope import Scope, not_begun
from mirror.audit.stretch import Stretch
from mirror.audit.stretches import HISTORY_GONE, HISTORY_LOST, PLACE_UNKNOWN, countable, forgotten, history_stretch, without_all
from mirror.audit.work import audit_work
from mirror.config import Flow
from mirror.errors import ErrorReport, MirrorError, SourceUnreadable, TargetMissing, TargetRecreated
from mirror.formats.control import ACCEPT_RECORDS, RESTART
from mirror.formats.history import HistoryTopic
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import control_of
from mirror.kafka.ledger import LedgerView
from mirror.offsets.intervals import Interval, within
from mirror.offsets.partition import TopicPartition
from mirror.plan.checks import check_clusters
from mirror.plan.decisions import Decisions
from mirror.plan.own_topics import read_decisions, read_ledger


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
        self.notices: list[str] = list(scope.unknown(view.records))
        self.stretches: list[Stretch] = []
        self.left_out: dict[TopicPartition, list[LeftOut]] = {}
        self.tails: dict[TopicPartition, Interval] = {}
        self._pairs: Pairs = {}
        self.records = scope.chosen(flow, view.records)
        committed = flow.client("source", "consumer").get("isolation.level") != "read_uncommitted"
        self._holdings = Holdings(source, target, self.records, committed)
        if scope.is_everything and not view.unreadable:
            waiting = not_begun(flow, source, self.records, self._holdings.partitions)
            self.notices += [waiting] if waiting else []

    def run(self) -> None:
        """Fills what was asked for."""
        wanted = self._scope.wanted(self._source, self.records, self._holdings)
        self._search(wanted or {})
        for tp, record in sorted(self.records.items()):
            self.left_out[tp] = []
            error = self._holdings.source_error(tp, record)
            if error is None and wanted is not None and tp not in wanted:
                error = _without_leader(tp)
            if error is not None:
                self._fail(tp, error)
            else:
                self._live(tp, record, wanted[tp] if wanted is not None else None)
                self._history(tp, record, wanted[tp] if wanted is not None else None)

    def _search(self, wanted: Mapping[TopicPartition, Interval]) -> None:
        """Looks for the pairs of intervals that lie where offset maps have forgotten details."""
        asked = []
        for tp, record in self.records.items():
            errors = self._holdings.source_error(tp, record) or self._holdings.live_error(tp, record)
            if tp not in wanted or errors is not None:
                continue
            if not self._lenient(tp, record) and not self._holdings.is_compacted(tp, record.target_topic):
                asked.append(searches(tp, record, wanted[tp], self._holdings.held(tp, record.target_topic)))
        if any(each is not None for ends in asked for each in ends):
            self._pairs = search_pairs(audit_work(self._flow, False), asked)

    # ------------------------------------------------------------ stretches

    def _live(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None) -> None:
        lenient, error = self._lenient(tp, record), self._holdings.live_error(tp, record)
        if error is not None and record.covered:
            self._fail(tp, error)
            return
        held = self._holdings.held(tp, record.target_topic if error is None else None)
        stretches, left_out = live_stretches(tp, record, wanted, held, self._pairs.get(tp, {}))
        if error is None and wanted is None and not lenient and (tail := self._holdings.tail(tp, record)) is not None:
            self.tails[tp] = tail
            stretches = stretches or [nothing_copied(tp, record, held)]
        self._add(tp, stretches, left_out, lenient)

    def _history(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None) -> None:
        known = [interval for topic in record.history_topics for interval in topic.intervals]
        asked = wanted or (0, max((end for _, end in (*record.history, *known)), default=0))
        lost = within(without_all(record.history, known), *asked)
        self.left_out[tp] += [LeftOut(*each, HISTORY_LOST) for each in lost]
        for topic in record.history_topics:
            if written := within(topic.intervals, *asked):
                self._history_in(tp, record, topic, written, asked)

    def _history_in(
        self, tp: TopicPartition, record: LedgerRecord, topic: HistoryTopic, written: Iterable[Interval], asked: Interval
    ) -> None:
        """What was asked for of the history in one topic, `written`. A topic of its own may be deleted when it has served: that is like
        retention, and no error."""
        error = self._holdings.target_error(tp, topic.topic, topic.topic_id)
        if topic.topic != record.target_topic and isinstance(error, TargetMissing | TargetRecreated):
            gone = HISTORY_GONE.format(topic.topic, "is gone" if isinstance(error, TargetMissing) else "was created anew")
            self.left_out[tp] += [LeftOut(*each, gone) for each in written]
            return
        self.left_out[tp] += [LeftOut(*each, f"{PLACE_UNKNOWN} in {topic.topic}") for each in within(forgotten(topic), *asked)]
        places = [place for place in topic.places if place.start < asked[1] and place.end > asked[0]]
        if places and error is not None:
            self._fail(tp, error)
            return
        lenient = topic.topic == record.target_topic and self._may_hold_others(tp)
        for place in places:
            self._add(tp, *history_stretch(tp, place, self._holdings.held(tp, topic.topic), record), lenient)

    def _add(self, tp: TopicPartition, stretches: Iterable[Stretch], left_out: Iterable[LeftOut], lenient: bool) -> None:
        self.left_out[tp] += left_out
        for each in stretches:
            found = countable(replace(each, compacted=self._holdings.is_compacted(tp, each.remote.topic), lenient=lenient))
            if isinstance(found, LeftOut):
                self.left_out[tp].append(found)
            else:
                self.stretches.append(found)

    def _fail(self, tp: TopicPartition, error: MirrorError) -> None:
        # What the target refuses bears the name of its topic, and what was not compared is the source's.
        self.errors.append(replace(error.report(), topic=tp.topic))

    def _may_hold_others(self, tp: TopicPartition) -> bool:
        return bool(self._flow.per_topic("mirror.on.unexplained.target", tp.topic) == "append")

    def _lenient(self, tp: TopicPartition, record: LedgerRecord) -> bool:
        """Whether records may stand in the remote partition that are no copies, copies that a person had made a second time, or history of
        which the ledger no longer knows the place."""
        if self._may_hold_others(tp) or any(forgotten(topic) for topic in record.history_topics if topic.topic == record.target_topic):
            return True
        if record.older is not None:
            return True
        words = {decision.decision for decision in self._decisions.of(tp)} | ({record.decided.decision} if record.decided else set())
        return bool(words & {ACCEPT_RECORDS, RESTART})


def _without_leader(tp: TopicPartition) -> SourceUnreadable:
    message = f"{tp}: no leader says which of its offsets the times come to. Nothing of it was compared."
    return SourceUnreadable(message, topic=tp.topic, partition=tp.partition, next="Look at the source's brokers, and audit again.")
