"""How fast a lane may copy: small transactions, and a pause behind each, outside of any transaction.

A transaction is as short as ever, however low the rate, so none comes near its timeout: only the time between them grows. What a lane may
copy is its share of the flow's rate (`shares`), so that the lanes together keep to it without knowing of each other.
"""

import time
from collections.abc import Callable, Sequence

from mirror.formats.control import UNLIMITED
from mirror.plan.model import Range

_SECONDS_A_TRANSACTION = 2.0
"""So much of the time a transaction may take up: the shorter, the smoother, and the more of them there are."""
_UNKNOWN_RECORD_BYTES = 1000
_SMALLEST_PORTION = 16 * 1024
_LARGEST_PORTION = 4 * 1024 * 1024
_EVERYBODYS_PART = 0.25
"""This part of the rate is the same for all lanes, however little work one has."""


class Throttle:
    """The pace of one lane; kept over the attempts of one run. Rates are bytes of keys, values and headers a second, before compression."""

    def __init__(self, bytes_per_second: int, share: float = 1.0, now: Callable[[], float] = time.monotonic) -> None:
        """`bytes_per_second` is the flow's rate (-1: no limit), `share` what part of it is the lane's."""
        self._share = share
        self._now = now
        self._free_at = now()
        self.rate = self._of(bytes_per_second)
        """The lane's own rate; -1: no limit."""

    def change(self, bytes_per_second: int) -> None:
        """From now on the flow has this rate. What is left to wait for shrinks or grows with it."""
        rate, now = self._of(bytes_per_second), self._now()
        if self.rate != UNLIMITED and self._free_at > now:
            owed = (self._free_at - now) * self.rate
            self._free_at = now if rate == UNLIMITED else now + owed / rate
        self.rate = rate

    def transaction_bytes(self, most: int) -> int:
        """How much the next transaction may hold, if nothing else allows more than `most`."""
        return most if self.rate == UNLIMITED else max(1, min(most, int(self.rate * _SECONDS_A_TRANSACTION)))

    def wait_seconds(self) -> float:
        """How long the next transaction has to wait yet; 0: not at all."""
        return max(self._free_at - self._now(), 0.0)

    def copied(self, size: int, seconds: float) -> None:
        """After a transaction of so many bytes, which took so long itself."""
        if self.rate != UNLIMITED:
            now = self._now()
            self._free_at = max(self._free_at, now - seconds) + size / self.rate

    def _of(self, bytes_per_second: int) -> int:
        return UNLIMITED if bytes_per_second == UNLIMITED else max(1, int(bytes_per_second * self._share))


def portion(rate: int) -> int | None:
    """How much a lane of this rate should fetch at a time: what it may copy in a transaction, and no less than is worth a request. A power
    of two, so that a small change of the rate changes nothing. None: as much as it likes."""
    if rate == UNLIMITED:
        return None
    wanted = max(_SMALLEST_PORTION, int(rate * _SECONDS_A_TRANSACTION))
    return None if wanted >= _LARGEST_PORTION else 1 << (wanted.bit_length() - 1)


def shares(lanes: Sequence[Sequence[Range]], at_once: int) -> list[float]:
    """What part of the flow's rate each lane may have, of which `at_once` are copied at the same time: any so many of them have no more
    than all of it together. By how much each has to do, so that they are done at about the same time; and none gets next to nothing."""
    sizes = [sum(_bytes(planned) for planned in ranges) for ranges in lanes]
    whole = sum(sizes) or 1
    parts = [_EVERYBODYS_PART / len(sizes) + (1 - _EVERYBODYS_PART) * size / whole for size in sizes]
    at_most = sum(sorted(parts, reverse=True)[:at_once])
    return [part / at_most for part in parts]


def _bytes(planned: Range) -> int:
    """About how many bytes a range holds, by the mean size of what was copied of its partition before."""
    size = planned.bytes // planned.records if planned.records else _UNKNOWN_RECORD_BYTES
    return planned.offsets * (size + 1)
