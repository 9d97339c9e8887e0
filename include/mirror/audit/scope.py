"""What an audit is asked for: which partitions of the ledger, and which of their source offsets."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from mirror.audit.holdings import Holdings
from mirror.config import Flow
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.offsets.intervals import Interval, within
from mirror.offsets.partition import TopicPartition
from mirror.policy import topic_selection

UNKNOWN_TOPIC = "{}: the ledger knows nothing of this topic, so nothing of it was compared."
NOT_BEGUN = (
    "Not copied yet, so not compared: {}. See what the plan says of them: python -m mirror plan (in Airflow, the DAG copy with dry_run)."
)
_SHOWN = 5

Records = Mapping[TopicPartition, LedgerRecord]


@dataclass(frozen=True)
class Scope:
    """What is asked for; each narrows it further. `topics`: these source topics. `source_offsets`: these offsets of these partitions.
    `times`: offsets between those of two times."""

    topics: Collection[str] = ()
    source_offsets: Mapping[TopicPartition, Interval] | None = None
    times: tuple[datetime, datetime] | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing narrows it."""
        return not self.topics and self.source_offsets is None and self.times is None

    def unknown(self, records: Records) -> Iterator[str]:
        """Sentences about what the ledger does not know."""
        for name in sorted(set(self.topics) - {tp.topic for tp in records}):
            yield UNKNOWN_TOPIC.format(name)
        for tp in sorted((self.source_offsets or {}).keys() - records.keys()):
            yield UNKNOWN_TOPIC.format(tp)

    def chosen(self, flow: Flow, records: Records) -> Records:
        """Of the ledger's partitions those that are asked for; of topics that the flow no longer mirrors, those that are named."""
        if self.source_offsets is not None:
            records = {tp: record for tp, record in records.items() if tp in self.source_offsets}
        if self.topics:
            return {tp: record for tp, record in records.items() if tp.topic in self.topics}
        selection = topic_selection(flow)
        ours = {name for name in {tp.topic for tp in records} if selection.takes(name)}
        return {tp: record for tp, record in records.items() if tp.topic in ours}

    def wanted(self, source: Cluster, records: Records, holdings: Holdings) -> Mapping[TopicPartition, Interval] | None:
        """The source offsets that are asked for; None: all there are. None of a partition whose offsets no leader tells.

        What the source refuses to tell of one topic is of that topic alone.

        Times that begin no later than what the log still has: records of theirs may have stood in front of it, so what was copied there is
        asked for as well, to be said.
        """
        if self.times is None:
            return self.source_offsets
        asked = [tp for tp in records if tp in holdings.ends and tp in holdings.starts]
        at = [source.offsets_for_time(asked, round(time.timestamp() * 1000), holdings.refused) for time in self.times]
        found: dict[TopicPartition, Interval] = {}
        for tp in asked:
            if not all(tp in each for each in at):
                continue
            start, end = (holdings.ends[tp] if (offset := each[tp]) is None else offset for each in at)
            if start <= holdings.starts[tp]:
                start = min([start, *(first for first, _ in records[tp].covered[:1])])
            whole = (start, max(start, end))
            inside = within([whole], *self.source_offsets[tp]) if self.source_offsets else (whole,)
            found[tp] = inside[0] if inside else (start, start)
        return found


def not_begun(flow: Flow, source: Cluster, records: Records, partitions: Mapping[str, int]) -> str | None:
    """A sentence about what the flow mirrors and the ledger does not know yet, if there is such; `partitions` are how many the source's
    topics in the ledger have. An audit is about what was copied, so it would be equal without it."""
    if not flow.value("refresh.topics.enabled"):
        return None
    known, selection = {tp.topic for tp in records}, topic_selection(flow)
    left = [name for name in source.names() if name not in known and selection.takes(name)]
    for name, count in sorted(partitions.items()):
        new = count - sum(1 for tp in records if tp.topic == name)
        left += [f"{new} partitions of {name}"] if new > 0 else []
    more = [f"{len(left) - _SHOWN} more"] if len(left) > _SHOWN else []
    return NOT_BEGUN.format(", ".join([*left[:_SHOWN], *more])) if left else None
