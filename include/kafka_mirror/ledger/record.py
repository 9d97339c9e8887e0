"""What the ledger says of one source partition: what was written of it, where it stands, and who wrote it; and the note of a whole lane.

- Skipped offsets were passed over without being copied. None of them is ever forgotten.
- History are offsets below a partition's start that a backfill wrote, into which topic, and where they stand in it.
- The note of a lane says that the flow was handed back to MirrorMaker 2, or taken over since; that it is closed since a failover, or open
  again. It stands in the lane's ledger partition, under the key of the ledger topic itself and the lane's number, which no source partition
  has. It has the form of every ledger record, so a mirror that does not know it reads a partition that was handed back and that the source
  does not have, and copies nothing of it. A lane reads it after its fence, with all that the fence guarantees.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from kafka_mirror.errors import TargetLostRecords
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.intervals import Interval, cut_before, cut_out, cut_within, merge_intervals
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.formats.offsets.older_copies import OlderCopies
from kafka_mirror.formats.offsets.partition import NO_TOPIC_ID, TopicPartition
from kafka_mirror.ledger.control_records import HANDED_BACK, Decision

MAX_PLACES = 64
"""How many places a topic's entry keeps; the newest stay. What is written is known without them, only not where."""
MAX_HISTORY_INTERVALS = 256
"""How many separate intervals of written offsets a topic's entry may have. None is ever dropped: it would be written twice."""
MAX_INTERVALS = 64
"""How many covered and history intervals a record keeps; the newest stay. Of more skipped ones the oldest are joined (`merge_skips`)."""
_SHOWN = 3


@dataclass(frozen=True)
class Skipped:
    """Source offsets `[start, end)` that were passed over without being copied, and why. `count`: how many of them, where not all were."""

    start: int
    end: int
    reason: str
    count: int | None = None

    @property
    def offsets(self) -> int:
        """How many offsets were passed over."""
        return self.end - self.start if self.count is None else self.count

    def join(self, later: "Skipped") -> "Skipped":
        """One interval over this and a later one, and over what was copied between them."""
        count = self.offsets + later.offsets
        reason = self.reason if self.reason == later.reason else "several reasons"
        return Skipped(self.start, later.end, reason, None if count == later.end - self.start else count)

    def cut_before(self, offset: int) -> "Skipped":
        """What of it lies in front of an offset after its start."""
        if self.end <= offset:
            return self
        return replace(self, end=offset, count=None if self.count is None else min(self.count, offset - self.start))


def merge_skips(skipped: Iterable[Skipped]) -> tuple[Skipped, ...]:
    """Joins the intervals to as few as possible. Intervals that touch and have one reason become one. If more are left than the ledger
    keeps, the oldest are joined over what was copied between them, those of one reason first, with how many offsets were passed over."""
    result: list[Skipped] = []
    for skip in skipped:
        if result and result[-1].end == skip.start and result[-1].reason == skip.reason:
            result[-1] = result[-1].join(skip)
        else:
            result.append(skip)
    return tuple(_drop_oldest(_drop_oldest(result, same_reason=True), same_reason=False))


def _drop_oldest(skipped: list[Skipped], same_reason: bool) -> list[Skipped]:
    excess, result = len(skipped) - MAX_INTERVALS, skipped[:1]
    for skip in skipped[1:]:
        if excess > 0 and (result[-1].reason == skip.reason or not same_reason):
            result[-1] = result[-1].join(skip)
            excess -= 1
        else:
            result.append(skip)
    return result


@dataclass(frozen=True)
class History:
    """Source offsets `[start, end)` and the offsets `[target_start, target_end)` of a topic of the target that hold their copies: all
    records that can be seen there, in the source's order, and nothing else."""

    start: int
    end: int
    topic: str
    target_start: int
    target_end: int


