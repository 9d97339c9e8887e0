"""Two brokers on the loopback, batches for them, and a lane between them."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder

from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.model import LaneTask, PartitionAssignment, RecordLimits
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.lane_tasks import make_lane_task

ORDERS = TopicPartition("orders", 0)
REMOTE = TopicPartition("east.orders", 0)
LEDGER = TopicPartition("mm2-ledger.east.internal", 0)


def batch_of(
    values: Sequence[bytes], *, producer_id: int = -1, transactional: bool = False, timestamp: int = 1_700_000_000_000
) -> bytearray:
    """A batch as kafka-python's producer makes it."""
    epoch, sequence = (0, 0) if producer_id >= 0 else (-1, -1)
    builder = DefaultRecordBatchBuilder(2, 0, transactional, producer_id, epoch, sequence, 1 << 20)
    for number, value in enumerate(values):
        builder.append(number, timestamp + number, b"key", value, [("header", b"1")])
    return builder.build()


@pytest.fixture(autouse=True)
def joins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' batches are small, and stay closed; `test_small_batches` has them joined."""
    monkeypatch.setattr("kafka_mirror.copy.batches.source.is_small", lambda _: False)


@pytest.fixture
def east() -> Iterator[WireBroker]:
    broker = WireBroker()
    broker.log(*ORDERS)
    yield broker
    broker.close()


@pytest.fixture
def west() -> Iterator[WireBroker]:
    broker = WireBroker()
    for tp in (REMOTE, LEDGER):
        broker.log(*tp)
    yield broker
    broker.close()


@pytest.fixture
def lane_task(east: WireBroker, west: WireBroker) -> LaneTask:
    """A lane without ranges; work is given to the engine."""
    clients = ClientSettings(east.settings, {**east.settings, "fetch.wait.max.ms": 1}, west.settings, west.settings, west.settings)
    return make_lane_task(clients, remote_topics={"orders": "east.orders"}, request_seconds=10.0)


@pytest.fixture
def engine(lane_task: LaneTask) -> Iterator[BatchEngine]:
    made = BatchEngine(lane_task, 1_000_000)
    yield made
    made.close()


@pytest.fixture
def work() -> Callable[..., PartitionAssignment]:
    """`work(0, 10)` are the source offsets [0, 10) of orders-0."""

    def make(start: int, end: int, *, source: TopicPartition = ORDERS, **limits: object) -> PartitionAssignment:
        return PartitionAssignment(source, f"east.{source.topic}", start, end, None, RecordLimits(**limits))

    return make
