"""Comparing where one of the two topics is compacted: each drops records that have a newer one of the same key, at times of its own.

What still holds:

- Records whose offsets the offset map ties together are equal, where both are still there.
- Of each key the newest record is there on both sides, and equal. It may be gone on a side where a newer record of the key stands after
  what is compared, and a tombstone may be gone anyway. If it is gone, so are all older ones: logs are cleaned from their beginning. A
  newer record that was copied excuses an absence on either side: it may have been a tombstone, which is gone from the other one.

The keys are too many to be kept at once: past a limit, half of them is left to another reading, again and again.
"""

import hashlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

from kafka_mirror.audit.compare import FoundDifference, change
from kafka_mirror.audit.copied_ranges import AuditRange
from kafka_mirror.audit.model import CHANGED, FOREIGN, MISSING
from kafka_mirror.audit.reader import Side
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.formats.record import Record, comparable_bytes
from kafka_mirror.kafka.reader import Part

NOTE = "a topic is compacted: compared were the newest record of each key, and records whose offsets the map ties together"
MERGED_NOTE = "others write to the compacted remote topic too, so only records whose offsets the map ties together were compared"
UNTOLD_NOTE = "keys stand on the target alone; whether the source has dropped them since shows when the copy has caught up"
MOST_KEYS = 500_000
_LOOKS = 2


class Newest(NamedTuple):
    """The newest record of a key on one side."""

    offset: int
    content: bytes
    is_tombstone: bool


class NewestByKey:
    """The newest record of each key whose hash leaves `residue` when it is divided by `divisor`."""

    def __init__(self, residue: int, divisor: int, most: int, timed: bool) -> None:
        self._timed = timed
        self.keys: dict[bytes, Newest] = {}
        self.divisor = divisor
        self._residue = residue
        self._most = most if residue == 0 else None

    def take(self, records: Iterable[Record]) -> None:
        """Adds records in their order: of each key that is one of ours the newest is kept, of fewer keys where there would be too many."""
        for record in records:
            key = key_of(record)
            if key is None or int.from_bytes(key[:8]) % self.divisor != self._residue:
                continue
            content = hashlib.blake2b(comparable_bytes(*record.carries(self._timed)), digest_size=16).digest()
            self.keys[key] = Newest(record.offset, content, record.value is None)
            if self._most is not None and len(self.keys) > self._most:
                self.divide(self.divisor * 2)

    def divide(self, divisor: int) -> None:
        """Keeps only the keys of this divisor, a multiple of the one before."""
        self.divisor = divisor
        self.keys = {key: newest for key, newest in self.keys.items() if int.from_bytes(key[:8]) % divisor == self._residue}


def key_of(record: Record) -> bytes | None:
    """A hash that stands for the record's key; None without one."""
    return None if record.key is None else hashlib.blake2b(record.key, digest_size=16).digest()


@dataclass(frozen=True)
class _OneSide:
    """A side of the stretch: what is compared, and where newer records of its keys may stand: in what is left out of it, and after it.

    `log_end` is where the log ended when the audit began, `copied_end` up to where of what lies after a copy stands on the other side.
    """

    side: Side
    tp: TopicPartition
    part: Part
    log_end: int
    copied_end: int

    def read_records(self) -> Generator[Record, None, None]:
        return self.side.read_records(self.tp, self.part)

    def read_at(self, offset: int) -> Record | None:
        with closing(self.side.read_records(self.tp, Part(offset, offset + 1))) as records:
            return next(records, None)

    def end(self) -> int:
        """Where the log ends by now: records of its keys have been written since the audit began, and older ones dropped for them."""
        return max(self.log_end, self.side.end(self.tp))

    def find_keys(self, intervals: Sequence[Interval], wanted: set[bytes]) -> set[bytes]:
        """Which of these keys have a record in the intervals."""
        keys: set[bytes] = set()
        for start, end in intervals:
            with closing(self.side.read_records(self.tp, Part(start, end))) as records:
                keys |= {key for record in records if (key := key_of(record)) in wanted}
        return keys


