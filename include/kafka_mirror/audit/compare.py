"""Finds and names the first difference between records of the source and of the target, both in their order.

Records are held against each other one by one. Where two differ, the next ones tell what happened: the explanation after which both sides
agree for longest is taken. Explanations, for source records s0 s1 … and target records t0 t1 … after the last equal pair:

    changed    s1 = t1                       missing    t0 stands further on in the source
    foreign    s0 stands further on in the target (doubled, if t0 was there before)
    doubled    t0 t1 … are what the target had from an earlier place on, for longer than one looks ahead
    swapped    both, and the same records stand in another order
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from kafka_mirror.audit.model import (
    CHANGED,
    CHANGED_HEADER,
    CHANGED_KEY,
    CHANGED_TIMESTAMP,
    CHANGED_VALUE,
    DOUBLED,
    FOREIGN,
    MISSING,
    SWAPPED,
    TRUNCATED,
)
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

    def count_again(self, target: Sequence[Record], ahead: Sequence[Record]) -> int:
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

    def find_source(self, record: Record) -> Record | None:
        """The source record of which this record of the target is one more copy, if it is remembered."""
        place = self._places.get(self._build_key(record))
        if place is None:
            return None
        return record._replace(offset=place.offset, timestamp_type=place.timestamp_type, timestamp=place.timestamp)

    def _build_key(self, record: Record) -> int:
        return hash(record.carries(self._timed))


WINDOW = 64
"""How many records after a difference are looked at on each side, and how many in front of it are remembered."""
REMEMBERED = 16_384
"""Of how many records in front of a difference the place is remembered, to tell a second copy of them."""


class FoundDifference(NamedTuple):
    """A difference: its kind, the record that was expected and the one that stands there (None: there is none)."""

    kind: str
    source: Record | None
    target: Record | None


@dataclass(frozen=True)
class Rules:
    """What is no difference. `timed`: timestamps count. `may_miss` and `may_add` say of a source record that its copy may be missing, and
    of a target record that it may be no copy; `source_of` gives the source offset of a target offset where the offset map knows it. No more
    than `most_missed` copies may be missing (None: any number)."""

    timed: bool = True
    may_miss: Callable[[Record], bool] | None = None
    most_missed: int | None = None
    may_add: Callable[[Record], bool] | None = None
    source_of: Callable[[int], int | None] = field(default=lambda _offset: None)

    def are_same(self, source: Record, target: Record) -> bool:
        """Whether one is a copy of the other."""
        return source.carries(self.timed) == target.carries(self.timed)


_STRICT = Rules()


class Comparison:
    """Compares two streams of records, and counts what the rules let pass."""

    def __init__(self, source: Iterator[Record], target: Iterator[Record], rules: Rules = _STRICT) -> None:
        self._source = _Ahead(source)
        self._target = _Ahead(target)
        self._rules = rules
        self._recent: deque[tuple[Record, Record]] = deque(maxlen=WINDOW)
        self._remembered = DuplicateWindow(REMEMBERED, rules.timed)
        self.tolerated = 0
        self.missed = 0

    def find_first_difference(self) -> FoundDifference | None:
        """Reads until the first difference, or to the end of both."""
        rules, source, target = self._rules, self._source, self._target
        while True:
            expected, actual = source.peek_first(), target.peek_first()
            if expected is None and actual is None:
                return None
            if expected is not None and actual is not None and rules.are_same(expected, actual):
                self._recent.append((expected, actual))
                self._remembered.add(expected)
                source.drop()
                target.drop()
            elif not self._let_pass(expected, actual):
                return self._name(expected, actual)

    def _let_pass(self, expected: Record | None, actual: Record | None) -> bool:
        rules = self._rules
        may_miss = rules.may_miss if rules.most_missed is None or self.missed < rules.most_missed else None
        if expected is not None and may_miss is not None and may_miss(expected) and not self._follows(expected):
            self._source.drop()
            self.missed += 1
            return True
        copied_from = rules.source_of(actual.offset) if actual is not None else None
        if actual is not None and copied_from is None and rules.may_add is not None and rules.may_add(actual):
            self._target.drop()
            self.tolerated += 1
            return True
        return False

    def _follows(self, expected: Record) -> bool:
        """Whether the copy of a record stands a little further on: then others stand in front of it, and it is not missing."""
        return self._rules.may_add is not None and any(self._rules.are_same(expected, record) for record in self._target.peek())

    # ------------------------------------------------------------ naming

    def _name(self, expected: Record | None, actual: Record | None) -> FoundDifference:
        if actual is None:
            return FoundDifference(TRUNCATED, expected, None)
        if expected is None:
            return self._find_surplus(actual, None)
        copied_from = self._rules.source_of(actual.offset) if self._rules.may_add is not None else None
        if copied_from is not None and copied_from > expected.offset:
            return FoundDifference(MISSING, expected, actual)  # among others' records, only the map tells how far the copies have come
        ahead, behind = self._source.peek(), self._target.peek()
        of_found = self._find_place(ahead, actual)
        of_expected = self._find_place(behind, expected)
        explanations = [
            (self._count_agreement(ahead[1:], behind[1:]), 0, CHANGED),
            (self._remembered.count_again(behind, ahead), -1, DOUBLED),
        ]
        if of_expected is not None:
            explanations.append((self._count_agreement(ahead, behind[of_expected:]), 1, FOREIGN))
        if of_found is not None:
            explanations.append((self._count_agreement(ahead[of_found:], behind), 2, MISSING))
        if of_found is not None and of_expected is not None:
            size, timed = max(of_found, of_expected) + 1, self._rules.timed
            if Counter(record.carries(timed) for record in ahead[:size]) == Counter(record.carries(timed) for record in behind[:size]):
                explanations.append((self._count_agreement(ahead[size:], behind[size:]), 3, SWAPPED))
        kind = max(explanations)[2]
        if kind in (FOREIGN, DOUBLED):
            return self._find_surplus(actual, expected)
        return FoundDifference(change(expected, actual, self._rules.timed) if kind == CHANGED else kind, expected, actual)

    def _find_place(self, records: list[Record], wanted: Record) -> int | None:
        return next((number for number, record in enumerate(records) if self._rules.are_same(record, wanted)), None)

    def _count_agreement(self, source: list[Record], target: list[Record]) -> int:
        """How many records are equal from here on. That both sides end together counts for more than any number."""
        for number, (expected, actual) in enumerate(zip(source, target, strict=False)):
            if not self._rules.are_same(expected, actual):
                return number
        ended = self._source.ended and self._target.ended and len(source) == len(target)
        return 2 * WINDOW if ended else min(len(source), len(target))

    def _find_surplus(self, actual: Record, expected: Record | None) -> FoundDifference:
        """A target record too many: doubled, if it was there before."""
        for source, target in reversed(self._recent):
            if self._rules.are_same(target, actual):
                return FoundDifference(DOUBLED, source, actual)
        remembered = self._remembered.find_source(actual)
        if remembered is not None:
            return FoundDifference(DOUBLED, remembered, actual)
        return FoundDifference(FOREIGN, expected, actual)


def change(expected: Record, actual: Record, timed: bool = True) -> str:
    """The kind of difference between a record and what stands in its place."""
    changes = [
        kind
        for kind, is_changed in (
            (CHANGED_KEY, expected.key != actual.key),
            (CHANGED_VALUE, expected.value != actual.value),
            (CHANGED_HEADER, expected.headers != actual.headers),
            (CHANGED_TIMESTAMP, timed and expected.timestamp != actual.timestamp),
        )
        if is_changed
    ]
    return changes[0] if len(changes) == 1 else CHANGED


def found_first(records: Iterator[Record], first: Sequence[Record], rules: Rules) -> Iterator[Record] | None:
    """The records from the place on where these records stand one after the other, with all that follow; None if they stand nowhere."""
    last_records: deque[Record] = deque(maxlen=len(first))
    for record in records:
        last_records.append(record)
        if len(last_records) == len(first) and all(rules.are_same(one, other) for one, other in zip(first, last_records, strict=True)):
            return chain(last_records, records)
    return None


class _Ahead:
    """A stream of records of which the next ones can be looked at."""

    def __init__(self, records: Iterator[Record]) -> None:
        self._records = records
        self._next: deque[Record] = deque()
        self.ended = False

    def peek_first(self) -> Record | None:
        """The next record; None at the end."""
        if not self._next:
            self._fill(1)
        return self._next[0] if self._next else None

    def drop(self) -> None:
        """Goes on to the one after it."""
        self._next.popleft()

    def peek(self) -> list[Record]:
        """The next ones, as many as are looked at."""
        self._fill(WINDOW - len(self._next))
        return list(self._next)

    def _fill(self, count: int) -> None:
        taken = list(islice(self._records, max(count, 0)))
        self._next.extend(taken)
        self.ended = self.ended or len(taken) < count
