"""The numbers of variable length in Kafka's flexible requests and answers (KIP-482), unsigned: seven bits a byte, the lowest first."""

from functools import lru_cache


@lru_cache(maxsize=4096)
def varint(number: int) -> bytes:
    """A number as it stands in a request."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def read_varint(body: memoryview, at: int) -> tuple[int, int]:
    """The number that begins there, and where the next field does."""
    if body[at] < 0x80:
        return body[at], at + 1
    number = shift = 0
    while body[at] & 0x80:
        number |= (body[at] & 0x7F) << shift
        shift += 7
        at += 1
    return number | body[at] << shift, at + 1
