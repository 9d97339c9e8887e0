"""Remembers where records stood, in few bytes each, so that a second copy of them is found: of one, or of thousands in a row."""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from kafka_mirror.formats.record import Record


class _Place(NamedTuple):
    """The number of a source record among those that were added, and what its copy does not share with it."""

    number: int
    offset: int
    timestamp_type: int
    timestamp: int


class DuplicateWindow:
    """The last source records whose copies were there."""

    def __init__(self, most: int, timed: bool) -> None:
        """`timed`: whether timestamps count."""
        self._timed = timed
        self._order: deque[int] = deque()
        self._places: dict[int, _Place] = {}
        self._most = most
        self._count = 0

    def add(self, record: Record) -> None:
        """Adds the next one."""
        key = self._build_key(record)
        self._places[key] = _Place(self._count, record.offset, record.timestamp_type, record.timestamp)
        self._order.append(key)
        self._count += 1
        if len(self._order) > self._most:
            oldest = self._order.popleft()
            if self._places[oldest].number == self._count - self._most - 1:
                del self._places[oldest]

    def again(self, target: Sequence[Record], ahead: Sequence[Record]) -> int:
        """How many of these records of the target are, one after the other, what was added from some place on, and then `ahead`."""
        first = self._places.get(self._build_key(target[0]))
        if first is None:
            return 0
        for count, record in enumerate(target):
            number = first.number + count
            key = self._build_key(record)
            if number < self._count:
                place = self._places.get(key)
                if place is None or place.number != number:
                    return count
            elif number - self._count >= len(ahead) or self._build_key(ahead[number - self._count]) != key:
                return count
        return len(target)

    def source_of(self, record: Record) -> Record | None:
        """The source record of which this record of the target is one more copy, if it is remembered."""
        place = self._places.get(self._build_key(record))
        if place is None:
            return None
        return record._replace(offset=place.offset, timestamp_type=place.timestamp_type, timestamp=place.timestamp)

    def _build_key(self, record: Record) -> int:
        return hash(record.carries(self._timed))
