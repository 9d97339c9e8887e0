"""Reading partitions to an end, with consumers whose fetches end early, as they may after a leader change, or come to nothing."""

import json
import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from mirror.errors import AuthorizationRefused, DeadlineExceeded, LogMoved, MirrorError, StaleAnswer
from mirror.kafka import reader
from mirror.kafka.reader import PARTITIONS_AT_ONCE, BoundedReader, Part, PartReader, TimeIsUp
from mirror.offsets.partition import TopicPartition

TP, OTHER = TopicPartition("ledger", 0), TopicPartition("ledger", 1)


class FakeMessage:
    """A record, or an event at an offset: the end of the partition, or another error."""

    def __init__(self, tp: TopicPartition, offset: int, end: bool = False, error: KafkaError | None = None) -> None:
        self._tp = tp
        self._offset = offset
        self._error = KafkaError(KafkaError._PARTITION_EOF) if end else error

    def topic(self) -> str:
        return self._tp.topic

    def partition(self) -> int:
        return self._tp.partition

    def offset(self) -> int:
        return self._offset

    def error(self) -> KafkaError | None:
        return self._error


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the consumer hand out these batches, one after the other."""

    def hand_out(*batches: Sequence[FakeMessage]) -> None:
        left = list(batches)

        class FakeConsumer:
            def __init__(self, settings: object) -> None: ...

            def incremental_assign(self, partitions: object) -> None: ...

            def incremental_unassign(self, partitions: object) -> None: ...

            def consume(self, number: int, timeout: float) -> Sequence[FakeMessage]:
                return left.pop(0) if left else []

            def close(self) -> None: ...

        monkeypatch.setattr(reader, "Consumer", FakeConsumer)

    return hand_out


@pytest.fixture
def read(consumer: Any) -> Any:
    """Reads the given ranges while the consumer hands out these batches: the offsets per partition, in order."""

    def run(ranges: Any, batches: Sequence[Sequence[FakeMessage]], seconds: float = 30, in_all: bool = False) -> Any:
        consumer(*batches)
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
    assert (raised.value.log, raised.value.read, raised.value.furthest, raised.value.retriable) == (TP, 5, 8, True)
    with pytest.raises(StaleAnswer):
        read({TP: (5, 8)}, [[FakeMessage(TP, 2, end=True)]])


def test_a_range_that_begins_in_front_of_the_log_is_read_from_where_the_log_starts(read: Any) -> None:
    assert read({TP: (0, 8)}, [[FakeMessage(TP, 6), FakeMessage(TP, 7)]]) == {TP: [6, 7]}


def test_what_stands_behind_the_wanted_end_is_not_given_and_ends_the_range(read: Any) -> None:
    assert read({TP: (0, 3)}, [[FakeMessage(TP, 1), FakeMessage(TP, 5)]]) == {TP: [1]}


def test_a_range_that_is_read_on_and_on_is_not_late_unless_all_of_it_has_its_time(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(reader.time, "monotonic", lambda: float(next(clock)))
    batches = [[FakeMessage(TP, offset)] for offset in range(20)]
    assert read({TP: (0, 20)}, list(batches), seconds=3) == {TP: list(range(20))}
    with pytest.raises(DeadlineExceeded, match=r"ledger-0@20 was not reached"):
        read({TP: (0, 20)}, list(batches), seconds=3, in_all=True)


def test_a_client_that_gets_on_through_aborted_records_is_not_late(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(reader.time, "monotonic", lambda: float(next(clock)))

    class Consumer:
        def __init__(self, settings: dict[str, Any]) -> None:
            self.told, self.fetched = settings.get("stats_cb"), 0

        def incremental_assign(self, partitions: object) -> None: ...

        def close(self) -> None: ...

        def consume(self, number: int, timeout: float) -> Sequence[FakeMessage]:
            self.fetched += 100
            if self.told:
                self.told(json.dumps({"topics": {TP.topic: {"partitions": {"0": {"next_offset": self.fetched}}}}}))
            return [FakeMessage(TP, 5000, end=True)] if self.fetched >= 5000 else []

    monkeypatch.setattr(reader, "Consumer", Consumer)
    assert BoundedReader("west", {}).first_visible({TP: (0, 5000)}, 9, {}, in_all=False) == {}
    with pytest.raises(DeadlineExceeded):
        BoundedReader("west", {}).first_visible({TP: (0, 5000)}, 9, {})


def test_an_end_that_never_comes_is_an_error_that_names_it(read: Any) -> None:
    with pytest.raises(DeadlineExceeded, match=r"ledger-0@4 was not reached"):
        read({TP: (0, 4)}, [[FakeMessage(TP, 2, end=True)]], seconds=0.05)


def test_the_first_visible_record_that_is_wanted_ends_its_range(consumer: Any) -> None:
    consumer([FakeMessage(TP, 0), FakeMessage(TP, 1), FakeMessage(OTHER, 0, end=True), FakeMessage(TP, 2)], [FakeMessage(OTHER, 3)])
    found = BoundedReader("west", {}).first_visible({TP: (0, 9), OTHER: (0, 9)}, 30, {}, accept=lambda message: (message.offset() or 0) > 0)
    assert {tp: message.offset() for tp, message in found.items()} == {TP: 1, OTHER: 3}


def test_what_was_found_before_time_was_up_is_given_if_that_is_enough(consumer: Any) -> None:
    consumer([FakeMessage(TP, 4)])
    found = BoundedReader("west", {}).first_visible({TP: (0, 9), OTHER: (0, 9)}, 0.05, {}, partial=True)
    assert {tp: message.offset() for tp, message in found.items()} == {TP: 4}


def test_a_topic_that_may_not_be_read_ends_all_its_ranges_where_errors_are_taken_and_is_raised_elsewhere(consumer: Any) -> None:
    third = TopicPartition("orders", 0)
    refusal = FakeMessage(TP, 0, error=KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    ranges, errors = {TP: (0, 9), OTHER: (0, 9), third: (0, 2)}, dict[str, MirrorError]()
    consumer([refusal], [FakeMessage(third, 0), FakeMessage(third, 1)])
    assert [message.offset() for message in BoundedReader("west", {}).read(ranges, 30, errors)] == [0, 1]
    assert [(topic, type(error)) for topic, error in errors.items()] == [("ledger", AuthorizationRefused)]
    consumer([refusal])
    with pytest.raises(AuthorizationRefused):
        list(BoundedReader("west", {}).read(ranges, 30))


# ------------------------------------------------------------ many records


class Broker:
    """A consumer whose partitions hold these offsets, and which hands out a few records of one partition at a time."""

    left: ClassVar[dict[TopicPartition, list[int]]]
    most: ClassVar[int] = 0
    listings: ClassVar[int] = 0

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.assigned: dict[TopicPartition, int] = {}

    def list_topics(self, timeout: float) -> None:
        Broker.listings += 1
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))  # whoever reads gets on without

    def incremental_assign(self, partitions: Iterable[Any]) -> None:
        self.assigned |= {TopicPartition(each.topic, each.partition): each.offset for each in partitions}
        Broker.most = max(Broker.most, len(self.assigned))

    def incremental_unassign(self, partitions: Iterable[Any]) -> None:
        for each in partitions:
            del self.assigned[TopicPartition(each.topic, each.partition)]

    def consume(self, number: int, timeout: float) -> Sequence[FakeMessage]:
        for tp, position in self.assigned.items():
            offsets = [offset for offset in Broker.left[tp] if offset >= position][:3]
            if offsets:
                self.assigned[tp] = offsets[-1] + 1
                return [FakeMessage(tp, offset) for offset in offsets]
        return [FakeMessage(tp, 1000, end=True) for tp in self.assigned]

    def close(self) -> None: ...


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The offsets that are read of each partition, with the errors, while the partitions hold some."""

    def run(held: Mapping[TopicPartition, Iterable[int]], wanted: Mapping[TopicPartition, Part]) -> Any:
        Broker.left, Broker.most, Broker.listings = {tp: list(offsets) for tp, offsets in held.items()}, 0, 0
        monkeypatch.setattr(reader, "Consumer", Broker)
        found: dict[TopicPartition, list[int]] = {tp: [] for tp in wanted}
        errors: dict[TopicPartition, MirrorError] = {}
        for tp, messages in PartReader("west", {}, True, 30).batches(wanted, errors):
            found[tp] += [int(each.offset() or 0) for each in messages]
        return found, errors

    return run


