"""What the protocol of a lane (`kafka_mirror.copy.lane_protocol`) asks of its engine (`kafka_mirror.copy.batches`), and what that answers.

The protocol decides what is copied, checked and recorded; the engine only moves records, one transaction at a time, from source offsets to
target offsets. Whatever goes wrong, the protocol closes the engine and opens a new one, so the engine never has to recover.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kafka_mirror.copy.model import BatchShare
from kafka_mirror.errors import BatchNotUnpacked, RecordRefused
from kafka_mirror.formats.offsets.map import Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import LastRecord, Skipped


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

    def time_is_up(self, age: float | None, silence: float, patience: float) -> bool:
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
