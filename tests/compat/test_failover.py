"""A cluster that is gone: consumer groups go on on the target under their own names, beside the real MirrorMaker 2 on the same input.

Both mirrors follow one source, each into a target of its own, while records come in bursts. Then groups stand somewhere, all is mirrored
and synced, the source's brokers are killed, and the groups read on where the mirrors put them.
"""

import time
from collections import Counter
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as At

from kafka_mirror.__main__ import main
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.consumers import read_offsets
from services.mirrormaker import MirrorMaker
from services.oracle import Record

PARTITIONS, BURSTS, BURST = 2, 6, 170
END = BURSTS * BURST
BEHIND = {"at-the-end": 0, "near": 7, "behind": 60, "far": 450}
"""By group, how many records of each partition it has not read when the source dies."""
SYNCED_WITHIN_SECONDS = 240
SETTINGS = {
    "refresh.groups.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
    "offset-syncs.topic.location": "target",
    "target.offset.flush.interval.ms": "1000",  # by default MirrorMaker 2 writes the newest offset syncs once a minute
}


@pytest.fixture
def source(make_cluster):
    return make_cluster("doomed")


@pytest.fixture
def theirs(source, west, make_pair):
    return make_pair(source, west)


@pytest.fixture
def ours(theirs, east, tmp_path):
    (tmp_path / "ours").mkdir()
    return replace(theirs, target_bootstrap=east.bootstrap, directory=tmp_path / "ours")


@pytest.fixture
def mirror(ours):
    """Runs steps of this mirror, one after the other."""
    file = ours.properties(extra={"source->target.mirror.lanes": "4", **SETTINGS})

    def run(*steps):
        for step in steps:
            assert main(["--config", str(file), *step.split()]) == 0, step

    return run


def test_groups_lose_nothing_and_read_nothing_twice_where_mirror_maker_reads_again(source, theirs, ours, mirror, oracle, request):
    topic, remote = theirs.topic("orders"), theirs.remote(theirs.topic("orders"))
    oracle.create_topic(source.bootstrap, topic, PARTITIONS)
    with MirrorMaker(theirs, SETTINGS):
        for burst in range(BURSTS):
            produce(oracle, source.bootstrap, topic, burst)
            mirror("copy --without-spark")
            arrived(oracle, theirs.target_bootstrap, remote, (burst + 1) * BURST)
        read_before = {group: consume(source.bootstrap, group, topic, END - behind) for group, behind in BEHIND.items()}
        mirror("checkpoints", "group-offsets")
        synced(theirs.target_bootstrap, remote)
    source.stop()

    again = {"MirrorMaker 2": Counter[str](), "this mirror": Counter[str]()}
    for name, bootstrap in (("MirrorMaker 2", theirs.target_bootstrap), ("this mirror", ours.target_bootstrap)):
        for group in BEHIND:
            read_after = consume(bootstrap, group, remote)
            lost = everything() - read_before[group] - read_after
            assert not lost, f"{name}: {group} lost {len(lost)} records"
            again[name][group] = len(read_before[group] & read_after)
    report = "; ".join(f"{name}: {dict(counts)}" for name, counts in again.items())
    request.node.add_report_section("call", "records read twice", report)
    assert dict(again["this mirror"]) == dict.fromkeys(BEHIND, 0), report
    assert again["MirrorMaker 2"].total() > 0, f"it read nothing twice either, so nothing was shown: {report}"
    print(f"\nread twice after the failover: {report}")


def produce(oracle, bootstrap, topic, burst):
    numbers = range(burst * BURST, (burst + 1) * BURST)
    records = [Record(b"", value(partition, number), partition=partition) for partition in range(PARTITIONS) for number in numbers]
    oracle.produce_records(bootstrap, topic, records)


def value(partition, number):
    return b"%d-%d" % (partition, number)


def everything():
    return {value(partition, number) for partition in range(PARTITIONS) for number in range(END)}


def arrived(oracle, bootstrap, topic, records):
    deadline = time.monotonic() + 240
    while oracle.topic_id(bootstrap, topic) is None or any(each.records != records for each in oracle.count(bootstrap, topic)):
        assert time.monotonic() < deadline, f"{topic} never had {records} records in each partition"
        time.sleep(0.2)


def synced(bootstrap, remote):
    """Waits until MirrorMaker 2 has set all groups in all partitions, and has moved none of them for some of its rounds."""
    deadline, steady, before = time.monotonic() + SYNCED_WITHIN_SECONDS, 0, {}
    while steady < 8:
        found = {group: read_offsets(bootstrap, group) for group in BEHIND}
        complete = all(len(offsets) == PARTITIONS and TopicPartition(remote, 0) in offsets for offsets in found.values())
        steady = steady + 1 if complete and found == before else 0
        before = found
        assert time.monotonic() < deadline, found
        time.sleep(1)


def positions(consumer, topic):
    """The group's. A broker that has just made the topic of groups' offsets may not know yet that it coordinates the group."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return consumer.committed([At(topic, partition) for partition in range(PARTITIONS)], 120)
        except KafkaException as failure:
            if failure.args[0].code() != KafkaError.NOT_COORDINATOR or time.monotonic() > deadline:
                raise
        time.sleep(0.2)


def consume(bootstrap, group, topic, until=None):
    """What the group reads from where it is, up to this offset in all partitions, else to their ends; it commits there."""
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "error", "enable.auto.commit": False}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    try:
        held = positions(consumer, topic)
        reached = {each.partition: max(each.offset, 0) for each in held}
        consumer.assign([At(topic, partition, start) for partition, start in reached.items()])
        found, left, deadline = set(), set(reached), time.monotonic() + 240
        while left:
            assert time.monotonic() < deadline, f"{group}: the end of {topic} did not come in {left}"
            for message in consumer.consume(100, 0.2):
                partition, over = message.partition(), message.error()
                assert over is None or over.code() == KafkaError._PARTITION_EOF, over
                if over is None and (until is None or message.offset() < until):
                    found.add(message.value())
                    reached[partition] = message.offset() + 1
                if over is not None or reached[partition] == until:
                    left.discard(partition)
        consumer.commit(offsets=[At(topic, partition, offset) for partition, offset in reached.items()], asynchronous=False)
        return found
    finally:
        consumer.close()
