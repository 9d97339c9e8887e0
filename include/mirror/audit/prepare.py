"""What an audit has to compare: the ledger first, then what both sides still hold of what it says."""

import time as clock
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from mirror.audit.model import LeftOut
from mirror.audit.stretches import PLACE_UNKNOWN, Held, Stretch, history_stretch, live_stretches, nothing_copied, without_all
from mirror.config import Flow
from mirror.copy.checks import RemotePartition, window
from mirror.errors import (
    ErrorReport,
    MirrorError,
    SourceRecreated,
    SourceUnreadable,
    TargetHidden,
    TargetMissing,
    TargetRecreated,
    TargetUnavailable,
)
from mirror.formats.control import ACCEPT_RECORDS, RESTART
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import control_of
from mirror.kafka.ledger import LedgerView
from mirror.kafka.model import Topic
from mirror.offsets.intervals import Interval, within
from mirror.offsets.partition import TopicPartition
from mirror.plan.checks import check_clusters
from mirror.plan.decisions import Decisions
from mirror.plan.own_topics import read_decisions, read_ledger
from mirror.policy import topic_selection

_MARKER_SECONDS = 5.0
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
        self._target = target
        self._scope = scope
        self._decisions = decisions
        self._view = view
        self.errors: list[ErrorReport] = [error.report() for error in view.unreadable.values()]
        self.notices: list[str] = []
        self.stretches: list[Stretch] = []
        self.left_out: dict[TopicPartition, list[LeftOut]] = {}
        self.tails: dict[TopicPartition, Interval] = {}
        self.records = self._chosen()

    def run(self) -> None:
        """Fills what was asked for."""
        names = {tp.topic for tp in self.records}
        remotes = {name for record in self.records.values() for name in _topics_of(record)}
        refused: dict[str, MirrorError] = {}
        refused_there: dict[str, MirrorError] = {}
        self._sources = self._source.topics(names, refused)
        self._targets = self._target.topics(remotes, refused_there)
        self._compacted = _compacted(self._source, self._sources), _compacted(self._target, self._targets)
        self._refused = refused, refused_there
        self._hold()
        wanted = self._wanted()
        for tp, record in sorted(self.records.items()):
            self.left_out[tp] = []
            error = self._source_error(tp, record)
            if error is not None:
                self.errors.append(error.report())
            elif wanted is None or tp in wanted:
                self._live(tp, record, wanted[tp] if wanted is not None else None)
                self._history(tp, record, wanted[tp] if wanted is not None else None)

    # ------------------------------------------------------------ what is asked for

    def _chosen(self) -> dict[TopicPartition, LedgerRecord]:
        records, scope = self._view.records, self._scope
        known = {tp.topic for tp in records}
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
        offsets = self._scope.source_offsets
        if self._scope.times is None:
            return offsets
        asked = [tp for tp in self.records if tp in self._ends]
        at = [self._source.offsets_for_time(asked, int(time.timestamp() * 1000)) for time in self._scope.times]
        found: dict[TopicPartition, Interval] = {}
        for tp in asked:
            start, end = (self._ends[tp] if (offset := each.get(tp)) is None else offset for each in at)
            inside = within([(start, max(start, end))], *offsets[tp]) if offsets else ((start, max(start, end)),)
            found[tp] = inside[0] if inside else (start, start)
        return found

    # ------------------------------------------------------------ what both sides hold

    def _hold(self) -> None:
        committed = self._flow.client("source", "consumer").get("isolation.level") != "read_uncommitted"
        ours = [tp for tp in self.records if tp.topic in self._sources and tp.partition < len(self._sources[tp.topic].partitions)]
        theirs = [
            TopicPartition(name, tp.partition)
            for tp, record in self.records.items()
            for name in _topics_of(record)
            if name in self._targets and tp.partition < len(self._targets[name].partitions)
        ]
        refused, refused_there = self._refused
        with ThreadPoolExecutor(2) as threads:
            starts = threads.submit(self._target.offsets, theirs, "earliest", False, refused_there)
            self._starts = self._source.offsets(ours, "earliest", errors=refused)
            self._ends = self._source.offsets(ours, "latest", committed=committed, errors=refused)
            self._target_starts = starts.result()
        self._stable = self._target.offsets(theirs, "latest", committed=True, errors=refused_there)
        self._target_ends = self._target.offsets(theirs, "latest", errors=refused_there)
        self._await_markers()

    def _await_markers(self) -> None:
        """A commit is decided before its markers are written, and the ledger's may be there first."""
        deadline = clock.monotonic() + _MARKER_SECONDS
        while hidden := [TopicPartition(each.target_topic, tp.partition) for tp, each in self.records.items() if self._is_hidden(tp, each)]:
            if clock.monotonic() > deadline:
                return
            clock.sleep(0.1)
            self._stable |= self._target.offsets(hidden, "latest", committed=True)

    def _source_error(self, tp: TopicPartition, record: LedgerRecord) -> MirrorError | None:
        refused, topic = self._refused[0].get(tp.topic), self._sources.get(tp.topic)
        if refused is not None:
            return refused
        if topic is None or tp not in self._starts or tp not in self._ends:
            detail = "it is gone" if topic is None else "it has no leader, or is gone"
            message = f"{tp}: the source partition cannot be read: {detail}. Nothing of it was compared."
            return SourceUnreadable(message, topic=tp.topic, partition=tp.partition, next="Bring the source's brokers back, or exclude it.")
        if topic.id != record.source_topic_id:
            return SourceRecreated(*tp, record.watermark, record.source_topic_id, topic.id)
        return None

    def _target_error(self, tp: TopicPartition, name: str, topic_id: str) -> MirrorError | None:
        remote, topic = TopicPartition(name, tp.partition), self._targets.get(name)
        if name in self._refused[1]:
            return self._refused[1][name]
        if topic is None or tp.partition >= len(topic.partitions):
            return TargetMissing(*tp, name)
        if topic.id != topic_id:
            return TargetRecreated(*tp, name, f"topic id {topic_id}", topic.id)
        if remote not in self._target_starts or remote not in self._stable or remote not in self._target_ends:
            return TargetUnavailable(*tp, name, "it has no leader")
        return None

    def _held(self, tp: TopicPartition, name: str) -> Held:
        remote = TopicPartition(name, tp.partition)
        return Held(self._starts[tp], self._ends[tp], self._target_starts[remote], self._stable[remote])

    # ------------------------------------------------------------ stretches

    def _live(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None) -> None:
        remote, lenient = TopicPartition(record.target_topic, tp.partition), self._lenient(tp, record)
        error = self._target_error(tp, record.target_topic, record.target_topic_id) or self._hidden(tp, record)
        if error is not None and record.covered:
            self.errors.append(error.report())
            return
        held = self._held(tp, record.target_topic) if error is None else Held(self._starts[tp], self._ends[tp], 0, 0)
        stretches, left_out = live_stretches(tp, record, wanted, held)
        if error is None and wanted is None and not lenient:
            found = RemotePartition(tp, remote.topic, None, 1, held.target_start, held.target_end, self._target_ends[remote])
            if (tail := window(found, record)) is not None:
                self.tails[tp] = tail
                stretches = stretches or [nothing_copied(tp, record, held)]
        self._add(tp, stretches, left_out, lenient)

    def _hidden(self, tp: TopicPartition, record: LedgerRecord) -> MirrorError | None:
        """Whether an open transaction keeps from being read what was copied."""
        stable = self._stable[TopicPartition(record.target_topic, tp.partition)]
        return TargetHidden(*tp, record.target_topic, stable, record.target_next) if self._is_hidden(tp, record) else None

    def _is_hidden(self, tp: TopicPartition, record: LedgerRecord) -> bool:
        remote = TopicPartition(record.target_topic, tp.partition)
        return remote in self._stable and self._stable[remote] < record.target_next <= self._target_ends.get(remote, -1)

    def _history(self, tp: TopicPartition, record: LedgerRecord, wanted: Interval | None) -> None:
        start, end = wanted or (0, max((end for topic in record.history_topics for _, end in topic.intervals), default=0))
        for topic in record.history_topics:
            places = [place for place in topic.places if place.start < end and place.end > start]
            intervals = [part for interval in topic.intervals for part in within([interval], start, end)]
            forgotten = without_all(intervals, [(place.start, place.end) for place in topic.places])
            self.left_out[tp] += [LeftOut(*each, f"{PLACE_UNKNOWN} in {topic.topic}") for each in forgotten]
            error = self._target_error(tp, topic.topic, topic.topic_id) if places else None
            if error is not None:
                self.errors.append(error.report())
                continue
            for place in places:
                self._add(tp, *history_stretch(tp, place, self._held(tp, topic.topic)), lenient=False)

    def _add(self, tp: TopicPartition, stretches: Iterable[Stretch], left_out: Iterable[LeftOut], lenient: bool) -> None:
        sources, targets = self._compacted
        self.left_out[tp] += left_out
        for each in stretches:
            compacted = tp.topic in sources or each.remote.topic in targets
            self.stretches.append(replace(each, compacted=compacted, lenient=lenient))

    def _lenient(self, tp: TopicPartition, record: LedgerRecord) -> bool:
        """Whether records may stand in the remote partition that are no copies, or copies that a person had made a second time."""
        if self._flow.per_topic("mirror.on.unexplained.target", tp.topic) == "append":
            return True
        words = {decision.decision for decision in self._decisions.of(tp)} | ({record.decided.decision} if record.decided else set())
        return bool(words & {ACCEPT_RECORDS, RESTART})


def _topics_of(record: LedgerRecord) -> set[str]:
    """The topics of the target that hold something of a partition."""
    return {record.target_topic, *(topic.topic for topic in record.history_topics)}


def _compacted(cluster: Cluster, topics: Mapping[str, Topic]) -> frozenset[str]:
    """The topics that are compacted, as far as we may see it."""
    refused: dict[str, MirrorError] = {}
    configs = cluster.configs(topics, refused)
    policies = {name: entries["cleanup.policy"].value or "" for name, entries in configs.items() if "cleanup.policy" in entries}
    return frozenset(name for name, policy in policies.items() if "compact" in policy)
