"""Compares the records of batches that are not the same on both sides, as they were fetched, for as long as they are equal in order.

    source   │ a b c │ d e f │ g h │         small batches, which the copy joined,
    target   │ a b c d e │ f g h │ marker │   and batches that it rewrote
                         ▲
                         └ equal up to here: `f` waits for the target's next batch

What is the same: each record's timestamp (unless the target sets its own), its attributes, and the bytes of its key, value and headers.
A copy never changes these bytes, so records are equal where they are. It names no difference.
"""

from itertools import islice
from operator import eq, itemgetter

from kafka_mirror.formats.batches.batch_rewrite import Record, read_records
from kafka_mirror.formats.batches.record_batch import RecordBatch
from kafka_mirror.kafka.reader import Part

SOURCE, TARGET = 0, 1
MOST_RECORDS = 200_000
_LARGEST = 16 * 1024 * 1024
"""A batch with more records, or more bytes, is read record by record. A few kilobytes may unpack to millions of records, and here each
takes fifty times its bytes."""
_TIMED, _UNTIMED = itemgetter(1, 2, 3), itemgetter(2, 3)


class OpenedBatches:
    """The records of both sides after a place up to which both are equal."""

    def __init__(self, parts: tuple[Part, Part]) -> None:
        self._parts = parts
        self._compared = _TIMED if all(part.timed for part in parts) else _UNTIMED
        self._waiting: tuple[list[Record], list[Record]] = ([], [])

    def add(self, side: int, batch: RecordBatch) -> None:
        """Adds the records of a side's next batch that belong to the range. Raises ValueError if it cannot be opened here."""
        if batch.record_count > MOST_RECORDS:
            raise ValueError(f"a batch has {batch.record_count} records")
        part, waiting = self._parts[side], self._waiting[side]
        had = len(waiting)
        read_records(batch, waiting, _LARGEST)
        if batch.base_offset < part.start or batch.next_offset > part.end or part.excluded:
            waiting[had:] = [record for record in waiting[had:] if _is_in(part, record[0])]

    def match(self) -> int | None:
        """Drops what both sides have, and gives how many records that are on each; None if they are not equal."""
        ours, theirs = self._waiting
        count, compared = min(len(ours), len(theirs)), self._compared
        is_equal = all(map(eq, map(compared, islice(ours, count)), map(compared, theirs)))
        del ours[:count], theirs[:count]
        return count if is_equal else None

    def first_offset(self, side: int) -> int | None:
        """The offset of the first record of a side that waits for the other side; None if none does."""
        waiting = self._waiting[side]
        return waiting[0][0] if waiting else None


def _is_in(part: Part, offset: int) -> bool:
    return part.start <= offset < part.end and not any(start <= offset < end for start, end in part.excluded)
