"""Every situation of a source in which copying on would lose, double or mix
records: provoked on real brokers, named, and nothing written."""

import pytest

from kafka_mirror.formats.offsets.partition import TopicPartition
from services.oracle import Record
from tests.integration.guards.runs import changed

NOW = 1_790_000_000_000


def test_a_gap_is_skipped_and_recorded_where_that_is_configured(mirroring, topic, make_mirroring):
    watermark = mirroring.ledger()[TopicPartition(topic, 0)].watermark
    mirroring.oracle.produce(mirroring.source, topic, 100, seed=2)
    mirroring.oracle.delete_records(mirroring.source, topic, {0: watermark + 10})
    skipping = changed(mirroring, make_mirroring, {"source->target.mirror.on.gap": "skip-and-record"})
    assert skipping.copy().state == "done"
    (skipped,) = skipping.ledger()[TopicPartition(topic, 0)].skipped
    assert (skipped.start, skipped.end) == (watermark, watermark + 10)


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


def test_a_start_by_time_and_by_offset(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.start": f"byoffset.*=offset:7, timestamp:{'2026-09-21T14:13:21Z'}"})
    by_time, by_offset = pair.topic("bytime"), pair.topic("byoffset")
    for name in (by_time, by_offset):
        mirroring.oracle.create_topic(mirroring.source, name, 1)
        mirroring.oracle.produce_records(mirroring.source, name, [Record(b"%d" % n, b"v", timestamp=NOW + n * 1000) for n in range(10)])
    assert mirroring.copy().records == 9 + 3
