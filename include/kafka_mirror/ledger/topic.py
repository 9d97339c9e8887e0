"""The ledger topic on the target: creating and checking it, and reading what it says."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kafka_mirror.errors import DeadlineExceeded, LanesChanged, LedgerDamaged, LedgerHidden, MirrorError
from kafka_mirror.formats.batches.batch_records import StoredRecord
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import create_topics
from kafka_mirror.kafka.broker_pool import ask_with_server
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.connection_errors import report_no_leader
from kafka_mirror.kafka.log_reader import newest_records
from kafka_mirror.kafka.model import Topic
from kafka_mirror.ledger.codec import decode, decode_key
from kafka_mirror.ledger.compare_and_set import await_readable
from kafka_mirror.ledger.record import LedgerRecord, note_key

_STABLE_SECONDS = 2.0
_LOOK_EVERY_SECONDS = 0.05


@dataclass(frozen=True)
class LedgerView:
    """What the ledger says: the newest record of each source partition, and the lanes that cannot be read, with the reason.

    The records of a lane stand in the order in which they were written, the one that was written least recently first.
    """

    records: Mapping[TopicPartition, LedgerRecord] = field(default_factory=dict)
    unreadable: Mapping[int, MirrorError] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)
    """In front of which offset each lane was read."""
    notes: Mapping[int, LedgerRecord] = field(default_factory=dict)
    """What is noted of whole lanes (`kafka_mirror.ledger.record`)."""


@dataclass(frozen=True)
class FencedLane:
    """One lane's records, and where its ledger partition ended when they were read: the client that fenced the lane writes there next."""

    records: Mapping[TopicPartition, LedgerRecord]
    end: int
    note: LedgerRecord | None = None


