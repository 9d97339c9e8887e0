"""How large a transaction may be: by how fast the target takes it, and for a partition of which a batch was refused."""

from dataclasses import dataclass, field

from mirror.copy.engine import BatchRefused, PoisonRecord
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

    A broker that refuses a batch does not say for which record. So first what precedes the batch is copied, then the next record alone,
    then two, four … while that goes well; a single record that is refused is the poison.
    """

    stops: dict[TopicPartition, int] = field(default_factory=dict)
    records: dict[TopicPartition, int] = field(default_factory=dict)

    def refused(self, refusal: BatchRefused) -> PoisonRecord | None:
        """Narrows the partition's limits after a refusal; gives the poison record once it stands alone."""
        tp = refusal.source
        if refusal.first > refusal.start:
            self.stops[tp] = refusal.first
            return None
        if refusal.records == 1:
            return PoisonRecord(refusal.first, refusal.detail)
        self.records[tp] = 1
        return None

    def committed(self, tp: TopicPartition, watermark: int) -> None:
        """Widens the partition's limits after a transaction that went well."""
        if self.stops.get(tp, watermark + 1) <= watermark:
            del self.stops[tp]
            self.records[tp] = 1
        elif tp in self.records:
            self.records[tp] *= 2
            if self.records[tp] >= _UNLIMITED_FROM:
                del self.records[tp]

    def end(self, tp: TopicPartition, end: int) -> int:
        """The end up to which the partition may be copied for now."""
        return min(end, self.stops.get(tp, end))
