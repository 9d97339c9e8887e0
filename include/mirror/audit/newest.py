"""The newest record of each key of one side, of as many keys at once as fit into memory."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from mirror.audit.record import Record, encoded


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
            self.keys[key] = Newest(record.offset, _content(record, self._timed), record.value is None)
            if self._most is not None and len(self.keys) > self._most:
                self.divide(self.divisor * 2)

    def divide(self, divisor: int) -> None:
        """Keeps only the keys of this divisor, a multiple of the one before."""
        self.divisor = divisor
        self.keys = {key: newest for key, newest in self.keys.items() if int.from_bytes(key[:8]) % divisor == self._residue}


def key_of(record: Record) -> bytes | None:
    """A hash that stands for the record's key; None without one."""
    return None if record.key is None else hashlib.blake2b(record.key, digest_size=16).digest()


def _content(record: Record, timed: bool) -> bytes:
    timestamp, key, value, headers = record.carries(timed)
    return hashlib.blake2b(encoded(timestamp, key, value, headers), digest_size=16).digest()