@dataclass(frozen=True)
class HistoryTopic:
    """What was written into one topic of the target. `target_next` is the end right after our last record there, `intervals` the source
    offsets that are written, sorted and apart, `places` where they are, in the order of the target."""

    topic: str
    topic_id: str
    target_next: int
    intervals: tuple[Interval, ...] = ()
    places: tuple[History, ...] = ()
    records: int = 0
    bytes: int = 0

    def extend(self, place: History, records: int, size: int) -> "HistoryTopic":
        """The note of this topic after more history was written to `place`. A place that begins at `target_next`, and whose source offsets
        follow those of the last place, continues that one."""
        last = self.places[-1] if self.places else None
        places = (*self.places, place)
        if last is not None and last.end == place.start and last.target_end == self.target_next and place.target_start >= self.target_next:
            places = (*self.places[:-1], replace(last, end=place.end, target_end=place.target_end))
        return replace(
            self,
            target_next=max(self.target_next, place.target_end),
            intervals=merge_intervals((*self.intervals, (place.start, place.end))),
            places=places[-MAX_PLACES:],
            records=self.records + records,
            bytes=self.bytes + size,
        )

    def cut_before(self, offset: int) -> "HistoryTopic":
        """What of it lies in front of a source offset; where a place that goes on after it ends is unknown, so it is left out."""
        places = tuple(place for place in self.places if place.end <= offset)
        return replace(self, intervals=cut_before(self.intervals, offset), places=places)

    def cut_before_target(self, offset: int) -> "HistoryTopic":
        """What of it is left when the topic lost all from one of its offsets on."""
        lost = [place for place in self.places if place.target_end > offset]
        intervals = self.intervals
        for place in lost:
            intervals = cut_out(intervals, (place.start, place.end))
        places = tuple(place for place in self.places if place.target_end <= offset)
        return replace(self, target_next=min(self.target_next, offset), intervals=intervals, places=places)


@dataclass(frozen=True)
class Writer:
    """Who wrote a record: the installation (mirror.installation), its host, the run, and when."""

    installation: str
    host: str
    run: str
    time: datetime


@dataclass(frozen=True)
class Blocked:
    """The record at which a partition is stuck: its offset, the error's code and message, since when, and how often it was tried.

    `tried` is when the run was planned that tried it last, None where that was not noted: a pause is counted from plan to plan, for the
    clock of a host that copies may be another. `limits` are those of the remote topic when it was tried last ('': not noted). `end`: where
    a batch ends that blocks the partition as a whole, None for a single record.
    """

    offset: int
    code: str
    message: str
    since: datetime
    tries: int
    tried: datetime | None = None
    limits: str = ""
    end: int | None = None


@dataclass(frozen=True)
class Decided:
    """The newest decision of a person that was acted on: what, by whom, when it was decided, and why."""

    decision: str
    who: str
    when: datetime
    why: str

    @staticmethod
    def of(decision: Decision) -> "Decided":
        """The note of a decision."""
        return Decided(decision.decision, decision.who, decision.when, decision.why)


@dataclass(frozen=True)
class LastRecord:
    """The last record that was copied: its timestamp, when it was read from the source, and when the target had acknowledged it. Unix
    milliseconds all three."""

    timestamp: int
    read: int
    acknowledged: int


@dataclass(frozen=True)
class SourceEnd:
    """Where a source partition ended when it was asked, uncommitted records included, and a time just before that: every record that the
    source had acknowledged by then lies in front of it. The time is by the planner's clock."""

    offset: int
    time: datetime


