"""Records of closed batches in batches of their own: neighbours joined, a part of a batch, or a batch that no producer could send.

    batches       ┌ 40 ┐ ┌ 41 ┬ 43 ┐ ┌ 44 ┬ 47 ┐      41 to 46 of them:   ┌ 41 ┬ 43 ┬ 44 ┐
    new places                                                            │  0 │  1 │  2 │   stretches (41, 1) (43, 2)

Of a record only its time and place in the batch are written anew, so whatever stands in it arrives: a client would decode key, value and
headers, and there are records of which it does not get all. The source's offsets may have holes. The target's have none, so a batch says
where its records stood.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mirror.formats.compression import LARGEST_UNPACKED, compressed, decompressed, has_packer
from mirror.formats.record_batch import CODECS, HEADER_BYTES, RecordBatch, unsent_batch
from mirror.formats.varint import read_signed_varint, signed_varint

WANTED_BYTES = 128 * 1024
"""How large a batch becomes before it is packed: the target's broker takes the same time for a small one."""
STRETCH_BYTES = WANTED_BYTES // 2
"""About how much is opened at a time."""

_SHORT = 16384
"""Numbers of a record that take two bytes at most, with their sign as the lowest bit."""
_ENCODED = tuple(signed_varint(number >> 1 ^ -(number & 1)) for number in range(_SHORT))
_NULL = signed_varint(-1)
_OLDEST, _NEWEST = -(1 << 63), (1 << 63) - 1
_FARTHEST = 1 << 62
_PLAIN, _FOR_TOO_LARGE = CODECS[0], "lz4"
"""What packs a record that is larger than the target takes, and that nothing has packed."""

_JOINED_MICROSECONDS = 30
"""Half of what it costs the target's broker, at least, to take one more batch. Records whose joining costs us more stay in theirs, which
an audit compares without opening it."""
_RECORD, _BYTE = 0.8, {"uncompressed": 0.0003, "snappy": 0.006, "lz4": 0.006, "zstd": 0.015, "gzip": 0.04}
"""What joining costs, in microseconds: each record, and each byte as it is packed."""

Stretch = tuple[int, int]
"""Offsets side by side: the first, and how many."""
Record = tuple[int, int, bytes, bytes]
"""Its offset, its timestamp, its attributes, and what stands behind its place in the batch."""


class OutgoingBatch(NamedTuple):
    """A batch to be sent, and the stretches of source offsets that its records have, in their order."""

    batch: RecordBatch
    stretches: tuple[Stretch, ...]

    @classmethod
    def closed(cls, batch: RecordBatch) -> "OutgoingBatch":
        """A batch as it is."""
        return cls(batch, ((batch.base_offset, batch.record_count),))

    @property
    def first_offset(self) -> int:
        """The source offset of its first record."""
        return self.stretches[0][0]

    @property
    def next_offset(self) -> int:
        """The source offset behind its last record."""
        start, length = self.stretches[-1]
        return start + length


class NotIntact(ValueError):
    """Raised for a batch whose bytes are not those of which its checksum was made."""


def is_small(batch: RecordBatch) -> bool:
    """Whether a batch, by its header, costs the target's broker more than it costs to join it with its neighbours, here."""
    return has_packer(batch.codec) and batch.record_count * _RECORD + batch.length * _BYTE[batch.codec] < _JOINED_MICROSECONDS


