"""Kafka's own field types (org.apache.kafka.common.protocol.types), as MirrorMaker 2 writes its internal records with them.

Big-endian; a STRING is a signed 16-bit length in bytes and UTF-8. Readers ignore what follows the last field, as MM2's do.
"""

import struct

LONGEST_STRING = 2**15 - 1
"""Bytes."""


def string(text: str) -> bytes:
    """A STRING. Raises ValueError for one that its length field cannot say."""
    data = text.encode()
    if len(data) > LONGEST_STRING:
        raise ValueError(f"a text of {len(data)} bytes is longer than {LONGEST_STRING}")
    return struct.pack(">h", len(data)) + data


def int16(number: int) -> bytes:
    """An INT16."""
    return struct.pack(">h", number)


def int32(number: int) -> bytes:
    """An INT32."""
    return struct.pack(">i", number)


def int64(number: int) -> bytes:
    """An INT64."""
    return struct.pack(">q", number)


class Fields:
    """The fields of a record's bytes, one after the other. Every method raises ValueError where the bytes end too early."""

    def __init__(self, data: bytes | None) -> None:
        if data is None:
            raise ValueError("there is none: a tombstone, which MirrorMaker 2 never writes")
        self._data = data
        self._at = 0

    def string(self) -> str:
        """A STRING."""
        length = self.int16()
        if length < 0:
            raise ValueError(f"a text has the length {length}")
        return self._take(length).decode()

    def int16(self) -> int:
        """An INT16."""
        return int(struct.unpack(">h", self._take(2))[0])

    def int32(self) -> int:
        """An INT32."""
        return int(struct.unpack(">i", self._take(4))[0])

    def int64(self) -> int:
        """An INT64."""
        return int(struct.unpack(">q", self._take(8))[0])

    def _take(self, count: int) -> bytes:
        end = self._at + count
        if end > len(self._data):
            raise ValueError(f"it ends after {len(self._data)} bytes, in the middle of a field")
        taken, self._at = self._data[self._at : end], end
        return taken