class CompactedComparison:
    """Compares a stretch by its keys."""

    def __init__(self, stretch: AuditRange, source: Side, target: Side, most_keys: int = MOST_KEYS) -> None:
        self._stretch = stretch
        self._most_keys = most_keys
        self._source = _OneSide(
            source,
            stretch.source,
            Part(stretch.start, stretch.end, stretch.source_left),
            stretch.source_log_end,
            min(stretch.watermark, stretch.source_log_end),
        )
        self._target = _OneSide(
            target,
            stretch.remote,
            Part(stretch.target_start, stretch.target_read_end, stretch.target_left),
            stretch.target_log_end,
            stretch.target_log_end,
        )
        self.unpaired = 0
        self._untold = False

    def find_first_difference(self) -> FoundDifference | None:
        """The first difference. Logs may be cleaned while they are read, so one counts if it is seen twice."""
        difference = self._search()
        for _ in range(_LOOKS - 1):
            if difference is None:
                return None
            again = self._search()
            if again is None or _list_offsets(again) == _list_offsets(difference):
                return again
            difference = again
        return difference

    def _search(self) -> FoundDifference | None:
        tied = self._tie()
        if tied is not None or self._stretch.lenient:
            return tied
        self.unpaired, self._untold = 0, False
        residue, divisor = 0, 1
        differences = []
        while residue < divisor:
            source, target = (NewestByKey(residue, divisor, self._most_keys, self._stretch.timed) for _ in range(2))
            for side, newest in ((self._source, source), (self._target, target)):
                with closing(side.read_records()) as records:
                    newest.take(records)
            # The side with more keys went further in dividing them; the other one's share becomes the same.
            divisor = max(source.divisor, target.divisor)
            source.divide(divisor)
            target.divide(divisor)
            differences += self._find_differences(source.keys, target.keys)
            residue += 1
        return min(differences, key=_list_offsets, default=None)

    @property
    def notes(self) -> tuple[str, ...]:
        """How it was compared, in words."""
        first = MERGED_NOTE if self._stretch.lenient else NOTE
        return (first, UNTOLD_NOTE) if self._untold else (first,)

    # ------------------------------------------------------------ records that the map ties together

    def _tie(self) -> FoundDifference | None:
        timed = self._stretch.timed
        with closing(self._source.read_records()) as sources, closing(self._target.read_records()) as targets:
            expected = next(sources, None)
            for actual in targets:
                offset = self._stretch.source_of(actual.offset)
                if offset is None:
                    continue
                while expected is not None and expected.offset < offset:
                    expected = next(sources, None)
                if expected is None:
                    return None
                if expected.offset == offset and expected.carries(timed) != actual.carries(timed):
                    return FoundDifference(change(expected, actual, timed), expected, actual)
        return None

    # ------------------------------------------------------------ the newest of each key

    def _find_differences(self, source: dict[bytes, Newest], target: dict[bytes, Newest]) -> list[FoundDifference]:
        stretch = self._stretch
        gone_from_target = {key for key, newest in source.items() if key not in target and not newest.is_tombstone}
        gone_from_source = {key for key, newest in target.items() if key not in source and not newest.is_tombstone}
        missing = set() if stretch.source_ahead else self._find_unexcused(gone_from_target, self._target, self._source)
        foreign = set() if stretch.target_ahead else self._find_unexcused(gone_from_source, self._source, self._target)
        if foreign and stretch.watermark < self._source.end():
            # A tombstone that is not copied yet may have taken the key away, and itself have expired since.
            self._untold, foreign = True, set()
        self.unpaired += len(source.keys() ^ target.keys()) - len(missing) - len(foreign)
        differences = [FoundDifference(MISSING, self._source.read_at(source[key].offset), None) for key in _find_first(missing, source)]
        differences += [FoundDifference(FOREIGN, None, self._target.read_at(target[key].offset)) for key in _find_first(foreign, target)]
        changed = {key for key in source.keys() & target.keys() if source[key].content != target[key].content}
        for key in _find_first(changed, source):
            expected, actual = self._source.read_at(source[key].offset), self._target.read_at(target[key].offset)
            if expected is not None and actual is not None:
                kind = change(expected, actual, stretch.timed)
                # With another time and another value it is an older record of the key: the newest one is not there.
                differences.append(FoundDifference(MISSING if kind == CHANGED else kind, expected, actual))
        return differences

    def _find_unexcused(self, gone: set[bytes], there: _OneSide, other: _OneSide) -> set[bytes]:
        """The keys that a side has no reason not to have: neither there nor on the other side a newer record of theirs was copied."""
        if gone:
            gone = gone - there.find_keys((*there.part.excluded, (there.part.end, there.end())), gone)
        if gone:
            gone = gone - other.find_keys([(other.part.end, other.copied_end)], gone)
        return gone


def _find_first(keys: set[bytes], newest: dict[bytes, Newest]) -> Sequence[bytes]:
    """The key whose newest record stands first."""
    return sorted(keys, key=lambda key: newest[key].offset)[:1]


def _list_offsets(difference: FoundDifference) -> tuple[int, int]:
    source = difference.source.offset if difference.source else 1 << 62
    return source, difference.target.offset if difference.target else 1 << 62
