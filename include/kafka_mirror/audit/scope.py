"""What an audit is asked for: which partitions of the ledger, and which of their source offsets."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kafka_mirror.audit.log_bounds import LogBoundsReader
from kafka_mirror.config import Flow
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.errors.next_step import program
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.intervals import Interval, within
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.ledger.record import LedgerRecord

UNKNOWN_TOPIC = "{}: the ledger knows nothing of this topic, so nothing of it was compared."
NOT_BEGUN = "Not copied yet, so not compared: {}. See what the plan says of them: {} plan (in Airflow, the DAG copy with dry_run)."

Records = Mapping[TopicPartition, LedgerRecord]


@dataclass(frozen=True)
class Scope:
    """What is asked for; each narrows it further. `topics`: these source topics. `source_offsets`: these offsets of these partitions.
    `times`: offsets between those of two times. `starts`: offsets from these on, up to where the copy is; other partitions whole."""

    topics: Collection[str] = ()
    source_offsets: Mapping[TopicPartition, Interval] | None = None
    times: tuple[datetime, datetime] | None = None
    starts: Mapping[TopicPartition, int] | None = None

    @property
    def is_whole_topics(self) -> bool:
        """Whether nothing narrows it but topics."""
        return self.source_offsets is None and self.times is None and self.starts is None

    @property
    def reaches_the_end(self) -> bool:
        """Whether it goes up to where the copy is, so that what stands after that is asked for too."""
        return self.source_offsets is None and self.times is None

    def unknown(self, records: Records) -> Iterator[str]:
        """Sentences about what the ledger does not know."""
        for name in sorted(set(self.topics) - {tp.topic for tp in records}):
            yield UNKNOWN_TOPIC.format(name)
        for tp in sorted((self.source_offsets or {}).keys() - records.keys()):
            yield UNKNOWN_TOPIC.format(tp)

    def select_partitions(self, flow: Flow, records: Records) -> Records:
        """Of the ledger's partitions those that are asked for; of topics that the flow no longer mirrors, those that are named."""
        if self.source_offsets is not None:
            records = {tp: record for tp, record in records.items() if tp in self.source_offsets}
        if self.topics:
            return {tp: record for tp, record in records.items() if tp.topic in self.topics}
        selection = topic_selection(flow)
        ours = {name for name in {tp.topic for tp in records} if selection.takes(name)}
        return {tp: record for tp, record in records.items() if tp.topic in ours}

    def select_offsets(self, source: Cluster, records: Records, holdings: LogBoundsReader) -> Mapping[TopicPartition, Interval] | None:
        """The source offsets that are asked for; None: all there are. None of a partition whose offsets no leader tells.

        What the source refuses to tell of one topic is of that topic alone.

        Times that begin no later than what the log still has: records of theirs may have stood in front of it, so what was copied there is
        asked for as well, to be said.
        """
        if self.starts is not None:
            return {tp: (min(start, records[tp].watermark), records[tp].watermark) for tp, start in self.starts.items() if tp in records}
        if self.times is None:
            return self.source_offsets
        known_partitions = [tp for tp in records if tp in holdings.ends and tp in holdings.starts]
        at = [source.offsets_for_time(known_partitions, round(time.timestamp() * 1000), holdings.refused) for time in self.times]
        selected: dict[TopicPartition, Interval] = {}
        for tp in known_partitions:
            if not all(tp in offsets_at for offsets_at in at):
                continue
            start, end = (holdings.ends[tp] if (offset := offsets_at[tp]) is None else offset for offsets_at in at)
            if start <= holdings.starts[tp]:
                start = min([start, *(first for first, _ in records[tp].covered[:1])])
            whole = (start, max(start, end))
            inside = within([whole], *self.source_offsets[tp]) if self.source_offsets else (whole,)
            selected[tp] = inside[0] if inside else (start, start)
        return selected


def not_begun(flow: Flow, source: Cluster, scope: Scope, records: Records, partitions: Mapping[str, int]) -> tuple[str, ...]:
    """What the flow mirrors and the ledger does not know yet: topics, and new partitions of others, in words; `partitions` are how many the
    source's topics in the ledger have. An audit is about what was copied, so it would be equal without it."""
    if not flow.value("refresh.topics.enabled"):
        return ()
    in_ledger, selection = {tp.topic for tp in records}, topic_selection(flow)
    topics = () if scope.topics else [name for name in source.names() if name not in in_ledger and selection.takes(name)]
    new = {name: count - sum(1 for tp in records if tp.topic == name) for name, count in sorted(partitions.items())}
    return (*topics, *(f"{count} partitions of {name}" for name, count in new.items() if count > 0))


def not_begun_notice(names: Sequence[str]) -> Iterator[str]:
    """The first of them, and what says more."""
    if names:
        yield NOT_BEGUN.format(first_few(names), program())
