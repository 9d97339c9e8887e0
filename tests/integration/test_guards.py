"""Every situation in which copying on would lose, double or mix records: provoked on real brokers, named, and nothing written."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer

from mirror.config import load
from mirror.errors import LanesChanged, LedgerUnsuitable, OtherCluster
from mirror.offsets.lanes import lane_of
from mirror.offsets.partition import TopicPartition
from services.oracle import Record

NOW = 1_790_000_000_000


@pytest.fixture
def topic(mirroring):
    """A source topic of two partitions with 100 records, copied."""
    name = mirroring.pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 2)
    mirroring.oracle.produce(mirroring.source, name, 100, seed=1)
    assert mirroring.copy().state == "done"
    return name


def only_error(judged):
    """The one error of a red run."""
    assert judged.state == "failed"
    (error,) = judged.errors
    return error


def remote_records(mirroring, topic):
    return [(r.partition, r.key, r.value) for r in mirroring.oracle.dump(mirroring.target, mirroring.pair.remote(topic))]


def changed(mirroring, make_mirroring, extra):
    """The same flow with other properties."""
    return make_mirroring(mirroring.pair, extra)


# ---------------------------------------------------------------- the source


def test_a_gap_is_an_error_of_its_partition_alone(mirroring, topic):
    watermark = mirroring.ledger()[TopicPartition(topic, 0)].watermark
    mirroring.oracle.produce(mirroring.source, topic, 100, seed=2)
    mirroring.oracle.delete_records(mirroring.source, topic, {0: watermark + 10})
    error = only_error(mirroring.copy())
    assert (error.code, error.topic, error.partition, error.offset) == ("SourceGap", topic, 0, watermark)
    assert f"[{watermark}, {watermark + 10})" in error.message
    ledger = mirroring.ledger()
    assert ledger[TopicPartition(topic, 0)].watermark == watermark
    assert ledger[TopicPartition(topic, 1)].watermark == mirroring.oracle.count(mirroring.source, topic)[1].end


def test_a_gap_is_skipped_and_recorded_where_that_is_configured(mirroring, topic, make_mirroring):
    watermark = mirroring.ledger()[TopicPartition(topic, 0)].watermark
    mirroring.oracle.produce(mirroring.source, topic, 100, seed=2)
    mirroring.oracle.delete_records(mirroring.source, topic, {0: watermark + 10})
    skipping = changed(mirroring, make_mirroring, {"source->target.mirror.on.gap": "skip-and-record"})
    assert skipping.copy().state == "done"
    (skipped,) = skipping.ledger()[TopicPartition(topic, 0)].skipped
    assert (skipped.start, skipped.end) == (watermark, watermark + 10)


def test_a_recreated_source_topic_is_noticed_even_when_it_is_longer(mirroring, topic):
    before = remote_records(mirroring, topic)
    mirroring.oracle.delete_topic(mirroring.source, topic)
    mirroring.oracle.create_topic(mirroring.source, topic, 2)
    mirroring.oracle.produce(mirroring.source, topic, 500, seed=3)
    judged = mirroring.copy()
    assert {error.code for error in judged.errors} == {"SourceRecreated"}
    assert remote_records(mirroring, topic) == before


def test_a_transaction_left_open_blocks_its_partition_and_is_named(mirroring, topic, make_mirroring):
    mirroring.oracle.open_transaction(mirroring.source, topic, topic, [Record(b"k", b"v", partition=0)])
    mirroring.oracle.produce(mirroring.source, topic, 100, seed=4)
    assert mirroring.copy().state == "done", "a transaction that has just begun is nothing to report"
    impatient = changed(mirroring, make_mirroring, {"source->target.mirror.open.transaction.max.seconds": "1"})
    time.sleep(1.1)
    error = only_error(impatient.copy())
    assert (error.code, error.topic, error.partition) == ("BlockedByOpenTransaction", topic, 0)
    assert "find-hanging" in error.next
    mirroring.oracle.end_transaction(topic, "commit")
    assert impatient.copy().state == "done"
    mirroring.assert_mirrored(topic)


def test_latest_on_an_idle_topic_copies_what_comes_between_two_plans(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.start": "latest"})
    name = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 1)
    mirroring.oracle.produce(mirroring.source, name, 50, seed=5)
    assert mirroring.copy().records == 0
    mirroring.oracle.produce(mirroring.source, name, 30, seed=6)
    assert mirroring.copy().records == 30
    mirroring.assert_mirrored(name, start={0: 50})


def test_a_partition_that_appears_later_is_copied_from_its_beginning(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.start": "latest"})
    name = pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 1)
    assert mirroring.copy().state == "done"
    mirroring.oracle.create_partitions(mirroring.source, name, 2)
    mirroring.oracle.produce(mirroring.source, name, 40, seed=7, partition=1)
    assert mirroring.copy().records == 0
    mirroring.refresh()
    assert mirroring.copy().records == 40
    mirroring.assert_mirrored(name)


def test_without_refresh_only_topics_in_the_ledger_are_copied(mirroring, topic, make_mirroring):
    other = mirroring.pair.topic("payments")
    for bootstrap, name in ((mirroring.source, other), (mirroring.target, mirroring.pair.remote(other))):
        mirroring.oracle.create_topic(bootstrap, name, 1)
    for name in (topic, other):
        mirroring.oracle.produce(mirroring.source, name, 50, seed=20)
    frozen = changed(mirroring, make_mirroring, {"source->target.refresh.topics.enabled": "false"})
    assert frozen.copy().records == 50
    assert {tp.topic for tp in frozen.ledger()} == {topic}
    assert mirroring.copy().records == 50


def test_a_dry_run_writes_nothing_and_plans_what_the_next_run_does(mirroring):
    name = mirroring.pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 3)
    mirroring.oracle.produce(mirroring.source, name, 100, seed=21)
    planned = mirroring.plan()
    for written in (mirroring.pair.remote(name), f"mm2-ledger.{mirroring.pair.source}.internal"):
        assert mirroring.oracle.topic_id(mirroring.target, written) is None
    assert mirroring.copy().records == sum(each.offsets for each in planned.ranges) == 100


def test_a_start_by_time_and_by_offset(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.start": f"byoffset.*=offset:7, timestamp:{'2026-09-21T14:13:21Z'}"})
    by_time, by_offset = pair.topic("bytime"), pair.topic("byoffset")
    for name in (by_time, by_offset):
        mirroring.oracle.create_topic(mirroring.source, name, 1)
        mirroring.oracle.produce_records(mirroring.source, name, [Record(b"%d" % n, b"v", timestamp=NOW + n * 1000) for n in range(10)])
    assert mirroring.copy().records == 9 + 3


# ---------------------------------------------------------------- the target


def test_a_remote_topic_that_holds_records_before_the_first_copy_is_not_written(mirroring):
    name = mirroring.pair.topic("orders")
    remote = mirroring.pair.remote(name)
    for bootstrap, created in ((mirroring.source, name), (mirroring.target, remote)):
        mirroring.oracle.create_topic(bootstrap, created, 1)
        mirroring.oracle.produce(bootstrap, created, 20, seed=8)
    before = remote_records(mirroring, name)
    error = only_error(mirroring.copy())
    assert (error.code, error.topic, error.partition, error.offset) == ("UnexplainedTarget", name, 0, 0)
    assert remote in error.message
    assert remote_records(mirroring, name) == before
    assert not mirroring.ledger()


def test_a_remote_topic_that_holds_records_is_appended_to_on_request(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.on.unexplained.target": "append"})
    name = pair.topic("orders")
    for bootstrap, created in ((mirroring.source, name), (mirroring.target, pair.remote(name))):
        mirroring.oracle.create_topic(bootstrap, created, 1)
        mirroring.oracle.produce(bootstrap, created, 20, seed=9)
    assert mirroring.copy().records == 20
    assert mirroring.oracle.count(mirroring.target, pair.remote(name))[0].records == 40


def test_records_by_somebody_else_behind_ours_are_noticed(mirroring, topic):
    mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(topic), [Record(b"foreign", b"v", partition=0)])
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=10)
    before = remote_records(mirroring, topic)
    error = only_error(mirroring.copy())
    assert (error.code, error.partition) == ("UnexplainedTarget", 0)
    assert [r for r in remote_records(mirroring, topic) if r[0] == 0] == [r for r in before if r[0] == 0]


def test_aborted_records_of_somebody_else_do_no_harm(mirroring, topic):
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.open_transaction(mirroring.target, remote, remote, [Record(b"foreign", b"v", partition=0)])
    mirroring.oracle.end_transaction(remote, "abort")
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=11)
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)


def test_a_recreated_remote_topic_is_not_written(mirroring, topic):
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.delete_topic(mirroring.target, remote)
    mirroring.oracle.create_topic(mirroring.target, remote, 2)
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=12)
    judged = mirroring.copy()
    assert {error.code for error in judged.errors} == {"TargetRecreated"}
    assert remote_records(mirroring, topic) == []


def test_a_deleted_remote_topic_is_an_error_and_not_created_by_writing(mirroring, topic):
    mirroring.oracle.delete_topic(mirroring.target, mirroring.pair.remote(topic))
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=13)
    assert {error.code for error in mirroring.copy().errors} == {"TargetMissing"}
    assert mirroring.oracle.topic_id(mirroring.target, mirroring.pair.remote(topic)) is None


def test_another_policy_on_an_existing_flow_is_noticed(mirroring, topic, make_mirroring):
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=14)
    other = changed(mirroring, make_mirroring, {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"})
    other.refresh()
    assert {error.code for error in other.copy().errors} == {"TargetRecreated"}
    assert sum(count.records for count in mirroring.oracle.count(mirroring.target, topic)) == 0


# ---------------------------------------------------------------- the ledger


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
    assert producer.flush(10) == 0


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


def test_another_cluster_behind_the_alias_is_refused(mirroring, topic, west):
    file = mirroring.pair.properties(extra={"source->target.mirror.lanes": "4", "source.bootstrap.servers": west.bootstrap})
    mirroring.flow = load([file]).flow(mirroring.pair.flow)
    with pytest.raises(OtherCluster, match=mirroring.pair.source):
        mirroring.copy()


def test_a_second_installation_is_kept_out_until_the_first_is_silent(mirroring, topic, make_mirroring):
    first = changed(mirroring, make_mirroring, {"source->target.mirror.installation": "first"})
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=16)
    assert first.copy().state == "done"
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=17)
    second = changed(mirroring, make_mirroring, {"source->target.mirror.installation": "second"})
    judged = second.copy()
    assert {error.code for error in judged.errors} == {"ForeignWriter"}
    assert "'first'" in judged.errors[0].message


def test_a_transaction_timeout_that_the_target_does_not_allow_is_said_at_once(mirroring, make_mirroring):
    name = mirroring.pair.topic("orders")
    mirroring.oracle.create_topic(mirroring.source, name, 1)
    mirroring.oracle.produce(mirroring.source, name, 10, seed=22)
    error = only_error(changed(mirroring, make_mirroring, {"source->target.mirror.transaction.timeout.ms": "86400000"}).copy())
    assert (error.code, error.retriable) == ("TransactionTimeoutRefused", False)
    assert "transaction.max.timeout.ms" in error.next


# ---------------------------------------------------------------- several at once


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
