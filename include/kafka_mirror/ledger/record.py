"""What the ledger says of one source partition: what has been written of it, where it stands, and who wrote it."""

from dataclasses import dataclass
from datetime import datetime

from kafka_mirror.errors import TargetLostRecords
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.offsets.intervals import Interval, within
from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.formats.offsets.older_copies import OlderCopies
from kafka_mirror.formats.offsets.partition import NO_TOPIC_ID
from kafka_mirror.ledger.control_records import Decision
from kafka_mirror.ledger.history import History, HistoryTopic
from kafka_mirror.ledger.skips import Skipped

MAX_INTERVALS = 64
"""How many covered and history intervals a record keeps; the newest stay."""
_SHOWN = 3


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

    def written_into(self, topic: str, topic_id: str) -> HistoryTopic | None:
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
    parts = sorted((within(history_topic.intervals, start, last), history_topic.topic) for history_topic in record.history_topics)
    return ", ".join(f"{_list(intervals)} in {topic}" for intervals, topic in parts if intervals)


def _list(intervals: tuple[Interval, ...]) -> str:
    return first_few((f"[{start}, {end})" for start, end in intervals), most=_SHOWN, separator=" ")
