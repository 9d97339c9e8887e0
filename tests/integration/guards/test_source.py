"""Every situation of a source in which copying on would lose, double or mix
records: provoked on real brokers, named, and nothing written."""

import time

import pytest

from kafka_mirror.formats.offsets.partition import TopicPartition
from services.oracle import Record
from tests.integration.guards.runs import changed, only_error, remote_records

NOW = 1_790_000_000_000


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


@pytest.mark.parametrize("start", ["offset:30", "latest"])
def test_a_partition_whose_beginning_did_not_come_to_be_committed_leaves_nothing_out(pair, make_mirroring, start):
    mirroring = make_mirroring(pair, {"source->target.mirror.start": start})
    name, foreign = pair.topic("orders"), [Record(b"foreign", b"v", partition=1)]
    mirroring.oracle.create_topic(mirroring.source, name, 3)
    for partition in range(3):
        mirroring.oracle.produce(mirroring.source, name, 40, seed=7 + partition, partition=partition)
    mirroring.refresh()
    mirroring.oracle.produce_records(mirroring.target, pair.remote(name), foreign)
    assert [(error.code, error.partition) for error in mirroring.copy().errors] == [("UnexplainedTarget", 1)]
    mirroring.oracle.delete_records(mirroring.target, pair.remote(name), {1: 1})
    judged = mirroring.copy()
    assert judged.records == 40
    assert any(f"{name}-1 is copied from its beginning" in notice for notice in judged.notices)
    begun = 30 if start == "offset:30" else 40
    mirroring.assert_mirrored(name, start={0: begun, 1: 0, 2: begun})


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
