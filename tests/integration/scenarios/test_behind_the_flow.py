"""Groups far behind a flow, and rewound: MirrorMaker 2's testOffsetTranslationBehindReplicationFlow, also where names are kept, and with
transactional producers, whose markers take offsets on the source."""

from collections.abc import Callable

import pytest

from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.consumers import set_offsets
from services.oracle import Record
from tests.integration.scenarios.conftest import Mesh
from tests.integration.scenarios.test_consumer_groups import FLOW, GROUP, PROPERTIES, checkpoints, partitions

TOPIC = "test-topic-1"
ROUNDS, RECORDS = 5, 200
IDENTITY = {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"}
VARIANTS = {"plain": ({}, 0), "kept names": (IDENTITY, 0), "transactions": ({}, 7)}


@pytest.fixture(params=VARIANTS)
def mesh(request: pytest.FixtureRequest, make_mesh: Callable[..., Mesh]) -> Mesh:
    """Records that were mirrored in several runs, in the way of the variant."""
    properties, transactions = VARIANTS[request.param]
    made: Mesh = make_mesh("primary", "backup")
    made.configure(FLOW, **PROPERTIES, **properties)
    made.create("primary", TOPIC)
    for round_ in range(ROUNDS):
        made.oracle.produce(
            made.bootstraps["primary"], TOPIC, RECORDS, seed=round_, transactions=transactions, abort_percent=20 if transactions else 0
        )
        made.copy(FLOW)
    return made


def test_checkpoints_follow_a_group_that_is_behind_and_go_back_with_one_that_is_rewound(mesh: Mesh) -> None:
    [remote] = {"primary." + TOPIC, TOPIC} & mesh.topics("backup")
    source, target = (by_partition(mesh, alias, topic) for alias, topic in (("primary", TOPIC), ("backup", remote)))
    half, far, back = (checkpoints_at(mesh, source, share) for share in (50, 90, 10))
    assert set(half) == set(far) == set(back) == set(partitions(remote))
    for partition in partitions(remote):
        assert back[partition].downstream < half[partition].downstream < far[partition].downstream
        for each in (half[partition], far[partition], back[partition]):
            unread = [record.value for record in source[partition.partition] if record.offset >= each.upstream]
            assert [record.value for record in target[partition.partition] if record.offset >= each.downstream] == unread, each


def by_partition(mesh: Mesh, alias: str, topic: str) -> dict[int, list[Record]]:
    found = mesh.oracle.dump(mesh.bootstraps[alias], topic)
    return {number: [record for record in found if record.partition == number] for number in range(10)}


def checkpoints_at(mesh: Mesh, source: dict[int, list[Record]], share: int) -> dict[TopicPartition, Checkpoint]:
    """The group commits behind so many hundredths of each partition's records; the checkpoints that are written then."""
    before = len(checkpoints(mesh, "backup", "primary")) if "primary.checkpoints.internal" in mesh.internal_topics("backup") else 0
    positions = {(TOPIC, number): records[len(records) * share // 100].offset for number, records in source.items()}
    set_offsets(mesh.bootstraps["primary"], GROUP, positions)
    mesh.step("checkpoints", FLOW)
    written = checkpoints(mesh, "backup", "primary")[before:]
    return {TopicPartition(each.topic, each.partition): each for each in written}
