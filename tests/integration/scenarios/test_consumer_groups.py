"""Consumer groups that move to the other cluster and back: MirrorMaker 2's own scenarios.

README.md beside this file says which Java test each answers to.
"""

import time
from collections.abc import Callable
from itertools import pairwise

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as At

from kafka_mirror.formats import mm2
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.consumers import read_offsets
from services.waiting import PATIENCE, eventually
from tests.integration.scenarios.conftest import Mesh

GROUP = "consumer-group-1"
FLOW = "primary->backup"
BACK = "backup->primary"
PROPERTIES = {"topics": "test-topic-.*, primary.test-topic-.*, backup.test-topic-.*", "groups": "consumer-group-.*"}


@pytest.fixture
def mesh(make_mesh: Callable[..., Mesh]) -> Mesh:
    """A hundred records on primary, for the flow there."""
    made: Mesh = make_mesh("primary", "backup")
    made.configure(FLOW, **PROPERTIES, **{"sync.group.offsets.enabled": "true"})
    made.create("primary", "test-topic-1")
    made.produce("primary", "test-topic-1")
    return made


def is_committed(consumer: Consumer, positions: list[At]) -> bool:
    """Commits positions; False where a cluster that never had a group makes the topic for it, and has no coordinator yet."""
    try:
        consumer.commit(offsets=positions, asynchronous=False)
    except KafkaException as failure:
        assert failure.args[0].code() == KafkaError.NOT_COORDINATOR, failure
        return False
    return True


def consume(mesh: Mesh, alias: str, topic: str, records: int, quiet_seconds: float = 1.0) -> list[TopicPartition]:
    """The partitions of the records that the group reads on from where it is: so many, and then no more for a moment; commits them and the
    position in every partition."""
    settings = {"bootstrap.servers": mesh.bootstraps[alias], "group.id": GROUP, "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "enable.auto.commit": False, "fetch.wait.max.ms": 20})
    try:
        consumer.subscribe([topic])
        found: list[TopicPartition] = []
        deadline, quiet_since = time.monotonic() + PATIENCE, 0.0
        while not quiet_since or time.monotonic() < quiet_since + quiet_seconds:
            message = consumer.poll(0.05)
            if message is not None:
                assert message.error() is None
                found.append(TopicPartition(str(message.topic()), int(message.partition() or 0)))
            ready = len(found) >= records and bool(consumer.assignment())
            if ready and (message is not None or not quiet_since):
                quiet_since = time.monotonic()
            assert time.monotonic() < deadline, f"{len(found)} of {records} records within {PATIENCE:g} s"
        consumer.commit(
            offsets=[_position(consumer, each) for each in consumer.committed(consumer.assignment(), PATIENCE)], asynchronous=False
        )
        return found
    finally:
        consumer.close()


def _position(consumer: Consumer, held: At) -> At:
    """Where it is in a partition, as Java has it: also where it read nothing."""
    [at] = consumer.position([held])
    read = at.offset if at.offset >= 0 else held.offset
    return At(held.topic, held.partition, read if read >= 0 else consumer.get_watermark_offsets(held, 10)[0])


def checkpoints(mesh: Mesh, alias: str, source: str) -> list[mm2.Checkpoint]:
    records = mesh.oracle.dump(mesh.bootstraps[alias], f"{source}.checkpoints.internal")
    return [mm2.decode_checkpoint(record.key, record.value) for record in records]


def assert_monotone(found: list[mm2.Checkpoint]) -> None:
    """Nowhere does a later checkpoint lead further back."""
    for key in {each.key for each in found}:
        positions = [each.downstream for each in found if each.key == key]
        assert all(one <= other for one, other in pairwise(positions))


def partitions(topic: str, count: int = 10) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(count)]


def test_a_group_fails_over_by_its_checkpoints_and_back_again(make_mesh: Callable[..., Mesh]) -> None:
    mesh: Mesh = make_mesh("primary", "backup")
    mesh.configure(FLOW, BACK, **PROPERTIES)
    for alias in mesh.bootstraps:
        mesh.create(alias, "test-topic-1")
        mesh.produce(alias, "test-topic-1")
    mesh.beat()
    consume(mesh, "primary", "test-topic-1", 100)
    mesh.copy(FLOW, BACK)
    mesh.step("checkpoints", FLOW)
    with mesh.client("backup") as client:
        over = client.remote_consumer_offsets("primary", GROUP)
    assert {tp: each.offset for tp, each in over.items()} == dict.fromkeys(partitions("primary.test-topic-1"), 10)

    mesh.produce("primary", "test-topic-1", first=10)
    mesh.copy(FLOW)
    settings = {"bootstrap.servers": mesh.bootstraps["backup"], "group.id": GROUP, "enable.auto.commit": False}
    consumer = Consumer(settings)
    positions = [At(tp.topic, tp.partition, each.offset) for tp, each in over.items()]
    eventually(lambda: is_committed(consumer, positions), "a coordinator of the new group")
    consumer.close()
    assert len(consume(mesh, "backup", "primary.test-topic-1", 100)) == 100, "what came since, once"
    mesh.step("checkpoints", BACK)
    with mesh.client("primary") as client:
        back = client.remote_consumer_offsets("backup", GROUP)
    assert {tp: each.offset for tp, each in back.items()} == dict.fromkeys(partitions("test-topic-1"), 20)
    for alias, source in (("backup", "primary"), ("primary", "backup")):
        assert_monotone(checkpoints(mesh, alias, source))


