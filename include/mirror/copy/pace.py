"""A lane's pace while it runs: its throttle, and what people decide about it meanwhile.

A lane runs wherever Spark put it, so it looks for itself: now and then it asks for the end of the control topic, which is one small
request, and reads what is new there.
"""

import time

from mirror.copy.model import LaneTask
from mirror.copy.throttle import Throttle, portion
from mirror.formats.control import THROTTLE, Decision, decode
from mirror.kafka.cluster import Cluster
from mirror.kafka.reading import BoundedReader
from mirror.offsets.partition import TopicPartition
from mirror.plan.decisions import Decisions

LOOK_EVERY_SECONDS = 1.0
"""How soon a lane learns of a new decision at the earliest; a run that is done before costs no question."""
_READ_SECONDS = 15.0
_NAP_SECONDS = 0.25


class Pace:
    """Kept over the attempts of one run."""

    def __init__(self, task: LaneTask) -> None:
        self._task = task
        decided = Decisions(task.decisions).throttle
        self._throttle = Throttle(_rate(decided, task), task.throttle_share)
        self._control = TopicPartition(task.control_topic, 0)
        self._read_to = 0
        self._looked = time.monotonic()

    @property
    def rate(self) -> int:
        """How many bytes a second the lane may copy now; -1: no limit."""
        return self._throttle.rate

    def transaction_bytes(self, most: int) -> int:
        """How much the next transaction may hold, if nothing else allows more than `most`."""
        return self._throttle.transaction_bytes(most)

    @property
    def portion(self) -> int | None:
        """How much to fetch at a time at this rate, a power of two; None: as much as there is."""
        return portion(self.rate)

    def copied(self, size: int, seconds: float) -> None:
        """After a transaction of so many bytes, which took so long."""
        self._throttle.copied(size, seconds)

    def await_turn(self, target: Cluster, deadline: float) -> bool:
        """Waits until the next transaction may begin, whatever is decided meanwhile. False: not before the run's `deadline`."""
        while True:
            self._look(target)
            seconds = self._throttle.wait_seconds()
            if not seconds:
                return True
            if time.monotonic() + seconds > deadline:
                return False
            time.sleep(min(seconds, _NAP_SECONDS))

    def _look(self, target: Cluster) -> None:
        if not self._control.topic or time.monotonic() - self._looked < LOOK_EVERY_SECONDS:
            return
        end = target.offsets([self._control], "latest", committed=True).get(self._control, self._read_to)
        if end > self._read_to:
            newest = self._newest(end)
            if newest is not None:
                self._throttle.change(_rate(newest, self._task))
            self._read_to = end
        self._looked = time.monotonic()

    def _newest(self, end: int) -> Decision | None:
        """The newest decision about the throttle in what was not read before."""
        task, newest = self._task, None
        for message in BoundedReader(task.target, task.clients.target_consumer).read({self._control: (self._read_to, end)}, _READ_SECONDS):
            value = message.value()
            decision = None if value is None else decode(bytes(value), f"{self._control}@{message.offset()}")
            if decision is not None and decision.decision == THROTTLE:
                newest = decision
        return newest


def _rate(decided: Decision | None, task: LaneTask) -> int:
    if decided is None or decided.bytes_per_second is None:
        return task.max_bytes_per_second
    return decided.bytes_per_second
