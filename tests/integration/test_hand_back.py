"""A flow that is handed back to MirrorMaker 2: where it goes on, that it is left alone meanwhile, and that it can be taken over again."""

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import AdminClient

from mirror.copy.run import copy_in_process
from mirror.errors import CopyUnderWay, HandedBack, NothingToHandBack
from mirror.formats.connect_offsets import SOURCE_CONNECTOR, SourcePartition, encode_offset, partition_of
from mirror.handover.hand_back import Request as HandBack
from mirror.handover.hand_back import hand_back
from mirror.kafka.connect import clusters
from mirror.kafka.mm2_topics import newest_offset_syncs
from mirror.plan.run import plan
from mirror.report.group import group_position
from mirror.sync.offset_syncs import place
from services.oracle import Record
from tests.integration.left_behind import refusal, taken
from tests.waiting import PATIENCE


@pytest.fixture
def mirroring(pair, make_mirroring):
    return make_mirroring(pair, {"offset.storage.replication.factor": "1"})


def test_a_flow_that_was_handed_back_is_left_alone_also_by_a_plan_that_is_old(mirroring, left, make_topic):
    assert refusal(NothingToHandBack, lambda: hand_back(mirroring.flow, HandBack("a test")))
    # The source ends in aborted records, so the offset in front of the watermark is that of no record.
    topic, empty = make_topic("orders", 2, 100), make_topic("empty", 1, 0)
    mirroring.oracle.produce(mirroring.source, topic, 40, seed=2, transactions=10, abort_percent=60)
    mirroring.copy()
    mirroring.oracle.produce(mirroring.source, topic, 20, seed=3)
    old = plan(mirroring.flow)
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.open_transaction(mirroring.target, remote, f"open-{mirroring.pair.mark}", [Record(b"k", b"v")])
    error = refusal(CopyUnderWay, lambda: hand_back(mirroring.flow, HandBack("a test")))
    assert (error.topic, error.partition) == (remote, 0)
    mirroring.oracle.end_transaction(f"open-{mirroring.pair.mark}", "abort")

    before = mirroring.ledger()
    for _ in range(2):  # twice is harmless
        done = hand_back(mirroring.flow, HandBack("a test"))
    written = {(row.partition, row.key): row.value for row in mirroring.oracle.dump(mirroring.target, left.offsets_topic)}
    keys = {tp: SourcePartition(SOURCE_CONNECTOR, mirroring.pair.source, *tp).key for tp in before if tp.topic == topic}
    assert written == {(partition_of(key), key): encode_offset(before[tp].watermark - 1) for tp, key in keys.items()}
    with clusters(mirroring.flow) as (source, _):
        side, syncs = place(mirroring.flow)
        newest = newest_offset_syncs(source, mirroring.flow.client(side, "consumer"), syncs, keys).pairs
    ends = {tp: before[tp].offset_map.runs[-1] for tp in keys}
    assert newest == {tp: (end.source + end.length - 1, end.target + end.length - 1) for tp, end in ends.items()}
    assert (empty, 0) in list(zip(done.result["topic"], done.result["watermark"], strict=True))
    assert all(record.watermark == before[tp].watermark for tp, record in mirroring.ledger().items())

    group = f"readers-{mirroring.pair.mark}"
    admin = AdminClient({"bootstrap.servers": mirroring.source})
    committed = [ClientTopicPartition(topic, 0, 10)]
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, committed)])[group].result(PATIENCE)
    (translated,) = group_position(mirroring.flow, group).offsets
    assert (translated.translated.target, translated.translated.kind) == (None, "none")
    assert "handed back" in translated.translated.reason

    results = copy_in_process(mirroring.flow, old)
    assert {error.code for result in results for error in result.errors} == {"HandedBack"}
    assert sum(result.transactions for result in results) == 0
    refusal(HandedBack, mirroring.copy)
    refusal(HandedBack, mirroring.plan)

    done, _ = taken(mirroring)
    assert done.errors == ()
    assert len(done.result["topic"]) == 3
    assert {tp: record.watermark for tp, record in mirroring.ledger().items()} == {tp: each.watermark for tp, each in before.items()}
    assert group_position(mirroring.flow, group).offsets[0].translated.target == 10
    assert mirroring.copy().records == 20
    mirroring.assert_mirrored(topic)
