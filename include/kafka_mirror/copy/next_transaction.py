"""What a lane's next transaction holds: how many bytes, how far into a partition of which a batch was refused, and whose turn it is.

A transaction is filled in the order in which records arrive, and those of a long backlog arrive first. So the partitions whose backlog is
small get a transaction to themselves, and the others take turns; the least recently served always come first, over runs as well, for the
ledger keeps the order in which they were written. Times say nothing here: the hosts that wrote them have clocks of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kafka_mirror.copy.model import BatchRefused, PoisonRecord, RefusedRecord
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import LedgerRecord

_UNLIMITED_FROM = 1024
_FIRST_TRANSACTION = 4 * 1024 * 1024
_JOINED_OFFSETS = 100_000
"""How far after a record that was refused by name batches are joined: that costs about as much as one more attempt."""
SMALLEST_TRANSACTION = 64 * 1024
"""About the smallest transaction that is worth its commit, in bytes."""


class TransactionSize:
    """The size of the lane's next transaction; kept over the attempts of one run.

    A run begins with a small transaction and doubles it while the target is quick, or makes it four times as large while it is very quick.
    So it finds out by itself how much the target takes, and nothing is remembered from one run to the next. A transaction that ran
    into its timeout is never repeated at its size.
    """

    def __init__(self, largest: int, timeout_seconds: float) -> None:
        self._largest = largest
        self._timeout = timeout_seconds
        self.bytes = min(largest, _FIRST_TRANSACTION)

    def grow(self, seconds: float) -> None:
        """After a transaction that took so long. One twice as large, or four times, would still be done in half of the timeout: then it is
        allowed. Each commit costs a far source a trip there and back."""
        larger = next((times for times in (4, 2) if seconds * times < self._timeout / 2), 1)
        self.bytes = min(self.bytes * larger, self._largest)

    def shrink(self, written: float) -> bool:
        """After a transaction of which only the share `written` was acknowledged in time. False: it cannot become any smaller."""
        if self.bytes <= SMALLEST_TRANSACTION:
            return False
        self._largest = max(SMALLEST_TRANSACTION, self.bytes // 2)
        self.bytes = max(SMALLEST_TRANSACTION, int(self._largest * written))
        return True


@dataclass
class BatchBisection:
    """The limits of partitions of which a batch was refused; kept over the attempts of one run.

    Brokers name the records of a batch that they refuse for their timestamps or keys (KIP-467). Those are passed over, or the partition is
    stuck at the first of them, in the next attempt, which commits what lies up to the last of them. Where some are refused there are often
    more, so what follows them goes in large batches for a while: each refusal costs an attempt, however many records it names.

    No record is named for a batch that is too large, and not every broker names one. Then what precedes the batch is copied first, next
    one record alone, then two, four … while that goes well; a single record that is refused is the poison.
    """

    stops: dict[TopicPartition, int] = field(default_factory=dict)
    records: dict[TopicPartition, int] = field(default_factory=dict)
    named: dict[TopicPartition, dict[int, RefusedRecord]] = field(default_factory=dict)
    """What brokers refused by name and is not committed yet, by source offset."""
    joined_to: dict[TopicPartition, int] = field(default_factory=dict)
    """Up to which offset a partition's records go in large batches."""
    _pauses: dict[TopicPartition, int] = field(default_factory=dict)

    def narrow(self, refusal: BatchRefused) -> PoisonRecord | None:
        """Narrows the partition's limits after a refusal; gives the poison record once it stands alone."""
        tp = refusal.source
        if self._note_named(refusal):
            return None
        if refusal.first > refusal.start:
            self.stops[tp] = refusal.first
            return None
        if refusal.records == 1:
            return PoisonRecord(refusal.first, refusal.detail)
        self.records[tp] = 1
        return None

    def widen(self, tp: TopicPartition, watermark: int) -> None:
        """Widens the partition's limits after a transaction that went well."""
        if self._pauses.get(tp, watermark + 1) <= watermark:
            del self._pauses[tp]
        if tp in self.named:
            self.named[tp] = {offset: refused for offset, refused in self.named[tp].items() if offset >= watermark}
        if self.stops.get(tp, watermark + 1) <= watermark:
            del self.stops[tp]
            self.records[tp] = 1
        elif tp in self.records:
            self.records[tp] *= 2
            if self.records[tp] >= _UNLIMITED_FROM:
                del self.records[tp]

    def limit_end(self, tp: TopicPartition, end: int, watermark: int = -1) -> int:
        """The end up to which the partition may be copied for now. A stop that the watermark has passed ends nothing: a commit that
        ended in doubt may have passed it."""
        return min([end, *(stop for stop in (self.stops.get(tp, end), self._pauses.get(tp, end)) if stop > watermark)])

    def _note_named(self, refusal: BatchRefused) -> bool:
        """Takes down the records that are named and were not before; whether there are any. The next attempt takes the partition as a whole
        again: neighbours that would be refused as well are named at once, too."""
        tp = refusal.source
        named = self.named.setdefault(tp, {})
        new = {culprit.offset: culprit for culprit in refusal.culprits if culprit.offset not in named}
        if not new:
            return False
        named.update(new)
        self._pauses[tp] = max(new) + 1
        self.joined_to[tp] = self._pauses[tp] + _JOINED_OFFSETS
        self.records.pop(tp, None)
        self.stops.pop(tp, None)
        return True