@dataclass(frozen=True)
class LedgerRecord:
    """The state of one source partition after the last committed transaction.

    `watermark` is the next source offset to copy and `target_next` the end of the remote partition right after our last record there.
    `covered` are source offsets that are copied (or were aborted, compacted away, or control records); what stands in `skipped` is not
    copied, whether `covered` has it or not. `records` and `bytes` are running totals since the copy began, or since the partition was last
    taken over (0: none of ours stands after the take-over), and `earlier` those of before. `start` is the first source offset that the
    copy is responsible for (None: written before that was noted); below it lies history: `history` are the offsets of it that backfills
    wrote, into whichever topic, and `history_topics` what was written into which, and where. `older` are copies that a restart makes once
    more. `handed_back`: who gave the partition back to MirrorMaker 2, which mirrors it since. `moved`: the cutover since which the
    partition is written on the target, so that nothing more of it is copied.
    `source_end`: how far the source reached when the last copy was planned, which is all that is known of it once the source is lost (None:
    written before that was noted).
    """

    watermark: int
    leader_epoch: int | None
    source_topic_id: str
    target_topic: str
    target_topic_id: str
    target_next: int
    source_cluster_id: str
    target_cluster_id: str
    lanes: int
    offset_map: OffsetMap
    writer: Writer
    covered: tuple[Interval, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    history: tuple[Interval, ...] = ()
    records: int = 0
    bytes: int = 0
    blocked: Blocked | None = None
    decided: Decided | None = None
    last: LastRecord | None = None
    start: int | None = None
    history_topics: tuple[HistoryTopic, ...] = ()
    older: OlderCopies | None = None
    handed_back: Decided | None = None
    earlier: tuple[int, int] = (0, 0)
    moved: Decided | None = None
    source_end: SourceEnd | None = None

    def is_of(self, topic_id: str, leader_epoch: int | None = None) -> bool:
        """Whether a source topic may be the one that was copied, by its id. Where one side has no id, a leader epoch that went back tells
        of a topic that was recreated."""
        if NO_TOPIC_ID not in (self.source_topic_id, topic_id):
            return self.source_topic_id == topic_id
        return leader_epoch is None or self.leader_epoch is None or leader_epoch >= self.leader_epoch

    @property
    def totals(self) -> tuple[int, int]:
        """How many records and bytes were copied in all, also before the partition was handed back and taken over again."""
        return self.records + self.earlier[0], self.bytes + self.earlier[1]

    @property
    def group_map(self) -> OffsetMap:
        """The offset map by which groups go on: while a restart copies once more, that of the older copies."""
        return self.offset_map if self.older is None or self.older.offset_map is None else self.older.offset_map

    @property
    def live_start(self) -> int:
        """The first source offset that is not history: where the copy of the partition began."""
        if self.start is not None:
            return self.start
        return min((self.watermark, *(start for start, _ in self.covered[:1]), *(skip.start for skip in self.skipped[:1])))

    @property
    def places_of_history(self) -> tuple[History, ...]:
        """Where history was written, topic by topic."""
        return tuple(place for history_topic in self.history_topics for place in history_topic.places)

    def find_history(self, topic: str, topic_id: str) -> HistoryTopic | None:
        """What history was written into a topic of the target; None if none was, or only into one of that name that is gone."""
        return next(
            (history_topic for history_topic in self.history_topics if (history_topic.topic, history_topic.topic_id) == (topic, topic_id)),
            None,
        )

    @property
    def is_handed_back(self) -> bool:
        """Whether MirrorMaker 2 mirrors the partition again."""
        return self.handed_back is not None


def loss_note(record: LedgerRecord) -> Blocked | None:
    """The note that the remote partition was seen to have lost records of ours. It stays until somebody decides: aborted records stand
    where they were, so nothing shows it any more."""
    blocked = record.blocked
    return blocked if blocked is not None and blocked.code == TargetLostRecords.__name__ else None


def history_text(record: LedgerRecord, start: int = 0, end: int | None = None) -> str:
    """Where history of the source offsets `[start, end)` was written, such as `[0, 48) in history.east.orders-older, [48, 72) in
    history.east.orders`; empty if there is none. By default all that lies below the copy's start."""
    last = record.live_start if end is None else end
    parts = sorted((cut_within(history_topic.intervals, start, last), history_topic.topic) for history_topic in record.history_topics)
    return ", ".join(f"{_list(intervals)} in {topic}" for intervals, topic in parts if intervals)


def _list(intervals: tuple[Interval, ...]) -> str:
    return first_few((f"[{start}, {end})" for start, end in intervals), most=_SHOWN, separator=" ")


def note_key(ledger: str, lane: int) -> TopicPartition:
    """Under which key the note of a lane stands."""
    return TopicPartition(ledger, lane)


def note(ledger: str, ledger_id: str, clusters: tuple[str, str], lanes: int, decided: Decided, writer: Writer) -> LedgerRecord:
    """The note of a decision; `clusters` are the ids of source and target."""
    return LedgerRecord(
        watermark=0,
        leader_epoch=None,
        source_topic_id="",
        target_topic=ledger,
        target_topic_id=ledger_id,
        target_next=0,
        source_cluster_id=clusters[0],
        target_cluster_id=clusters[1],
        lanes=lanes,
        offset_map=OffsetMap(),
        writer=writer,
        decided=decided,
        start=0,
        handed_back=decided if decided.decision == HANDED_BACK else None,
    )
