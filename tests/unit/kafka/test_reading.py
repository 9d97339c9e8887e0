"""Reading a partition to an end, with a consumer whose fetches end early as they may after a leader change."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaError

from mirror.errors import DeadlineExceeded, StaleAnswer
from mirror.kafka import reading
from mirror.kafka.reading import BoundedReader
from mirror.offsets.partition import TopicPartition

TP, OTHER = TopicPartition("ledger", 0), TopicPartition("ledger", 1)


class FakeMessage:
    """A record, or the end-of-partition event at an offset."""

    def __init__(self, tp: TopicPartition, offset: int, end: bool = False) -> None:
        self._tp = tp
        self._offset = offset
        self._end = end

    def topic(self) -> str:
        return self._tp.topic

    def partition(self) -> int:
        return self._tp.partition

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self._end else None


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Reads the given ranges while the consumer hands out these batches: the offsets per partition, in order."""

    def run(ranges: Any, batches: Sequence[Sequence[FakeMessage]], seconds: float = 30, in_all: bool = False) -> Any:
        left = list(batches)

        class FakeConsumer:
            def __init__(self, settings: object) -> None:
                pass

            def assign(self, partitions: object) -> None:
                pass

            def pause(self, partitions: object) -> None:
                pass

            def consume(self, number: int, timeout: float) -> Sequence[FakeMessage]:
                return left.pop(0) if left else []

            def close(self) -> None:
                pass

        monkeypatch.setattr(reading, "Consumer", FakeConsumer)
        found: dict[TopicPartition, list[int]] = {tp: [] for tp in ranges}
        for message in BoundedReader("west", {}).read(ranges, seconds, in_all=in_all):
            found[TopicPartition(str(message.topic()), int(message.partition() or 0))].append(int(message.offset() or 0))
        return found

    return run


def test_an_end_of_partition_in_front_of_the_wanted_end_is_not_the_end(read: Any) -> None:
    batches = [
        [FakeMessage(TP, 0), FakeMessage(TP, 1), FakeMessage(TP, 2, end=True)],
        [FakeMessage(TP, 2, end=True)],
        [FakeMessage(TP, 2), FakeMessage(TP, 3)],
    ]
    assert read({TP: (0, 4)}, batches) == {TP: [0, 1, 2, 3]}


def test_an_end_of_partition_behind_markers_at_the_wanted_end_is_the_end(read: Any) -> None:
    assert read({TP: (0, 4)}, [[FakeMessage(TP, 0), FakeMessage(TP, 4, end=True)]]) == {TP: [0]}


def test_the_end_of_one_partition_is_not_that_of_another(read: Any) -> None:
    batches = [[FakeMessage(OTHER, 9, end=True)], [FakeMessage(TP, 0), FakeMessage(OTHER, 9, end=True), FakeMessage(TP, 1)]]
    assert read({TP: (0, 2), OTHER: (3, 9)}, batches) == {TP: [0, 1], OTHER: []}


def test_a_broker_that_sends_the_reader_back_to_the_beginning_has_not_what_was_asked_for(
    read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent_back = [[FakeMessage(TP, 0), FakeMessage(TP, 1)]]
    with pytest.raises(StaleAnswer) as raised:
        read({TP: (5, 8)}, list(sent_back))
    assert (raised.value.log, raised.value.read, raised.value.known, raised.value.retriable) == (TP, 5, 8, True)
    with pytest.raises(StaleAnswer):
        read({TP: (5, 8)}, [[FakeMessage(TP, 2, end=True)]])


def test_a_range_that_begins_in_front_of_the_log_is_read_from_where_the_log_starts(read: Any) -> None:
    assert read({TP: (0, 8)}, [[FakeMessage(TP, 6), FakeMessage(TP, 7)]]) == {TP: [6, 7]}


def test_what_stands_behind_the_wanted_end_is_not_given_and_ends_the_range(read: Any) -> None:
    assert read({TP: (0, 3)}, [[FakeMessage(TP, 1), FakeMessage(TP, 5)]]) == {TP: [1]}


def test_a_range_that_is_read_on_and_on_is_not_late_unless_all_of_it_has_its_time(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(reading.time, "monotonic", lambda: float(next(clock)))
    batches = [[FakeMessage(TP, offset)] for offset in range(20)]
    assert read({TP: (0, 20)}, list(batches), seconds=3) == {TP: list(range(20))}
    with pytest.raises(DeadlineExceeded, match=r"ledger-0@20 was not reached"):
        read({TP: (0, 20)}, list(batches), seconds=3, in_all=True)


def test_a_client_that_gets_on_through_aborted_records_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(reading.time, "monotonic", lambda: float(next(clock)))

    class Consumer:
        def __init__(self, settings: dict[str, Any]) -> None:
            self.told, self.fetched = settings.get("stats_cb"), 0

        def assign(self, partitions: object) -> None: ...

        def pause(self, partitions: object) -> None: ...

        def close(self) -> None: ...

        def consume(self, number: int, timeout: float) -> Sequence[FakeMessage]:
            self.fetched += 100
            if self.told:
                self.told(json.dumps({"topics": {TP.topic: {"partitions": {"0": {"next_offset": self.fetched}}}}}))
            return [FakeMessage(TP, 5000, end=True)] if self.fetched >= 5000 else []

    monkeypatch.setattr(reading, "Consumer", Consumer)
    assert BoundedReader("west", {}).first_visible({TP: (0, 5000)}, 9, {}, in_all=False) == {}
    with pytest.raises(DeadlineExceeded):
        BoundedReader("west", {}).first_visible({TP: (0, 5000)}, 9, {})


def test_an_end_that_never_comes_is_an_error_that_names_it(read: Any) -> None:
    with pytest.raises(DeadlineExceeded, match=r"ledger-0@4 was not reached"):
        read({TP: (0, 4)}, [[FakeMessage(TP, 2, end=True)]], seconds=0.05)
