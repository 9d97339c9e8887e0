"""Copies to and from brokers before Kafka 4.0, and to clusters of today that have not gone over to transaction version 2."""

from contextlib import contextmanager

import pytest
from confluent_kafka import OFFSET_INVALID, Consumer
from confluent_kafka import TopicPartition as ClientTopicPartition

from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.model import PartitionAssignment, RecordLimits, TransactionLimits
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import lane_tasks
from kafka_mirror.errors import Overtaken
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups, GroupTransaction
from kafka_mirror.kafka.model import Committed
from kafka_mirror.kafka.transactions import Fenced
from kafka_mirror.status.observe import status
from kafka_mirror.topics.topic_configs import step as topic_configs_step
from kafka_mirror.topics.topics import step
from lab.faults.copy_process import CopyProcess
from services.consumers import set_offsets
from services.java import broker_jars
from services.kafka import KafkaCluster
from services.stored_batches import read_batches
from services.waiting import PATIENCE, eventually
from services.zookeeper import ZooKeeperCluster
from tests.integration.whole_flow import assert_carried
from tests.session import running

ONE_LANE = {"source->target.mirror.lanes": "1"}
SEVERAL_TRANSACTIONS = {"source->target.mirror.transaction.max.bytes": "20000"}
DELAY_MS = 20


@pytest.fixture(scope="module")
def older(services_directory):
    """A broker of Kafka 3.9."""
    cluster = KafkaCluster(services_directory / "older", "older", jars=broker_jars("3.9.1"), proxied=True)
    with running(cluster):
        yield cluster


@contextmanager
def reader(bootstrap, group):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    yield consumer
    consumer.close()


def produced(mirroring, topic, seeds=(1, 2)):
    mirroring.oracle.create_topic(mirroring.source, topic, 3)
    for seed in seeds:
        mirroring.oracle.produce(mirroring.source, topic, 1500, seed=seed, codec="lz4", headers=2, transactions=200, abort_percent=30)


def test_a_broker_of_3_9_takes_batches_in_many_transactions_behind_an_attempt_that_was_left_open(
    older, east, make_pair, make_mirroring, services_directory
):
    mirroring = make_mirroring(make_pair(east, older), ONE_LANE | SEVERAL_TRANSACTIONS)
    topic = mirroring.pair.topic("orders")
    remote = mirroring.pair.remote(topic)
    produced(mirroring, topic)
    mirroring.refresh()
    zombie = left_open(mirroring, topic, remote)
    try:
        assert mirroring.copy().state == "done"
        with pytest.raises(Overtaken):
            zombie.commit()
    finally:
        zombie.close()
    mirroring.assert_mirrored(topic)
    batches = read_batches(services_directory / "older", remote, "*")
    assert {(transactional, valid) for *_, transactional, _, valid in batches} == {("true", "true")}
    assert sum(is_marker == "true" for *_, is_marker, _ in batches) > 2 * 3
    mirroring.oracle.produce(mirroring.source, topic, 300, seed=3)
    assert mirroring.copy().records == 300
    mirroring.assert_mirrored(topic)


def left_open(mirroring, topic, remote):
    """An attempt of the same lane that has written batches, and neither ended nor closed its transaction."""
    (task,) = lane_tasks(mirroring.flow, mirroring.plan())
    zombie = BatchEngine(task, 1_000_000)
    source = TopicPartition(topic, 0)
    (planned,) = [each for each in task.ranges if (each.topic, each.partition) == source]
    work = PartitionAssignment(source, remote, planned.start, planned.end, None, RecordLimits())
    (moved,) = zombie.copy([work], TransactionLimits(20_000, 10.0))
    assert moved.records
    return zombie


def test_a_copy_that_is_killed_in_a_transaction_of_3_9_leaves_nothing_behind(older, east, make_pair, make_mirroring, tmp_path):
    """Twice: the broker has batches of a transaction that nobody will end, and the next copy has to."""
    pair = make_pair(east, older)
    mirroring = make_mirroring(pair, ONE_LANE | SEVERAL_TRANSACTIONS)
    topic = pair.topic("orders")
    remote = pair.remote(topic)
    produced(mirroring, topic, seeds=(1, 2, 3))
    mirroring.refresh()
    file = pair.properties(extra=ONE_LANE | SEVERAL_TRANSACTIONS | {"target.bootstrap.servers": older.proxied_bootstrap})
    copied = 0
    for _ in range(2):
        copied = killed_in_a_transaction(mirroring, remote, copied, CopyProcess(file, tmp_path / "copies.log", "--without-spark"), older)
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)


def killed_in_a_transaction(mirroring, remote, committed, copy, cluster):
    """Kills the copy when it has committed more than before, and a transaction is open; gives how many records are committed."""

    def reached(isolation):
        counts = mirroring.oracle.count(mirroring.target, remote, isolation)
        return sum(count.records for count in counts), [count.end for count in counts]

    def is_in_a_transaction():
        nonlocal committed
        cluster.network.hold_answers()
        (records, stable_ends), (_, ends) = reached("read_committed"), reached("read_uncommitted")
        if records > committed and stable_ends != ends:
            committed = records
            return True
        assert copy.running, copy.log.read_text()
        cluster.network.heal()
        return False

    cluster.network.delay(DELAY_MS)
    try:
        # Between two looks the copy gets about one answer, so it cannot be done with a transaction unseen.
        eventually(is_in_a_transaction, "a transaction is open", longest=2 * DELAY_MS / 1000)
        assert copy.kill()
    finally:
        cluster.network.delay(0)
        cluster.network.drop()
        cluster.network.heal()
    return committed


