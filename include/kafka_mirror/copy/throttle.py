"""How fast a lane may copy: small transactions, and a pause after each, outside of any transaction.

A transaction is as short as ever, however low the rate, so none comes near its timeout: only the time between them grows. What a lane may
copy is its share of the flow's rate (`divide_rate`), so that the lanes together keep to it without knowing of each other.

People may decide otherwise while a lane runs. It runs wherever Spark put it, so it looks for itself: now and then it asks for the end of
the control topic, which is one small request, and reads what is new there. A lane that follows looks before its first transaction too: the
plan may be older than Spark's start.
"""

import math
import time
from collections.abc import Callable, Sequence

from kafka_mirror.copy.model import LaneTask
from kafka_mirror.copy.next_transaction import estimate_bytes
from kafka_mirror.copy.plan.model import Range
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.control_records import NOTES, THROTTLE, UNLIMITED, Decision, decode
from kafka_mirror.ledger.decisions import Decisions

_SECONDS_A_TRANSACTION = 2.0
"""So much of the time a transaction may take up: the shorter, the smoother, and the more of them there are."""
_SMALLEST_PORTION = 16 * 1024
_LARGEST_PORTION = 4 * 1024 * 1024
_EVERYBODYS_PART = 0.25
"""This part of the rate is the same for all lanes, however little work one has."""

LOOK_EVERY_SECONDS = 1.0
"""How soon a lane learns of a new decision at the earliest; a run of one plan that is done before costs no question."""
_READ_SECONDS = 15.0
_NAP_SECONDS = 0.25


class Throttle:
    """The pace of one lane; kept over the attempts of one run. Rates are bytes of keys, values and headers a second, before compression."""

    def __init__(self, bytes_per_second: int, share: float = 1.0, now: Callable[[], float] = time.monotonic) -> None:
        """`bytes_per_second` is the flow's rate (-1: no limit), `share` what part of it is the lane's."""
        self._share = share
        self._now = now
        self._free_at = now()
        self.rate = self._take_share(bytes_per_second)
        """The lane's own rate; -1: no limit."""

    def change(self, bytes_per_second: int) -> None:
        """From now on the flow has this rate. What is left to wait for shrinks or grows with it."""
        rate, now = self._take_share(bytes_per_second), self._now()
        if self.rate != UNLIMITED and self._free_at > now:
            owed = (self._free_at - now) * self.rate
            self._free_at = now if rate == UNLIMITED else now + owed / rate
        self.rate = rate

    def limit_size(self, most: int) -> int:
        """How much the next transaction may hold, if nothing else allows more than `most`."""
        return most if self.rate == UNLIMITED else max(1, min(most, int(self.rate * _SECONDS_A_TRANSACTION)))

    @property
    def portion(self) -> int | None:
        """How much to fetch at a time: what may be copied in a transaction, and no less than is worth a request. A power of two, so that a
        small change of the rate changes nothing. None: as much as there is."""
        if self.rate == UNLIMITED:
            return None
        wanted = max(_SMALLEST_PORTION, int(self.rate * _SECONDS_A_TRANSACTION))
        return None if wanted >= _LARGEST_PORTION else 1 << (wanted.bit_length() - 1)

    @property
    def wait_seconds(self) -> float:
        """How long the next transaction has to wait yet; 0: not at all."""
        return max(self._free_at - self._now(), 0.0)

    def count(self, size: int, seconds: float) -> None:
        """Counts a transaction of `size` bytes, which took this many seconds itself."""
        if self.rate != UNLIMITED:
            now = self._now()
            self._free_at = max(self._free_at, now - seconds) + size / self.rate

    def _take_share(self, bytes_per_second: int) -> int:
        return UNLIMITED if bytes_per_second == UNLIMITED else max(1, int(bytes_per_second * self._share))


def divide_rate(lanes: Sequence[Sequence[Range]], at_once: int) -> list[float]:
    """What part of the flow's rate each lane may have, of which `at_once` are copied at the same time: this many of them never have more
    than all of it together. By how much each has to do, so that they are done at about the same time; and none gets next to nothing."""
    sizes = [sum(estimate_bytes(planned.offsets, planned.records, planned.bytes) for planned in ranges) for ranges in lanes]
    whole = sum(sizes) or 1
    parts = [_EVERYBODYS_PART / len(sizes) + (1 - _EVERYBODYS_PART) * size / whole for size in sizes]
    at_most = sum(sorted(parts, reverse=True)[:at_once])
    return [part / at_most for part in parts]


class Pace:
    """A lane's throttle and what people decide about it while the lane runs; kept over the attempts of one run."""

    def __init__(self, task: LaneTask) -> None:
        self._task = task
        rate = _choose_rate(Decisions(task.decisions).throttle, task.max_bytes_per_second)
        self.throttle = Throttle(rate, task.throttle_share)
        self._control = TopicPartition(task.control_topic, 0)
        self._read_to = task.control_end
        self.has_news = False
        """Whether anything was decided since the plan, as far as the lane has looked."""
        self._looked = -math.inf if task.follow_seconds else time.monotonic()

    def await_turn(self, target: Cluster, deadline: float) -> bool:
        """Waits until the next transaction may begin, or a lane that follows is to end for what was decided. False: not before the run's
        `deadline`."""
        while True:
            if time.monotonic() - self._looked >= LOOK_EVERY_SECONDS:
                self.look(target)
            seconds = self.throttle.wait_seconds
            if not seconds or (self._task.follow_seconds and self.has_news):
                return True
            if time.monotonic() + seconds > deadline:
                return False
            time.sleep(min(seconds, _NAP_SECONDS))

    def look(self, target: Cluster, end: int | None = None) -> None:
        """Reads whether anything was decided. `end`: that of the control topic, if somebody asked for it just now."""
        if not self._control.topic:
            return
        if end is None:
            end = target.offsets([self._control], "latest", committed=True).get(self._control, self._read_to)
        if end > self._read_to:
            newest = self._find_newest(end)
            if newest is not None:
                self.throttle.change(_choose_rate(newest, self._task.max_bytes_per_second))
            self._read_to = end
        self._looked = time.monotonic()

    def _find_newest(self, end: int) -> Decision | None:
        """The newest decision about the throttle in what was not read before."""
        task, newest = self._task, None
        for message in BoundedReader(task.target, task.clients.target_consumer).read({self._control: (self._read_to, end)}, _READ_SECONDS):
            value = message.value
            decision = None if value is None else decode(value, f"{self._control}@{message.offset}")
            self.has_news |= decision is None or decision.decision not in NOTES
            if decision is not None and decision.decision == THROTTLE:
                newest = decision
        return newest


def _choose_rate(decided: Decision | None, configured: int) -> int:
    return configured if decided is None or decided.bytes_per_second is None else decided.bytes_per_second
