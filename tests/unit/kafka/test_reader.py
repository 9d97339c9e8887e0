"""Reading partitions to an end, over real connections to a broker in memory that moves, breaks off, refuses or has nothing."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest
from kafka.protocol.consumer import FetchRequest, FetchResponse
from kafka.protocol.metadata import MetadataRequest

from kafka_mirror.errors import AuthorizationRefused, ClusterUnreachable, DeadlineExceeded, KafkaFailure, LogMoved, MirrorError, StaleAnswer
from kafka_mirror.formats.batches.record_batch import Attribute
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka import reader
from kafka_mirror.kafka.produce_request import Outgoing, batches_of, keyed_batches
from kafka_mirror.kafka.reader import PARTITIONS_AT_ONCE, BoundedReader, Part, PartReader, TimeIsUp
from tests.unit.copy.batches.batch_logs import hold_back
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION
from tests.unit.formats.batches.test_batch_join import with_header
from tests.unit.kafka.test_old_messages import PLAIN, written

TP, OTHER, THIRD = TopicPartition("ledger", 0), TopicPartition("ledger", 1), TopicPartition("orders", 0)
TOPIC_AUTHORIZATION_FAILED, KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE = 29, 56, 2
STAMP = 1_700_000_000_000
ABORTED = 7
"""The producer of transactions that were aborted."""


def write(broker: WireBroker, tp: TopicPartition, *values: bytes) -> None:
    """Appends records, each in a batch of its own."""
    for value in values:
        (batch,) = batches_of([Outgoing(tp.topic, b"k", value, STAMP)], 1 << 20)
        broker.log(*tp).append(bytes(batch.data))


def end_transaction(broker: WireBroker, tp: TopicPartition, producer: int = ABORTED) -> None:
    """Appends a marker."""
    (batch,) = keyed_batches([(b"", b"")], 1000)
    broker.log(*tp).append(with_header(bytes(batch.data), Attribute.CONTROL | Attribute.TRANSACTIONAL, producer))


def abort(broker: WireBroker, tp: TopicPartition, number: int) -> None:
    """Appends records of a transaction, and that it was aborted."""
    first = broker.log(*tp).end
    for _ in range(number):
        (batch,) = keyed_batches([(b"k", b"aborted")], 1000)
        header, rest = batch.stamp_producer(ABORTED, 0, 0)
        broker.log(*tp).append(header + bytes(rest))
    broker.log(*tp).aborted.append((ABORTED, first))
    end_transaction(broker, tp)


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[WireBroker]:
    monkeypatch.setattr(reader, "_PAUSE_SECONDS", 0.001)
    made = WireBroker()
    write(made, TP, *(b"%d" % number for number in range(4)))
    write(made, OTHER, b"other")
    write(made, THIRD, b"third", b"more")
    yield made
    made.close()


@pytest.fixture
def read(broker: WireBroker) -> Callable[..., dict[TopicPartition, list[int]]]:
    """Reads the given ranges: the offsets of each partition, in order."""

    def run(ranges: Any, seconds: float = 30.0, errors: Any = None, *, committed: bool = True, **more: Any) -> Any:
        found: dict[TopicPartition, list[int]] = {tp: [] for tp in ranges}
        for record in BoundedReader("west", broker.settings, committed).read(ranges, seconds, errors, **more):
            found[record.partition].append(record.offset)
        return found

    return run


def first(broker: WireBroker, ranges: Any, seconds: float = 30.0, errors: Any = None, **more: Any) -> dict[TopicPartition, int]:
    found = BoundedReader("west", broker.settings).first_visible(ranges, seconds, {} if errors is None else errors, **more)
    return {tp: record.offset for tp, record in found.items()}


def test_records_come_whole_and_not_from_behind_the_wanted_end(broker: WireBroker, read: Any) -> None:
    assert read({TP: (1, 3), OTHER: (0, 1), THIRD: (1, 1)}) == {TP: [1, 2], OTHER: [0], THIRD: []}
    (record,) = BoundedReader("west", broker.settings).read({OTHER: (0, 1)}, 30.0)
    assert (record.key, record.value, record.headers, record.leader_epoch) == (b"k", b"other", None, 0)
    assert record.timestamp == (1, STAMP)


def test_a_range_that_ends_in_markers_or_in_what_was_aborted_ends_there(broker: WireBroker, read: Any) -> None:
    end_transaction(broker, TP, producer=9)
    abort(broker, OTHER, 2)
    assert read({TP: (0, 5), OTHER: (0, 4)}) == {TP: [0, 1, 2, 3], OTHER: [0]}
    assert read({OTHER: (0, 4)}, committed=False) == {OTHER: [0, 1, 2]}


def test_what_was_deleted_in_front_is_passed_over(broker: WireBroker, read: Any) -> None:
    log = broker.log(*TP)
    log.batches, log.start = log.batches[2:], 2
    assert read({TP: (0, 4)}) == {TP: [2, 3]}
    assert read({TP: (0, 2)}) == {TP: []}


def test_a_broker_whose_log_ends_in_front_of_a_range_has_not_what_was_asked_for(read: Any) -> None:
    with pytest.raises(StaleAnswer) as raised:
        read({TP: (5, 8)})
    assert (raised.value.log, raised.value.read, raised.value.furthest, raised.value.retriable) == (TP, 4, 5, True)


def test_an_end_that_comes_later_is_waited_for(broker: WireBroker, read: Any) -> None:
    empty = broker._fetch
    asked: list[object] = []

    def grows(request: FetchRequest) -> object:
        asked.append(request)
        if len(asked) == 3:
            write(broker, TP, b"4")
        return empty(request)

    broker.answers[FetchRequest] = grows
    assert read({TP: (3, 5)}) == {TP: [3, 4]}


@pytest.mark.parametrize("in_all", [False, True])
def test_an_end_that_never_comes_is_an_error_that_names_it(read: Any, in_all: bool) -> None:
    with pytest.raises(DeadlineExceeded, match=r"the end of ledger-0@9 was not reached"):
        read({TP: (0, 9)}, seconds=0.1, in_all=in_all)


def test_whoever_gets_on_through_aborted_records_is_not_late(broker: WireBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100_000))
    monkeypatch.setattr(reader.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(reader, "_FIRST_BYTES", 1)
    monkeypatch.setattr(reader, "FETCH_BYTES", 1)
    abort(broker, TP, 50)
    assert first(broker, {TP: (4, 55)}, 150, in_all=False) == {}
    with pytest.raises(DeadlineExceeded):
        first(broker, {TP: (4, 55)}, 150)


def test_the_first_visible_record_that_is_wanted_ends_its_range(broker: WireBroker) -> None:
    assert first(broker, {TP: (0, 4), OTHER: (0, 1)}, accept=lambda record: record.value != b"0") == {TP: 1, OTHER: 0}


def test_what_was_found_before_time_was_up_is_given_if_that_is_enough(broker: WireBroker) -> None:
    assert first(broker, {TP: (0, 4), OTHER: (1, 9)}, 0.1, partial=True) == {TP: 0}
    broker.close()
    assert first(broker, {TP: (0, 4)}, 0.1, partial=True) == {}


@pytest.mark.parametrize("request_type", [FetchRequest, MetadataRequest])
def test_a_topic_that_may_not_be_read_ends_all_its_ranges_where_errors_are_taken_and_is_raised_elsewhere(
    broker: WireBroker, read: Any, request_type: type
) -> None:
    def refuse() -> None:
        for tp in (TP, OTHER, None):
            broker.refusals[request_type, tp].extend([TOPIC_AUTHORIZATION_FAILED] * (tp is not None or request_type is MetadataRequest))

    errors: dict[str, MirrorError] = {}
    refuse()
    ranges = {TP: (0, 4), OTHER: (0, 1)} | ({THIRD: (0, 2)} if request_type is FetchRequest else {})
    assert read(ranges, errors=errors).get(THIRD, [0, 1]) == [0, 1]
    assert [(topic, type(error)) for topic, error in errors.items()] == [("ledger", AuthorizationRefused)]
    refuse()
    with pytest.raises(AuthorizationRefused, match="READ on topic ledger"):
        read(ranges)


def test_a_topic_that_goes_on_being_unknown_is_left_out(broker: WireBroker, read: Any) -> None:
    errors: dict[str, MirrorError] = {}
    assert read({TopicPartition("gone", 0): (0, 4), THIRD: (0, 2)}, 0.2, errors)[THIRD] == [0, 1]
    assert [(topic, error.reason) for topic, error in errors.items() if isinstance(error, KafkaFailure)] == [
        ("gone", "UNKNOWN_TOPIC_OR_PARTITION")
    ]


def test_a_leader_that_moves_and_a_connection_that_breaks_cost_nothing(broker: WireBroker, read: Any) -> None:
    broker.refusals[FetchRequest, TP].extend([FENCED_LEADER_EPOCH, UNKNOWN_TOPIC_OR_PARTITION])
    assert read({TP: (0, 4)}) == {TP: [0, 1, 2, 3]}
    broker.log(*TP).elect(4)
    write(broker, TP, b"4")
    records = BoundedReader("west", broker.settings).read({TP: (0, 5), THIRD: (0, 2)}, 30.0)
    assert next(records).offset == 0
    broker.hang_up()
    assert [record.offset for record in records] == [1, 2, 3, 4, 0, 1]


@pytest.mark.parametrize("code", [FENCED_LEADER_EPOCH, KAFKA_STORAGE_ERROR])
def test_whatever_passes_lets_the_leader_be_looked_for_at_once(broker: WireBroker, read: Any, code: int) -> None:
    broker.refusals[FetchRequest, TP].append(code)
    assert read({TP: (0, 4)}) == {TP: [0, 1, 2, 3]}
    assert len(broker.of(MetadataRequest)) == 2


def test_an_error_of_a_whole_answer_that_passes_is_asked_again(broker: WireBroker, read: Any) -> None:
    codes = [KAFKA_STORAGE_ERROR]
    broker.change_fetches(lambda answer: setattr(answer, "error_code", codes.pop() if codes else 0))
    assert read({TP: (0, 4)}) == {TP: [0, 1, 2, 3]}


def test_a_broker_that_holds_us_back_is_not_late(broker: WireBroker, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hold_back(broker, monkeypatch, throttle_ms=60_000)
    assert read({TP: (0, 4)}) == {TP: [0, 1, 2, 3]}


def test_a_broker_that_says_nothing_for_as_long_is_late(broker: WireBroker, read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    hold_back(broker, monkeypatch, throttle_ms=0)
    with pytest.raises(DeadlineExceeded, match="nothing came for 30 s"):
        read({TP: (0, 4)})


def test_messages_of_before_kafka_0_11_are_read(broker: WireBroker, read: Any) -> None:
    log = broker.log(*TP)
    log.batches[:2] = [written(1, PLAIN, 0, [(STAMP, b"k", b"0"), (STAMP, b"k", b"1")])]
    assert read({TP: (0, 2)}) == {TP: [0, 1]}


@pytest.mark.parametrize("code", [0, CORRUPT_MESSAGE])
def test_what_a_broker_cannot_read_or_sends_wrong_fails_its_partition(broker: WireBroker, parts: Any, code: int) -> None:
    def spoil(answer: FetchResponse) -> None:
        for topic in answer.responses:
            for partition in topic.partitions:
                if partition.partition_index == TP.partition and partition.high_watermark == 4:
                    partition.error_code = code
                    partition.records = b"" if code else b"\0" * 16 + b"\7" + b"\0" * 60

    broker.change_fetches(spoil)
    found, errors = parts({TP: Part(0, 4), THIRD: Part(0, 2)})
    assert found == {TP: [], THIRD: [0, 1]}
    assert [(tp, type(error)) for tp, error in errors.items()] == [(TP, KafkaFailure)]
    assert ("reading ledger-0 failed: CORRUPT_MESSAGE" if code else "ledger-0@0 cannot be read") in errors[TP].message


def test_a_cluster_that_cannot_be_reached_is_the_error(broker: WireBroker, read: Any) -> None:
    broker.close()
    with pytest.raises(ClusterUnreachable):
        read({TP: (0, 4)}, 0.1)


# ------------------------------------------------------------ many records


Found = tuple[dict[TopicPartition, list[int]], dict[TopicPartition, MirrorError]]


@pytest.fixture
def parts(broker: WireBroker) -> Callable[[Mapping[TopicPartition, Part]], Found]:
    """The offsets that are read of each partition, and the errors."""

    def run(wanted: Mapping[TopicPartition, Part]) -> Found:
        found: dict[TopicPartition, list[int]] = {tp: [] for tp in wanted}
        errors: dict[TopicPartition, MirrorError] = {}
        for tp, records in PartReader("west", broker.settings, True, 30).read_batches(wanted, errors):
            found[tp] += [record.offset for record in records]
        return found, errors

    return run


def test_a_part_is_read_to_its_last_record_and_without_what_is_left_out(broker: WireBroker, parts: Any) -> None:
    write(broker, TP, *(b"more" for _ in range(16)))
    found, errors = parts({TP: Part(2, 9, ((4, 6), (8, 9))), THIRD: Part(0, 2)})
    assert found == {TP: [2, 3, 6, 7], THIRD: [0, 1]}
    assert errors == {}


def test_many_records_come_some_at_a_time(broker: WireBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_RECORDS", 3)
    (batch,) = keyed_batches([(b"k", b"%d" % number) for number in range(8)], 1 << 20)
    broker.log("many").append(bytes(batch.data))
    tp = TopicPartition("many", 0)
    read = PartReader("west", broker.settings, True, 30).read_batches({tp: Part(0, 8)}, {})
    assert [[record.offset for record in records] for _, records in read] == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_many_partitions_are_read_some_at_a_time(broker: WireBroker, parts: Any) -> None:
    many = [TopicPartition("many", number) for number in range(2 * PARTITIONS_AT_ONCE + 1)]
    for tp in many:
        write(broker, tp, b"1")
    found, _ = parts(dict.fromkeys(many, Part(0, 1)))
    assert found == {tp: [0] for tp in many}
    assert max(sum(len(topic.partitions) for topic in request.topics) for request in broker.of(FetchRequest)) == PARTITIONS_AT_ONCE


def test_a_part_whose_start_went_away_is_an_error_of_its_own(broker: WireBroker, parts: Any) -> None:
    log = broker.log(*TP)
    log.batches, log.start = log.batches[2:], 2
    found, errors = parts({TP: Part(0, 4), THIRD: Part(0, 2)})
    assert found == {TP: [], THIRD: [0, 1]}
    assert [(tp, type(error)) for tp, error in errors.items()] == [(TP, LogMoved)]


def test_a_log_that_is_cut_off_while_it_is_read_is_another_log(broker: WireBroker) -> None:
    errors: dict[TopicPartition, MirrorError] = {}
    reading = PartReader("west", broker.settings, True, 30).read_batches({TP: Part(0, 6)}, errors)
    assert [record.offset for record in next(reading)[1]] == [0, 1, 2, 3]
    broker.log(*TP).elect(2)
    write(broker, TP, *(b"another" for _ in range(4)))
    assert list(reading) == []
    assert "another leader wrote what follows @2" in errors[TP].message


def test_a_damaged_batch_is_an_error_behind_what_stands_in_front_of_it(broker: WireBroker, parts: Any) -> None:
    spoilt = bytearray(broker.log(*TP).batches[2])
    spoilt[-1] ^= 1
    broker.log(*TP).batches[2] = bytes(spoilt)
    found, errors = parts({TP: Part(0, 4), THIRD: Part(0, 2)})
    assert found == {TP: [0, 1], THIRD: [0, 1]}
    assert "ledger-0@2 cannot be read: its checksum" in errors[TP].message


def test_a_reading_of_which_nothing_comes_is_late_and_one_beyond_its_time_is_over(broker: WireBroker) -> None:
    with pytest.raises(DeadlineExceeded, match=r"nothing came for 0.1 s, and the end of ledger-0@9 was not reached"):
        list(PartReader("west", broker.settings, True, 0.1).read_batches({TP: Part(0, 9)}, {}))
    with pytest.raises(TimeIsUp):
        list(PartReader("west", broker.settings, True, 1000, ends_at=time.monotonic() + 0.05).read_batches({TP: Part(0, 9)}, {}))


def test_whoever_takes_the_records_may_take_his_time(broker: WireBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = [0.0]
    real = time.monotonic
    monkeypatch.setattr(reader.time, "monotonic", lambda: real() + passed[0])
    taken = []
    settings = {**broker.settings, "max.partition.fetch.bytes": 1}
    for _, records in PartReader("west", settings, True, 5).read_batches({TP: Part(0, 4)}, {}):
        passed[0] += 60
        taken += records
    assert len(taken) == 4


def test_who_reads_no_further_leaves_nothing_open(broker: WireBroker) -> None:
    with closing(PartReader("west", broker.settings, True, 30).read_batches({TP: Part(0, 4)}, {})) as reading:
        next(reading)
    assert read_again(broker) == [0, 1, 2, 3]


def read_again(broker: WireBroker) -> list[int]:
    return [record.offset for record in BoundedReader("west", broker.settings).read({TP: (0, 4)}, 30.0)]
