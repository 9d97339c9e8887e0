"""What a lane is given to do and what it answers, and the same of its engine: plain values.

A lane's travel to a Spark worker and back. Its protocol (`kafka_mirror.copy.lane_protocol`) decides what is copied, checked and recorded;
its engine (`kafka_mirror.copy.batches`) only moves records, one transaction at a time, from source offsets to target offsets. Whatever
goes wrong, the protocol closes the engine and opens a new one, so the engine never has to recover.
"""

import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from kafka_mirror.config.resolved_flow import ResolvedFlow
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.errors import BatchNotUnpacked, ErrorReport, RecordRefused
from kafka_mirror.errors.words import count_text
from kafka_mirror.formats.batches.compression import LARGEST_UNPACKED
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.broker_pool import begin_at_server
from kafka_mirror.ledger.control_records import Decision
from kafka_mirror.ledger.record import LastRecord, Skipped
from kafka_mirror.policy import TopicSelection

RECORDS, AUTO = "records", "auto"
"""What mirror.engine says: `records` rewrites every batch. `batches` means the same as `auto`."""
NEWS, HANDED_OVER = "news", "handed over"
"""Why a lane that follows ended before its time: for what the next plan acts on; because another run has taken it over."""
FORWARDED, JOINED, REWRITTEN = "forwarded", "joined", "rewritten"
"""How a batch goes: as it is; as a part of a larger one; record by record, for a reason."""

MOST_REASONS = 8
"""How many reasons for which batches were rewritten are named at most."""


@dataclass(frozen=True)
class KnownTopics:
    """What a plan knew of the source's topics, as a digest, and how often to compare it."""

    selection: TopicSelection
    digest: str
    seconds: int


@dataclass(frozen=True)
class LaneTask(ResolvedFlow):
    """The work of one lane in one run. `remote_topics` maps source topics to remote topics.

    `max_seconds` and `max_bytes` (−1: no limit) are the lane's share of the run's budget: no new transaction begins past them.
    """

    lane: int
    ledger_topic: str
    transactional_id: str
    ranges: tuple[Range, ...]
    remote_topics: Mapping[str, str]
    append_to: frozenset[str]
    """Source topics whose remote topic may hold records that the ledger does not explain (mirror.on.unexplained.target=append)."""
    source_cluster_id: str
    target_cluster_id: str
    control_topic: str = ""
    """Where people decide while the lane runs; '' is not looked at."""
    max_bytes_per_second: int = -1
    """What the properties say of the flow's throttle (-1: no limit); a decision overrides it."""
    throttle_share: float = 1.0
    """What part of the flow's rate is this lane's."""
    fetch_bytes: int | None = None
    """With a throttle: how much an engine should fetch at a time."""
    transaction_max_bytes: int = 32 * 1024 * 1024
    transaction_timeout_ms: int = 60_000
    max_seconds: float = 300.0
    max_bytes: int = -1
    installation: str = ""
    run: str = ""
    planned: datetime | None = None
    """When the run was planned, by the planner's clock; None: not known."""
    interval_seconds: int = 60
    skip_refused: bool = False
    """Whether a record that the target refuses, or that cannot be carried, is passed over (errors.tolerance=all)."""
    ledger_id: str = ""
    """The topic id of the ledger that the plan read; '' is not compared."""
    decisions: tuple[Decision, ...] = ()
    """Decisions in force that concern the whole flow."""
    history: bool = False
    """Whether the ranges are history, and `remote_topics` the topics that it goes to."""
    engine: str = AUTO
    """mirror.engine."""
    unpacked_max_bytes: int = LARGEST_UNPACKED
    """How many bytes the records of a batch that is opened may have."""
    in_time_order: bool = True
    """Whether history may only stand after older history of its partition."""
    follow_seconds: float = 0.0
    """How often the lane asks the source for more once its ranges are copied, until `max_seconds` are over; 0: it ends with its ranges."""
    hand_over_seconds: float = 0.0
    """How many of `max_seconds` lie after the run was due: in these the next run takes the lane over."""
    control_end: int = 0
    """Up to where the plan read the control topic. A decision after it ends a lane that follows."""
    known_topics: KnownTopics | None = None
    """What the plan knew of the source's topics. Others end a lane that follows; None: the lane does not ask."""

    @property
    def producer_client_id(self) -> str:
        """The client.id of the lane's producer, unless the user names one: quotas and the brokers' logs know the lane by it."""
        return f"{self.source}->{self.target}|lane-{self.lane}@{socket.gethostname()}"

    def with_first_server(self, turn: int) -> "LaneTask":
        """The task with target clients that begin at one bootstrap server, another one each turn; with turn 0 as it is. Lanes of one turn
        begin at different ones."""
        if not turn:
            return self
        ours, place = self.clients, turn + self.lane
        admin, consumer, producer = (
            begin_at_server(settings, place) for settings in (ours.target_admin, ours.target_consumer, ours.target_producer)
        )
        return replace(self, clients=replace(ours, target_admin=admin, target_consumer=consumer, target_producer=producer))


