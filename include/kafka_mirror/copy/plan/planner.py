"""What is to be copied of each partition: its ledger record, the source's offsets and people's decisions, held against each other."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from kafka_mirror.config import Flow
from kafka_mirror.config.catalogue.values import EARLIEST, StartPosition
from kafka_mirror.copy.plan.model import BEHIND, BLOCKED, DECIDED, Range
from kafka_mirror.copy.plan.ranges import SourceOffsets, first_sight, next_range
from kafka_mirror.copy.plan.source_partitions import (
    Eligible,
    eligible,
    offsets_by_time,
    open_transactions,
    source_partitions,
    with_epoch_ends,
)
from kafka_mirror.copy.plan.target_checks import limits_text
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.apply_decisions import PartitionFacts, act_on_decisions, records_accepted_until
from kafka_mirror.ledger.checks import find_handed_back
from kafka_mirror.ledger.decisions import Decisions
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import LedgerView
from kafka_mirror.policy import IdleMembers, TopicSelection
from kafka_mirror.policy.filters import idle_members
from kafka_mirror.topics.topics import UNCHECKED, RefreshTopicsResult, refresh_topics, refusals


class Planning:
    """One pass over the flow's partitions, collecting ranges and errors."""

    def __init__(
        self,
        flow: Flow,
        source: Cluster,
        target: Cluster,
        view: LedgerView,
        decisions: Decisions,
        selection: TopicSelection,
        dry_run: bool,
        by_person: bool,
        follows: bool,
    ) -> None:
        """`follows`: whether partitions without work have an empty range."""
        self._flow = flow
        self._source = source
        self._target = target
        self._view = view
        self._last_known = {tp.topic: tp.partition for tp in sorted(view.records)}
        self._decisions = decisions
        self._selection = selection
        self._dry_run = dry_run
        self._by_person = by_person
        self._follows = follows
        self.now = datetime.now(UTC)
        self.topics: Mapping[str, Topic] = {}
        self.remotes: Mapping[str, Topic] = {}
        self.source_offsets: Mapping[TopicPartition, SourceOffsets] = {}
        self.waiting: dict[TopicPartition, tuple[SourceOffsets, int]] = {}
        """What has no remote partition yet, with the offset where it would begin."""
        self.ranges: list[Range] = []
        self.errors: list[ErrorReport] = [error.report() for error in view.unreadable.values()]
        self.notices: list[str] = []
        self.idle: IdleMembers | None = None
        """The members of `topics` that take no topic; None where the source was not listed."""

    def run(self) -> None:
        """Fills `ranges`, `errors` and `notices`, and what was found on the way."""
        refused: dict[str, MirrorError] = {}
        chosen = self._select_eligible(refused)
        self.topics, self.remotes = chosen.topics, chosen.remotes
        self.notices.extend(chosen.notices)
        self.notices.extend(self._note_idle_members(chosen.topics, refused))
        self.errors.extend(error for error in chosen.errors if not self._is_paused(error))
        lanes, waiting = self._flow.value("mirror.lanes"), frozenset(chosen.waiting)
        wanted = [tp for tp in self._drop_paused([*chosen.partitions, *waiting]) if lane_of(*tp, lanes) not in self._view.unreadable]
        partitions = source_partitions(self._source, chosen.topics, wanted, self._flow.reads_committed, refused)
        copied = {tp: partition for tp, partition in partitions.items() if tp not in waiting}
        self.source_offsets = with_epoch_ends(self._source, copied, self._view.records)
        self._choose(self.source_offsets | {tp: partition for tp, partition in partitions.items() if tp in waiting}, waiting, refused)
        self._report_open_transactions(self.source_offsets, refused)
        self.errors.extend(error.report() for error in refused.values())

    def _select_eligible(self, refused: dict[str, MirrorError]) -> Eligible:
        """The partitions that may be copied. On a fresh flow the remote topics are made first; for lanes that follow, new ones."""
        created: Mapping[str, int] = {}
        by_topic: dict[str, ErrorReport] = {}
        enabled = self._flow.value("refresh.topics.enabled")
        is_fresh = not self._view.records and not self._view.unreadable
        if enabled and is_fresh:
            refreshed = self._refresh(by_topic)
            if self._dry_run:
                created = {**refreshed.created, **refreshed.extended}
        chosen = eligible(self._source, self._target, self._selection, self._view.records, enabled, created, refused)
        if chosen.missing and enabled and self._follows and not is_fresh:
            self._refresh(by_topic)
            chosen = eligible(self._source, self._target, self._selection, self._view.records, enabled, created, refused)
        missing = {change.topic for change in chosen.missing}
        self.errors.extend(error for topic, error in by_topic.items() if topic not in missing)
        self._tell_missing(chosen, by_topic, enabled)
        return chosen

    def _refresh(self, by_topic: dict[str, ErrorReport]) -> RefreshTopicsResult:
        """What was made of the remote topics. What cannot be made is in `by_topic`."""
        refreshed = refresh_topics(self._flow, self._source, self._target, self._dry_run)
        by_topic.update({error.topic or "": error for error in refreshed.errors})
        if refreshed.unchecked:
            self.notices.append(UNCHECKED.format(refreshed.unchecked))
        return refreshed

    def _tell_missing(self, chosen: Eligible, by_topic: Mapping[str, ErrorReport], enabled: bool) -> None:
        """A remote partition that was never there waits for `refresh-topics`. Where the target would refuse to create it, waiting does not
        help: so the target is asked, and its refusal is an error for as long as it stands."""
        wanted = {
            change: numbers
            for change, numbers in chosen.missing.items()
            if any(self._decisions.find_pause(TopicPartition(change.topic, number)) is None for number in numbers)
        }
        unknown = [change for change in wanted if change.topic not in by_topic]
        answers = refusals(self._flow, self._source, self._target, self._selection, unknown, chosen.remotes) if enabled else {}
        for change, numbers in wanted.items():
            error = by_topic.get(change.topic) or answers.get(change.topic)
            if error is None:
                until = f"refresh-topics to create them in {change.remote}" if enabled else f"somebody to create them in {change.remote}"
                self.notices.append(f"{change.topic}: {len(numbers)} partitions wait for {until}.")
            elif change.topic in chosen.remotes:
                self.errors.extend(replace(error, partition=number) for number in sorted(numbers))
            else:
                self.errors.append(error)

    def _note_idle_members(self, topics: Collection[str], refused: Collection[str]) -> list[str]:
        """What is to be said of members of `topics` and `mirror.assets.topics` that take nothing."""
        if not self._flow.value("refresh.topics.enabled"):
            return []
        self.idle = self._selection.idle_members({*self._source.listing().names, *refused})
        names, source = self._flow.value("mirror.assets.topics"), self._flow.source
        mirrored_names = {*topics, *self._selection.moved, *refused}
        assets = idle_members("mirror.assets.topics", names, "mirrored topic", source, mirrored_names, lambda _: True) if names else None
        return [*(str(idle) for idle in (self.idle, assets) if idle is not None), *self._find_heartbeats(topics)]

    def _find_heartbeats(self, topics: Collection[str]) -> list[str]:
        """What is to be said of topics that the lists leave out and that are mirrored for their name; not of our clusters' own."""
        policy, aliases = self._selection.policy, {None, *self._flow.clusters}
        return [
            f"{name} is mirrored though topics and topics.exclude leave it out: by its name it holds heartbeats, about which "
            "heartbeats.replication.enabled decides."
            for name in sorted(topics)
            if name.endswith("heartbeats")
            and not self._selection.topic_filter.should_replicate(name)
            and policy.topic_source(name) not in aliases
        ]

    def _drop_paused(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """The partitions that are not paused; the others are named, with who paused them and why."""
        pauses = {tp: self._decisions.find_pause(tp) for tp in partitions}
        in_force = {decision.key: decision for decision in pauses.values() if decision is not None}
        self.notices.extend(
            f"{decision.topic if decision.partition is None else f'{decision.topic}-{decision.partition}'} is left out: {decision}"
            for decision in in_force.values()
        )
        return [tp for tp, pause in pauses.items() if pause is None]

    def _is_paused(self, error: ErrorReport) -> bool:
        if error.topic is None or error.partition is None:
            return False
        return self._decisions.find_pause(TopicPartition(error.topic, error.partition)) is not None

    def _choose(
        self,
        partitions: Mapping[TopicPartition, SourceOffsets],
        waiting: Collection[TopicPartition],
        refused: dict[str, MirrorError],
    ) -> None:
        starts = {tp: self._choose_start(partition) for tp, partition in partitions.items() if tp not in self._view.records}
        offsets = offsets_by_time(self._source, starts, refused)
        # What is tolerated blocks nothing, so a partition that was stuck before is not left alone any longer. Nor is one about which a
        # person asks, who may have removed the cause.
        at_once = self._by_person or self._flow.value("errors.tolerance") == "all"
        changed = frozenset(partitions) if at_once else with_other_limits(self._target, partitions, self._view.records)
        interval = timedelta(seconds=self._flow.value("mirror.copy.interval.seconds"))
        for tp, partition in partitions.items():
            record = self._view.records.get(tp)
            if record is not None:
                self._go_on(partition, record, timedelta(0) if tp in changed else interval)
            elif starts[tp].kind != "timestamp" or tp in offsets:
                partition = replace(partition, time_offset=offsets.get(tp))
                if tp in waiting:
                    self.waiting[tp] = (partition, first_sight(partition, starts[tp]).start)
                else:
                    decisions = self._decisions.select(tp) if self._has_accepted_records(partition) else ()
                    self.ranges.append(replace(first_sight(partition, starts[tp]), decisions=decisions))
            # Else: a time that no leader could answer just now is not a time after all records; the next run asks again.

    def _has_accepted_records(self, partition: SourceOffsets) -> bool:
        return records_accepted_until(self._decisions.select(partition.tp), self._find_facts(partition)) is not None

    def _go_on(self, partition: SourceOffsets, record: LedgerRecord, interval: timedelta) -> None:
        tp = partition.tp
        noted = record
        record, applied = act_on_decisions(record, self._decisions.select(tp), self._find_facts(partition))
        if (refusal := find_handed_back(tp, record)) is not None:
            self.errors.append(refusal.report())
            return
        if record.watermark != noted.watermark:
            # What was asked for is where the old watermark's epoch ends.
            partition = replace(partition, epoch_end=None, is_unconfirmed=False)
        skip = self._flow.per_topic("mirror.on.gap", tp.topic) == "skip-and-record"
        chosen = next_range(partition, record, skip, self.now, interval)
        if chosen is None and self._follows:
            chosen = partition.make_range(record.watermark, record.watermark, BEHIND)
        if applied and not isinstance(chosen, ErrorReport):
            # What was decided is committed even if there is nothing to copy.
            chosen = chosen or partition.make_range(record.watermark, record.watermark, DECIDED)
            chosen = replace(chosen, reason=BLOCKED if chosen.reason == BLOCKED else DECIDED, decisions=applied)
            self.notices.extend(f"{tp}: {decision}" for decision in applied)
        if isinstance(chosen, Range):
            self.ranges.append(replace(chosen, records=record.records, bytes=record.bytes))
        elif chosen is not None:
            self.errors.append(chosen)

    def _find_facts(self, partition: SourceOffsets) -> PartitionFacts:
        topic = partition.tp.topic
        remote = self.remotes.get(topic)
        return PartitionFacts(
            partition.topic_id, partition.log_start, self._selection.remote(topic), remote.id if remote else None, partition.leader_epoch
        )

    def _choose_start(self, partition: SourceOffsets) -> StartPosition:
        """Where a partition begins that the ledger does not know: where it is configured, unless its topic is mirrored already, or a
        cutover moved it to the source: then all that stands there was written since, but for what `open` noted in the ledger.

        One that was added since has no records that were meant to be left out; nor can it be distinguished from one whose beginning did not
        come to be committed. So both begin at their earliest record: too much may be copied, but nothing is left out. Where somebody
        accepted what stands on the target, a start that does not move with the time is what is meant.
        """
        tp = partition.tp
        start: StartPosition = self._flow.per_topic("mirror.start", tp.topic)
        last = self._last_known.get(tp.topic)
        if last is None and tp.topic in self._decisions.returned_topics:
            return EARLIEST
        if last is None or (start.is_fixed and self._has_accepted_records(partition)):
            return start
        if start != EARLIEST and tp.partition < last:
            self.notices.append(
                f"{tp} is copied from its beginning: where it was to begin when its topic was first seen is not known any more."
            )
        return EARLIEST

    def _report_open_transactions(self, partitions: Mapping[TopicPartition, SourceOffsets], refused: dict[str, MirrorError]) -> None:
        """Work that is owed and cannot be read. A partition that still has something readable is copied first."""
        busy = {planned.topic_partition for planned in self.ranges if planned.offsets}
        waiting = [partition for tp, partition in partitions.items() if tp not in busy]
        self.errors.extend(error.report() for error in open_transactions(self._flow, self._source, waiting, refused).values())


def with_other_limits(
    target: Cluster, partitions: Iterable[TopicPartition], records: Mapping[TopicPartition, LedgerRecord]
) -> frozenset[TopicPartition]:
    """Those of the partitions that are stuck and whose remote topic has other limits now than when they were tried last.

    Of topics whose configs we may not read nothing is known: their records are tried again after a pause.
    """
    noted = {tp: (record.target_topic, record.blocked.limits) for tp in partitions if (record := records.get(tp)) and record.blocked}
    hidden: dict[str, MirrorError] = {}
    configs = target.configs({topic for topic, limits in noted.values() if limits}, hidden)
    now = {name: limits_text(entries) for name, entries in configs.items()}
    return frozenset(tp for tp, (topic, limits) in noted.items() if limits and now.get(topic, limits) != limits)
