"""How a flow that changes hands is written into the ledger: on brokers in memory, one of which may be cut off and answer all the same."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.copy import lane_writer
from kafka_mirror.copy.lane_writer import write_lane
from kafka_mirror.errors import ClusterUnreachable, LedgerMissing, UnexpectedOffset
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import HANDED_BACK
from kafka_mirror.ledger.record import Decided, note_key
from tests.unit.copy.lane_tasks import make_lane_task
from tests.unit.copy.memory_brokers import BOTH_SERVERS, DEPOSED, LEDGER, Brokers, MemoryCluster, MemoryEngine, MemoryLedger
from tests.unit.ledger_records import ledger_record

ORDERS = TopicPartition("orders", 0)
DECIDED = Decided(HANDED_BACK, "ana", datetime(2026, 11, 1, tzinfo=UTC), "why")


@pytest.fixture
def brokers(monkeypatch):
    made = Brokers()
    for fake in (MemoryCluster, MemoryLedger):
        monkeypatch.setattr(fake, "brokers", made, raising=False)
    monkeypatch.setattr(lane_writer, "Cluster", MemoryCluster)
    monkeypatch.setattr(lane_writer, "Ledger", MemoryLedger)
    monkeypatch.setattr(lane_writer, "BatchProducer", lambda _task, _bytes: MemoryEngine(made))
    monkeypatch.setattr(lane_writer.time, "sleep", lambda _seconds: None)
    return made


def write(change, servers=BOTH_SERVERS, decided=None):
    client = {"bootstrap.servers": servers}
    task = make_lane_task(ClientSettings(client, client, client, client, client), remote_topics={}, ledger_id=f"id-{LEDGER.topic}")
    return write_lane(task, change, decided)


def copied(watermark):
    record = ledger_record(watermark=watermark, source_cluster_id="E", target_cluster_id="W", lanes=1)
    return lambda _known, _writer: {ORDERS: record}


def marked(known, _writer):
    return {tp: replace(record, decided=DECIDED, handed_back=DECIDED) for tp, record in known.items()}


def test_what_a_deposed_leader_has_of_a_lane_is_not_written_over_what_is_true(brokers):
    write(copied(7))
    brokers.cut_off()
    write(copied(20))
    brokers.stale = ("ledger",)
    write(marked)
    assert (brokers.ledger[ORDERS].watermark, brokers.ledger[ORDERS].is_handed_back) == (20, True)


def test_a_lane_of_which_nobody_else_can_be_asked_is_not_written(brokers):
    write(copied(7))
    brokers.cut_off()
    write(copied(20))
    brokers.stale = ("ledger",)
    with pytest.raises(UnexpectedOffset):
        write(marked, DEPOSED)
    assert (brokers.ledger[ORDERS].watermark, brokers.ledger[ORDERS].is_handed_back) == (20, False)


def test_a_lane_that_has_no_partition_yet_is_marked_all_the_same(brokers):
    assert write(marked, decided=DECIDED) == {}
    assert list(brokers.ledger) == [note_key(*LEDGER)]
    assert brokers.ledger[note_key(*LEDGER)].is_handed_back


def test_a_lane_of_which_there_is_nothing_to_say_is_only_fenced(brokers):
    assert write(marked) == {}
    assert (brokers.log(LEDGER), brokers.owner) == ([], 1)


def test_a_broker_that_does_not_answer_in_time_keeps_no_lane_from_the_others(brokers):
    brokers.script = ["failure"]
    write(copied(7))
    assert brokers.ledger[ORDERS].watermark == 7


def test_a_commit_of_which_nobody_knows_how_it_ended_is_not_written_a_second_time(brokers):
    looked = []

    def change(known, writer):
        looked.append(known)
        return copied(7)(known, writer)

    brokers.script = ["committed unheard"]
    with pytest.raises(ClusterUnreachable):
        write(change)
    assert (len(looked), brokers.ledger[ORDERS].watermark) == (1, 7)


def test_a_lane_of_another_ledger_than_the_one_that_was_planned_with_is_not_written(brokers, monkeypatch):
    monkeypatch.setattr(MemoryCluster, "topic_id", lambda _self, _name: "another")
    with pytest.raises(LedgerMissing):
        write(copied(7))
    assert brokers.ledger == {}