@dataclass(frozen=True)
class Watermark:
    """How far one partition came in this run: the next source offset, the end after our last record, and what was copied."""

    topic: str
    partition: int
    source_offset: int
    target_offset: int
    records: int
    bytes: int


@dataclass(frozen=True)
class SkippedRecords:
    """Records of one partition that this run passed over (errors.tolerance=all): how many, the first one's offset, and why that one."""

    topic: str
    partition: int
    offset: int
    records: int
    reason: str


@dataclass(frozen=True)
class CopiedElsewhere:
    """What another run copied of one partition since this one was planned; `run` is its name, '' if it has none."""

    topic: str
    partition: int
    records: int
    bytes: int
    run: str


def is_hand_over(run: str, other: str) -> bool:
    """Whether two runs, by their names in the ledger, are of one copy DAG: they hand over to each other, and neither copies elsewhere."""
    dag = run.partition(" / ")[0]
    return dag.endswith(".copy") and dag == other.partition(" / ")[0]


@dataclass(frozen=True)
class BatchShare:
    """How many of the source's batches went one way (forwarded, joined or rewritten), and how many records these had."""

    way: str
    batches: int
    records: int


@dataclass(frozen=True)
class RewriteReason:
    """Why batches were rewritten, how many, and one of their partitions."""

    reason: str
    batches: int
    topic: str
    partition: int


def batches_text(shares: Sequence[BatchShare], rewritten: Sequence[RewriteReason]) -> list[str]:
    """How many batches were forwarded, joined and rewritten, and why; nothing where none was copied."""
    counts = {share.way: share.batches for share in shares}
    if not counts:
        return []
    reasons = "; ".join(
        f"{count_text(why.batches, 'batch', 'batches')} such as in {why.topic}-{why.partition}: {why.reason}" for why in rewritten
    )
    ways = ", ".join(f"{counts.get(way, 0):,} {way}" for way in (FORWARDED, JOINED, REWRITTEN))
    return [f"batches of the source: {ways}{f' ({reasons})' if reasons else ''}"]


def add_up_shares(shares: Iterable[BatchShare]) -> tuple[BatchShare, ...]:
    """The shares of several partitions or lanes, by way."""
    summed: dict[str, BatchShare] = {}
    for share in shares:
        before = summed.get(share.way, BatchShare(share.way, 0, 0))
        summed[share.way] = BatchShare(share.way, before.batches + share.batches, before.records + share.records)
    return tuple(summed[way] for way in sorted(summed))


def add_up_reasons(reasons: Iterable[RewriteReason]) -> tuple[RewriteReason, ...]:
    """Adds up why batches were rewritten: the most frequent reasons first, each with its first partition."""
    summed: dict[str, RewriteReason] = {}
    for why in reasons:
        before = summed.get(why.reason, replace(why, batches=0))
        first = min((before.topic, before.partition), (why.topic, why.partition))
        summed[why.reason] = RewriteReason(why.reason, before.batches + why.batches, *first)
    return tuple(sorted(summed.values(), key=lambda why: (-why.batches, why.reason))[:MOST_REASONS])


