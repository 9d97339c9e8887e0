"""Records of closed batches in batches of their own: neighbours joined, a part of a batch, or a batch that no producer could send.

    batches       ┌ 40 ┐ ┌ 41 ┬ 43 ┐ ┌ 44 ┬ 47 ┐      41 to 46 of them:   ┌ 41 ┬ 43 ┬ 44 ┐
    new places                                                            │  0 │  1 │  2 │   stretches (41, 1) (43, 2)

Of a record only its time and place in the batch are rewritten, so whatever stands in it arrives: a client would decode key, value and
headers, and there are records of which it does not get all. The source's offsets may have holes. The target's have none, so a batch says
where its records stood.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import google_crc32c

from kafka_mirror.formats.batches.batch_records import Record, Stretch, number_at, read_opened
from kafka_mirror.formats.batches.compression import compress, decompress, has_packer
from kafka_mirror.formats.batches.record_batch import (
    CODECS,
    HEADER_BYTES,
    AbortedTransactions,
    Attribute,
    RecordBatch,
    batches_in,
    seal_batch,
    unsent_batch,
)
from kafka_mirror.formats.batches.varint import signed_varint

WANTED_BYTES = 256 * 1024
"""How large a batch becomes before it is packed: the target's broker takes the same time for a small one."""
STRETCH_BYTES = WANTED_BYTES // 2
"""About how much is opened at a time."""

_NUMBERS = tuple(map(signed_varint, range(8192)))
"""The numbers of one and two bytes, from 0 on."""
_HEADS = tuple(number + b"\0" for number in _NUMBERS)
"""How a record without attributes begins, by its length in bytes."""
_USUAL_TIMES = 1 << 60
"""Times below this may be added and subtracted without a look at what comes of it."""
_LONGER = 16
"""How many bytes longer a record becomes at most, at another time and place than in its batch."""
_FARTHEST = 1 << 62
_PLAIN, _FOR_TOO_LARGE = CODECS[0], "lz4"
"""What packs a record that is larger than the target takes, and that nothing has packed."""

_JOINED_MICROSECONDS = 50
"""Half of what one more batch costs: 45 to forward it, and at least 60 that the target's broker takes. Records whose joining costs us more
stay in theirs, which an audit compares without opening it."""
_RECORD, _BYTE = 1.0, {"uncompressed": 0.0006, "snappy": 0.0025, "lz4": 0.0035, "zstd": 0.0065, "gzip": 0.023}
"""What joining costs, in microseconds: each record, and each byte as it is packed."""

_FIELDS = struct.Struct(">qiixIhiq8xq6xi")
"""A batch's header without magic, latest time, the producer's epoch and sequence."""
_START_BYTES, _CRC_FROM, _RECORDS_FROM = 12, 21, HEADER_BYTES - 21
"""Where a batch's length ends, its checksum begins, and then its records begin."""
_LEAST = HEADER_BYTES - _START_BYTES + 7
"""How long a batch of one record says it is at least."""
_CONTROL, _TRANSACTIONAL = int(Attribute.CONTROL), int(Attribute.TRANSACTIONAL)


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
        """The source offset after its last record."""
        start, length = self.stretches[-1]
        return start + length


class JoinedStretch(NamedTuple):
    """What was taken of batches one after the other: how many bytes of them, where the source goes on after them, the leader epoch of the
    last one, how many were joined, with how many records; the batches that are to be sent now; and how many records one has that stayed
    closed."""

    bytes: int
    next_offset: int
    leader_epoch: int
    batches: int
    records: int
    full: list[OutgoingBatch]
    closed: int = 0


