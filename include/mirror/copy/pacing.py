"""How large a transaction may be: by how fast the target takes it, and for a partition of which a batch was refused."""

from dataclasses import dataclass, field

from mirror.copy.engine import BatchRefused, PoisonRecord, RefusedRecord
from mirror.offsets.partition import TopicPartition

_UNLIMITED_FROM = 1024
_FIRST_TRANSACTION = 4 * 1024 * 1024
SMALLEST_TRANSACTION = 64 * 1024
"""About the smallest transaction that is worth its commit, in bytes."""


class TransactionSize:
    """The size of the lane's next transaction; kept over the attempts of one run.

    A run begins with a small transaction and doubles it while the target is quick, so that it finds out by itself how much the target
    takes: nothing has to be remembered from one run to the next. A transaction that ran into its timeout is never repeated at its size.
    """

    def __init__(self, largest: int, timeout_seconds: float) -> None:
        self._largest = largest
        self._timeout = timeout_seconds
        self.bytes = min(largest, _FIRST_TRANSACTION)

    def committed(self, seconds: float) -> None:
        """After a transaction that took so long. One twice as large would still be done in half of the timeout: then it is allowed."""
        if seconds < self._timeout / 4:
            self.bytes = min(self.bytes * 2, self._largest)

    def too_slow(self, written: float) -> bool:
        """After a transaction of which only the share `written` was acknowledged in time. False: it cannot become any smaller."""
        if self.bytes <= SMALLEST_TRANSACTION:
            return False
        self._largest = max(SMALLEST_TRANSACTION, self.bytes // 2)
        self.bytes = max(SMALLEST_TRANSACTION, int(self._largest * written))
        return True


@dataclass
class Pacing:
    """The limits of partitions of which a batch was refused; kept over the attempts of one run.

    Brokers name the records of a batch that they refuse for their timestamps or keys (KIP-467). Those are passed over, or the partition is
    stuck at the first of them, in the next attempt, which commits what lies up to the last of them.

    Nobody is named for a batch that is too large, and not every broker names anybody. If a broker names a single record, the client gives
    that record's error to the whole batch (librdkafka 2.16). Then what precedes the batch is copied first, next one record alone, then two,
    four … while that goes well; a single record that is refused is the poison.

    The client calls a named record invalid, and so it does each record of a batch that the broker calls invalid as a whole. So names are
    believed of brokers only that were seen to tell a batch's records apart, or to give another reason for a record that was refused again,
    alone.
    """

    stops: dict[TopicPartition, int] = field(default_factory=dict)
    records: dict[TopicPartition, int] = field(default_factory=dict)
    named: dict[TopicPartition, dict[int, RefusedRecord]] = field(default_factory=dict)
    """What brokers refused by name and is not committed yet, by source offset."""
    names_are_believed: bool = False
    _pauses: dict[TopicPartition, int] = field(default_factory=dict)
    _suspects: set[tuple[TopicPartition, int]] = field(default_factory=set)

    def refused(self, refusal: BatchRefused) -> PoisonRecord | None:
        """Narrows the partition's limits after a refusal; gives the poison record once it stands alone."""
        tp = refusal.source
        self._learn(refusal)
        if refusal.records > 1 and self._note_named(refusal):
            return None
        if refusal.first > refusal.start:
            self.stops[tp] = refusal.first
            return None
        if refusal.records == 1:
            if refusal.culprits:
                self.records.pop(tp, None)  # its neighbours may be refused as well: a whole batch of them says so at once
            return PoisonRecord(refusal.first, refusal.detail)
        self.records[tp] = 1
        return None

    def committed(self, tp: TopicPartition, watermark: int) -> None:
        """Widens the partition's limits after a transaction that went well."""
        if self._pauses.get(tp, watermark + 1) <= watermark:
            del self._pauses[tp]
        if tp in self.named:
            self.named[tp] = {offset: each for offset, each in self.named[tp].items() if offset >= watermark}
        if self.stops.get(tp, watermark + 1) <= watermark:
            del self.stops[tp]
            self.records[tp] = 1
        elif tp in self.records:
            self.records[tp] *= 2
            if self.records[tp] >= _UNLIMITED_FROM:
                del self.records[tp]

    def end(self, tp: TopicPartition, end: int, watermark: int = -1) -> int:
        """The end up to which the partition may be copied for now. What lies behind the watermark ends nothing: a commit that ended in
        doubt may have passed it."""
        return min([end, *(each for each in (self.stops.get(tp, end), self._pauses.get(tp, end)) if each > watermark)])

    def _learn(self, refusal: BatchRefused) -> None:
        """Whether the broker's names may be believed, by what it says now and said before of the same record in a batch."""
        tp = refusal.source
        other_reason = any(not each.is_named and (tp, each.offset) in self._suspects for each in refusal.culprits)
        if refusal.names_culprits or (refusal.records == 1 and other_reason):
            self.names_are_believed = True
            self._suspects.clear()
            self.records.pop(tp, None)
            self.stops.pop(tp, None)
        elif not self.names_are_believed and refusal.records > 1:
            self._suspects.update((tp, each.offset) for each in refusal.culprits if each.is_named)

    def _note_named(self, refusal: BatchRefused) -> bool:
        """Takes down the records that are named and were not before; whether there are any. One record alone that a broker which names
        records refused for another reason was the only one of its batch that it would not have."""
        known = self.named.setdefault(refusal.source, {})
        without_name = sum(not each.is_named for each in refusal.culprits)
        new = {
            each.offset: each
            for each in refusal.culprits
            if (self.names_are_believed and (each.is_named or without_name == 1)) or (each.is_named and each.is_certain)
            if each.offset not in known
        }
        if not new:
            return False
        known.update(new)
        self._pauses[refusal.source] = max(new) + 1
        return True
