"""Whose turn it is: which partitions of a lane share the next transaction, when not all that is owed fits into it.

A transaction is filled in the order in which records arrive, and those of a long backlog arrive first. So the partitions whose backlog is
small get a transaction to themselves, and the others take turns; the least recently served always come first, over runs as well, for the
ledger keeps the order in which they were written. Times say nothing here: the hosts that wrote them have clocks of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mirror.formats.ledger import LedgerRecord
from mirror.offsets.partition import TopicPartition

_UNKNOWN_RECORD_BYTES = 1000
_TURN_BYTES = 1024 * 1024
"""What a long backlog should at least get of a transaction. Less, and what was read ahead would be thrown away too often."""


@dataclass(frozen=True)
class Waiting:
    """A partition with work: about how many bytes it is, and its place among those that were served (the higher, the later; 0: never)."""

    tp: TopicPartition
    bytes: int
    served: float


def waiting(tp: TopicPartition, record: LedgerRecord, offsets: int, place: int) -> Waiting:
    """A partition that is owed so many offsets. Their size is judged by what was copied of it before; `place` is that of its record among
    those of the ledger."""
    size = record.bytes // record.records if record.records else _UNKNOWN_RECORD_BYTES
    return Waiting(tp, offsets * (size + 1), place if record.records else 0)


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

    def served(self, partitions: Iterable[TopicPartition]) -> None:
        """After a transaction that moved these partitions."""
        moved = list(partitions)
        self.begun.update(moved)
        self.written.update(dict.fromkeys(moved, max(self.written.values(), default=0) + 1))

    def next(self, candidates: Sequence[Waiting], max_bytes: int) -> list[TopicPartition]:
        """The partitions of the next transaction of about `max_bytes`, the least recently served first. Empty only if nobody waits."""
        in_order = sorted(candidates, key=lambda each: (each.served, each.tp))
        if sum(each.bytes for each in in_order) <= max_bytes:
            return [each.tp for each in in_order]
        small: list[Waiting] = []
        long: list[Waiting] = []
        for each in in_order:
            is_small = each.bytes * len(in_order) <= max_bytes and each.tp not in self.begun
            (small if is_small else long).append(each)
        if small and (not long or small[0].served <= long[0].served):
            return [each.tp for each in small]
        if self.first not in self.begun and all(each.tp != self.first for each in long):
            self.first = long[0].tp
        room = max(1, max_bytes // _TURN_BYTES) if self.first in self.begun else 1
        return [each.tp for each in long[:room]]