@dataclass(frozen=True)
class LaneResult:
    """What one lane did. `errors` are of single partitions, or of the whole lane where topic is None."""

    lane: int
    watermarks: tuple[Watermark, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    transactions: int = 0
    seconds: float = 0.0
    skipped: tuple[SkippedRecords, ...] = ()
    ledger_end: int = 0
    """How far the lane's ledger partition reaches at least: a reader that finds less of it has a stale answer."""
    copied_elsewhere: tuple[CopiedElsewhere, ...] = ()
    """What the lane found in its ledger that another run had brought since the plan."""
    batches: tuple[BatchShare, ...] = ()
    """How the source's batches went."""
    rewritten: tuple[RewriteReason, ...] = ()
    """Why batches were rewritten."""
    stopped: tuple[TopicPartition, ...] = ()
    """Partitions that an error stopped while the lane followed them: after their planned end."""
    ended_for: str = ""
    """NEWS or HANDED_OVER; '': its time or budget is over, it was asked to stop, or an error says why."""

    @property
    def records(self) -> int:
        """Records committed by this lane in this run."""
        return sum(mark.records for mark in self.watermarks)

    @property
    def bytes(self) -> int:
        """Their bytes."""
        return sum(mark.bytes for mark in self.watermarks)


@dataclass(frozen=True)
class RecordLimits:
    """What a remote topic takes, by its configs. Which timestamps it takes depends on its leader's clock, so only that broker can say."""

    max_message_bytes: int = 1_048_588
    needs_key: bool = False
    compression: str = "producer"
    """What batches are packed by, in the words of its compression.type: `producer` takes each batch as it comes."""


@dataclass(frozen=True)
class RefusedRecord:
    """A record that the target's broker refused by name (KIP-467): its source offset, its timestamp (Unix milliseconds), whether it has a
    key, on which the refusal rests, and why."""

    offset: int
    timestamp: int
    has_key: bool
    detail: str


@dataclass(frozen=True)
class PartitionAssignment:
    """Source offsets `[start, end)` of one partition and where they go. `max_records` bounds one transaction's share."""

    source: TopicPartition
    remote: str
    start: int
    end: int
    leader_epoch: int | None
    limits: RecordLimits
    max_records: int | None = None
    skip_refused: bool = False
    """Whether a record that the target refused, or that cannot be carried, is passed over (errors.tolerance=all)."""
    refused: Mapping[int, RefusedRecord] = field(default_factory=dict)
    """What the target refused in this run's earlier attempts, by source offset."""
    joined_to: int = 0
    """Up to here every batch is opened, and the records go in batches as large as the target takes: it names all that it refuses of one."""


@dataclass(frozen=True)
class TransactionLimits:
    """When a transaction is large or old enough to be committed."""

    bytes: int
    seconds: float

    def is_time_up(self, age: float | None, silence: float, patience: float) -> bool:
        """Whether an engine ends its transaction for its age (seconds; None: it is empty, and has none).

        An empty one ends when the source has been silent for longer than any answer may take, which is `patience` seconds. A source that
        throttles us is not silent, nor is one whose aborted records are fetched.
        """
        return silence >= max(self.seconds, patience) if age is None else age >= self.seconds


@dataclass(frozen=True)
class PoisonRecord:
    """A record that the target refuses: its source offset and why."""

    offset: int
    detail: str

    @property
    def reason(self) -> str:
        """Why it was passed over, in the ledger's words."""
        return f"{RecordRefused.__name__}: {self.detail}"

    def as_error(self, tp: TopicPartition, remote: str) -> RecordRefused:
        """The error of a partition that is stuck at it."""
        return RecordRefused(*tp, self.offset, remote, self.detail)


@dataclass(frozen=True)
class PartitionProgress:
    """What one transaction did to one partition.

    `next_offset` is where the source goes on (past aborted records and markers), `target_next` the end right after the last record
    written, None if none was. `poison` is a record at `next_offset` that must not be sent, with the reason; `skipped` are such records
    that were passed over.
    """

    source: TopicPartition
    next_offset: int
    leader_epoch: int | None = None
    runs: tuple[Run, ...] = ()
    records: int = 0
    bytes: int = 0
    target_next: int | None = None
    poison: BatchNotUnpacked | PoisonRecord | None = None
    skipped: tuple[Skipped, ...] = ()
    last: LastRecord | None = None
    """The last record that was written, None if none was."""
    batches: tuple[BatchShare, ...] = ()
    """How the source's batches went."""
    rewritten: Mapping[str, int] = field(default_factory=dict)
    """Why batches were rewritten: how many for each reason."""


class BatchRefused(Exception):
    """Raised when the target's broker refused a batch of a partition for its records.

    The transaction began the partition at `start`; `first` is the source offset of the batch's first record, `records` how many it has.
    `culprits` are those that the broker named.
    """

    def __init__(
        self, source: TopicPartition, start: int, first: int, records: int, detail: str, culprits: Sequence[RefusedRecord] = ()
    ) -> None:
        super().__init__(f"{source}@{first}: {detail}")
        self.source = source
        self.start = start
        self.first = first
        self.records = records
        self.detail = detail
        self.culprits = tuple(culprits)


class PaceChanged(Exception):
    """Raised when the lane's rate is so different from the one with which its engine was opened that it has to fetch in other portions."""


class NothingRead(Exception):
    """Raised when for `seconds` no record, no end and no error came from any of the `partitions` of a transaction."""

    def __init__(self, partitions: Sequence[TopicPartition], seconds: float) -> None:
        super().__init__(f"nothing came from {', '.join(map(str, partitions))} for {seconds:g} s")
        self.partitions = tuple(partitions)
        self.seconds = seconds
