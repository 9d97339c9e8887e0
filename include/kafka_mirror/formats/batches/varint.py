"""Kafka's numbers of variable length: seven bits a byte, the lowest first. Unsigned in flexible requests and answers (KIP-482), signed in
records, where the sign is the lowest bit."""

from functools import lru_cache

_LARGEST_BYTES = 10
"""Of a number of 64 bits."""


@lru_cache(maxsize=4096)
def varint(number: int) -> bytes:
    """An unsigned number as it stands in a request."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def read_varint(body: bytes | memoryview, at: int) -> tuple[int, int]:
    """The unsigned number that begins there, and where the next field does. Raises ValueError for one without an end, IndexError at the
    end of the bytes."""
    if body[at] < 0x80:
        return body[at], at + 1
    number = shift = 0
    for place in range(at, at + _LARGEST_BYTES):
        number |= (body[place] & 0x7F) << shift
        if body[place] < 0x80:
            return number, place + 1
        shift += 7
    raise ValueError("a number has no end")


def read_length(body: memoryview, at: int, least: int = 1) -> tuple[int, int]:
    """How many elements follow, of at least `least` bytes each, and where the first begins; -1 for null. Raises ValueError for more of them
    than fit into the bytes that are left, and as `read_varint`."""
    number, at = read_varint(body, at)
    if (number - 1) * least > len(body) - at:
        raise ValueError(f"{number - 1} elements are to follow, and {len(body) - at} bytes do")
    return number - 1, at


def signed_varint(number: int) -> bytes:
    """A signed number as it stands in a record."""
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def read_signed_varint(body: bytes | memoryview, at: int) -> tuple[int, int]:
    """The signed number that begins there, and where the next field does; raises as `read_varint`."""
    number, at = read_varint(body, at)
    return number >> 1 ^ -(number & 1), at
