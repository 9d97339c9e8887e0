"""One partition on its way through the engine: what was sent, what was acknowledged, where it stopped.

What keeps a single record from being sent: what the client cannot carry, and what the target has refused before.
"""

import time
from collections.abc import Iterable

from confluent_kafka import KafkaError, Message

from mirror.copy.engine import BatchRefused, PartitionAssignment, PartitionProgress, PoisonRecord, RefusedRecord
from mirror.errors import AuthorizationRefused, KafkaFailure, MirrorError, RecordNotCarried
from mirror.formats.ledger import LastRecord
from mirror.formats.skips import Skipped
from mirror.offsets.map import runs_of

_TIMESTAMP = (
    "its timestamp is further from the broker's clock than message.timestamp.before.max.ms or message.timestamp.after.max.ms allows"
)
_NO_KEY = "it has no key, and the remote topic is compacted"
_REFUSALS = {
    KafkaError.MSG_SIZE_TOO_LARGE: "it is larger than max.message.bytes",
    KafkaError.INVALID_TIMESTAMP: _TIMESTAMP,
    KafkaError.INVALID_RECORD: f"the broker calls it invalid, as it does if {_TIMESTAMP}",
    KafkaError._INVALID_DIFFERENT_RECORD: "another record of its batch is refused",
}
_OF_ONE_RECORD = {KafkaError.INVALID_TIMESTAMP, KafkaError.INVALID_RECORD}
_THROWN_AWAY = {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}


class InFlightPartition:
    """The share of one partition in the open transaction.

    As long as all goes well, delivery reports come in the order of the records: the nth belongs to the nth offset in `sources`. Once a
    transaction has failed they come in any order, for the client reports what it throws away before what is still to be answered:

        sent       [ 0 … 99 ][ 100 … 199 ][ 200 … 299 ]
        reported   200 … 299 thrown away, then 0 … 99 written, then 150 refused

    So every report bears the source offset and the timestamp of its record.
    """

    __slots__ = (
        "bytes",
        "culprits",
        "end",
        "failure",
        "last",
        "max_records",
        "names_culprits",
        "next_offset",
        "partition",
        "poison",
        "read",
        "refused_from",
        "remote",
        "skipped",
        "sources",
        "stopped",
        "target_alias",
        "targets",
        "work",
    )

    def __init__(self, work: PartitionAssignment, target_alias: str) -> None:
        self.work = work
        # What every record needs, close at hand.
        self.end = work.end
        self.max_records = work.max_records
        self.remote = work.remote
        self.partition = work.source.partition
        self.next_offset = work.start
        self.sources: list[int] = []
        self.targets: list[int] = []
        self.bytes = 0
        self.failure: KafkaError | None = None
        """What says most about why records failed, whichever was reported first."""
        self.refused_from: int | None = None
        """The first source offset of which the broker refused the record or its batch."""
        self.culprits: list[RefusedRecord] = []
        self.names_culprits = False
        self.poison: PoisonRecord | RecordNotCarried | None = None
        self.skipped: list[Skipped] = []
        self.stopped = work.start >= work.end
        self.last: Message | None = None
        self.read = 0.0
        """When (Unix seconds) the last records were handed over by the client."""
        self.target_alias = target_alias

    def delivered(self, offset: int, timestamp: int, error: KafkaError | None, message: Message) -> None:
        """The delivery report of the record with this source offset and timestamp (the client tells none of a record that failed)."""
        if error is None and self.failure is None:
            self.targets.append(message.offset())  # type: ignore[arg-type]
        elif error is not None:  # else it was written behind one that failed: the transaction is lost with it
            self._not_delivered(offset, timestamp, error, message)

    def _not_delivered(self, offset: int, timestamp: int, error: KafkaError, message: Message) -> None:
        code = error.code()
        if self.failure is None or _weight(error) > _weight(self.failure):
            self.failure = error
        if code in _REFUSALS:
            self.refused_from = offset if self.refused_from is None else min(offset, self.refused_from)
        self.names_culprits |= code == KafkaError._INVALID_DIFFERENT_RECORD
        if code in _OF_ONE_RECORD:
            has_key = message.key() is not None
            certain = self.work.limits.needs_key and not has_key
            detail = f"{_NO_KEY if certain else _REFUSALS[code]} ({error.name()})"
            self.culprits.append(RefusedRecord(offset, timestamp, has_key, detail, code == KafkaError.INVALID_RECORD, certain))

    def skip(self, offset: int, reason: str) -> None:
        """Notes a record that is passed over. Those of one reason with no record copied between them are one interval."""
        this, last = Skipped(offset, offset + 1, reason), self.skipped[-1] if self.skipped else None
        if last is None or last.reason != reason or (self.sources and self.sources[-1] > last.start):
            self.skipped.append(this)
        else:
            self.skipped[-1] = last.joined_with(this)

    @property
    def thrown_away(self) -> bool:
        """Whether its records failed for no reason of their own, but with the whole transaction."""
        return self.failure is not None and self.failure.code() in _THROWN_AWAY

    @property
    def is_explained(self) -> bool:
        """Whether a report says why records of it failed."""
        return self.failure is not None and not self.thrown_away

    def moved(self) -> bool:
        """Whether this transaction changed anything for the partition."""
        return self.next_offset > self.work.start or self.poison is not None

    def refusal(self) -> BatchRefused | MirrorError | None:
        """What the delivery reports say, if they say something bad: records that the broker would not have, or any other failure."""
        error = self.failure
        if error is None:
            return None
        if self.refused_from is None:
            return self._other(error, self.sources[len(self.targets)])
        culprits = sorted(self.culprits, key=lambda culprit: culprit.offset)
        detail = culprits[0].detail if culprits else f"{_REFUSALS[error.code()]} ({error.name()})"
        return BatchRefused(self.work.source, self.work.start, self.refused_from, len(self.sources), detail, culprits, self.names_culprits)

    def progress(self) -> PartitionProgress:
        """What the transaction did to this partition."""
        return PartitionProgress(
            source=self.work.source,
            next_offset=self.next_offset,
            leader_epoch=self.last.leader_epoch() if self.last is not None else None,
            runs=runs_of(self.sources, self.targets),
            records=len(self.sources),
            bytes=self.bytes,
            target_next=self.targets[-1] + 1 if self.targets else None,
            poison=self.poison,
            skipped=tuple(self.skipped),
            last=self._last(),
        )

    def _last(self) -> LastRecord | None:
        """The last record, once all are acknowledged; None if it has no timestamp."""
        timestamp = self.last.timestamp()[1] if self.last is not None and self.targets else -1
        return None if timestamp < 0 else LastRecord(timestamp, int(self.read * 1000), int(time.time() * 1000))

    def _other(self, error: KafkaError, first: int) -> MirrorError:
        tp, remote = self.work.source, self.work.remote
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return AuthorizationRefused(self.target_alias, "WRITE", f"topic {remote}", topic=tp.topic)
        return KafkaFailure(
            f"{tp}@{first}: writing to {remote}-{tp.partition} failed: {error.name()}: {error.str()}.",
            topic=tp.topic,
            partition=tp.partition,
            offset=first,
            next="The next run goes on by itself.",
        )