class BatchBuilder:
    """Makes batches of at most `max_bytes` of the records that are added; a larger record has one to itself."""

    def __init__(self, max_bytes: int, wanted_bytes: int = WANTED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._room = min(max_bytes, wanted_bytes) - HEADER_BYTES
        self._codec = _PLAIN
        self._epoch = -1
        self._pieces: list[bytes] = []
        self._stretches: list[Stretch] = []
        self._base_timestamp = self._latest = 0
        self._count = 0
        self.bytes = 0
        """How many bytes wait for more to follow."""

    def add(self, records: Sequence[Record], codec: str, leader_epoch: int) -> list[OutgoingBatch]:
        """Adds records, which are to be packed by `codec`, behind the others; gives the batches that are full."""
        full = self.finish() if codec != self._codec else []
        self._codec, self._epoch = codec, leader_epoch
        full += self._add(records)
        return full

    def finish(self) -> list[OutgoingBatch]:
        """The batch of the records that wait, if there are any."""
        if not self._count:
            return []
        first = self._stretches[0][0]
        times = (self._base_timestamp, self._latest)
        body = b"".join(self._pieces)
        codec, packed = _packed(self._codec, body, self._max_bytes - HEADER_BYTES)
        outgoing = OutgoingBatch(unsent_batch(first, self._epoch, times, self._count, packed, codec), tuple(self._stretches))
        self._pieces, self._stretches, self._count, self.bytes = [], [], 0, 0
        return [outgoing]

    # ------------------------------------------------------------ inside

    def _add(self, records: Iterable[Record]) -> list[OutgoingBatch]:
        full: list[OutgoingBatch] = []
        pieces, count, size, base, latest = self._pieces, self._count, self.bytes, self._base_timestamp, self._latest
        first, length = self._stretches.pop() if self._stretches else (0, 0)
        for offset, timestamp, attributes, rest in records:
            while True:
                delta = timestamp - base if count else 0
                signed = delta << 1 if delta >= 0 else ~(delta << 1)
                time = _ENCODED[signed] if signed < _SHORT else signed_varint(delta)
                place = _ENCODED[count << 1] if count < _SHORT >> 1 else signed_varint(count)
                behind = 1 + len(time) + len(place) + len(rest)
                encoded = _ENCODED[behind << 1] if behind < _SHORT >> 1 else signed_varint(behind)
                larger = size + len(encoded) + behind
                if not count or (larger <= self._room and -_FARTHEST < delta < _FARTHEST):
                    break
                # It begins another batch.
                self._keep(count, size, base, latest, (first, length))
                full += self.finish()
                pieces, count, size, length = self._pieces, 0, 0, 0
            if not count:
                base = latest = timestamp
            elif timestamp > latest:
                latest = timestamp
            if offset == first + length and count:
                length += 1
            else:
                if count:
                    self._stretches.append((first, length))
                first, length = offset, 1
            pieces += (encoded, attributes, time, place, rest)
            count += 1
            size = larger
        self._keep(count, size, base, latest, (first, length))
        return full

    def _keep(self, count: int, size: int, base: int, latest: int, stretch: Stretch) -> None:
        self._count, self.bytes, self._base_timestamp, self._latest = count, size, base, latest
        if count:
            self._stretches.append(stretch)


def _packed(codec: str, body: bytes, room: int) -> tuple[str, bytes]:
    """The records packed, where that makes them smaller."""
    if codec == _PLAIN and len(body) > room and has_packer(_FOR_TOO_LARGE):
        codec = _FOR_TOO_LARGE
    packed = compressed(codec, body)
    return (codec, packed) if len(packed) < len(body) else (_PLAIN, body)


def has_key(rest: bytes) -> bool:
    """Whether a record has a key, by what stands behind its place."""
    return rest[:1] != _NULL


def read_records(batch: RecordBatch, records: list[Record], largest: int = LARGEST_UNPACKED) -> None:
    """Adds the records of a batch to others. Raises NotIntact; ValueError if it cannot be opened, UnpacksTooLarge if it has more than
    `largest` bytes unpacked. Then none was added."""
    if batch.is_control or not batch.is_known:
        raise ValueError(f"a batch with the attributes {batch.attributes:#06x} has no records that could be copied")
    if (data := batch.intact_records()) is None:
        raise NotIntact("the checksum of a batch is not that of its bytes")
    if batch.is_packed:
        data = bytes(decompressed(batch.codec, memoryview(data), largest))
    base_offset, last, base_timestamp, is_stamped = batch.base_offset, batch.last_offset_delta, batch.base_timestamp, batch.is_stamped
    had, at, end, before = len(records), 0, len(data), -1
    try:
        for _ in range(batch.record_count):
            # Nearly every number has one byte or two.
            length, begin = (data[at] >> 1, at + 1) if data[at] < 0x80 and not data[at] & 1 else _number(data, at)
            at = begin + length
            since, place = (0, begin + 2) if not data[begin + 1] else _number(data, begin + 1)
            delta, rest = (0, place + 1) if not data[place] else _number(data, place)
            timestamp = batch.max_timestamp if is_stamped else base_timestamp + since
            if not (length > 0 and rest <= at <= end and before < delta <= last and _OLDEST <= timestamp <= _NEWEST):
                raise ValueError("a record is no part of its batch")
            records.append((base_offset + delta, timestamp, data[begin : begin + 1], data[rest:at]))
            before = delta
        if at != end:
            raise ValueError("a batch has more than the records that it counts")
    except (IndexError, ValueError) as failure:
        del records[had:]
        raise ValueError("a record is cut off" if isinstance(failure, IndexError) else str(failure)) from failure


def _number(data: bytes, at: int) -> tuple[int, int]:
    low = data[at]
    if low < 0x80:
        return low >> 1 ^ -(low & 1), at + 1
    high = data[at + 1]
    if high < 0x80:
        low = low & 0x7F | high << 7
        return low >> 1 ^ -(low & 1), at + 2
    return read_signed_varint(memoryview(data), at)
