"""Offset syncs on real brokers: what the topic holds after a copy, what a reader of it makes of them, and what a failure leaves."""

import json
import subprocess
from bisect import bisect_left
from dataclasses import replace
from datetime import timedelta

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.copy import publish as publishing
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.publish import publish, sync_meanwhile
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.errors import KafkaFailure
from kafka_mirror.formats import mm2
from kafka_mirror.formats.mm2 import OffsetSync
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups import offset_syncs
from kafka_mirror.groups.mm2_topics import newest_offset_syncs, read_topic
from kafka_mirror.groups.offset_sync_store import TOO_OLD, OffsetSyncStore, SyncPair
from kafka_mirror.groups.offset_syncs import NO_SYNCS
from kafka_mirror.kafka.produce_request import Outgoing
from kafka_mirror.kafka.writer import RecordWriter
from kafka_mirror.ledger.clusters import clusters
from services.java import java_command
from services.oracle import Record
from services.waiting import PATIENCE, eventually
from tests.integration.decisions import errors_of, recreate

ON_TARGET = {"source->target.offset-syncs.topic.location": "target"}


def syncs_topic(mirroring, side="source"):
    pair = mirroring.pair
    return f"mm2-offset-syncs.{pair.target if side == 'source' else pair.source}.internal"


def read_offset_syncs(cluster, settings, topic):
    return read_topic(cluster, settings, topic, mm2.decode_offset_sync)


def read(mirroring, side="source", reader=read_offset_syncs, topic=None):
    with clusters(mirroring.flow) as (source, target):
        cluster = source if side == "source" else target
        return reader(cluster, mirroring.flow.client(side, "consumer"), topic or syncs_topic(mirroring, side))


def write(mirroring, topic, *records):
    """(key, value) pairs, into a topic of the source."""
    outgoing = [Outgoing(topic, key, value) for key, value in records]
    RecordWriter(mirroring.pair.source, mirroring.flow.client("source", "producer"), 30).write(outgoing, "a test's records")


def pairs(mirroring, topic, partition=0, side="source"):
    return [(sync.upstream, sync.downstream) for sync in read(mirroring, side).records if sync[:2] == (topic, partition)]


def shown(mirroring, count):
    """The first so many records of the topic, as Kafka's own console consumer shows them with MirrorMaker 2's formatter."""
    command = java_command(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--bootstrap-server", mirroring.source, "--topic", syncs_topic(mirroring), "--from-beginning", "--max-messages", str(count)),
        *("--formatter", "org.apache.kafka.connect.mirror.formatters.OffsetSyncFormatter", "--timeout-ms", "30000"),
    )
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout.splitlines()


def positions(mirroring, topic, partition=0):
    """The committed records' offsets on both sides, one by one: the copy keeps their order."""
    sides = ((mirroring.source, topic), (mirroring.target, mirroring.pair.remote(topic)))
    source, target = ([r.offset for r in mirroring.oracle.dump(*side) if r.partition == partition] for side in sides)
    return source, target[-len(source) :]


def store_of(mirroring, side="source"):
    store = OffsetSyncStore()
    for sync in read(mirroring, side).records:
        store.sync(sync)
    return store


def assert_never_late_and_exact_at_the_end(mirroring, topic, partitions=1, side="source"):
    store = store_of(mirroring, side)
    for partition in range(partitions):
        source, target = positions(mirroring, topic, partition)
        assert store.translate(topic, partition, source[-1] + 1) == target[-1] + 1
        for group in range(source[-1] + 2):
            place = bisect_left(source, group)
            exact = target[place] if place < len(target) else target[-1] + 1
            assert store.translate(topic, partition, group) <= exact


def test_a_copy_writes_pairs_of_what_it_copied_and_the_next_one_goes_on(mirroring, make_topic, capsys):
    topic = make_topic("orders", 2, 500)
    assert mirroring.copy().state == "done"
    first = {partition: pairs(mirroring, topic, partition) for partition in (0, 1)}
    for partition, written in first.items():
        source, target = positions(mirroring, topic, partition)
        assert written[0] == (source[0], target[0])
        assert written[-1] == (source[-1], target[-1])
        assert set(written) < set(zip(source, target, strict=True))
    assert_never_late_and_exact_at_the_end(mirroring, topic, 2)
    stamps = [record.timestamp for record in mirroring.oracle.dump(mirroring.source, syncs_topic(mirroring))]
    assert min(stamps) > 1_700_000_000_000, "MirrorMaker 2's records have a time"
    assert shown(mirroring, len(first[0]) + len(first[1])) == [
        f"OffsetSync{{topicPartition={topic}-{partition}, upstreamOffset={upstream}, downstreamOffset={downstream}}}"
        for partition in (0, 1)
        for upstream, downstream in first[partition]
    ]

    mirroring.oracle.produce(mirroring.source, topic, 300, seed=2, transactions=20, abort_percent=30)
    code = main(["--config", str(mirroring.pair.directory / "mm2.properties"), "copy", "--without-spark", "--json"])
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    second = {partition: pairs(mirroring, topic, partition) for partition in (0, 1)}
    assert all(second[partition][: len(first[partition])] == first[partition] for partition in (0, 1))
    assert code == 0
    assert flow["result"]["offset_syncs"] == sum(map(len, second.values())) - sum(map(len, first.values())) > 0
    assert_never_late_and_exact_at_the_end(mirroring, topic, 2)

    (state,) = mirroring.oracle.topics(mirroring.source, [syncs_topic(mirroring)]).values()
    assert len(mirroring.oracle.partitions(mirroring.source, syncs_topic(mirroring))) == 1
    assert state.configs["cleanup.policy"] == "compact"
    assert mirroring.oracle.topic_id(mirroring.target, syncs_topic(mirroring, "target")) is None