def test_a_broker_of_3_9_gives_its_batches_and_keeps_its_log_format(older, west, make_pair, make_mirroring):
    mirroring = make_mirroring(make_pair(older, west), ONE_LANE)
    topic = mirroring.pair.topic("orders")
    produced(mirroring, topic)
    mirroring.oracle.alter_configs(mirroring.source, topic, {"message.format.version": "2.8"})  # which Kafka 4 does not know
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)


def test_a_cluster_of_today_takes_batches_at_an_older_level_of_transactions(east, make_cluster, make_pair, make_mirroring):
    target = make_cluster("level-0", features={"transaction.version": 0})
    mirroring = make_mirroring(make_pair(east, target), ONE_LANE | SEVERAL_TRANSACTIONS)
    topic = mirroring.pair.topic("orders")
    produced(mirroring, topic)
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)


@pytest.fixture(scope="module")
def oldest(services_directory):
    """A broker of Kafka 3.0 in KRaft, which does what it is only to check (KAFKA-13324, KAFKA-13861)."""
    cluster = KafkaCluster(services_directory / "oldest", "oldest", jars=broker_jars("3.0.2"))
    with running(cluster):
        yield cluster


def test_what_only_looks_creates_and_extends_nothing_on_a_broker_of_3_0(oldest, east, make_pair, make_mirroring):
    mirroring = make_mirroring(make_pair(east, oldest))
    orders, bills = mirroring.pair.topic("orders"), mirroring.pair.topic("bills")
    for topic in (orders, bills):
        mirroring.oracle.create_topic(mirroring.source, topic, 1, {"retention.ms": "7200000"})
    mirroring.oracle.create_topic(mirroring.target, mirroring.pair.remote(bills), 1)
    mirroring.oracle.create_partitions(mirroring.source, bills, 3)
    flow = mirroring.flow

    planned = plan(flow, dry_run=True)
    status(flow)
    dry = step(flow, dry_run=True)
    changed = topic_configs_step(flow, dry_run=True)

    with Cluster("target", flow.client("target", "admin"), 30) as target:
        assert not target.only_checks
        assert target.configs([mirroring.pair.remote(bills)])[mirroring.pair.remote(bills)]["retention.ms"].value != "7200000"
        there = {name: len(topic.partitions) for name, topic in target.topics().items() if mirroring.pair.mark in name}
    assert there == {mirroring.pair.remote(bills): 1}
    assert dry.result["created"] == {mirroring.pair.remote(orders): 1}
    assert dry.result["extended"] == {mirroring.pair.remote(bills): 3}
    assert planned.errors == () and any("were not asked" in notice for notice in dry.lines)
    assert changed.totals["changed"] == 1


def test_brokers_of_later_releases_are_asked_to_check(older, east):
    for bootstrap in (older.bootstrap, east.bootstrap):
        with Cluster("any", {"bootstrap.servers": bootstrap}, 30) as cluster:
            assert cluster.only_checks


@pytest.fixture(scope="module")
def with_zookeeper(services_directory):
    """A broker of Kafka 2.8, the oldest release to which the mirror writes."""
    cluster = ZooKeeperCluster(services_directory / "zookeeper", "zookeeper", jars=broker_jars("2.8.2"))
    with running(cluster):
        yield cluster


@pytest.mark.parametrize("broker", ["with_zookeeper", "older", "east"])
def test_positions_in_a_transaction_are_there_at_its_end_or_never_with_every_release(broker, request, oracle):
    bootstrap = request.getfixturevalue(broker).bootstrap
    topic = f"moved-{broker}"
    oracle.create_topic(bootstrap, topic, 2)
    set_offsets(bootstrap, topic, {(topic, 1): 4})
    zero, one = (TopicPartition(topic, number) for number in range(2))
    with Cluster("any", {"bootstrap.servers": bootstrap}, PATIENCE) as cluster:
        groups = Groups(cluster)
        first, errors = GroupTransaction(cluster, f"mirror.{topic}"), {}
        assert first.add({topic: {zero: Committed(3, "ä"), one: None}}, errors) == {topic: {}}
        assert groups.find_unstable({topic: [zero, one]}, errors) == {topic: (zero, one)}
        second = GroupTransaction(cluster, f"mirror.{topic}")
        with pytest.raises(Fenced):
            first.commit()
        assert groups.read_committed([topic], errors)[topic] == {one: Committed(4)}
        with pytest.raises(Fenced):
            first.add({topic: {one: Committed(9)}}, errors)
        second.add({topic: {zero: Committed(3, "ä"), one: None}}, errors)
        second.commit()
        assert groups.read_committed([topic], errors)[topic] == {zero: Committed(3, "ä")}
    assert errors == {}
    with reader(bootstrap, topic) as consumer:
        read = consumer.committed([ClientTopicPartition(topic, number) for number in range(2)], PATIENCE)
    assert [partition.offset for partition in read] == [3, OFFSET_INVALID], "to every client it has no position there"


@pytest.mark.usefixtures("heartbeats_removed")  # when the module ends, so this test is its last
@pytest.mark.parametrize("side", ["source", "target"])
def test_every_step_works_with_a_cluster_of_2_8_and_zookeeper(side, with_zookeeper, east, west, make_pair, oracle, capfd):
    pair = make_pair(with_zookeeper, west) if side == "source" else make_pair(east, with_zookeeper)
    assert_carried(pair, oracle, capfd)