class Ledger:
    """The ledger of one flow. Only a lane's protocol writes to it; this class reads."""

    def __init__(self, topic: str, lanes: int, target: Cluster, settings: Mapping[str, Any]) -> None:
        self.topic = topic
        self.lanes = lanes
        self._target = target
        self._settings = settings

    def exists(self) -> bool:
        """Whether the topic is there; raises as `topic_id` does."""
        return self.topic_id() is not None

    def topic_id(self) -> str | None:
        """The topic's id, None if there is no such topic. Raises LanesChanged or LedgerUnsuitable when its settings would endanger what it
        holds."""
        topic = self._target.topics([self.topic]).get(self.topic)
        if topic is not None:
            self._check(topic)
        return topic.id if topic is not None else None

    def create(self, replication_factor: int) -> str:
        """Creates the topic and gives its id. Does nothing harmful if someone else is faster."""
        topic = create_topics.create_compacted(self._target, self.topic, self.lanes, replication_factor)
        self._check(topic)
        return topic.id

    def check_readable(self) -> None:
        """Raises AuthorizationRefused if we may not read the topic. Reading an empty ledger would not show it: nothing is fetched then."""
        with Cluster(self._target.alias, self._settings, self._target.timeout) as reader:
            reader.topics([self.topic], operation="READ")

    def read(self, since: Mapping[int, int] | None = None) -> LedgerView:
        """All lanes, as far as they are committed and stable: a copy that runs, or was killed, may be ahead of this.

        A lane whose partition holds something unreadable is in `unreadable`, and none of its records are given. `since`: only what stands
        there from these offsets on, by lane.
        """
        return self._read_lanes(range(self.lanes), stable=True, since=since or {})

    def read_fenced(self, lane: int) -> FencedLane:
        """One lane, to the partition's very end as of now, for the client that fenced it: no transaction is open there then.

        The end is that of all records, not the last stable offset, which may trail it: no committed record may be missed. Raises
        LedgerHidden if it does so for more than a moment. A deposed leader may have answered: what is written next shows it, by where it
        is delivered (`kafka_mirror.ledger.compare_and_set`).
        """
        tp = TopicPartition(self.topic, lane)
        offsets = self._target.log_offsets([tp]).get(tp)
        if offsets is not None and max(0, offsets.stable) < offsets.end:
            for stable in await_readable(self._target, {tp: offsets.end}, _STABLE_SECONDS, _LOOK_EVERY_SECONDS).values():
                raise LedgerHidden(self.topic, lane, stable, offsets.end)
        view = self._read_lanes([lane], stable=False)
        if lane in view.unreadable:
            raise view.unreadable[lane]
        return FencedLane(view.records, view.ends[lane], view.notes.get(lane))

    def await_ended(self, ends: Mapping[int, int]) -> bool:
        """Waits for lanes whose records stand up to these ends while a commit's marker is on its way; gives whether there was any to wait
        for. A coordinator says that a transaction is committed before the markers are written, and a busy broker writes them seconds later:

            … │ records of the transaction │ marker of the commit, not there yet │
              └─ last stable offset        └─ end of the log                     └─ end that the lane knows

        A broker whose log lacks more than the marker, or has no transaction open, is not waited for. Raises DeadlineExceeded.
        """
        wanted = {TopicPartition(self.topic, lane): end for lane, end in ends.items()}
        offsets = self._target.log_offsets(wanted)
        hidden = {
            tp: end for tp, end in wanted.items() if (log := offsets.get(tp)) and log.stable < min(end, log.end) and end <= log.end + 1
        }
        if not hidden:
            return False

        for tp, stable in await_readable(self._target, hidden, self._target.timeout, _LOOK_EVERY_SECONDS).items():
            raise DeadlineExceeded(
                f"{tp} reaches {hidden[tp]}, and readers of committed records see it up to {stable}: the marker of a commit was not "
                f"written within {self._target.timeout:g} s. What was copied is committed.",
                next="Look at the load of the target's brokers; the next run goes on after what was committed.",
            )
        return True

    def _read_lanes(self, lanes: Iterable[int], stable: bool, since: Mapping[int, int] = MappingProxyType({})) -> LedgerView:
        partitions = [TopicPartition(self.topic, lane) for lane in lanes]
        ends = self._target.offsets(partitions, "latest", committed=stable)
        # An end that is not known is not an empty ledger: taken for one, every partition of the lane would be copied again.
        unreadable: dict[int, MirrorError] = {
            tp.partition: report_no_leader(tp, f"The ledger partition {tp} has no leader, so its lane copies nothing.")
            for tp in partitions
            if tp not in ends
        }
        ranges = {tp: (since.get(tp.partition, 0), end) for tp, end in ends.items()}
        newest, damaged_keys = ask_with_server(self._settings, lambda settings: self._read_newest(settings, ranges))
        unreadable |= damaged_keys
        records: dict[TopicPartition, LedgerRecord] = {}
        for tp, stored in newest.items():
            try:
                records[tp] = self._decode(stored)
            except MirrorError as damaged:
                unreadable.setdefault(stored.partition.partition, damaged)
        readable = {tp: record for tp, record in records.items() if newest[tp].partition.partition not in unreadable}
        notes = {lane: readable.pop(key) for lane in lanes if (key := note_key(self.topic, lane)) in readable}
        return LedgerView(readable, unreadable, {tp.partition: end for tp, end in ends.items()}, notes)

    def _read_newest(
        self, settings: Mapping[str, Any], ranges: Mapping[TopicPartition, tuple[int, int]]
    ) -> tuple[dict[TopicPartition, StoredRecord], dict[int, MirrorError]]:
        """The newest record of each source partition, in the order in which they were written, and by lane what could not be read."""
        newest: dict[TopicPartition, StoredRecord] = {}
        unreadable: dict[int, MirrorError] = {}
        for record in newest_records(self._target, settings, ranges):
            try:
                tp = decode_key(record.key, str(record))
                newest.pop(tp, None)
                newest[tp] = record
            except MirrorError as damaged:
                unreadable.setdefault(record.partition.partition, damaged)
        return newest, unreadable

    def _decode(self, stored: StoredRecord) -> LedgerRecord:
        where = str(stored)
        if stored.value is None:
            raise LedgerDamaged(where, "it is a tombstone, which the mirror never writes")
        record = decode(stored.value, where)
        if record.lanes != self.lanes:
            raise LanesChanged(self.topic, record.lanes, self.lanes)
        return record

    def _check(self, topic: Topic) -> None:
        if len(topic.partitions) != self.lanes:
            raise LanesChanged(self.topic, len(topic.partitions), self.lanes)
        create_topics.check_compacted(self._target, topic)