_UNKNOWN_RECORD_BYTES = 1000
_TURN_BYTES = 1024 * 1024
"""What a long backlog should at least get of a transaction. Less, and what was read ahead would be thrown away too often."""


@dataclass(frozen=True)
class PartitionInLine:
    """A partition with work: about how many bytes it is, and its place among those that were served (the higher, the later; 0: never)."""

    tp: TopicPartition
    bytes: int
    served: float

    @classmethod
    def of(cls, tp: TopicPartition, record: LedgerRecord, offsets: int, place: int) -> "PartitionInLine":
        """One that is owed this many `offsets`; `place` is that of its record among those of the ledger."""
        return cls(tp, estimate_bytes(offsets, record.records, record.bytes), place if record.records else 0)


def estimate_bytes(offsets: int, records: int, size: int) -> int:
    """About how many bytes a partition's next offsets hold, by the `records` of it that were copied before, and their `size`."""
    return offsets * ((size // records if records else _UNKNOWN_RECORD_BYTES) + 1)


@dataclass
class Turns:
    """The turns of one lane; kept over the attempts of one run."""

    written: dict[TopicPartition, int] = field(default_factory=dict)
    """The place of each partition's record in the order in which the ledger has them."""
    begun: set[TopicPartition] = field(default_factory=set)
    """Partitions that were served in this run. One that is not done then is a long one, whatever it looked like."""
    first: TopicPartition | None = None
    """The long one that had waited longest when the run began. Until it is served it has transactions to itself: among others it might
    come away empty, in every run."""

    def begin(self, written: Iterable[TopicPartition]) -> None:
        """Before an attempt: the partitions of the ledger as it was read, the one that was written least recently first."""
        self.written = {tp: place for place, tp in enumerate(written, 1)}

    def count_served(self, partitions: Iterable[TopicPartition]) -> None:
        """After a transaction that moved these partitions."""
        moved = list(partitions)
        self.begun.update(moved)
        self.written.update(dict.fromkeys(moved, max(self.written.values(), default=0) + 1))

    def choose(self, candidates: Sequence[PartitionInLine], max_bytes: int) -> list[TopicPartition]:
        """The partitions of the next transaction of about `max_bytes`, the least recently served first. Empty only if none waits."""
        in_order = sorted(candidates, key=lambda candidate: (candidate.served, candidate.tp))
        if sum(candidate.bytes for candidate in in_order) <= max_bytes:
            return [candidate.tp for candidate in in_order]
        small: list[PartitionInLine] = []
        long: list[PartitionInLine] = []
        for candidate in in_order:
            is_small = candidate.bytes * len(in_order) <= max_bytes and candidate.tp not in self.begun
            (small if is_small else long).append(candidate)
        if small and (not long or small[0].served <= long[0].served):
            return [candidate.tp for candidate in small]
        if self.first not in self.begun and all(candidate.tp != self.first for candidate in long):
            self.first = long[0].tp
        room = max(1, max_bytes // _TURN_BYTES) if self.first in self.begun else 1
        return [candidate.tp for candidate in long[:room]]