def _weight(error: KafkaError) -> int:
    """How much an error says about why a transaction failed."""
    return 2 if error.code() in _REFUSALS else 0 if error.code() in _THROWN_AWAY else 1


def raise_batch_refused(partitions: Iterable[InFlightPartition]) -> None:
    """Raises BatchRefused if the delivery reports tell of one: it is the cause of whatever else failed in its transaction."""
    for refusal in (in_flight.refusal() for in_flight in partitions):
        if isinstance(refusal, BatchRefused):
            raise refusal


def raise_refusal(partitions: Iterable[InFlightPartition]) -> None:
    """Raises what the delivery reports say; of records that were merely thrown away with their transaction only for want of a reason."""
    refusals = [(in_flight.thrown_away, refusal) for in_flight in partitions if (refusal := in_flight.refusal()) is not None]
    if refusals:
        raise min(refusals, key=lambda discarded: discarded[0])[1]


def poison_of(message: Message, timestamp: int, work: PartitionAssignment) -> PoisonRecord | RecordNotCarried | None:
    """Why a record must not be sent; None if it may.

    The client takes a timestamp of 0 for «now», so such a record cannot be carried. What the broker refused is believed of a record with
    the very timestamp that was refused, and nothing is judged by a clock of ours.
    """
    offset = message.offset() or 0
    if timestamp == 0:
        return RecordNotCarried(work.source.topic, work.source.partition, offset, "its timestamp is 0")
    refused = work.refused.get(offset)
    if refused is None or (refused.timestamp, refused.has_key) != (timestamp, message.key() is not None):
        return None
    return PoisonRecord(offset, refused.detail)


def unreadable_headers(message: Message, work: PartitionAssignment) -> RecordNotCarried:
    """The error of a record whose headers the client could not decode."""
    return RecordNotCarried(work.source.topic, work.source.partition, message.offset() or 0, "it has a header key that is not UTF-8")
