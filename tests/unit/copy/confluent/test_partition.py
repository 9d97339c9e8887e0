"""What the delivery reports of a partition say of the records that were refused, with reports as the client really makes them."""

from dataclasses import dataclass, replace
from itertools import permutations
from random import Random

import pytest
from confluent_kafka import KafkaError, Producer
from hypothesis import given, settings
from hypothesis import strategies as st

from mirror.copy.confluent.partition import InFlightPartition, poison_of
from mirror.copy.engine import BatchRefused, PartitionAssignment, RecordLimits
from mirror.copy.next_transaction import BatchBisection
from mirror.errors import KafkaFailure
from mirror.offsets.partition import TopicPartition

STAMPS = (100, 200, 300)
INVALID, NEIGHBOUR = KafkaError.INVALID_RECORD, KafkaError._INVALID_DIFFERENT_RECORD


@dataclass
class Report:
    """The message of a delivery report that says of an error: the client has forgotten the timestamp."""

    _key: bytes | None = b"k"

    def key(self):
        return self._key

    def timestamp(self):
        return 0, -1


@dataclass
class Written(Report):
    """The message of a delivery report of a record that the target has, or a record that was read from the source."""

    _offset: int = 0

    def offset(self):
        return self._offset


SOURCES = (5, 7, 8)


class Sent:
    """A partition with records on their way; `report` is the delivery report of one of them, by its source offset."""

    def __init__(self, stamps: dict[int, int], start: int = 5) -> None:
        self.flow = InFlightPartition(
            PartitionAssignment(TopicPartition("orders", 0), "east.orders", start, 100, None, RecordLimits()), "west"
        )
        self.flow.sources.extend(stamps)
        self.stamps = stamps

    def report(self, offset: int, code: int | None, key: bytes | None = b"k", target: int = 40) -> None:
        message = Report(key) if code is not None else Written(key, target)
        self.flow.delivered(offset, self.stamps[offset], None if code is None else KafkaError(code), message)


@pytest.fixture
def sent():
    """Three records of a partition on their way, of the offsets 5, 7 and 8."""
    return Sent(dict(zip(SOURCES, STAMPS, strict=True)))


def test_the_client_does_not_tell_the_timestamp_of_a_record_that_failed():
    told = []
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 1, "log_level": 0})
    producer.produce("orders", b"v", b"k", 0, lambda error, message: told.append((error is None, message.timestamp())), 1_790_000_000_000)
    producer.purge()
    producer.flush(5)
    assert told == [(False, (0, -1))]


def test_a_refused_record_is_known_again_by_the_timestamp_with_which_it_was_sent(sent):
    sent.report(5, NEIGHBOUR)
    sent.report(7, INVALID)
    sent.report(8, INVALID, key=None)
    refusal = sent.flow.refusal()
    assert isinstance(refusal, BatchRefused)
    assert refusal.names_culprits
    assert [(each.offset, each.timestamp, each.has_key) for each in refusal.culprits] == [(7, 200, True), (8, 300, False)]
    again = replace(sent.flow.work, refused={each.offset: each for each in refusal.culprits})
    assert poison_of(Written(b"k", 7), 200, again) is not None
    assert poison_of(Written(b"k", 7), 201, again) is None
    assert poison_of(Written(None, 8), 300, again) is not None


@pytest.mark.parametrize("order", list(permutations([(5, None), (7, KafkaError.INVALID_TIMESTAMP), (8, KafkaError._PURGE_QUEUE)])))
def test_in_whatever_order_reports_come_the_refused_record_is_the_cause_and_is_named(sent, order):
    for offset, code in order:
        sent.report(offset, code)
    refusal = sent.flow.refusal()
    assert isinstance(refusal, BatchRefused)
    assert sent.flow.is_explained
    assert (refusal.first, [(each.offset, each.timestamp) for each in refusal.culprits]) == (7, [(7, 200)])


def test_records_that_were_only_thrown_away_explain_nothing(sent):
    for offset in SOURCES:
        sent.report(offset, KafkaError._PURGE_QUEUE)
    assert not sent.flow.is_explained
    assert sent.flow.thrown_away
    assert isinstance(sent.flow.refusal(), KafkaFailure)


# ------------------------------------------------------------ the client, a broker that names records, and any order


@dataclass(frozen=True)
class Transaction:
    """Sizes of the batches in which the records of a transaction leave, the offsets that the broker refuses, and how far each report of a
    record that is thrown away comes too early."""

    batches: list[int]
    refused: set[int]
    shuffle: Random

    def reports(self) -> list[tuple[int, int | None]]:
        """What the client reports: batches in front of the first refused one are written, that one is refused, what is behind it is thrown
        away; and what is thrown away may be told before anything else (librdkafka 2.16)."""
        told: list[tuple[int, int | None]] = []
        thrown: list[tuple[int, int | None]] = []
        first = 0
        for size in self.batches:
            batch = range(first, first + size)
            named = self.refused & set(batch)
            if thrown or any(code is not None for _, code in told):
                thrown += [(offset, KafkaError._PURGE_QUEUE) for offset in batch]
            elif len(named) == 1:
                told += [(offset, KafkaError.INVALID_TIMESTAMP) for offset in batch]
            elif named:
                told += [(offset, INVALID if offset in named else NEIGHBOUR) for offset in batch]
            else:
                told += [(offset, None) for offset in batch]
            first += size
        for report in thrown:
            told.insert(self.shuffle.randint(0, len(told)), report)
        return told


@settings(max_examples=300)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=6), st.sets(st.integers(0, 40)), st.randoms(use_true_random=False))
def test_no_order_of_reports_lets_a_record_be_passed_over_that_the_broker_takes(batches, refused, shuffle):
    count = sum(batches)
    refused = {offset for offset in refused if offset < count}
    bisection, watermark, written, passed = BatchBisection(), 0, [], set()
    tp = TopicPartition("orders", 0)
    for _ in range(40 * len(refused) + 2):
        named = bisection.named.get(tp, {})
        left = [offset for offset in range(watermark, bisection.end(tp, count, watermark)) if offset not in named]
        left = left[: bisection.records.get(tp, count)]
        sent = Sent({offset: offset for offset in left}, watermark)
        sizes = [len(left[first : first + max(batches)]) for first in range(0, len(left), max(batches))]
        for index, code in Transaction(sizes, {left.index(offset) for offset in refused & set(left)}, shuffle).reports():
            sent.report(left[index], code)
        refusal = sent.flow.refusal()
        if refusal is None:
            end = left[-1] + 1 if len(left) == bisection.records.get(tp, count) else bisection.end(tp, count, watermark)
            passed |= set(named) & set(range(watermark, end))
            written += left
            watermark = end
            bisection.committed(tp, watermark)
        else:
            assert isinstance(refusal, BatchRefused)
            poison = bisection.refused(refusal)
            if poison is not None:
                passed |= set(named) & set(range(watermark, poison.offset)) | {poison.offset}
                watermark = poison.offset + 1
        if watermark == count:
            break
    assert (passed, written) == (refused, [offset for offset in range(count) if offset not in refused])


def test_any_other_failure_is_told_in_whole_sentences_and_with_what_to_do_next():
    sent = Sent({5: 100})
    sent.report(5, KafkaError.UNKNOWN_TOPIC_OR_PART)
    error = sent.flow.refusal()
    assert isinstance(error, KafkaFailure)
    assert "orders-0@5: writing to east.orders-0 failed: UNKNOWN_TOPIC_OR_PART: Broker: Unknown topic or partition. Next: " in str(error)