def test_a_part_is_read_to_its_last_record_and_without_what_is_left_out(parts: Any) -> None:
    held = {TP: range(20), OTHER: range(5)}
    found, errors = parts(held, {TP: Part(2, 9, ((4, 6), (8, 9))), OTHER: Part(0, 5)})
    assert found == {TP: [2, 3, 6, 7], OTHER: [0, 1, 2, 3, 4]}
    assert errors == {}


def test_a_part_that_ends_in_markers_ends_with_the_partition(parts: Any) -> None:
    assert parts({TP: [0, 1]}, {TP: Part(0, 4)})[0] == {TP: [0, 1]}


def test_many_partitions_are_read_some_at_a_time(parts: Any) -> None:
    held = {TopicPartition("many", number): range(4) for number in range(3 * PARTITIONS_AT_ONCE)}
    found, _ = parts(held, dict.fromkeys(held, Part(0, 4)))
    assert found == {tp: [0, 1, 2, 3] for tp in held}
    assert Broker.most == PARTITIONS_AT_ONCE


@pytest.fixture
def mock_cluster() -> Iterator[tuple[str, list[TopicPartition]]]:
    """The address of a cluster that the client itself plays, and the partitions of its topics, of which each holds one record."""
    topics = [f"orders-{number}" for number in range(30)]
    producer = Producer({"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0})
    for topic in topics:
        producer.produce(topic, b"value", partition=0)
    assert producer.flush(30) == 0
    brokers = producer.list_topics(timeout=30).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers), [TopicPartition(topic, 0) for topic in topics]


def test_topics_that_come_later_are_read_as_soon_as_those_that_come_first(mock_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that met them one by one would take a second for each."""
    address, partitions = mock_cluster
    monkeypatch.setattr(reader, "PARTITIONS_AT_ONCE", 1)
    begun, errors = time.monotonic(), dict[TopicPartition, MirrorError]()
    reading = PartReader("west", {"bootstrap.servers": address}, True, 30).batches(dict.fromkeys(partitions, Part(0, 1)), errors)
    assert [(tp, len(messages)) for tp, messages in reading] == [(tp, 1) for tp in sorted(partitions)]
    assert errors == {}
    assert time.monotonic() - begun < len(partitions) - 2


@pytest.mark.parametrize(("partitions", "listed"), [((TP, OTHER), 0), ((TP, OTHER, TopicPartition("orders", 0)), 1)])
def test_the_topics_are_listed_only_where_some_come_later(
    parts: Any, monkeypatch: pytest.MonkeyPatch, partitions: Any, listed: int
) -> None:
    monkeypatch.setattr(reader, "PARTITIONS_AT_ONCE", 1)
    held = {tp: range(4) for tp in partitions}
    assert parts(held, dict.fromkeys(held, Part(0, 4)))[0] == {tp: [0, 1, 2, 3] for tp in held}
    assert Broker.listings == listed


class Failing(Broker):
    """Of one partition it hands out an error behind the first record."""

    def consume(self, number: int, timeout: float) -> Sequence[FakeMessage]:
        if TP in self.assigned and self.assigned[TP] > 0:
            return [FakeMessage(TP, 1, error=KafkaError(KafkaError._AUTO_OFFSET_RESET, "out of range"))]
        if TP in self.assigned:
            self.assigned[TP] = 1
            return [FakeMessage(TP, 0)]
        return super().consume(number, timeout)


def test_a_part_whose_start_goes_away_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    Broker.left = {OTHER: [0, 1, 2, 3]}
    monkeypatch.setattr(reader, "Consumer", Failing)
    errors: dict[TopicPartition, MirrorError] = {}
    found = [
        (tp, each.offset())
        for tp, messages in PartReader("west", {}, True, 30).batches({TP: Part(0, 4), OTHER: Part(0, 4)}, errors)
        for each in messages
    ]
    assert found == [(TP, 0), *((OTHER, offset) for offset in range(4))]
    assert [(tp, type(error)) for tp, error in errors.items()] == [(TP, LogMoved)]


class Silent(Broker):
    """Nothing ever comes of it; each question takes a second."""

    def consume(self, number: int, timeout: float) -> Sequence[FakeMessage]:
        return []


def test_a_reading_of_which_nothing_comes_is_late_and_one_beyond_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr(reader.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(reader, "Consumer", Silent)
    with pytest.raises(DeadlineExceeded, match=r"nothing came for 9 s, and the end of ledger-0@4 was not reached"):
        list(PartReader("west", {}, True, 9).batches({TP: Part(0, 4)}, {}))
    with pytest.raises(TimeIsUp):
        list(PartReader("west", {}, True, 1000, ends_at=100.0).batches({TP: Part(0, 4)}, {}))


def test_whoever_takes_the_records_may_take_his_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(reader.time, "monotonic", lambda: now[0])
    Broker.left = {TP: list(range(7))}
    monkeypatch.setattr(reader, "Consumer", Broker)
    taken = []
    for _, messages in PartReader("west", {}, True, 5).batches({TP: Part(0, 7)}, {}):
        now[0] += 60
        taken += messages
    assert len(taken) == 7


def test_a_consumer_that_does_not_end_is_left_behind_and_said(caplog: pytest.LogCaptureFixture) -> None:
    released, closed = threading.Event(), list[bool]()
    with caplog.at_level(logging.WARNING):
        reader._close(SimpleNamespace(close=released.wait), seconds=0.05)
        reader._close(SimpleNamespace(close=lambda: closed.append(True)))
    released.set()
    assert "A consumer did not close within 0.05 s" in caplog.text
    assert (closed, len(caplog.records)) == ([True], 1)
