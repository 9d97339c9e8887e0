"""Every situation of the ledger in which copying on would lose, double or mix
records: provoked on real brokers, named, and nothing written. Two copies at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer

from kafka_mirror.errors import LanesChanged, LedgerUnsuitable
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from services.waiting import PATIENCE
from tests.integration.guards.runs import changed, only_error, remote_records


def test_the_ledger_has_the_topic_ids_that_kafkas_own_client_shows(mirroring):
    # An id with a character outside letters and digits, in which alphabets differ, comes up in about half of all cases.
    names = [mirroring.pair.topic(f"orders{number}") for number in range(8)]
    for name in names:
        mirroring.oracle.create_topic(mirroring.source, name, 1)
    assert mirroring.copy().state == "done"
    for name in names:
        record = mirroring.ledger()[TopicPartition(name, 0)]
        assert record.source_topic_id == mirroring.oracle.topic_id(mirroring.source, name)
        assert record.target_topic_id == mirroring.oracle.topic_id(mirroring.target, mirroring.pair.remote(name))


def write_to_ledger(mirroring, lane, key, value):
    producer = Producer({"bootstrap.servers": mirroring.target})
    producer.produce(f"mm2-ledger.{mirroring.pair.source}.internal", value, key, lane)
    assert producer.flush(PATIENCE) == 0


@pytest.mark.parametrize(
    ("value", "code"), [(b'{"v":2}', "LedgerTooNew"), (b"garbage", "LedgerDamaged"), (None, "LedgerDamaged"), (b'{"v":1}', "LedgerDamaged")]
)
def test_a_ledger_record_that_cannot_be_read_stops_its_lane_and_stays_and_the_other_lanes_go_on(mirroring, topic, value, code):
    lane, ledger = lane_of(topic, 0, 4), f"mm2-ledger.{mirroring.pair.source}.internal"
    write_to_ledger(mirroring, lane, b'["somebody",0]', value)
    before = remote_records(mirroring, topic)
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=15)
    judged = mirroring.copy()
    assert judged.state == "failed"
    assert {error.code for error in judged.errors} == {code}
    assert f"{ledger}-{lane}@" in judged.errors[0].message
    assert [r.value for r in mirroring.oracle.dump(mirroring.target, ledger) if r.partition == lane][-1] == value
    assert [r for r in remote_records(mirroring, topic) if r[0] == 0] == [r for r in before if r[0] == 0]
    copied = [r for r in remote_records(mirroring, topic) if r[0] == 1]
    assert copied == [(r.partition, r.key, r.value) for r in mirroring.oracle.dump(mirroring.source, topic) if r.partition == 1]
    assert len(copied) > len([r for r in before if r[0] == 1])


def test_another_number_of_lanes_is_refused(mirroring, topic, make_mirroring):
    with pytest.raises(LanesChanged, match=r"mirror\.lanes=4"):
        changed(mirroring, make_mirroring, {"source->target.mirror.lanes": "8"}).copy()


def test_a_ledger_that_would_be_deleted_by_retention_is_refused(mirroring, topic):
    ledger = f"mm2-ledger.{mirroring.pair.source}.internal"
    mirroring.oracle.alter_configs(mirroring.target, ledger, {"cleanup.policy": "delete"})
    with pytest.raises(LedgerUnsuitable, match=r"cleanup\.policy"):
        mirroring.copy()


def test_a_transaction_timeout_that_the_target_does_not_allow_is_said_at_once(mirroring, make_mirroring):
    name = mirroring.pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 1)
    mirroring.oracle.produce(mirroring.source, name, 10, seed=22)
    error = only_error(changed(mirroring, make_mirroring, {"source->target.mirror.transaction.timeout.ms": "86400000"}).copy())
    assert (error.code, error.retriable) == ("TransactionTimeoutRefused", False)
    assert "transaction.max.timeout.ms" in error.next


def test_two_copies_at_once_write_every_record_once(pair, make_mirroring):
    small = {"source->target.mirror.transaction.max.bytes": "65536"}
    mirroring = make_mirroring(pair, small)
    name = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 6)
    mirroring.oracle.produce(mirroring.source, name, 20_000, seed=18)
    with ThreadPoolExecutor(2) as threads:
        runs = [threads.submit(mirroring.copy) for _ in range(2)]
        states = {run.result().state for run in runs}
    assert states <= {"done", "failed"}
    assert mirroring.copy().state in ("done", "nothing to do")
    mirroring.assert_mirrored(name)
