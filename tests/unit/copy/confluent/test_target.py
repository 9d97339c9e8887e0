"""How old a transaction is: from its first record on, whatever the source took until then."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import ClassVar

import pytest

from mirror.copy.confluent import target as confluent_target
from mirror.copy.confluent.partition import InFlightPartition
from mirror.copy.confluent.target import TransactionalProducer
from mirror.copy.engine import PartitionAssignment, RecordLimits
from mirror.copy.model import LaneTask
from mirror.errors import DeadlineExceeded, TransactionTooSlow
from mirror.kafka import fence
from mirror.offsets.partition import TopicPartition


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
def open_target(lane_task: LaneTask, monkeypatch: pytest.MonkeyPatch) -> Callable[[], TransactionalProducer]:
    monkeypatch.setattr(SlowProducer, "clock", 1000.0)
    monkeypatch.setattr(fence, "Producer", SlowProducer)
    monkeypatch.setattr(confluent_target, "time", SimpleNamespace(monotonic=lambda: SlowProducer.clock, sleep=lambda _seconds: None))
    return lambda: TransactionalProducer(lane_task, 1_000_000)


@pytest.mark.parametrize("empty", [5, 70, 7000])
def test_a_transaction_that_waited_for_its_first_record_is_not_too_old_for_the_ledger(
    open_target: Callable[[], TransactionalProducer], empty: float
) -> None:
    target = open_target()
    target.begin()
    SlowProducer.clock += empty
    assert target.age == 0
    target.record("ledger", 0, [(b"key", b"value")])
    assert 0 < target.age < 2
    target.commit()


def test_a_ledger_that_is_not_acknowledged_in_the_transactions_time_is_too_slow(
    open_target: Callable[[], TransactionalProducer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SlowProducer, "takes", 1e6)
    with pytest.raises(TransactionTooSlow):
        open_target().record("ledger", 0, [(b"key", b"value")])


# ---------------------------------------------------------------- a full queue, and sizes


class FullProducer(SlowProducer):
    """Takes `room` records and is full then, until it is polled; delivers from `end` on."""

    room, end = 2, 40
    reports: ClassVar[list[Callable[[], None]]] = []

    def produce(self, *arguments: object) -> None:
        if len(FullProducer.reports) >= self.room:
            raise BufferError
        report, offset = arguments[4], FullProducer.end
        FullProducer.end += 1
        FullProducer.reports.append(lambda: report(None, SimpleNamespace(offset=lambda: offset)))  # type: ignore[operator]

    def poll(self, seconds: float) -> None:
        while seconds and FullProducer.reports:
            FullProducer.reports.pop(0)()

    def flush(self, seconds: float) -> int:
        self.poll(seconds)
        return 0

    def __len__(self) -> int:
        return len(FullProducer.reports)


@pytest.fixture
def full(open_target: Callable[[], TransactionalProducer], monkeypatch: pytest.MonkeyPatch) -> TransactionalProducer:
    monkeypatch.setattr(FullProducer, "reports", [])
    monkeypatch.setattr(FullProducer, "end", 40)
    monkeypatch.setattr(fence, "Producer", FullProducer)
    return open_target()


def test_ledger_records_that_do_not_fit_into_the_clients_queue_wait_for_room_and_say_where_they_are(full: TransactionalProducer) -> None:
    assert full.record("ledger", 0, [(b"key", b"value")] * 7) == list(range(40, 47))


def test_a_queue_that_stays_full_of_ledger_records_is_too_slow_and_nothing_unexpected(
    full: TransactionalProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_self: FullProducer, seconds: float) -> None:
        SlowProducer.clock += seconds

    monkeypatch.setattr(FullProducer, "poll", never)
    with pytest.raises((TransactionTooSlow, DeadlineExceeded)):
        full.record("ledger", 0, [(b"key", b"value")] * 7)


@pytest.mark.parametrize(("headers", "size"), [(None, 8), ([], 8), ([("trace", b"1234"), ("\u00e9", None), ("", b"")], 8 + 5 + 4 + 2)])
def test_headers_count_in_the_size_of_a_transaction_and_in_what_is_copied(
    full: TransactionalProducer, headers: list[tuple[str, bytes | None]] | None, size: int
) -> None:
    flow = InFlightPartition(PartitionAssignment(TopicPartition("orders", 0), "east.orders", 0, 10, None, RecordLimits()), "west")
    full.begin()
    full.send(flow, SimpleNamespace(value=lambda: b"value", key=lambda: b"key"), 0, 1, headers)  # type: ignore[arg-type]
    assert (flow.bytes, full.bytes) == (size, size + 20)