def test_where_nothing_was_copied_lately_the_topic_is_not_even_looked_at(mirroring, make_topic, monkeypatch):
    make_topic("orders")
    mirroring.copy()
    monkeypatch.setattr(publishing, "_KILLED_WITHIN", timedelta())
    monkeypatch.setattr(offset_syncs, "newest_offset_syncs", lambda *_: pytest.fail("the topic was read"))
    assert mirroring.copy().state == "nothing to do"
    make_topic("empty", records=0)
    mirroring.refresh()
    assert mirroring.copy().state == "done", "its start was committed, and no record"


def test_a_run_without_work_writes_what_a_run_before_it_could_not_that_was_killed(mirroring, make_topic):
    make_topic("orders", 2)
    copy_in_process(mirroring.flow, plan(mirroring.flow))
    judged = mirroring.copy()
    assert (judged.state, judged.offset_syncs) == ("nothing to do", 4)
    assert mirroring.copy().offset_syncs == 0


def test_while_lanes_follow_they_are_written_meanwhile_and_the_end_of_the_run_has_nothing_to_add(mirroring, make_topic):
    topic = make_topic("orders", 2)
    planned = plan(mirroring.flow, follow_for=600)
    with sync_meanwhile(mirroring.flow, planned, 0.5):
        copy_in_process(mirroring.flow, replace(planned, follow_for=0))
        ends = {partition: positions(mirroring, topic, partition)[0][-1] for partition in (0, 1)}
        eventually(lambda: mirroring.oracle.topic_id(mirroring.source, syncs_topic(mirroring)), "the topic")
        eventually(lambda: {number: max(pairs(mirroring, topic, number), default=(-1,))[0] for number in ends} == ends, "offset syncs")
    written = [pairs(mirroring, topic, partition) for partition in (0, 1)]
    assert publish(mirroring.flow, planned).syncs == NO_SYNCS
    assert written == [sorted(set(of_partition)) for of_partition in written], "none is written once more"
    assert_never_late_and_exact_at_the_end(mirroring, topic, 2)


def test_on_the_target_nothing_is_written_to_the_source(make_mirroring, pair, oracle, topic):
    mirroring = make_mirroring(pair, {**ON_TARGET, "source->target.offset.lag.max": "0"})
    assert mirroring.copy().state == "done"
    assert oracle.topic_id(pair.source_bootstrap, syncs_topic(mirroring)) is None
    for partition in (0, 1):
        assert pairs(mirroring, topic, partition, "target") == list(zip(*positions(mirroring, topic, partition), strict=True))


def test_switched_off_there_is_no_topic_on_either_side(make_mirroring, pair, oracle, topic):
    mirroring = make_mirroring(pair, {"emit.offset-syncs.enabled": "false"})
    assert mirroring.copy().state == "done"
    assert oracle.topic_id(pair.source_bootstrap, syncs_topic(mirroring)) is None
    assert oracle.topic_id(pair.target_bootstrap, syncs_topic(mirroring, "target")) is None


def test_what_could_not_be_written_makes_the_run_red_hides_nothing_and_is_caught_up(mirroring, make_topic, monkeypatch):
    topic = make_topic("orders")
    mirroring.copy()
    before = pairs(mirroring, topic)
    mirroring.oracle.produce(mirroring.source, topic, 250, seed=2)
    with monkeypatch.context() as patched:

        def refuse(*_):
            raise KafkaFailure("The brokers have no room.", next="Make room.")

        patched.setattr(RecordWriter, "write", refuse)
        judged = mirroring.copy()
    (error,) = judged.errors
    assert (judged.state, judged.records, judged.owed, error.code, error.retriable) == ("failed", 250, 0, "KafkaFailure", True)
    assert error.message == "The records are copied, but not all of their offset syncs are written. The brokers have no room."
    mirroring.assert_mirrored(topic)
    assert pairs(mirroring, topic) == before

    mirroring.oracle.produce(mirroring.source, topic, 1, seed=3)
    assert mirroring.copy().state == "done"
    caught_up = pairs(mirroring, topic)
    assert caught_up == [*before, (199, 200), (300, 301), (350, 352)]
    assert_never_late_and_exact_at_the_end(mirroring, topic)