def test_a_partition_without_records_has_a_position_on_the_target_too(mesh: Mesh) -> None:
    mesh.create("primary", "test-topic-2", 10)
    mesh.produce("primary", "test-topic-2", partitions=9)
    assert len(consume(mesh, "primary", "test-topic-2", 90)) == 90
    mesh.copy(FLOW)
    mesh.step("checkpoints", FLOW)
    mesh.step("group-offsets", FLOW)

    expected = {tp: 10 if tp.partition < 9 else 0 for tp in partitions("primary.test-topic-2")}
    found = read_offsets(mesh.bootstraps["backup"], GROUP)
    assert {tp: found[tp] for tp in expected} == expected
    assert consume(mesh, "backup", "primary.test-topic-2", 0) == []
    assert read_offsets(mesh.bootstraps["backup"], GROUP)[TopicPartition("primary.test-topic-2", 9)] == 0


@pytest.mark.parametrize("lag", [10, 0])
def test_a_group_whose_offsets_are_synced_reads_nothing_twice(lag: int, mesh: Mesh) -> None:
    """Java's group reads up to `offset.lag.max` records of a partition again, ours none."""
    mesh.configure(FLOW, **PROPERTIES, **{"sync.group.offsets.enabled": "true", "offset.lag.max": str(lag)})
    consume(mesh, "primary", "test-topic-1", 100)
    for round_, topic in enumerate(("test-topic-1", "test-topic-2"), start=1):
        if topic == "test-topic-2":
            mesh.create("primary", topic)
            mesh.produce("primary", topic)
            consume(mesh, "primary", topic, 100)
        mesh.copy(FLOW)
        mesh.step("checkpoints", FLOW)
        mesh.step("group-offsets", FLOW)
        remote = f"primary.{topic}"
        found = read_offsets(mesh.bootstraps["backup"], GROUP)
        assert {tp: found[tp] for tp in partitions(remote)} == dict.fromkeys(partitions(remote), 10), f"round {round_}"
        assert consume(mesh, "backup", remote, 0) == []
    assert_monotone(checkpoints(mesh, "backup", "primary"))
    assert mesh.topics("primary") == {"test-topic-1", "test-topic-2"}


def test_checkpoints_never_go_back_over_many_runs(mesh: Mesh) -> None:
    """Every run of the mirror is a restart."""
    for round_ in range(3):
        consume(mesh, "primary", "test-topic-1", 100)
        mesh.copy(FLOW)
        mesh.step("checkpoints", FLOW)
        mesh.produce("primary", "test-topic-1", first=10 * (round_ + 1))
    found = checkpoints(mesh, "backup", "primary")
    assert_monotone(found)
    assert {each.upstream for each in found} == {10, 20, 30}
    assert len(found) == 30, "one for each partition and run"


def test_offset_syncs_on_the_target_leave_the_source_alone(mesh: Mesh) -> None:
    mesh.configure(FLOW, **PROPERTIES, **{"offset-syncs.topic.location": "target"})
    consume(mesh, "primary", "test-topic-1", 100)
    mesh.copy(FLOW)
    mesh.step("checkpoints", FLOW)
    assert "mm2-offset-syncs.primary.internal" in mesh.internal_topics("backup")
    assert mesh.internal_topics("primary") == set()
    assert {each.topic for each in checkpoints(mesh, "backup", "primary")} == {"primary.test-topic-1"}
    assert_monotone(checkpoints(mesh, "backup", "primary"))


def test_a_topic_that_was_never_mirrored_has_no_checkpoint_until_it_is(mesh: Mesh) -> None:
    mesh.create("primary", "test-topic-2", 1)
    consume(mesh, "primary", "test-topic-1", 100)
    mesh.copy(FLOW)
    mesh.create("primary", "test-topic-3", 1)
    consume(mesh, "primary", "test-topic-3", 0)
    mesh.step("checkpoints", FLOW)
    assert "primary.test-topic-3" not in {each.topic for each in checkpoints(mesh, "backup", "primary")}

    mesh.produce("primary", "test-topic-3", partitions=1)
    consume(mesh, "primary", "test-topic-3", 10)
    mesh.copy(FLOW)
    mesh.step("checkpoints", FLOW)
    assert "primary.test-topic-3" in {each.topic for each in checkpoints(mesh, "backup", "primary")}
