"""A lane that is fenced, and whose ledger partition does not show its end yet."""

from collections.abc import Iterable
from types import SimpleNamespace

import pytest

from kafka_mirror.errors import DeadlineExceeded, LedgerHidden
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import polling
from kafka_mirror.kafka.model import LogOffsets
from kafka_mirror.ledger import topic as ledger_topic
from kafka_mirror.ledger.topic import Ledger

LANE = TopicPartition("mm2-ledger.east.internal", 0)


class Target:
    """Its last stable offset reaches the end, 7, after so many questions."""

    alias, timeout, settings = "west", 30.0, {}

    def __init__(self, after: float) -> None:
        self.after = after
        self.asked = 0

    def offsets(self, partitions: Iterable[TopicPartition], at: str, committed: bool = False) -> dict[TopicPartition, int]:
        self.asked += committed
        return dict.fromkeys(partitions, 5 if committed and self.asked <= self.after else 7)

    def log_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, LogOffsets]:
        stable = self.offsets(partitions, "latest", committed=True)
        return {lane: LogOffsets(0, stable[lane], 7, 0) for lane in partitions}


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time passes by sleeping alone, and an empty topic is read."""
    passing = SimpleNamespace(now=0.0)

    def sleep(seconds: float) -> None:
        passing.now += seconds
        assert passing.now < 60, "it waits on and on"

    monkeypatch.setattr(ledger_topic, "newest_records", lambda *_: [])
    monkeypatch.setattr(polling, "time", SimpleNamespace(monotonic=lambda: passing.now, sleep=sleep))
    return passing


def fenced(target: Target) -> int:
    return Ledger(LANE.topic, 1, target, {}).read_fenced(0).end  # type: ignore[arg-type]


def test_a_ledger_whose_end_shows_is_read_at_once(clock: SimpleNamespace) -> None:
    target = Target(after=0)
    assert fenced(target) == 7
    assert (target.asked, clock.now) == (1, 0)


def test_a_marker_that_is_on_its_way_is_waited_for(clock: SimpleNamespace) -> None:
    assert fenced(Target(after=10)) == 7
    assert 0 < clock.now < 2


def test_a_lane_is_not_read_while_a_transaction_hides_its_end(clock: SimpleNamespace) -> None:
    with pytest.raises(LedgerHidden) as raised:
        fenced(Target(after=float("inf")))
    assert (raised.value.topic, raised.value.partition) == LANE
    assert clock.now == pytest.approx(2, abs=0.1)


def test_a_commit_whose_marker_a_slow_broker_has_not_written_yet_is_waited_for_as_long_as_a_request_may_take(
    clock: SimpleNamespace,
) -> None:
    ledger = Ledger(LANE.topic, 1, Target(after=100), {})  # type: ignore[arg-type]
    assert ledger.await_ended({0: 7})
    assert 2 < clock.now < 30
    for end in (7, 8):  # what a lane knows includes the marker, which has no offset yet
        clock.now = 0
        with pytest.raises(DeadlineExceeded, match=rf"internal-0 reaches {end}, and readers of committed records see it up to 5"):
            Ledger(LANE.topic, 1, Target(after=float("inf")), {}).await_ended({0: end})  # type: ignore[arg-type]


@pytest.mark.parametrize(("after", "end"), [(0, 7), (0, 8), (float("inf"), 9), (float("inf"), 5)])
def test_nothing_is_waited_for_where_all_shows_or_a_broker_does_not_reach_so_far(clock: SimpleNamespace, after: float, end: int) -> None:
    assert not Ledger(LANE.topic, 1, Target(after), {}).await_ended({0: end})  # type: ignore[arg-type]
    assert clock.now == 0


def test_what_was_read_of_a_lane_before_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def answer(_target: object, _settings: object, ranges: object) -> list[object]:
        asked.append(ranges)
        return []

    monkeypatch.setattr("kafka_mirror.ledger.topic.newest_records", answer)
    ledger = Ledger(LANE.topic, 2, Target(after=0), {})  # type: ignore[arg-type]
    assert ledger.read().ends == {0: 7, 1: 7}
    ledger.read(since={0: 3})
    other = LANE._replace(partition=1)
    assert asked == [{LANE: (0, 7), other: (0, 7)}, {LANE: (3, 7), other: (0, 7)}]
