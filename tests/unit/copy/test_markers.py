"""How long a lane waits until what it committed can be read."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace

import pytest

from kafka_mirror.copy.model import LaneResult
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import polling
from tests.unit.copy.conftest import MemoryCluster, World

LEDGER = TopicPartition("mm2-ledger.east.internal", 0)
REMOTE = TopicPartition("east.orders", 0)


@pytest.mark.parametrize(
    ("readable_after", "waits"),
    [
        ({}, 0),
        ({LEDGER: 8}, 8),
        ({REMOTE: 1}, 1),
        ({REMOTE: 60}, 2),
        ({REMOTE: 60, LEDGER: 5}, 5),
        ({LEDGER: 60}, 15),
    ],
)
def test_a_lane_waits_longer_for_its_ledger_than_for_remote_topics(
    copy: Callable[..., LaneResult],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    readable_after: dict[TopicPartition, float],
    waits: float,
) -> None:
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    def offsets(
        self: MemoryCluster, partitions: Iterable[TopicPartition], at: str, committed: bool = False, errors: object = None
    ) -> object:
        return {tp: 0 if committed and clock[0] < readable_after.get(tp, 0) else world.ends.get(tp, 0) for tp in partitions}

    world.ends[LEDGER] = 3
    monkeypatch.setattr(polling, "time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep))
    monkeypatch.setattr(MemoryCluster, "offsets", offsets)
    assert copy().records == 20
    assert clock[0] == pytest.approx(waits, abs=0.05)