def is_small(batch: RecordBatch) -> bool:
    """Whether a batch, by its header, costs the target's broker more than it costs to join it with its neighbours, here."""
    most, of_record = _count_small(batch.codec)
    return batch.length + batch.record_count * of_record <= most


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
        """Adds records, which are to be packed by `codec`, after the others; gives the batches that are full."""
        full = self.finish() if codec != self._codec else []
        self._codec, self._epoch = codec, leader_epoch
        full += self._add(records)
        return full

    def join(
        self, data: bytes, codec: str, offsets: Stretch, room: int, largest: int, aborted: AbortedTransactions | None
    ) -> JoinedStretch:
        """Takes small batches, packed by `codec`, from the beginning of `data`, which is of a `BatchSpan`, without an object for each:
        about `room` bytes, in `[offsets)`. It ends in front of what is no such batch, and of what is not as it should be; markers and
        `aborted` ones are passed over. One that has no neighbour stays closed. `largest`: as of `read_records`."""
        full = self.finish() if codec != self._codec else []
        self._codec, had, before = codec, self._count, len(full)
        taken = self._join(data, offsets, room, largest, aborted, full)
        if taken.batches == 1 and not had:
            first = full[before].first_offset if len(full) > before else self._stretches[0][0]
            self._pieces, self._stretches, self._count, self.bytes = [], [], 0, 0
            alone = next(batch for batch in batches_in(data) if batch.base_offset == first)
            full[before:] = [OutgoingBatch.closed(alone)]
            return taken._replace(batches=0, records=0, closed=alone.record_count)
        self._epoch = taken.leader_epoch if taken.batches else self._epoch
        return taken

    def finish(self) -> list[OutgoingBatch]:
        """The batch of the records that wait, if there are any."""
        if not self._count:
            return []
        first = self._stretches[0][0]
        times = (self._base_timestamp, self._latest)
        codec, packed = _pack(self._codec, self._pieces, self.bytes, self._max_bytes - HEADER_BYTES)
        outgoing = OutgoingBatch(unsent_batch(first, self._epoch, times, self._count, packed, codec), tuple(self._stretches))
        self._pieces, self._stretches, self._count, self.bytes = [], [], 0, 0
        return [outgoing]

    # ------------------------------------------------------------ inside

    def _join(  # noqa: C901, PLR0912, PLR0915 - a call or an object for each record would cost as much as all the rest
        self, data: bytes, offsets: Stretch, room: int, largest: int, aborted: AbortedTransactions | None, full: list[OutgoingBatch]
    ) -> JoinedStretch:
        at, stop, whole, (position, end) = 0, min(room, len(data) - HEADER_BYTES + 1), len(data), offsets
        codec, (most, of_record), capacity = CODECS.index(self._codec), _count_small(self._codec), self._room
        fields, checksum_of, numbers, heads, half = _FIELDS.unpack_from, google_crc32c.value, _NUMBERS, _HEADS, len(_NUMBERS)
        pieces, count, size, base, latest, first, length, expected = self._take_up()
        epoch, batches, more = -1, 0, 0
        while at < stop:
            offset, inside, leader, checksum, attributes, last, timestamp, producer, number = fields(data, at)
            after, next_offset = at + _START_BYTES + inside, offset + last + 1
            if not (position <= offset < next_offset <= end and at < after <= whole):
                break
            if attributes != codec:
                if (aborted is not None and aborted.hold(next_offset, producer, attributes)) or attributes & _CONTROL:
                    if checksum_of(data[at + _CRC_FROM : after]) != checksum:
                        break
                    at, position, epoch = after, next_offset, leader
                    continue
                if attributes != codec | _TRANSACTIONAL:
                    break
            if number != last + 1 or inside < _LEAST or inside + number * of_record > most:
                break
            covered = data[at + _CRC_FROM : after]
            # Nearly always it is one record, whose own time and place are none, and whose length has one byte or two.
            begin, says = _RECORDS_FROM + 1, covered[_RECORDS_FROM]
            if says > 0x7F:
                begin, says = begin + 1, says & 0x7F | covered[begin] << 7
            if last or codec or says != len(covered) - begin << 1 or not covered.startswith(b"\0\0\0", begin):
                self._keep(count, size, base, latest, (first, length))
                if checksum_of(covered) != checksum or not self._add_opened(covered, (offset, number), timestamp, largest, full):
                    return JoinedStretch(at, position, epoch, batches, batches + more, full)
                pieces, count, size, base, latest, first, length, expected = self._take_up()
                more += last
            else:
                if checksum_of(covered) != checksum:
                    break
                rest = covered[begin + 3 :]
                if not count:
                    base = latest = timestamp
                delta = timestamp - base
                if 0 <= delta < half:
                    time = numbers[delta]
                else:
                    time = signed_varint(delta)
                    size = size if -_FARTHEST < delta < _FARTHEST else capacity  # full for this one
                place = numbers[count] if count < half else signed_varint(count)
                inside = 1 + len(time) + len(place) + len(rest)
                head = heads[inside] if inside < half else signed_varint(inside) + b"\0"
                larger = size + len(head) + inside - 1
                if larger > capacity and count:
                    self._keep(count, size, base, latest, (first, length))
                    full += self.finish()
                    pieces, count, size, expected = self._pieces, 0, 0, -1
                    continue
                if timestamp > latest:
                    latest = timestamp
                if offset == expected:
                    length += 1
                else:
                    if count:
                        self._stretches.append((first, length))
                    first, length = offset, 1
                expected = next_offset
                pieces += (head, time, place, rest)
                count += 1
                size = larger
            at, position, epoch, batches = after, next_offset, leader, batches + 1
        self._keep(count, size, base, latest, (first, length))
        return JoinedStretch(at, position, epoch, batches, batches + more, full)

    def _take_up(self) -> tuple[list[bytes], int, int, int, int, int, int, int]:
        """What waits: its pieces, how many records they are and how large, the first and the latest time, the last stretch, and the offset
        that would go on with it."""
        first, length = self._stretches.pop() if self._stretches else (0, 0)
        expected = first + length if self._count else -1
        return self._pieces, self._count, self.bytes, self._base_timestamp, self._latest, first, length, expected

    def _add_opened(self, covered: bytes, stretch: Stretch, timestamp: int, largest: int, full: list[OutgoingBatch]) -> bool:
        """Adds the records of one batch without holes, of which the checksum covers these bytes; whether they could be read."""
        try:
            data = bytes(decompress(self._codec, memoryview(covered)[_RECORDS_FROM:], largest))
            more = len(data) + _LONGER * stretch[1]
            if self._count and self.bytes + more > self._room:
                full += self.finish()
            if more > self._room or not self._splice(data, stretch, timestamp):
                full += self._add(read_opened(data, stretch, stretch[1] - 1, timestamp))
        except ValueError:
            return False
        return True

    def _splice(self, data: bytes, stretch: Stretch, base_timestamp: int) -> bool:
        """Adds the records of one batch, for which there is room. False: they are not as they nearly always are, and none was added."""
        (start, more), base = stretch, self._base_timestamp if self._count else base_timestamp
        is_usual = -_USUAL_TIMES < base < _USUAL_TIMES
        spliced = splice_records(self._pieces, data, more, self._count, base_timestamp - base) if is_usual else None
        if spliced is None:
            return False
        _, count, size, _, latest, first, length, expected = self._take_up()
        newest = base_timestamp + spliced[1]
        if start == expected:
            start, length = first, length + more
        else:
            if count:
                self._stretches.append((first, length))
            length = more
        self._keep(count + more, size + spliced[0], base, max(latest, newest) if count else newest, (start, length))
        return True

    def _add(self, records: Iterable[Record]) -> list[OutgoingBatch]:
        full: list[OutgoingBatch] = []
        pieces, count, size, base, latest, first, length, _ = self._take_up()
        for offset, timestamp, attributes, rest in records:
            while True:
                delta = timestamp - base if count else 0
                time = _NUMBERS[delta] if 0 <= delta < len(_NUMBERS) else signed_varint(delta)
                place = _NUMBERS[count] if count < len(_NUMBERS) else signed_varint(count)
                after = 1 + len(time) + len(place) + len(rest)
                encoded = _NUMBERS[after] if after < len(_NUMBERS) else signed_varint(after)
                larger = size + len(encoded) + after
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


