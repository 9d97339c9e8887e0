"""Puts the records of an opened batch after those of others: a record's time and place are rewritten, the rest stays as it is.

    length │ attributes │ timestamp less the batch's │ place in the batch │ key, value, headers

It goes through nearly every record of small batches, so it makes no object of any, and looks at numbers of one and two bytes itself.
"""

from kafka_mirror.formats.batches.varint import read_signed_varint, signed_varint

NUMBERS = tuple(map(signed_varint, range(8192)))
"""The numbers of one and two bytes, from 0 on."""
HEADS = tuple(number + b"\0" for number in NUMBERS)
"""How a record without attributes begins, by its length in bytes."""
USUAL_TIMES = 1 << 60
"""Times below this may be added and subtracted without a look at what comes of it."""
LONGER = 16
"""How many bytes longer a record becomes at most, at another time and place than in its batch."""


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
    numbers, heads, most, add = NUMBERS, HEADS, len(NUMBERS), pieces.extend
    if place + records > most or not -USUAL_TIMES < shift < USUAL_TIMES:
        return None
    at, size, whole, newest = 0, 0, len(data), -USUAL_TIMES
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
        if low & 1 or data[begin] or not data.startswith(was, at) or not -USUAL_TIMES < since < USUAL_TIMES:
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


def number_at(data: bytes, at: int) -> tuple[int, int]:
    """A signed number, and where it ends."""
    low = data[at]
    if low < 0x80:
        return low >> 1 ^ -(low & 1), at + 1
    high = data[at + 1]
    if high < 0x80:
        low = low & 0x7F | high << 7
        return low >> 1 ^ -(low & 1), at + 2
    return read_signed_varint(memoryview(data), at)
