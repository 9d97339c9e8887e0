"""Unsigned LEB128 numbers: seven bits a byte, the lowest first, and the eighth bit where more follow. Pure."""


def append_number(out: bytearray, number: int) -> None:
    """Writes a number after what is there."""
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def numbers(data: bytes) -> list[int]:
    """All numbers of the bytes. Raises ValueError where one is cut off, or longer than it must be: a number has one way to be written."""
    decoded: list[int] = []
    number = shift = 0
    for byte in data:
        if byte < 0x80 and not shift:
            decoded.append(byte)
            continue
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if not byte:
                raise ValueError("the offset map has a number that is longer than it must be")
            decoded.append(number)
            number = shift = 0
    if shift:
        raise ValueError("the offset map ends inside a number")
    return decoded
