"""A lane's transactions: what it means for a lane that its transaction ended."""

import kafka.errors as errors

from kafka_mirror.copy.model import LaneTask
from kafka_mirror.errors import MirrorError, Overtaken, TransactionTooSlow
from kafka_mirror.kafka.broker_pool import BrokerPool
from kafka_mirror.kafka.transactions import Transactions

OLD_SHARE = 0.8
"""From this part of its timeout on a transaction counts as ended by the broker for its age."""


class LaneTransactions(Transactions):
    """The transactions under a lane's transactional id. Opening it fences every earlier attempt and ends its open transaction."""

    def __init__(self, task: LaneTask, pool: BrokerPool) -> None:
        self._lane = task.lane
        self.timeout = task.transaction_timeout_ms / 1000
        """After how many seconds the target aborts a transaction."""
        super().__init__(pool, task.transactional_id, task.transaction_timeout_ms)

    def translate(self, code: int, step: str) -> Exception:
        """As for every transaction, with the lane in front."""
        return super().translate(code, f"lane {self._lane}: {step}")

    def translate_fence(self, code: int) -> MirrorError:
        """One that the broker ended for its age looks exactly like a fence; only its age tells them apart."""
        if self.age >= OLD_SHARE * self.timeout:
            return TransactionTooSlow(self._lane, self.age, self.timeout)
        return Overtaken(self._lane, code == errors.InvalidProducerIdMappingError.errno)

    @property
    def what(self) -> str:
        """The lanes' ids differ in the lane alone, and one grant for their prefix is what a person would give."""
        return f"transactional ids with the prefix {self.id.removesuffix(str(self._lane))}"
