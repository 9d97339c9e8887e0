"""What this process has read of compacted topics of our own, so that whoever reads one again reads only what follows.

Rounds write a ledger record of each busy partition every second, and Kafka compacts after minutes at the earliest: without this, each plan
and each lane would read tens of thousands of records for a hundred that count.

    log      a b a c b a │ c a c
    memory         c b a ┘ position, with the leader epoch of the batch in front of it

The position is of use only in the same log. So it is named by topic id and partition, and the leader is asked with the epoch (KIP-320): a
log that was cut off and has grown again answers that it went another way, and all of it is read anew.
"""

import threading
from collections.abc import Mapping
from typing import NamedTuple

from kafka_mirror.formats.batches.batch_records import StoredRecord

_MOST_BYTES = 32 * 1024 * 1024
"""Of all logs together; a ledger that is larger is read as a whole each time."""
_RECORD_BYTES = 200
"""What Python adds to a record, about."""
_NO_ID = {"", "AAAAAAAAAAAAAAAAAAAAAA"}
"""What a broker says of a topic that has no id."""

LogKey = tuple[str, int]
"""Topic id and partition."""


class LogState(NamedTuple):
    """The newest record of each key in front of a position, the one that was written least recently first."""

    position: int
    epoch: int
    newest: Mapping[bytes | None, StoredRecord]

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return sum(len(record.key or b"") + len(record.value or b"") + _RECORD_BYTES for record in self.newest.values())


class LogMemory:
    """The states of the logs that were read last. Safe for several threads; a state is never changed."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._states: dict[LogKey, LogState] = {}

    def state(self, key: LogKey, end: int) -> LogState | None:
        """What is remembered of a log that is read up to `end`; None: nothing, or more than that."""
        with self._lock:
            state = self._states.get(key)
        return state if state is not None and state.position <= end else None

    def keep(self, key: LogKey, state: LogState) -> None:
        """Remembers a state in place of an earlier one, unless a key is deleted in it: compaction takes out what deletes it, and then
        nothing of the log tells any more. What was read least recently makes room."""
        with self._lock:
            self._states.pop(key, None)
            if key[0] in _NO_ID or any(record.value is None for record in state.newest.values()):
                return
            self._states[key] = state
            size = sum(other.bytes for other in self._states.values())
            while size > self._most_bytes:
                size -= self._states.pop(next(iter(self._states))).bytes

    def forget(self, key: LogKey) -> None:
        """Remembers nothing of a log."""
        with self._lock:
            self._states.pop(key, None)


MEMORY = LogMemory()
"""Of this process."""
