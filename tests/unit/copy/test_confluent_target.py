"""How old a transaction is: from its first record on, whatever the source took until then."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from mirror.copy import confluent_target
from mirror.copy.confluent_target import Target
from mirror.copy.model import LaneTask
from mirror.errors import TransactionTooSlow


class SlowProducer:
    """Acknowledges after the given seconds of an artificial clock."""

    clock = 0.0
    takes = 0.5

    def __init__(self, settings: object) -> None:
        self.waiting, self.since = 0, 0.0

    def begin_transaction(self) -> None: ...

    def init_transactions(self, seconds: float) -> None: ...

    def list_topics(self, topic: str, seconds: float) -> None: ...

    def commit_transaction(self, seconds: float) -> None: ...

    def poll(self, seconds: float) -> None: ...

    def produce(self, *arguments: object) -> None:
        self.waiting, self.since = self.waiting + 1, SlowProducer.clock

    def flush(self, seconds: float) -> int:
        SlowProducer.clock += seconds
        if SlowProducer.clock - self.since >= SlowProducer.takes:
            self.waiting = 0
        return self.waiting


@pytest.fixture
def open_target(lane_task: LaneTask, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Target]:
    monkeypatch.setattr(SlowProducer, "clock", 1000.0)
    monkeypatch.setattr(confluent_target, "Producer", SlowProducer)
    monkeypatch.setattr(confluent_target, "time", SimpleNamespace(monotonic=lambda: SlowProducer.clock, sleep=lambda _seconds: None))
    return lambda: Target(lane_task, 1_000_000)


@pytest.mark.parametrize("empty", [5, 70, 7000])
def test_a_transaction_that_waited_for_its_first_record_is_not_too_old_for_the_ledger(
    open_target: Callable[[], Target], empty: float
) -> None:
    target = open_target()
    target.begin()
    SlowProducer.clock += empty
    assert target.age == 0
    target.record("ledger", 0, [(b"key", b"value")])
    assert 0 < target.age < 2
    target.commit()


def test_a_ledger_that_is_not_acknowledged_in_the_transactions_time_is_too_slow(
    open_target: Callable[[], Target], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SlowProducer, "takes", 1e6)
    with pytest.raises(TransactionTooSlow):
        open_target().record("ledger", 0, [(b"key", b"value")])
