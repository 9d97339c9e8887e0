"""The marks of a wave in a ledger of which one broker, cut off from the others, tells less than is true."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.copy import lane_writer
from kafka_mirror.copy.lane_writer import write_lane
from kafka_mirror.cutover.steps import open_ledgers
from kafka_mirror.cutover.steps.open_ledgers import set_marks, take_off_marks
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import MOVED
from kafka_mirror.ledger.record import Decided
from tests.unit.copy.lane_tasks import make_lane_task
from tests.unit.copy.memory_brokers import BOTH_SERVERS, LEDGER, Brokers, MemoryCluster, MemoryEngine, MemoryLedger
from tests.unit.ledger_records import ledger_record

FIRST, SECOND = (TopicPartition("orders", number) for number in range(2))
CLIENT = {"bootstrap.servers": BOTH_SERVERS}
TASK = make_lane_task(ClientSettings(CLIENT, CLIENT, CLIENT, CLIENT, CLIENT), remote_topics={}, ledger_id=f"id-{LEDGER.topic}")
FLOW = SimpleNamespace(value=lambda _lanes: 1)
NOTES = SimpleNamespace(check=lambda: None)
DECIDED = Decided(MOVED, "ana", datetime(2026, 11, 1, tzinfo=UTC), "why")


@pytest.fixture
def brokers(monkeypatch):
    """Two partitions are copied, and then one broker is cut off."""
    made = Brokers()
    for fake in (MemoryCluster, MemoryLedger):
        monkeypatch.setattr(fake, "brokers", made, raising=False)
    monkeypatch.setattr(lane_writer, "Cluster", MemoryCluster)
    monkeypatch.setattr(lane_writer, "Ledger", MemoryLedger)
    monkeypatch.setattr(lane_writer, "BatchProducer", lambda _task, _bytes: MemoryEngine(made))
    monkeypatch.setattr(lane_writer.time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(open_ledgers, "lane_task", lambda *_: TASK)
    copy(FIRST, 7)
    copy(SECOND, 7)
    made.cut_off()
    return made


def copy(tp, watermark):
    record = ledger_record(watermark=watermark, target_next=watermark, source_cluster_id="E", target_cluster_id="W", lanes=1)
    write_lane(TASK, lambda _known, _writer: {tp: record})


def mark(brokers):
    return set_marks(FLOW, None, NOTES, dict(brokers.ledger), (FIRST, SECOND), DECIDED)


def test_marks_of_which_a_broker_that_is_cut_off_knows_nothing_are_taken_off(brokers):
    mark(brokers)
    brokers.stale = ("ledger",)
    assert take_off_marks(FLOW, None, NOTES, (FIRST, SECOND)) == 2
    assert {record.moved for record in brokers.ledger.values()} == {None}


def test_a_partition_of_which_a_broker_that_is_cut_off_tells_less_is_not_taken_for_one_that_was_copied_meanwhile(brokers):
    copy(FIRST, 20)
    brokers.stale = ("ledger",)
    marked, copied = mark(brokers)
    assert (marked.keys(), copied) == ({FIRST, SECOND}, set())
