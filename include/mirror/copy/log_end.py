"""Where the next record of a lane has to be delivered, in a partition of the target that nobody else writes: a compare-and-set.

    read by ListOffsets      delivered by the first transaction       by the next one
    ───────────────── end │  end, end+1 … last │ marker (last+1)  │  last+2 …

The end that was read may be that of a deposed leader: cut off from its cluster, and not from us, it goes on answering. What is written is
acknowledged by the true leader alone, so the place at which it is delivered tells whether the end, and all that was read in front of it,
was true. A marker that a new coordinator wrote once more, or somebody else's aborted records, look the same: then the attempt is
repeated for nothing.
"""

from collections.abc import Iterable

from mirror.errors import UnexpectedOffset
from mirror.offsets.partition import TopicPartition


class LogEnd:
    """The end of one partition of the target, as far as it is known: as it was read, and then behind what was delivered."""

    def __init__(self, log: TopicPartition, end: int, source: TopicPartition | None = None) -> None:
        """`source`: the partition that is copied into it, which an error then names."""
        self.log = log
        self.next = end
        self._source = source
        self._open = False

    def delivered(self, spans: Iterable[tuple[int, int]]) -> None:
        """Takes the first offset and the number of records of each span that a transaction wrote, in order.

        Raises UnexpectedOffset: the transaction must not be committed.
        """
        for first, records in spans:
            if first != self.next:
                raise UnexpectedOffset(self.log, self.next, first, self._source)
            self.next = first + records
            self._open = True

    def committed(self) -> None:
        """After the commit of a transaction: its marker follows what it wrote."""
        self.next += self._open
        self._open = False