def test_topics_that_were_created_anew_make_readers_forget_what_was_and_only_those(mirroring, make_topic, answer):
    source_new, target_new, as_ever = make_topic("source-new"), make_topic("target-new"), make_topic("as-ever")
    mirroring.copy()
    recreate(mirroring, mirroring.source, source_new)
    mirroring.oracle.produce(mirroring.source, source_new, 30, seed=2)
    recreate(mirroring, mirroring.target, mirroring.pair.remote(target_new))
    for topic in (target_new, as_ever):
        mirroring.oracle.produce(mirroring.source, topic, 30, seed=2)
    judged = mirroring.copy()
    assert judged.records == 30
    for error in judged.errors:
        answer(error)
    assert mirroring.copy().state == "done"
    for topic in (source_new, target_new, as_ever):
        assert_never_late_and_exact_at_the_end(mirroring, topic)
        upstream = [pair[0] for pair in pairs(mirroring, topic)]
        assert (upstream == sorted(upstream)) == (topic == as_ever)
    assert store_of(mirroring).translate(as_ever, 0, 50) == 1, "its older pairs still count"


def test_a_target_that_was_created_anew_and_goes_on_at_the_end_translates_nothing_late(mirroring, make_topic, answer):
    topic = make_topic("orders", records=300)
    mirroring.copy()
    recreate(mirroring, mirroring.target, mirroring.pair.remote(topic))
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=2)
    (error,) = errors_of(mirroring.copy(), "TargetRecreated").values()
    answer(error, "--to-latest")
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=3)
    assert mirroring.copy().records == 10
    assert pairs(mirroring, topic)[-3:] == [(298, -1), (320, 0), (329, 9)]
    store = store_of(mirroring)
    assert [store.translate(topic, 0, group) for group in (0, 298, 299, 310, 320, 330)] == [TOO_OLD, TOO_OLD, 0, 0, 0, 10]


def test_a_record_that_is_none_is_named_and_passed_over(mirroring, make_topic):
    topic, damaged = make_topic("orders"), syncs_topic(mirroring)
    mirroring.copy()
    write(mirroring, damaged, (b"key", b"value"), (OffsetSync("a", 0, 1, 1).key, b""))
    mirroring.oracle.produce_records(mirroring.source, damaged, [Record(key=OffsetSync("a", 0, 1, 1).key, value=None)])
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=2)
    judged = mirroring.copy()
    assert judged.state == "done"
    assert [notice.split(" cannot")[0] for notice in judged.notices] == [f"The record at {damaged}-0@{offset}" for offset in (2, 3, 4)]
    assert pairs(mirroring, topic)[-1] == (109, 110)
    assert [(error.code, error.offset) for error in read(mirroring).damaged] == [("InternalRecordDamaged", offset) for offset in (2, 3, 4)]


def test_the_newest_pair_of_a_partition_is_found_however_deep_it_stands(mirroring, make_topic):
    topic, syncs = make_topic("orders"), syncs_topic(mirroring)
    mirroring.copy()
    others = [OffsetSync("busy", offset % 7, offset, offset) for offset in range(30_000)]
    write(mirroring, syncs, *((sync.key, sync.value) for sync in others))
    deep, near, unknown = TopicPartition(topic, 0), TopicPartition("busy", 3), TopicPartition("busy", 8)

    def newest(partitions):
        return read(mirroring, reader=lambda cluster, settings, topic: newest_offset_syncs(cluster, settings, topic, partitions))

    assert newest({near}).pairs == {near: SyncPair(29_998, 29_998)}
    assert newest({near}).read <= 2_000
    found = newest({near, deep, unknown})
    assert found.pairs == {near: SyncPair(29_998, 29_998), deep: SyncPair(99, 99)}
    assert found.read == 30_002
    mirroring.oracle.produce(mirroring.source, topic, 10, seed=2)
    mirroring.copy()
    assert pairs(mirroring, topic) == [(0, 0), (99, 99), (109, 110)]


def test_what_is_not_there_is_nothing_and_what_is_there_is_read(mirroring, topic, oracle):
    assert read(mirroring, topic=f"missing-{topic}").records == ()
    assert read(mirroring, reader=lambda *found: newest_offset_syncs(*found, {TopicPartition(topic, 0)})) is None
    oracle.create_topic(mirroring.source, f"empty-{topic}")
    assert read(mirroring, topic=f"empty-{topic}").records == ()