def _count_small(codec: str) -> tuple[int, int]:
    """How long a batch may be that is small, and as how many of its bytes each record counts."""
    return (int(_JOINED_MICROSECONDS / _BYTE[codec]), int(_RECORD / _BYTE[codec])) if has_packer(codec) else (-1, 0)


def _pack(codec: str, pieces: Sequence[bytes], size: int, room: int) -> tuple[str, Sequence[bytes]]:
    """The records packed, where that makes them smaller."""
    if codec == _PLAIN and size > room and has_packer(_FOR_TOO_LARGE):
        codec = _FOR_TOO_LARGE
    if codec == _PLAIN:
        return codec, pieces
    packed = compress(codec, b"".join(pieces))
    return (codec, (packed,)) if len(packed) < size else (_PLAIN, pieces)


def sealed_batches(records: Sequence[Record], max_bytes: int, codec: str = _PLAIN) -> list[RecordBatch]:
    """Records as a producer makes batches of them, in their order, of at most `max_bytes`; a larger record has one to itself."""
    builder = BatchBuilder(max_bytes, max_bytes)
    return [seal_batch(outgoing.batch) for outgoing in (*builder.add(records, codec, -1), *builder.finish())]


def splice_records(pieces: list[bytes], data: bytes, records: int, place: int, shift: int) -> tuple[int, int] | None:
    """Adds the records of a batch without holes to the pieces of others, of which there are `place`. `shift` is added to their times.
    Gives how many bytes it added, and the latest time as it stood; None where they are not as they nearly always are: nothing is added
    then."""
    begun = len(pieces)
    try:
        if spliced := _splice(pieces, data, records, place, shift):
            return spliced
    except (IndexError, ValueError):
        pass  # it is cut off, or a number has no end, which somebody else says
    del pieces[begun:]
    return None


def _splice(pieces: list[bytes], data: bytes, records: int, place: int, shift: int) -> tuple[int, int] | None:
    numbers, heads, most, add = _NUMBERS, _HEADS, len(_NUMBERS), pieces.extend
    if place + records > most or not -_USUAL_TIMES < shift < _USUAL_TIMES:
        return None
    at, size, whole, newest = 0, 0, len(data), -_USUAL_TIMES
    for was, becomes in zip(numbers[:records], numbers[place : place + records], strict=True):
        low, high = data[at], data[at + 1]
        if low < 0x80:
            begin, end = at + 1, at + 1 + (low >> 1)
        elif high < 0x80:
            begin, end = at + 2, at + 2 + ((low & 0x7F | high << 7) >> 1)
        else:
            end, begin = number_at(data, at)
            end += begin
        since = data[begin + 1]
        if since < 0x80:
            since, at = since >> 1 ^ -(since & 1), begin + 2
        else:
            since, at = number_at(data, begin + 1)
        if low & 1 or data[begin] or not data.startswith(was, at) or not -_USUAL_TIMES < since < _USUAL_TIMES:
            return None
        at += len(was)
        if not at < end <= whole:
            return None
        delta = since + shift
        time = numbers[delta] if 0 <= delta < most else signed_varint(delta)
        inside = 1 + len(time) + len(becomes) + end - at
        head = heads[inside] if inside < most else signed_varint(inside) + b"\0"
        add((head, time, becomes, data[at:end]))
        size += len(head) + inside - 1
        if since > newest:
            newest = since
        at = end
    return (size, newest) if at == whole else None
