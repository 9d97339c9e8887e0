"""Fetching closed batches of both sides from brokers on the loopback, and what becomes of ranges that cannot be fetched."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka.protocol.consumer import FetchRequest, FetchResponse

from kafka_mirror.audit.batch_comparison import BatchComparison
from kafka_mirror.audit.batch_reader import PairedReading
from kafka_mirror.audit.copied_ranges import AuditRange
from kafka_mirror.audit.reader import AuditContext
from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.formats.record import Record
from tests.unit.audit.closed_batches import REMOTE, SOURCE, built, carried
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import OFFSET_OUT_OF_RANGE

NOT_LEADER, CORRUPT_MESSAGE = 6, 2
STRETCH = AuditRange(SOURCE, REMOTE, 0, 20, 0, 20, 20, 20)


@pytest.fixture
def brokers() -> Iterator[tuple[WireBroker, WireBroker]]:
    """Ten batches of two records, and their copies."""
    east, west = WireBroker(), WireBroker()
    for number in range(10):
        batch = built([Record(0, 1, 1000, b"k", b"%d" % number, ())] * 2)
        east.log(*SOURCE).append(batch)
        west.log(*REMOTE).append(carried(batch))
    yield east, west
    east.close()
    west.close()


def read(brokers: tuple[WireBroker, WireBroker]) -> tuple[list[BatchComparison], list[int]]:
    """The ranges that were gone through, and what was told of the progress."""
    east, west = (broker.settings for broker in brokers)
    told: list[int] = []
    context = AuditContext("east", "west", 1, ClientSettings(east, {**east, "fetch.wait.max.ms": 1}, west, west))
    return PairedReading(context, [STRETCH], told.append).run(), told


def test_both_sides_are_fetched_to_their_ends_and_stay_closed(brokers: tuple[WireBroker, WireBroker]) -> None:
    (done,), told = read(brokers)
    assert (done.equal_records, done.segments, sum(told)) == (20, [], 40)


@pytest.mark.parametrize("side", [0, 1])
def test_another_leader_is_looked_for_as_long_as_that_helps(brokers: tuple[WireBroker, WireBroker], side: int) -> None:
    brokers[side].refusals[FetchRequest, (SOURCE, REMOTE)[side]].append(NOT_LEADER)
    (done,), told = read(brokers)
    assert (done.equal_records, sum(told)) == (20, 40)
    brokers[side].refusals[FetchRequest, (SOURCE, REMOTE)[side]].extend([NOT_LEADER] * 9)
    found, told = read(brokers)
    assert (found, sum(told)) == ([], 0), "it does not go on for ever, and what is given up does not count as read"


def test_what_the_log_no_longer_has_is_left_to_reading_records(
    brokers: tuple[WireBroker, WireBroker], caplog: pytest.LogCaptureFixture
) -> None:
    brokers[0].refusals[FetchRequest, SOURCE].append(OFFSET_OUT_OF_RANGE)
    with caplog.at_level("INFO"):
        assert read(brokers)[0] == []
    assert "orders-0 could not be compared closed, so its records are read" in caplog.text


def cut_off(partition: Any) -> None:
    partition.diverging_epoch = FetchResponse.FetchableTopicResponse.PartitionData.EpochEndOffset(epoch=0, end_offset=4)


def send_no_batch(partition: Any) -> None:
    partition.records = b"\0" * 16 + b"\7" + b"\0" * 60


def fail_to_read(partition: Any) -> None:
    partition.error_code, partition.records = CORRUPT_MESSAGE, b""


@pytest.mark.parametrize(
    ("change", "reason"), [(cut_off, "cut off at 4"), (send_no_batch, "says that it has 0 bytes"), (fail_to_read, "CORRUPT_MESSAGE")]
)
def test_what_cannot_be_fetched_closed_is_left_to_reading_records(
    brokers: tuple[WireBroker, WireBroker], caplog: pytest.LogCaptureFixture, change: Callable[[Any], None], reason: str
) -> None:
    brokers[1].change_fetches(lambda answer: change(answer.responses[0].partitions[0]))
    with caplog.at_level("INFO"):
        assert read(brokers)[0] == []
    assert "orders-0 could not be compared closed, so its records are read" in caplog.text
    assert reason in caplog.text


def test_brokers_that_are_too_old_are_left_to_reading_records(
    brokers: tuple[WireBroker, WireBroker], caplog: pytest.LogCaptureFixture
) -> None:
    brokers[1].versions |= {FetchRequest: 8}
    with caplog.at_level("INFO"):
        assert read(brokers)[0] == []
    assert "older than Kafka 2.1" in caplog.text
