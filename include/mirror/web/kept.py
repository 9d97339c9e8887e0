"""An answer that many want and few should ask for."""

import time
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

OLD_SECONDS = 60.0
"""An older answer than this is given to nobody, however long the next one takes."""


class Kept(Generic[Key, Value]):
    """Answers by key, asked for anew when they are `seconds` old: by one at a time, and whoever comes meanwhile gets the one that is there.

    A database that is slow is so asked once, and not by every reader of a page at the same time.
    """

    def __init__(self, ask: Callable[[Key], Value], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._seconds = seconds
        self._clock = clock
        self._answers: dict[Key, tuple[float, Value]] = {}
        self._asking: dict[Key, Lock] = {}

    def get(self, key: Key) -> Value:
        """The answer. Raises what asking raises; then the next one asks again."""
        known = self._answers.get(key)
        if known is not None and self._clock() - known[0] < self._seconds:
            return known[1]
        lock = self._asking.setdefault(key, Lock())
        if not lock.acquire(blocking=known is None or self._clock() - known[0] > OLD_SECONDS):
            assert known is not None
            return known[1]
        try:
            newer = self._answers.get(key)
            if newer is None or newer is known:
                newer = self._answers[key] = (self._clock(), self._ask(key))
            return newer[1]
        finally:
            lock.release()
